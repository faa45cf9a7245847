// Flags of CREATE_SESSION, direction of BIND_CONN_TO_SESSION (RFC 8881 sections 18.36, 18.34).
#include "upper_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

bool asks(std::string_view operations) {
  return may_ask_for_back_channel(kCompound, stream("0 1 " + std::string(operations)));
}
std::string create_session(std::string_view flags) {
  return "2b *8 1 " + std::string(flags) +
         " 0 1000 1000 100 8 10 0 0 1000 1000 100 8 10 0 40000000 1 0";
}

TEST(BackChannel, CreateSessionAsksByItsFlag) {
  EXPECT_TRUE(asks("1 " + create_session("2")));
  EXPECT_TRUE(asks("1 " + create_session("3")));
  EXPECT_FALSE(asks("1 " + create_session("0")));
  EXPECT_FALSE(asks("1 " + create_session("5")));
}

TEST(BackChannel, BindConnToSessionAsksByItsDirection) {
  EXPECT_FALSE(asks("1 29 *16 1 0"));  // CDFC4_FORE
  EXPECT_TRUE(asks("1 29 *16 2 0"));   // CDFC4_BACK
  EXPECT_TRUE(asks("1 29 *16 3 0"));   // CDFC4_FORE_OR_BOTH
  EXPECT_TRUE(asks("1 29 *16 7 0"));   // CDFC4_BACK_OR_BOTH
}

TEST(BackChannel, OtherOperationsDoNot) {
  EXPECT_FALSE(asks("2 18 a"));
  EXPECT_FALSE(may_ask_for_back_channel({kProgNfs, 3, 1}, stream("0")));
}

TEST(BackChannel, WhatIsCutShortMayAsk) {
  EXPECT_TRUE(asks("1 2b *8 1"));
  EXPECT_TRUE(asks("1 29 *16"));
  EXPECT_TRUE(asks("2 18"));
}

}  // namespace
}  // namespace rpcrdma::decode
