#include "messages_for_tests.h"
#include "support/live_bytes.h"

#include <gtest/gtest.h>

#include <rpcrdma/filter/filter.h>

namespace rpcrdma::filter {
namespace {

TEST(Allocation, NoneForAMessageOnceWarm) {
  testing::Sample sample;
  for (const char* text : {"rpcrdma.credit < 4 || rpcrdma.segment.handle == 1 || nfs.op == WRITE",
                           "rpcrdma.src == 10.1.0.0/16 || rpcrdma.finding == \"X\" || "
                           "rpcrdma.op.handle == 1 || rpcrdma.moved == 1",
                           "rpc.arguments contains ff:ff:ff || rpc.verf.flavor == 9",
                           "rpc.program_name matches \"x+y\" || frame.time < \"2000-01-01\""}) {
    auto filter = compile(text).value();
    const Inputs in = sample.inputs();
    EXPECT_FALSE(filter.matches(in)) << text;
    const std::size_t before = report::testing::heap().allocations;
    for (int i = 0; i < 100; ++i) static_cast<void>(filter.matches(in));
    EXPECT_EQ(report::testing::heap().allocations, before) << text;
  }
}

}  // namespace
}  // namespace rpcrdma::filter
