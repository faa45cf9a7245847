#include <cmath>
#include <limits>

#include <rapidjson/internal/dtoa.h>

#include <rpcrdma/report/json_text.h>

namespace rpcrdma::report {

namespace {

constexpr std::size_t kLeast = 1024;

// The second character of the escape, 'u' for four hexadecimal digits, or 0 for no escape.
char escape_of(char c) {
  switch (c) {
    case '"':
    case '\\':
      return c;
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return static_cast<unsigned char>(c) < ' ' ? 'u' : '\0';
  }
}

}  // namespace

void JsonText::put_double(double value) {
  constexpr std::size_t kMost = 25;
  if (!std::isfinite(value)) return put("null");
  char* const at = room(kMost);
  size_ += static_cast<std::size_t>(rapidjson::internal::dtoa(value, at) - at);
}

void JsonText::escape(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  put('"');
  for (const char c : text) {
    const char escape = escape_of(c);
    if (escape == '\0') {
      put(c);
      continue;
    }
    put('\\');
    put(escape);
    if (escape != 'u') continue;
    put("00");
    put(kDigits[static_cast<unsigned char>(c) >> 4U]);
    put(kDigits[static_cast<unsigned char>(c) & 0xfU]);
  }
  put('"');
}

void JsonText::enlarge(std::size_t bytes) {
  const std::size_t capacity = std::max({kLeast, 2 * capacity_, size_ + bytes});
  auto larger = std::make_unique_for_overwrite<char[]>(capacity);
  if (size_ != 0) std::memcpy(larger.get(), text_.get(), size_);
  text_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace rpcrdma::report
