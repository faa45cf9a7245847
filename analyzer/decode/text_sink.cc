#include <algorithm>
#include <array>
#include <cstdio>

#include <rpcrdma/decode/text_sink.h>

namespace rpcrdma::decode {
namespace {

constexpr std::size_t kIndent = 4;
constexpr std::size_t kBytesShown = 24;  // of one field; the hex dump shows all

bool printable(char c) {
  return c >= 0x20 && c < 0x7f;
}

}  // namespace

void TextSink::open(FieldId id, std::size_t, std::size_t, std::string_view summary) {
  line(spec(id).label, summary, false);
  ++depth_;
}

void TextSink::close() {
  if (depth_ != 0) --depth_;
}

void TextSink::number(FieldId id, std::size_t, std::size_t length, std::uint64_t value,
                      const char* name) {
  const FieldSpec& field = spec(id);
  line(field.label, format_value(field, value, name), length == 0);
}

void TextSink::bytes(FieldId id, std::size_t, std::size_t length, wire::Bytes value) {
  const FieldSpec& field = spec(id);
  if (field.type == FieldType::kIpv6 || field.type == FieldType::kAddress) {
    line(field.label, format_bytes(field, value), length == 0);
    return;
  }
  std::string shown = format_bytes(field, value.first(std::min(value.size(), kBytesShown)));
  if (value.size() > kBytesShown) shown += "...";
  if (!shown.empty()) shown += ' ';
  line(field.label, shown + "(" + std::to_string(value.size()) + " bytes)", false);
}

void TextSink::text(FieldId id, std::size_t, std::size_t length, std::string_view value) {
  line(spec(id).label, escape_text(value), length == 0 && !value.empty());
}

void TextSink::error(const wire::DecodeError& error) {
  line(spec(FieldId::kMalformed).label, wire::describe(error), true);
}

void TextSink::line(std::string_view label, std::string_view value, bool concluded) {
  out_.append(depth_ * kIndent, ' ');
  if (concluded) out_ += '[';
  out_ += label;
  if (!value.empty()) {
    out_ += ": ";
    out_ += value;
  }
  if (concluded) out_ += ']';
  out_ += '\n';
}

std::string hex_dump(wire::Bytes data) {
  constexpr std::size_t kPerLine = 16;
  std::string out;
  std::array<char, 24> buffer{};
  for (std::size_t at = 0; at < data.size(); at += kPerLine) {
    const wire::Bytes row = data.subspan(at, std::min(kPerLine, data.size() - at));
    std::snprintf(buffer.data(), buffer.size(), "%04zx ", at);
    out += buffer.data();
    for (const std::uint8_t byte : row) {
      std::snprintf(buffer.data(), buffer.size(), " %02x", byte);
      out += buffer.data();
    }
    out.append((kPerLine - row.size()) * 3 + 3, ' ');
    for (const std::uint8_t byte : row) {
      const char c = static_cast<char>(byte);
      out += printable(c) ? c : '.';
    }
    out += '\n';
  }
  return out;
}

std::string escape_text(std::string_view text) {
  std::string out;
  std::array<char, 8> buffer{};
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (printable(c)) {
      out += c;
    } else {
      std::snprintf(buffer.data(), buffer.size(), "\\x%02x", static_cast<unsigned char>(c));
      out += buffer.data();
    }
  }
  return out;
}

}  // namespace rpcrdma::decode
