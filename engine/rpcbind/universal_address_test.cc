#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/rpcbind/universal_address.h>

namespace rpcrdma::rpcbind {
namespace {

fabric::Address address(const char* text) {
  return fabric::parse_address(text).value();
}

TEST(UniversalAddress, IsTheAddressAndThePortsOctets) {
  EXPECT_EQ(to_universal({address("192.0.2.1"), 20049}), "192.0.2.1.78.81");
  EXPECT_EQ(to_universal({address("2001:db8::1"), 20049}), "2001:db8::1.78.81");
  EXPECT_EQ(to_universal({address("0.0.0.0"), 111}), "0.0.0.0.0.111");
  EXPECT_EQ(to_universal({address("::"), 65535}), "::.255.255");
}

TEST(UniversalAddress, HasNoScope) {
  fabric::Address link_local = address("fe80::1");
  link_local.scope = 3;
  EXPECT_EQ(to_universal({link_local, 256}), "fe80::1.1.0");
}

TEST(UniversalAddress, ReadsWhatItWrites) {
  for (const char* const host : {"192.0.2.1", "0.0.0.0", "2001:db8::1", "::", "::1"}) {
    for (const int port : {1, 255, 256, 20049, 65535}) {
      const fabric::Endpoint endpoint{address(host), static_cast<std::uint16_t>(port)};
      const auto read = parse_universal(to_universal(endpoint));
      ASSERT_TRUE(read) << host << ' ' << port;
      EXPECT_EQ(read->address, endpoint.address);
      EXPECT_EQ(read->port, port);
    }
  }
}

TEST(UniversalAddress, ReadsIpv4InIpv6) {
  const auto read = parse_universal("::ffff:192.0.2.1.78.81");
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->address.ipv6);
  EXPECT_EQ(read->port, 20049);
}

TEST(UniversalAddress, WhatIsNoneIsNotRead) {
  for (const char* const text :
       {"", ".", "..", "192.0.2.1", "192.0.2.1.78", "192.0.2.1.78.81.1", "192.0.2.1.256.1",
        "192.0.2.1.1.256", "192.0.2.1.-1.1", "192.0.2.1.+1.1", "192.0.2.1. 1.1", "192.0.2.1.1.1 ",
        "192.0.2.1..81", "192.0.2.1.0.0", "host.78.81", "fe80::1%1.78.81", "/run/rpcbind.sock",
        "::1.4294967297.1"}) {
    EXPECT_FALSE(parse_universal(text)) << text;
  }
  EXPECT_FALSE(parse_universal(std::string(1 << 20, '1')));
  EXPECT_FALSE(parse_universal(std::string(1 << 20, '.')));
}

TEST(UniversalAddress, NetidsAreThoseOfTheAddressFamily) {
  EXPECT_STREQ(rdma_netid(address("192.0.2.1")), "rdma");
  EXPECT_STREQ(rdma_netid(address("2001:db8::1")), "rdma6");
}

}  // namespace
}  // namespace rpcrdma::rpcbind
