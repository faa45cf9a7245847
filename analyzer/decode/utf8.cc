#include <rpcrdma/decode/utf8.h>

namespace rpcrdma::decode {
namespace {

// Length of the valid UTF-8 sequence at the front of `text`, 0 if there is none (Unicode table
// 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto between = [](unsigned value, unsigned low, unsigned high) {
    return value >= low && value <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned low = 0x80, high = 0xbf;  // of the second byte
  if (between(first, 0xc2, 0xdf)) {
    length = 2;
  } else if (between(first, 0xe0, 0xef)) {
    length = 3;
    if (first == 0xe0) low = 0xa0;   // overlong
    if (first == 0xed) high = 0x9f;  // surrogates
  } else if (between(first, 0xf0, 0xf4)) {
    length = 4;
    if (first == 0xf0) low = 0x90;   // overlong
    if (first == 0xf4) high = 0x8f;  // beyond U+10FFFF
  } else {
    return 0;
  }
  if (!between(byte(1), low, high)) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!between(byte(i), 0x80, 0xbf)) return 0;
  }
  return length;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace rpcrdma::decode
