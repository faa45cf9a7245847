#include <array>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <rpcrdma/live/stream_reader.h>

namespace rpcrdma::trace {
namespace {

using Bytes = std::vector<std::uint8_t>;

class StreamReaders : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    endpoint_ = base::FileDescriptor(ends[0]);
    socket_ = base::FileDescriptor(ends[1]);
  }
  // Takes until the stream ends; `most`: the largest number of bytes at once.
  static Bytes take_all(StreamReader& reader, std::size_t& most) {
    Bytes all, some;
    for (most = 0; !reader.ended(); most = std::max(most, some.size())) {
      reader.take(some, std::nullopt);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  base::FileDescriptor endpoint_, socket_;
};

TEST_F(StreamReaders, GiveAllBytesInOrderAndHoldFewerThanTheLimit) {
  constexpr std::size_t kMost = std::size_t{256} << 10, kAtOnce = std::size_t{256} << 10;
  Bytes sent(8 * kMost);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::uint8_t>(i * i >> 5U);
  const auto reader = StreamReader::start(socket_.get(), kMost);
  ASSERT_TRUE(reader);
  std::thread endpoint([&] {
    for (std::size_t at = 0; at < sent.size();) {
      const ssize_t n = ::send(endpoint_.get(), &sent[at], sent.size() - at, MSG_NOSIGNAL);
      if (n <= 0) break;
      at += static_cast<std::size_t>(n);
    }
    endpoint_.reset();
  });
  std::size_t most = 0;
  EXPECT_EQ(take_all(**reader, most), sent);
  EXPECT_LT(most, kMost + kAtOnce);
  EXPECT_EQ((*reader)->error(), 0);
  endpoint.join();
}

TEST_F(StreamReaders, StopReadingWhenTooManyBytesWait) {
  const auto reader = StreamReader::start(socket_.get(), 1);
  ASSERT_TRUE(reader);
  const Bytes piece(1000);
  // The first bytes wait in the reader; a socket that nobody reads takes only so many more.
  ASSERT_EQ(::send(endpoint_.get(), piece.data(), piece.size(), 0), std::ssize(piece));
  Bytes some;
  (*reader)->take(some, std::nullopt);
  EXPECT_EQ(some, piece);
  constexpr std::size_t kMany = std::size_t{64} << 20;
  std::size_t sent = 0;
  timeval patience{.tv_sec = 0, .tv_usec = 200'000};
  ASSERT_EQ(::setsockopt(endpoint_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience), 0);
  while (sent < kMany) {
    const ssize_t n = ::send(endpoint_.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
    if (n < 0) break;
    sent += static_cast<std::size_t>(n);
  }
  EXPECT_LT(sent, kMany);
}

TEST_F(StreamReaders, ADeadlineEndsTheWait) {
  const auto reader = StreamReader::start(socket_.get());
  ASSERT_TRUE(reader);
  Bytes some(1);
  (*reader)->take(some, StreamReader::Clock::now());
  EXPECT_TRUE(some.empty());
  EXPECT_FALSE((*reader)->ended());
}

TEST_F(StreamReaders, AreDestroyedWhileTheStreamIsSilent) {
  EXPECT_TRUE(StreamReader::start(socket_.get()));
}

TEST_F(StreamReaders, AShutdownOfTheSocketEndsTheStream) {
  const auto reader = StreamReader::start(socket_.get());
  ASSERT_TRUE(reader);
  ASSERT_EQ(::shutdown(socket_.get(), SHUT_RD), 0);
  std::size_t most = 0;
  EXPECT_TRUE(take_all(**reader, most).empty());
}

TEST_F(StreamReaders, StateWhyReadingFailed) {
  const base::FileDescriptor unconnected(::socket(AF_UNIX, SOCK_STREAM, 0));
  const auto reader = StreamReader::start(unconnected.get());
  ASSERT_TRUE(reader);
  std::size_t most = 0;
  EXPECT_TRUE(take_all(**reader, most).empty());
  EXPECT_NE((*reader)->error(), 0);
}

}  // namespace
}  // namespace rpcrdma::trace
