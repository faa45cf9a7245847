#include "stream_feed.h"

#include "capture_for_tests.h"
#include "pcap_reader.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

// Counts up byte by byte in pieces of an odd size, then ends or fails.
class Counting final : public ByteStream {
 public:
  Counting(std::size_t size, bool fails) : size_(size), fails_(fails) {}
  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    const std::size_t n = std::min({out.size(), std::size_t{9973}, size_ - at_});
    if (n == 0 && fails_) return fail("cannot read: broken");
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(at_++);
    return n;
  }
  std::uint64_t stored() const override { return at_; }

 private:
  std::size_t size_;
  bool fails_;
  std::size_t at_ = 0;
};

TEST(StreamFeed, PiecesOfAllSizesAreContiguous) {
  constexpr std::size_t kSize = 5'000'000;
  StreamFeed feed(std::make_unique<Counting>(kSize, false));
  std::size_t at = 0;
  for (std::size_t n = 1; at + n <= kSize; n = n * 3 % 700'001) {
    const std::uint8_t* const p = feed.need(n);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(feed.offset(), at);
    for (std::size_t i = 0; i < n; i += 997) ASSERT_EQ(p[i], static_cast<std::uint8_t>(at + i));
    ASSERT_EQ(p[n - 1], static_cast<std::uint8_t>(at + n - 1));
    feed.advance(n);
    at += n;
  }
  EXPECT_EQ(feed.need(kSize), nullptr);
  EXPECT_EQ(feed.available(), kSize - at);
}

TEST(StreamFeed, ReadErrorIsKept) {
  StreamFeed feed(std::make_unique<Counting>(100, true));
  EXPECT_NE(feed.need(100), nullptr);
  EXPECT_EQ(feed.need(101), nullptr);
  EXPECT_EQ(feed.failure(), "cannot read: broken");
}

TEST(StreamFeed, StoppedFeedHasNoMore) {
  StreamFeed feed(std::make_unique<Counting>(100, false));
  EXPECT_NE(feed.need(10), nullptr);
  feed.stop();
  EXPECT_EQ(feed.need(1), nullptr);
  EXPECT_EQ(feed.available(), 0u);
}

// A capture whose stream fails after the first record.
class FailsAfter final : public ByteStream {
 public:
  explicit FailsAfter(ByteVector bytes) : bytes_(std::move(bytes)) {}
  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    if (bytes_.empty()) return fail("cannot read: broken");
    std::copy(bytes_.begin(), bytes_.end(), out.begin());
    const std::size_t n = bytes_.size();
    bytes_.clear();
    return n;
  }
  std::uint64_t stored() const override { return 0; }

 private:
  ByteVector bytes_;
};

TEST(StreamFeed, ReadErrorIsAnErrorOfTheSource) {
  auto feed = std::make_unique<StreamFeed>(
      std::make_unique<FailsAfter>(Writer{}.pcap_header() + Writer{}.record(1, 2, {3})));
  ASSERT_NE(feed->need(4), nullptr);
  const Walk w = walk(PcapReader::open(std::move(feed), kPcapMicroseconds, {}, "pipe", 0));
  EXPECT_EQ(w.frames.size(), 1u);
  EXPECT_EQ(w.error, "pipe: cannot read: broken");
}

}  // namespace
}  // namespace rpcrdma::capture
