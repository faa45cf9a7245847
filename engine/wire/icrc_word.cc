// CRC-32 as polynomial arithmetic over GF(2), modulo the Ethernet polynomial. In reflected order
// the highest bit of a word is the coefficient of x^0, and shifting in a zero bit multiplies by x.
// A word with `n` bytes after it adds word * x^(32 + 8n) to the register. x has an inverse, so the
// word can be computed from what it adds.
#include <array>

#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::wire {
namespace {

constexpr std::uint32_t kPolynomial = 0xedb88320;
constexpr std::uint32_t kOne = 0x80000000;

constexpr std::uint32_t divide_by_x(std::uint32_t a) {
  return (a & kOne) != 0 ? (a ^ kPolynomial) << 1 | 1 : a << 1;
}

// No branches: the bits are practically random, so a branch would be mispredicted.
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    product ^= b & (0U - (a >> bit & 1U));
    b = b >> 1 ^ (kPolynomial & (0U - (b & 1U)));
  }
  return product;
}

constexpr std::size_t kDigits = 256;
using Powers = std::array<std::uint32_t, kDigits>;

constexpr std::uint32_t power_of_inverse(std::size_t bits) {
  std::uint32_t a = kOne;
  while (bits-- > 0) a = divide_by_x(a);
  return a;
}

// begin * step^i
constexpr Powers powers(std::uint32_t begin, std::uint32_t step) {
  Powers table{};
  for (std::uint32_t& entry : table) {
    entry = begin;
    begin = multiply(begin, step);
  }
  return table;
}

// x^-(32 + 8 * digit), x^-(8 * 256 * digit)
constexpr Powers kLow = powers(power_of_inverse(32), power_of_inverse(8));
constexpr Powers kHigh = powers(kOne, power_of_inverse(8 * kDigits));

}  // namespace

std::uint32_t icrc_word_difference(std::uint32_t difference, std::size_t behind) {
  const std::uint32_t inverse = multiply(kLow[behind % kDigits], kHigh[behind / kDigits % kDigits]);
  return __builtin_bswap32(multiply(difference, inverse));
}

}  // namespace rpcrdma::wire
