// Text that is put together piece by piece in memory that is used again: no allocation and no call
// of a formatting library for each number and name.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace rpcrdma::base {

// "0000beef"
struct Hex32 {
  std::uint32_t value = 0;
};
// A number of at least `width` columns, filled from the left.
struct Padded {
  std::uint64_t value = 0;
  unsigned width = 0;  // at most kMostDigits
  char fill = ' ';
};

class TextBuffer {
 public:
  static constexpr std::size_t kMostDigits = 20;  // of 2^64 - 1

  void clear() { size_ = 0; }
  [[nodiscard]] std::string_view view() const { return {text_.get(), size_}; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  // Appends characters, texts, unsigned integers in decimal, Hex32 and Padded.
  template <typename... Parts>
  void put(const Parts&... parts) {
    (add(parts), ...);
  }

 private:
  static constexpr std::size_t kLeast = 512;

  // Returns the end of the text, behind which there are so many bytes.
  [[nodiscard]] char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return text_.get() + size_;
  }
  void grow(std::size_t bytes) {
    const std::size_t capacity = std::max({kLeast, 2 * capacity_, size_ + bytes});
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ != 0) std::memcpy(larger.get(), text_.get(), size_);
    text_ = std::move(larger);
    capacity_ = capacity;
  }

  void add(char c) {
    *room(1) = c;
    ++size_;
  }
  void add(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void add(std::unsigned_integral auto value) {
    char* const at = room(kMostDigits);
    size_ += static_cast<std::size_t>(std::to_chars(at, at + kMostDigits, value).ptr - at);
  }
  void add(Hex32 h) {
    constexpr char kDigits[] = "0123456789abcdef";
    char* const at = room(8);
    for (unsigned i = 0; i < 8; ++i) at[i] = kDigits[h.value >> (28 - 4 * i) & 0xfU];
    size_ += 8;
  }
  void add(Padded p) {
    char digits[kMostDigits];
    const auto length =
        static_cast<std::size_t>(std::to_chars(digits, digits + kMostDigits, p.value).ptr - digits);
    const std::size_t fill = p.width > length ? p.width - length : 0;
    char* const at = room(fill + length);
    std::memset(at, p.fill, fill);
    std::memcpy(at + fill, digits, length);
    size_ += fill + length;
  }

  std::unique_ptr<char[]> text_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace rpcrdma::base
