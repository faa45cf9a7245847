#include "rejection.h"

#include <gtest/gtest.h>

namespace rpcrdma::service {
namespace {

fabric::Event rejected(std::uint16_t reason, std::string_view words = {}) {
  fabric::Event event;
  event.type = fabric::EventType::kRejected;
  event.reject_reason = reason;
  event.private_data.assign(words.begin(), words.end());
  event.private_data.resize(64);
  return event;
}

TEST(Rejection, TellsTheReasonInWordsAndWhatThePeerSays) {
  EXPECT_EQ(rejection(rejected(28, "too many connections")),
            "reason 28 (consumer reject): too many connections");
  EXPECT_EQ(rejection(rejected(28)), "reason 28 (consumer reject)");
  EXPECT_EQ(rejection(rejected(8)), "reason 8 (invalid service ID): nobody listens on that port");
  EXPECT_EQ(rejection(rejected(26, "\x01\x02")), "reason 26 (invalid path MTU)");
  EXPECT_EQ(rejection(rejected(999)), "reason 999 (unknown)");
}

}  // namespace
}  // namespace rpcrdma::service
