// The order of frames of several live streams.
#include "interleave.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Clock = Interleave::Clock;

class Interleaved : public ::testing::Test {
 protected:
  void add(std::size_t stream, std::int64_t time_ns, bool first = false) {
    capture::Frame frame;
    frame.time_ns = time_ns;
    frame.data = bytes_;
    order_.add(stream, frame, first, now_);
  }
  std::vector<std::int64_t> pass() {
    std::vector<std::int64_t> times;
    order_.pass(now_, [&](const capture::Frame& f) {
      EXPECT_EQ(f.data.size(), bytes_.size());
      times.push_back(f.time_ns);
    });
    return times;
  }

  const std::vector<std::uint8_t> bytes_{1, 2, 3};
  Interleave order_{2};
  Clock::time_point now_;
};

TEST_F(Interleaved, IsByTime) {
  add(0, 10);
  add(0, 30);
  add(1, 20);
  add(1, 40);
  // 40 waits for what stream 0 may still send.
  EXPECT_THAT(pass(), ElementsAre(10, 20, 30));
  add(0, 35);
  EXPECT_THAT(pass(), ElementsAre(35));
  order_.end(0);
  EXPECT_THAT(pass(), ElementsAre(40));
}

TEST_F(Interleaved, WaitsForASilentStreamOnlySoLong) {
  add(0, 10);
  EXPECT_THAT(pass(), IsEmpty());
  ASSERT_TRUE(order_.due());
  now_ = *order_.due() - std::chrono::milliseconds(1);
  EXPECT_THAT(pass(), IsEmpty());
  now_ += std::chrono::milliseconds(1);
  EXPECT_THAT(pass(), ElementsAre(10));
  EXPECT_FALSE(order_.due());
}

TEST_F(Interleaved, BeginsWithWhatWasThereBefore) {
  add(0, 10);
  add(1, 50, true);
  add(1, 60);
  EXPECT_THAT(pass(), ElementsAre(50, 10));
}

TEST_F(Interleaved, DrainsInOrder) {
  add(0, 10);
  add(0, 30);
  add(1, 20);
  std::vector<std::int64_t> times;
  order_.drain([&](const capture::Frame& f) { times.push_back(f.time_ns); });
  EXPECT_THAT(times, ElementsAre(10, 20, 30));
}

}  // namespace
}  // namespace rpcrdma::index
