// Hosts and ports on the command line. Names are those of /etc/hosts that every machine has.
#include "host_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::cli {
namespace {

using ::testing::HasSubstr;

std::string split(std::string_view text) {
  const auto s = split_host(text);
  if (!s) return "error: " + s.error().message;
  return s->host + " " + (s->port ? std::to_string(*s->port) : "-");
}

TEST(HostName, HostAndPortAreSplit) {
  EXPECT_EQ(split("10.0.0.1"), "10.0.0.1 -");
  EXPECT_EQ(split("10.0.0.1:20050"), "10.0.0.1 20050");
  EXPECT_EQ(split("server"), "server -");
  EXPECT_EQ(split("server.example:1"), "server.example 1");
  EXPECT_EQ(split("fd00::1"), "fd00::1 -");
  EXPECT_EQ(split("::1"), "::1 -");
  EXPECT_EQ(split("[fd00::1]"), "fd00::1 -");
  EXPECT_EQ(split("[fe80::1%lo]:65535"), "fe80::1%lo 65535");
}

TEST(HostName, WhatIsWrongWithHostOrPortIsNamed) {
  EXPECT_THAT(split(""), HasSubstr("no host"));
  EXPECT_THAT(split(":20049"), HasSubstr("no host"));
  EXPECT_THAT(split("[]"), HasSubstr("no host"));
  EXPECT_THAT(split("[::1"), HasSubstr("a ] is missing"));
  EXPECT_THAT(split("[::1]20049"), HasSubstr("after ] only :PORT"));
  for (const char* bad : {"a:", "a:0", "a:65536", "a:x", "a:0x10", "a: 1", "[::1]:", "[::1]:-1"}) {
    EXPECT_THAT(split(bad), HasSubstr("not a number from 1 to 65535")) << bad;
  }
}

TEST(HostName, AddressesAreTheirOwn) {
  for (const char* text : {"127.0.0.7", "::1", "fd00::1"}) {
    const auto all = resolve(text);
    ASSERT_TRUE(all) << text;
    ASSERT_EQ(all->size(), 1U) << text;
    EXPECT_EQ(all->front().to_string(), text);
  }
}

TEST(HostName, LocalhostBeginsWithIpv4) {
  const auto all = resolve("localhost");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->front().to_string(), "127.0.0.1");
}

// getaddrinfo() would accept the first four.
TEST(HostName, MistypedAddressesAreNoNames) {
  for (const char* text :
       {"127.1", "1", "0x7f000001", "10.0.0", "10.0.0.256", "::g", "1.2.3.4%lo", "127.0.0.1."}) {
    const auto all = resolve(text);
    ASSERT_FALSE(all) << text;
    EXPECT_THAT(all.error().message, HasSubstr("is not an IPv4 or IPv6 address")) << text;
  }
}

TEST(HostName, NamesThatCannotBeResolvedSaySo) {
  // RFC 6761 section 6.4: never resolves.
  const auto all = resolve("nosuchhost.invalid");
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message,
              HasSubstr("\"nosuchhost.invalid\" is no address and cannot be resolved: "));
}

}  // namespace
}  // namespace rpcrdma::cli
