// Decoding packets never allocates, whether it succeeds or fails.
#include "support/counting_new.h"
#include "support/wire_bytes.h"

#include <gtest/gtest.h>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::wire {
namespace {

using testing::allocations_in;

TEST(RoceAllocationTest, TheCounterCounts) {
  EXPECT_EQ(allocations_in([] { ::operator delete(::operator new(100)); }), 1U);
}

TEST(RoceAllocationTest, Packets) {
  const auto bytes =
      hex("0a 00 ffff 00 000011 80 000007 0000000000000001 00000002 00000004"
          "61626364 01020304");
  bool decoded = false;
  bool refused = false;
  EXPECT_EQ(allocations_in([&] {
              decoded = decode_roce(bytes, bytes.size()).has_value();
              refused = !decode_roce(bytes, 20);
            }),
            0U);
  EXPECT_TRUE(decoded);
  EXPECT_TRUE(refused);
}

TEST(RoceAllocationTest, Icrc) {
  const std::vector<std::uint8_t> bytes(1500);
  std::uint32_t sum = 0;
  EXPECT_EQ(allocations_in([&] {
              for (std::size_t bth = 28; bth < 200; ++bth) {
                sum |= icrc(IcrcKind::kRoceV2Ipv4, bytes, bth);
              }
            }),
            0U);
  EXPECT_NE(sum, 0U);
}

TEST(RoceAllocationTest, Mads) {
  std::vector<std::uint8_t> bytes = hex("01 07 02 03 0000 0000 0000000000000000 0010");
  bytes.resize(kMadBytes);
  bytes[CmReq::kPrivateOffset + 1] = 0x40;
  bool decoded = false;
  bool refused = false;
  EXPECT_EQ(allocations_in([&] {
              const auto mad = decode_cm(bytes);
              decoded = mad && decode_ip_cm(std::get<CmReq>(mad->message).private_data);
              refused = !decode_cm(Bytes(bytes).first(255));
            }),
            0U);
  EXPECT_TRUE(decoded);
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace rpcrdma::wire
