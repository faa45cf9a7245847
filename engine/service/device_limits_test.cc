// A client keeps to what its provider can.
#include "../fabric/null_provider_for_tests.h"

#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/service/client.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::service {
namespace {

// Keeps what a client offers, and has no connection for it.
class Limited : public fabric::testing::NullProvider {
 public:
  const fabric::Limits& limits() const override { return all; }
  fabric::Expected<std::unique_ptr<fabric::Connection>> connect(
      const fabric::Address&, std::uint16_t, const fabric::ConnectionOptions& options) override {
    offered.assign(options.private_data.begin(), options.private_data.end());
    return fabric::fail(fabric::Errc::kSystem);
  }

  fabric::Limits all;
  std::vector<std::uint8_t> offered;
};

class DeviceLimits : public ::testing::Test {
 protected:
  struct Ignore : ClientObserver {
    void on_outcome(const protocol::CallOutcome&, std::uint32_t) override {}
  };

  std::unique_ptr<Client> client() { return Client::create(*loop_, {}, ignore_).value(); }

  Limited provider_;
  std::unique_ptr<Loop> loop_ = Loop::create(provider_).value();
  Ignore ignore_;
};

TEST_F(DeviceLimits, SegmentsAreNotLongerThanItsMessages) {
  const std::uint32_t usual = client()->options().max_segment;
  provider_.all.message = usual + 1;
  EXPECT_EQ(client()->options().max_segment, usual);
  provider_.all.message = 8U << 20;
  EXPECT_EQ(client()->options().max_segment, 8U << 20);
}

TEST_F(DeviceLimits, PeersAreToldWhetherTheyMayInvalidate) {
  for (const bool takes : {false, true}) {
    provider_.all.takes_invalidate = takes;
    provider_.offered.clear();
    const auto connecting = client();
    for (int turns = 0; provider_.offered.empty() && turns < 10'000; ++turns) {
      ASSERT_TRUE(loop_->run_once(fabric::kMillisecond));
    }
    const auto told = wire::decode_private_data(provider_.offered);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->remote_invalidation(), takes);
  }
}

}  // namespace
}  // namespace rpcrdma::service
