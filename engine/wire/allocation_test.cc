// Decoding never allocates, whether it succeeds or fails.
#include "support/counting_new.h"
#include "support/wire_bytes.h"

#include <gtest/gtest.h>

#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/private_data.h>
#include <rpcrdma/wire/rdmaconfig.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::wire {
namespace {

using testing::allocations_in;

TEST(AllocationTest, TheCounterCounts) {
  EXPECT_EQ(allocations_in([] { ::operator delete(::operator new(100)); }), 1U);
}

TEST(AllocationTest, DecodingAHeaderAllocatesNothing) {
  const auto bytes =
      hex("11223344 00000001 00000020 00000000"
          "00000001 00000070 000006c4 00008000 447f06edcc5ad000 00000000"
          "00000001 00000001 0000000a 00001000 0000000100000000 00000000"
          "00000001 00000001 0000000d 00002000 0000000300000004");
  std::uint64_t sum = 0;
  EXPECT_EQ(allocations_in([&] {
              const auto view = decode_header(bytes);
              for (const ReadSegment read : view->reads) sum += read.target.length;
              for (const WriteChunkView chunk : view->writes) sum += total_length(chunk);
              sum += total_length(*view->reply);
            }),
            0U);
  EXPECT_EQ(sum, 0x8000U + 0x1000U + 0x2000U);
}

TEST(AllocationTest, RefusingAHeaderAllocatesNothing) {
  const auto bytes = hex("11223344 00000001 00000020 00000000 00000002 00000000 00000000");
  bool refused = false;
  EXPECT_EQ(allocations_in([&] { refused = !decode_header(bytes); }), 0U);
  EXPECT_TRUE(refused);
}

TEST(AllocationTest, DecodingRpcAllocatesNothing) {
  const auto bytes =
      hex("11223344 00000000 00000002 000186a3 00000003 00000007"
          "00000001 00000014 00000000 00000000 00000000 00000000 00000000 00000000 00000000");
  bool decoded = false;
  EXPECT_EQ(allocations_in([&] {
              const auto view = decode_rpc(bytes);
              decoded = view && decode_auth_sys(view->call.cred.body).has_value();
            }),
            0U);
  EXPECT_TRUE(decoded);
}

TEST(AllocationTest, DecodingConnectionParametersAllocatesNothing) {
  const auto data = hex("f6ab0e18 01 01 03 03");
  const auto config = hex("00001000 00000400 00000010");
  bool decoded = false;
  EXPECT_EQ(allocations_in([&] {
              decoded = decode_private_data(data) && decode_rdmaconfig_request(config) &&
                        decode_rdmaconfig_reply(config);
            }),
            0U);
  EXPECT_TRUE(decoded);
}

}  // namespace
}  // namespace rpcrdma::wire
