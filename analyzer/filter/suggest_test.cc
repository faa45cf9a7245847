#include "suggest.h"

#include <array>

#include <gtest/gtest.h>

namespace rpcrdma::filter {
namespace {

TEST(Suggest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("credit", "CREDIT"), 0U);
  EXPECT_EQ(edit_distance("credt", "credit"), 1U);
  EXPECT_EQ(edit_distance("crdeit", "credit"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Suggest, NearestOnlyIfNear) {
  const std::array<std::string_view, 3> names{"rpcrdma.credit", "rpcrdma.xid", "rpc.xid"};
  EXPECT_EQ(nearest("rpcrdma.credt", names), "rpcrdma.credit");
  EXPECT_EQ(nearest("rpcrdma.xd", names), "rpcrdma.xid");
  EXPECT_EQ(nearest("tcp.port", names), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'x'), names), std::nullopt);
  EXPECT_EQ(suggestion("rpc.xit", names), ", did you mean rpc.xid?");
  EXPECT_EQ(suggestion("", names), "");
}

}  // namespace
}  // namespace rpcrdma::filter
