#include "capture_for_tests.h"

#include <gtest/gtest.h>

#include <rpcrdma/capture/address.h>

namespace rpcrdma::capture {
namespace {

TEST(Address, Text) {
  EXPECT_EQ(Address{}.to_string(), "-");
  EXPECT_EQ(make_ipv4(from_hex("0a4d0001").data()).to_string(), "10.77.0.1");
  const ByteVector link_local = from_hex("fe800000000000000000000000000001");
  EXPECT_EQ(make_ipv6(link_local.data()).to_string(), "fe80::1");
  Address gid = make_ipv6(link_local.data());
  gid.kind = AddressKind::kGid;
  EXPECT_EQ(gid.to_string(), "fe80::1");
  Address lid;
  lid.kind = AddressKind::kLid;
  lid.bytes[0] = 1;
  lid.bytes[1] = 5;
  EXPECT_EQ(lid.to_string(), "lid 261");
}

TEST(Address, KindIsPartOfTheIdentity) {
  const ByteVector bytes = from_hex("fe800000000000000000000000000001");
  const Address ip = make_ipv6(bytes.data());
  Address gid = ip;
  gid.kind = AddressKind::kGid;
  EXPECT_NE(ip, gid);
  EXPECT_NE(hash_value(ip), hash_value(gid));
}

}  // namespace
}  // namespace rpcrdma::capture
