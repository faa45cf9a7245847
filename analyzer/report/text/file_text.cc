#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/file_text.h>

namespace rpcrdma::report {

std::string file_label(const model::FileUse& use, std::size_t most) {
  std::string_view name = use.name();
  if (name.empty()) return use.handle ? fmt::format("fh:{:08x}", *use.handle) : std::string();
  if (name.size() <= most) return plot::escape_terminal(name);
  name.remove_prefix(name.size() - most);
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; };
  while (!name.empty() && is_inside(name.front())) name.remove_prefix(1);
  return fmt::format("...{}", plot::escape_terminal(name));
}

std::string file_text(const model::FileUse& use, bool reply, std::size_t most) {
  std::string text = file_label(use, most);
  if (!use.offset) return text;
  text += fmt::format("{}{}", text.empty() ? "" : " ", *use.offset);
  const auto& count = reply && use.moved ? use.moved : use.count;
  if (count) text += fmt::format("+{}", *count);
  return text;
}

}  // namespace rpcrdma::report
