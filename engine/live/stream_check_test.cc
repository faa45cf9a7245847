#include "make_event.h"

#include <array>

#include <gmock/gmock.h>

#include <rpcrdma/live/hub.h>
#include <rpcrdma/live/stream_check.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {
namespace {

using ::testing::HasSubstr;

class StreamCheckTest : public ::testing::Test {
 protected:
  // Empty if an endpoint would send it.
  template <typename Event>
  std::string take(std::uint32_t ring, const Event& event) {
    return take_bytes(make_event(ring, 0, event));
  }
  std::string take_bytes(std::span<const std::uint8_t> event) {
    std::vector<std::uint8_t> data(kUpperPduTags.begin(), kUpperPduTags.end());
    data.insert(data.end(), event.begin(), event.end());
    const auto view = check_.take(data);
    return view ? "" : view.error();
  }

  StreamCheck check_;
};

TEST_F(StreamCheckTest, AnEndpointsStreamIsTaken) {
  EXPECT_EQ(take(0, Endpoint{}), "");
  for (std::uint32_t ring = 1; ring <= Hub::kMostTracers; ++ring) {
    EXPECT_EQ(take(ring, Invalidate{}), "");
    EXPECT_EQ(take(ring, Loss{1, 0}), "");
  }
  // A type of a later version.
  auto event = make_event(1, 0, Invalidate{});
  event[0] = 0xff;
  EXPECT_EQ(take_bytes(event), "");
}

TEST_F(StreamCheckTest, BeginsWithWhoEmitsAndOnce) {
  EXPECT_THAT(take(1, Invalidate{}), HasSubstr("does not identify its endpoint"));
  EXPECT_EQ(take(0, Endpoint{}), "");
  EXPECT_THAT(take(0, Endpoint{}), HasSubstr("starts a second time"));
}

TEST_F(StreamCheckTest, WhatIsNoEventIsRefused) {
  const auto endpoint = make_event(0, 0, Endpoint{});
  EXPECT_THAT(take_bytes(std::span(endpoint).first(endpoint.size() - 1)),
              HasSubstr("not an endpoint's event"));
  EXPECT_THAT(check_.take(endpoint).error(), HasSubstr("not an endpoint's event"));  // without tags
}

TEST_F(StreamCheckTest, RingsWithoutEndAreRefused) {
  EXPECT_EQ(take(0, Endpoint{}), "");
  EXPECT_THAT(take(Hub::kMostTracers + 1, Loss{2, 1}), HasSubstr("not an endpoint's event"));
}

TEST_F(StreamCheckTest, LossesAreBoundedByWhatElseCame) {
  EXPECT_EQ(take(0, Endpoint{}), "");
  for (int i = 0; i < 9; ++i) EXPECT_EQ(take(1, Invalidate{}), "");
  std::uint64_t taken = 0;
  while (taken < 100'000 && take(1, Loss{taken, taken}).empty()) ++taken;
  EXPECT_EQ(taken, StreamCheck::kMostLosses + 10);
}

TEST_F(StreamCheckTest, OfALiveStreamOnlyEventsAreChecked) {
  const auto check = live_check();
  const std::array<std::uint8_t, 60> packet{};
  base::Frame frame;
  frame.data = packet;
  frame.link = base::LinkType::kEthernet;
  EXPECT_EQ(check(frame), nullptr);
  frame.link = base::LinkType::kUpperPdu;
  EXPECT_NE(check(frame), nullptr);
}

}  // namespace
}  // namespace rpcrdma::trace
