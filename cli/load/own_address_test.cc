#include "load/own_address.h"

#include <gmock/gmock.h>

namespace rpcrdma::cli {
namespace {

using testing::HasSubstr;

TEST(OwnAddress, OfAnInterfaceAndOfANetwork) {
  EXPECT_EQ(own_address("lo").value_or(""), "127.0.0.1");
  EXPECT_EQ(own_address("127.0.0.0/8").value_or(""), "127.0.0.1");
  EXPECT_EQ(own_address("127.0.0.1/32").value_or(""), "127.0.0.1");
}

TEST(OwnAddress, NoneIsAnError) {
  for (const char* const network : {"127.0.0.2/32", "198.51.100.0/24", "nosuch0", "127.0.0.0/33"}) {
    const auto address = own_address(network);
    ASSERT_FALSE(address) << network;
    EXPECT_THAT(address.error(), HasSubstr(std::string("--network ") + network));
  }
}

}  // namespace
}  // namespace rpcrdma::cli
