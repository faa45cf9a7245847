#include "crc32c_tables.h"

#include <array>
#include <cstddef>

namespace rpcrdma::service {
namespace {

constexpr std::size_t kStep = 8;
constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
using Table = std::array<std::uint32_t, 256>;

// tables[n][b]: the CRC of the byte b with n zeros behind it.
constexpr std::array<Table, kStep> make_tables() {
  std::array<Table, kStep> tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    tables[0][b] = crc;
  }
  for (std::size_t n = 1; n < kStep; ++n) {
    for (std::size_t b = 0; b < 256; ++b) {
      const std::uint32_t crc = tables[n - 1][b];
      tables[n][b] = crc >> 8U ^ tables[0][crc & 0xffU];
    }
  }
  return tables;
}
constexpr std::array<Table, kStep> kTables = make_tables();

constexpr std::uint64_t load_le64(const std::uint8_t* from) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kStep; ++i) value |= std::uint64_t{from[i]} << 8U * i;
  return value;
}

}  // namespace

std::uint32_t crc32c_by_tables(wire::Bytes bytes, std::uint32_t crc) {
  const std::uint8_t* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kStep; at += kStep, left -= kStep) {
    const std::uint64_t eight = load_le64(at) ^ crc;
    crc = kTables[7][eight & 0xff] ^ kTables[6][eight >> 8U & 0xff] ^
          kTables[5][eight >> 16U & 0xff] ^ kTables[4][eight >> 24U & 0xff] ^
          kTables[3][eight >> 32U & 0xff] ^ kTables[2][eight >> 40U & 0xff] ^
          kTables[1][eight >> 48U & 0xff] ^ kTables[0][eight >> 56U];
  }
  for (; left != 0; ++at, --left) crc = crc >> 8U ^ kTables[0][(crc ^ *at) & 0xff];
  return crc;
}

}  // namespace rpcrdma::service
