#include "report_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/report/report_text.h>

namespace rpcrdma::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const Report& r) {
  std::string out;
  write_text(r, {}, [&](std::string_view part) { out += part; });
  return out;
}

TEST(Text, WithoutAMessageThereIsNoVersion) {
  Report r = report_with("10.0.0.2");
  r.connections[0].messages = 3;
  EXPECT_THAT(text_of(r), HasSubstr("protocol   RPC-over-RDMA version 1, 3 messages"));
  r.connections[0].version = 0;
  r.connections[0].messages = 0;
  EXPECT_THAT(text_of(r), HasSubstr("protocol   RPC-over-RDMA, 0 messages"));
  EXPECT_THAT(text_of(r), Not(HasSubstr("RPC-over-RDMA version")));
}

}  // namespace
}  // namespace rpcrdma::report
