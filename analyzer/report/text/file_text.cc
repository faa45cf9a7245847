#include <algorithm>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/file_text.h>

namespace rpcrdma::report {

namespace {

void put_escaped(base::TextBuffer& out, std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  plain ? out.put(text) : out.put(std::string_view(plot::escape_terminal(text)));
}

void put_file_label(base::TextBuffer& out, const model::FileUse& use, std::size_t most) {
  std::string_view name = use.name();
  if (name.empty()) {
    if (use.handle) out.put("fh:", base::Hex32{*use.handle});
    return;
  }
  if (name.size() <= most) return put_escaped(out, name);
  name.remove_prefix(name.size() - most);
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; };
  while (!name.empty() && is_inside(name.front())) name.remove_prefix(1);
  out.put("...");
  put_escaped(out, name);
}

}  // namespace

std::string file_label(const model::FileUse& use, std::size_t most) {
  base::TextBuffer text;
  put_file_label(text, use, most);
  return std::string(text.view());
}

void put_file_text(base::TextBuffer& out, const model::FileUse& use, bool reply, std::size_t most) {
  const std::size_t before = out.view().size();
  put_file_label(out, use, most);
  if (!use.offset) return;
  if (out.view().size() != before) out.put(' ');
  out.put(*use.offset);
  const auto& count = reply && use.moved ? use.moved : use.count;
  if (count) out.put('+', *count);
}

std::string file_text(const model::FileUse& use, bool reply, std::size_t most) {
  base::TextBuffer text;
  put_file_text(text, use, reply, most);
  return std::string(text.view());
}

}  // namespace rpcrdma::report
