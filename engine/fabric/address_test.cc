#include <gmock/gmock.h>

#include <rpcrdma/fabric/address.h>

namespace rpcrdma::fabric {
namespace {

TEST(Address, IsReadAndWrittenAlike) {
  for (const char* text : {"127.0.0.2", "255.0.1.9", "::1", "2001:db8::7", "fe80::1%1"}) {
    const auto a = parse_address(text);
    ASSERT_TRUE(a) << text;
    EXPECT_EQ(a->to_string(), text);
  }
}

TEST(Address, WhatIsNoneIsRefused) {
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "localhost", "::g", "1.2.3.4%1",
                           "fe80::1%nope", "::1%", "%", " 1.2.3.4"}) {
    const auto a = parse_address(text);
    ASSERT_FALSE(a) << text;
    EXPECT_EQ(a.error().code, Errc::kBadArgument);
    EXPECT_FALSE(a.error().message.empty());
  }
}

TEST(Address, NothingHidesBehindAZero) {
  EXPECT_FALSE(parse_address(std::string_view("1.2.3.4\0x", 9)));
}

TEST(Address, AsAGid) {
  const std::array<std::uint8_t, 16> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 1, 2};
  EXPECT_EQ(make_ipv4(10, 0, 1, 2).gid(), mapped);
  EXPECT_EQ(parse_address("::1")->gid()[15], 1);
}

TEST(Address, V4AndV6AreNeverEqual) {
  EXPECT_NE(*parse_address("0.0.0.0"), *parse_address("::"));
}

}  // namespace
}  // namespace rpcrdma::fabric
