#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/fabric/rejection.h>

namespace rpcrdma::fabric {
namespace {

// The private data of a rejection has a fixed length, whatever its text.
std::string rejected(std::uint16_t reason, std::string_view words = {}) {
  std::vector<std::uint8_t> private_data(words.begin(), words.end());
  private_data.resize(64);
  return rejection(reason, private_data);
}

TEST(Rejection, ShowsTheReasonInWordsAndWhatThePeerSays) {
  EXPECT_EQ(rejected(28, "too many connections"),
            "reason 28 (consumer reject): too many connections");
  EXPECT_EQ(rejected(28), "reason 28 (consumer reject)");
  EXPECT_EQ(rejected(8), "reason 8 (invalid service ID): no listener on that port");
  EXPECT_EQ(rejected(26, "\x01\x02"), "reason 26 (invalid path MTU)");
  EXPECT_EQ(rejection(999), "reason 999 (unknown)");
}

}  // namespace
}  // namespace rpcrdma::fabric
