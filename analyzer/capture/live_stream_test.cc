#include "capture_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <rpcrdma/capture/live_stream.h>

namespace rpcrdma::capture {
namespace {

class LiveStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    endpoint_ = base::FileDescriptor(ends[0]);
    stream_ = std::make_unique<LiveStream>(base::FileDescriptor(ends[1]));
  }
  void send(const ByteVector& bytes) const {
    ASSERT_EQ(::write(endpoint_.get(), bytes.data(), bytes.size()), std::ssize(bytes));
  }
  std::vector<ByteVector> read() {
    std::vector<ByteVector> all;
    stream_->read([&](const Frame& f) { all.emplace_back(f.data.begin(), f.data.end()); });
    return all;
  }

  base::FileDescriptor endpoint_;
  std::unique_ptr<LiveStream> stream_;
};

TEST_F(LiveStreams, GivesEachFrameWhenItIsWholeAndDoesNotWait) {
  const Writer le;
  EXPECT_TRUE(read().empty());
  const ByteVector head = le.section() + le.interface(252) + le.packet(0, 1, {1, 2});
  const ByteVector next = le.packet(0, 2, {3, 4, 5});
  send(head);
  EXPECT_EQ(read(), std::vector<ByteVector>({{1, 2}}));
  send(ByteVector(next.begin(), next.begin() + 10));
  EXPECT_TRUE(read().empty());
  send(ByteVector(next.begin() + 10, next.end()));
  EXPECT_EQ(read(), std::vector<ByteVector>({{3, 4, 5}}));
  EXPECT_GE(stream_->fd(), 0);
}

TEST_F(LiveStreams, AnEndOfTheEndpointIsNoError) {
  const Writer le;
  send(le.section() + le.interface(252) + le.packet(0, 1, {1}));
  endpoint_.reset();
  EXPECT_EQ(read().size(), 1u);
  EXPECT_TRUE(read().empty());
  EXPECT_EQ(stream_->fd(), -1);
  EXPECT_EQ(stream_->why(), "");
}

TEST_F(LiveStreams, WhatIsNoPcapngEndsItWithAReason) {
  send(ByteVector(64, 0x55));
  EXPECT_TRUE(read().empty());
  EXPECT_EQ(stream_->fd(), -1);
  EXPECT_NE(stream_->why(), "");
}

TEST_F(LiveStreams, FramesAreCountedOverAllReads) {
  const Writer le;
  send(le.section() + le.interface(252) + le.packet(0, 1, {1}));
  read();
  send(le.packet(0, 2, {2}) + le.packet(0, 3, {3}));
  std::vector<std::uint64_t> numbers;
  stream_->read([&](const Frame& f) { numbers.push_back(f.number); });
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(stream_->frames(), 3u);
}

TEST_F(LiveStreams, SaysThatItEndedWithinABlock) {
  const Writer le;
  const ByteVector packet = le.packet(0, 1, {1});
  send(le.section() + le.interface(252) + packet + ByteVector(packet.begin(), packet.begin() + 9));
  endpoint_.reset();
  read();
  EXPECT_FALSE(stream_->cut_short());
  read();
  EXPECT_EQ(stream_->fd(), -1);
  EXPECT_TRUE(stream_->cut_short());
}

TEST_F(LiveStreams, ASilentOneEndsWhenItsTimeIsOver) {
  ASSERT_TRUE(stream_->deadline());
  stream_->expire(*stream_->deadline() - std::chrono::nanoseconds(1));
  EXPECT_GE(stream_->fd(), 0);
  stream_->expire(*stream_->deadline());
  EXPECT_EQ(stream_->fd(), -1);
  EXPECT_EQ(stream_->why(), "it does not answer");
}

TEST_F(LiveStreams, AFrameThatNoEndpointSendsEndsIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  endpoint_ = base::FileDescriptor(ends[0]);
  stream_ = std::make_unique<LiveStream>(base::FileDescriptor(ends[1]), [](const Frame& f) {
    return f.data.front() == 2 ? "it is two" : nullptr;
  });
  const Writer le;
  send(le.section() + le.interface(252) + le.packet(0, 1, {1}) + le.packet(0, 2, {2}) +
       le.packet(0, 3, {3}));
  EXPECT_EQ(read(), std::vector<ByteVector>({{1}}));
  EXPECT_EQ(stream_->fd(), -1);
  EXPECT_EQ(stream_->why(), "it is two");
}

// An endless stream of interfaces is not stored beyond the number that an endpoint has.
TEST_F(LiveStreams, InterfacesWithoutEndEndIt) {
  const Writer le;
  send(le.section());
  for (int i = 0; i < 1000 && stream_->fd() >= 0; ++i) {
    send(le.interface(252));
    EXPECT_TRUE(read().empty());
  }
  EXPECT_EQ(stream_->fd(), -1);
  EXPECT_NE(stream_->why(), "");
}

}  // namespace
}  // namespace rpcrdma::capture
