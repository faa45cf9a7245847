// Tests that a stream read ahead in a thread has the bytes, the end and the errors of the stream.
#include "read_ahead.h"

#include <algorithm>
#include <new>

#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

enum class End : std::uint8_t { kProper, kDamaged, kError, kNoMemory };

std::uint8_t byte_at(std::size_t at) {
  return static_cast<std::uint8_t>(at ^ at >> 8 ^ at >> 16);
}

class Numbers final : public ByteStream {
 public:
  Numbers(std::size_t size, End end) : size_(size), end_(end) {}
  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    const std::size_t n = std::min({out.size(), std::size_t{99'731}, size_ - at_});
    for (std::size_t i = 0; i < n; ++i) out[i] = byte_at(at_++);
    if (n != 0) return n;
    if (end_ == End::kNoMemory) throw std::bad_alloc();
    if (end_ == End::kError) return fail("cannot read: broken");
    if (end_ == End::kDamaged) {
      damage_ = "damaged";
      cut_short_ = true;
    }
    return std::size_t{0};
  }
  std::uint64_t stored() const override { return at_ / 2; }

 private:
  std::size_t size_;
  End end_;
  std::size_t at_ = 0;
};

constexpr std::size_t kLarge = 9'000'001;  // more than all blocks

std::size_t drain(ReadAhead& stream, Expected<std::size_t>& last) {
  std::vector<std::uint8_t> out(70'001);
  std::size_t at = 0;
  for (;;) {
    last = stream.read(out);
    if (!last || *last == 0) return at;
    for (std::size_t i = 0; i < *last; ++i) {
      if (out[i] != byte_at(at + i)) return at + i;
    }
    at += *last;
    EXPECT_LE(stream.stored(), at / 2);
  }
}

TEST(ReadAhead, SmallAndLargeStreamsAreWhole) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1000}, kLarge}) {
    ReadAhead stream(std::make_unique<Numbers>(size, End::kProper));
    Expected<std::size_t> last;
    EXPECT_EQ(drain(stream, last), size);
    EXPECT_EQ(last.value_or(1), 0U);
    EXPECT_EQ(stream.damage(), "");
    EXPECT_EQ(stream.stored(), size / 2);
    EXPECT_EQ(stream.read({}).value_or(1), 0U);  // and again
  }
}

TEST(ReadAhead, DamageAndErrorsComeBehindAllBytes) {
  for (const std::size_t size : {std::size_t{1000}, kLarge}) {
    ReadAhead damaged(std::make_unique<Numbers>(size, End::kDamaged));
    ReadAhead broken(std::make_unique<Numbers>(size, End::kError));
    Expected<std::size_t> last;
    EXPECT_EQ(drain(damaged, last), size);
    EXPECT_EQ(last.value_or(1), 0U);
    EXPECT_EQ(damaged.damage(), "damaged");
    EXPECT_TRUE(damaged.cut_short());
    EXPECT_EQ(drain(broken, last), size);
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().message, "cannot read: broken");
  }
}

TEST(ReadAhead, MissingMemoryIsTheReaders) {
  for (const std::size_t size : {std::size_t{1000}, kLarge}) {
    ReadAhead stream(std::make_unique<Numbers>(size, End::kNoMemory));
    Expected<std::size_t> last;
    EXPECT_THROW(drain(stream, last), std::bad_alloc);
  }
}

// The thread waits for room, and nobody makes any.
TEST(ReadAhead, AbandonedStreamEnds) {
  ReadAhead stream(std::make_unique<Numbers>(kLarge, End::kProper));
  std::vector<std::uint8_t> out(2 << 20);
  std::size_t got = 0;
  while (got < out.size()) got += stream.read(std::span(out).subspan(got)).value();
  EXPECT_EQ(out.back(), byte_at(out.size() - 1));
}

// More at once than get a thread.
TEST(ReadAhead, ManyStreamsAtOnceAreWhole) {
  std::vector<std::unique_ptr<ReadAhead>> streams;
  std::vector<std::uint8_t> out(2 << 20);
  for (int i = 0; i < 40; ++i) {
    auto& stream = streams.emplace_back(
        std::make_unique<ReadAhead>(std::make_unique<Numbers>(out.size(), End::kProper)));
    std::size_t got = 0;
    while (got < out.size()) {
      const auto n = stream->read(std::span(out).subspan(got));
      ASSERT_TRUE(n);
      got += *n;
    }
    ASSERT_EQ(out.back(), byte_at(out.size() - 1)) << i;
  }
}

}  // namespace
}  // namespace rpcrdma::capture
