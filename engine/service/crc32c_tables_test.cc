#include "crc32c_tables.h"

#include "checksum.h"

#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::service {
namespace {

TEST(Crc32cTables, GiveTheChecksumForEveryLengthAndPlace) {
  std::vector<std::uint8_t> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * i + 7);
  for (std::size_t from = 0; from < 9; ++from) {
    for (std::size_t length = 0; length < 40; ++length) {
      const wire::Bytes part = wire::Bytes(bytes).subspan(from, length);
      Checksum sum;
      sum.add(part);
      EXPECT_EQ(~crc32c_by_tables(part, ~0U), sum.value()) << from << ' ' << length;
    }
  }
}

TEST(Crc32cTables, ContinueAnEarlierPart) {
  // RFC 3720 appendix B.4: 32 bytes of ones.
  const std::vector<std::uint8_t> ones(32, 0xff);
  const std::uint32_t first = crc32c_by_tables(wire::Bytes(ones).first(13), ~0U);
  EXPECT_EQ(~crc32c_by_tables(wire::Bytes(ones).subspan(13), first), 0x62a8ab43U);
}

}  // namespace
}  // namespace rpcrdma::service
