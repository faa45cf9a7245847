// Text of JSON in memory that is used again: strings and numbers without a call or an allocation
// for each of them.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace rpcrdma::report {

class JsonText {
 public:
  [[nodiscard]] std::string_view view() const { return {text_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void clear() { size_ = 0; }

  [[gnu::always_inline]] void put(char c) {
    *room(1) = c;
    ++size_;
  }
  // As it is.
  [[gnu::always_inline]] void put(std::string_view text) {
    char* const at = room(text.size());
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    size_ += text.size();
  }
  // In decimal.
  [[gnu::always_inline]] void put(std::integral auto value) {
    char* const at = room(kMostDigits);
    size_ += static_cast<std::size_t>(std::to_chars(at, at + kMostDigits, value).ptr - at);
  }
  // A string of JSON: UTF-8, whose bytes are not checked.
  void quote(std::string_view text) { is_plain(text) ? quote_plain(text) : escape(text); }
  // The same for a text of which is_plain() is known.
  [[gnu::always_inline]] void quote_plain(std::string_view text) {
    char* const at = room(text.size() + 2);
    at[0] = '"';
    if (!text.empty()) std::memcpy(at + 1, text.data(), text.size());
    at[text.size() + 1] = '"';
    size_ += text.size() + 2;
  }
  // The digits of RapidJSON; a number that JSON does not have is null.
  void put_double(double value);

  // Whether no byte of a string needs an escape.
  [[nodiscard]] static bool is_plain(std::string_view text) {
    std::uint64_t escaped = 0;
    std::size_t at = 0;
    for (; at + kWord <= text.size(); at += kWord) escaped |= to_escape(word(text.data() + at));
    if (at == text.size()) return (escaped & kHighBits) == 0;
    if (at != 0) {  // the rest together with bytes before it
      escaped |= to_escape(word(text.data() + text.size() - kWord));
    } else {
      std::uint64_t all = 0;
      for (const char c : text) all = all << 8U | static_cast<unsigned char>(c);
      const unsigned unused = 8U * static_cast<unsigned>(kWord - text.size());
      escaped = to_escape(all | kSpaces << (64U - unused));
    }
    return (escaped & kHighBits) == 0;
  }

  // Returns the end of the text, behind which there are so many bytes; grow(n) adds those written.
  [[nodiscard, gnu::always_inline]] char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) [[unlikely]]
      enlarge(bytes);
    return text_.get() + size_;
  }
  void grow(std::size_t bytes) { size_ += bytes; }

 private:
  static constexpr std::size_t kMostDigits = 20;  // of 2^64 - 1, and of -2^63
  static constexpr std::uint64_t kOnes = 0x0101010101010101, kHighBits = 0x80 * kOnes,
                                 kSpaces = ' ' * kOnes;

  static constexpr std::size_t kWord = sizeof(std::uint64_t);

  static std::uint64_t word(const char* from) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, kWord);
    return word;
  }
  // The high bit of at least one byte is set if a byte is below a space, a quote or a backslash.
  static constexpr std::uint64_t to_escape(std::uint64_t word) {
    const std::uint64_t quote = word ^ '"' * kOnes;
    const std::uint64_t backslash = word ^ '\\' * kOnes;
    return ((word - kSpaces) & ~word) | ((quote - kOnes) & ~quote) |
           ((backslash - kOnes) & ~backslash);
  }
  void enlarge(std::size_t bytes);
  void escape(std::string_view text);

  std::unique_ptr<char[]> text_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace rpcrdma::report
