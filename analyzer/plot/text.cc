// Decodes UTF-8 strictly, to escape and fit untrusted text.
#include <cstdint>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::plot {

namespace {

constexpr char32_t kBad = 0xfffd;

// Removes one character from the front of `text`, which is not empty; returns kBad for a byte that
// begins none.
char32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  std::size_t length = 1;
  char32_t c = first;
  if (first >= 0xf0) {
    length = 4;
    c = first & 0x07U;
  } else if (first >= 0xe0) {
    length = 3;
    c = first & 0x0fU;
  } else if (first >= 0xc0) {
    length = 2;
    c = first & 0x1fU;
  }
  bool good = first < 0x80 || (first >= 0xc2 && first <= 0xf4 && text.size() >= length);
  for (std::size_t i = 1; good && i < length; ++i) {
    good = (byte(i) & 0xc0U) == 0x80;
    c = c << 6U | (byte(i) & 0x3fU);
  }
  // Overlong, half of a UTF-16 surrogate pair, or beyond Unicode.
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (good && (c < kLeast[length] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)) good = false;
  if (!good) {
    text.remove_prefix(1);
    return kBad;
  }
  text.remove_prefix(length);
  return c;
}

void append(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6U);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12U);
    put(0x80 | (c >> 6U & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18U);
    put(0x80 | (c >> 12U & 0x3f));
    put(0x80 | (c >> 6U & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

// Rather overestimates the width: only scripts and symbols that are certainly one column wide count
// as one.
std::size_t width_of(char32_t c) {
  const bool narrow = c < 0x1100 || (c >= 0x2000 && c < 0x2900);
  return narrow ? 1 : 2;
}

// Direction marks and zero-width characters would change the text around them.
bool is_format(char32_t c) {
  return (c >= 0x80 && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char32_t c = take_character(text);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const bool no_xml = (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f ||
                            (c >= 0x80 && c < 0xa0) || c == 0xfffe || c == 0xffff;
        append(out, no_xml ? kBad : c);
      }
    }
  }
  return out;
}

std::string escape_terminal(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = take_character(text);
    const std::string_view bytes = before.substr(0, before.size() - text.size());
    if (c >= 0x20 && c != 0x7f && !is_format(c) && (c != kBad || bytes.size() != 1)) {
      out += bytes;
      continue;
    }
    for (const char byte : bytes) {
      const auto value = static_cast<std::uint8_t>(byte);
      out += "\\x";
      out += kDigits[value >> 4U];
      out += kDigits[value & 0x0fU];
    }
  }
  return out;
}

std::string fit_terminal(std::string_view text, std::size_t width, bool utf8) {
  std::string out;
  std::size_t used = 0;
  // The place to truncate if the text turns out to be too long.
  std::size_t cut = 0;
  while (!text.empty()) {
    char32_t c = take_character(text);
    if (c < 0x20 || c == 0x7f || c == kBad || is_format(c) || (!utf8 && c >= 0x80)) c = '?';
    const std::size_t columns = width_of(c);
    if (used + columns > width) {
      out.resize(cut);
      return out + std::string(width < 3 ? width : 3, '.');
    }
    append(out, c);
    used += columns;
    if (used + 3 <= width) cut = out.size();
  }
  return out;
}

std::size_t terminal_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) columns += width_of(take_character(text));
  return columns;
}

}  // namespace rpcrdma::plot
