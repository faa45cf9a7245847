#include "link_mtu.h"

#include <fstream>

#include <gtest/gtest.h>

namespace rpcrdma::soft {
namespace {

// Linux accepts a larger path MTU without a check; then no larger packet arrives.
TEST(LinkMtu, WhatALinkCarries) {
  EXPECT_EQ(path_mtu_on(65536), 4096U);
  EXPECT_EQ(path_mtu_on(9000), 4096U);
  EXPECT_EQ(path_mtu_on(4096 + 84), 4096U);
  EXPECT_EQ(path_mtu_on(4096 + 83), 2048U);
  EXPECT_EQ(path_mtu_on(1500), 1024U);
  EXPECT_EQ(path_mtu_on(1280), 1024U);
  EXPECT_EQ(path_mtu_on(576), 256U);
  EXPECT_EQ(path_mtu_on(68), 256U);
}

TEST(LinkMtu, OfTheInterfaceThatHasTheAddress) {
  std::ifstream file("/sys/class/net/lo/mtu");
  std::uint32_t mtu = 0;
  ASSERT_TRUE(file >> mtu);
  EXPECT_EQ(link_mtu(fabric::make_ipv4(127, 0, 0, 1)), mtu);
  EXPECT_EQ(link_mtu(fabric::make_ipv4(203, 0, 113, 1)), 0U);  // TEST-NET-3: unassigned
}

}  // namespace
}  // namespace rpcrdma::soft
