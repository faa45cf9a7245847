#include "inflate.h"

#include "compress_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns a few bytes at a time, as a slow pipe does.
class Trickle final : public ByteStream {
 public:
  Trickle(ByteVector bytes, std::size_t step) : bytes_(std::move(bytes)), step_(step) {}
  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    const std::size_t n = std::min({out.size(), step_, bytes_.size() - at_});
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), n, out.begin());
    at_ += n;
    return n;
  }
  std::uint64_t stored() const override { return at_; }

 private:
  ByteVector bytes_;
  std::size_t step_;
  std::size_t at_ = 0;
};

using Inflate = std::unique_ptr<ByteStream> (*)(std::unique_ptr<ByteStream>);

struct Inflated {
  ByteVector bytes;
  std::string damage;
  bool cut_short;
};

Inflated inflate(Inflate how, ByteVector compressed, std::size_t in_step, std::size_t out_step) {
  const auto stream = how(std::make_unique<Trickle>(std::move(compressed), in_step));
  ByteVector all;
  ByteVector piece(out_step);
  for (;;) {
    const auto n = stream->read(piece);
    EXPECT_TRUE(n);
    if (!n || *n == 0) break;
    all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(*n));
  }
  return {all, stream->damage(), stream->cut_short()};
}

ByteVector sample() {
  ByteVector bytes = read_all(real_capture("linux-deleg.pcap"));
  return bytes;
}

struct Codec {
  const char* name;
  Inflate inflate;
  ByteVector (*compress)(const ByteVector&);
};

void PrintTo(const Codec& c, std::ostream* out) {
  *out << c.name;
}

class InflateTest : public ::testing::TestWithParam<Codec> {};

TEST_P(InflateTest, AnyPieceSizes) {
  const ByteVector plain = sample();
  const ByteVector compressed = GetParam().compress(plain);
  for (const std::size_t in : {std::size_t{1}, std::size_t{7}, std::size_t{65536}}) {
    for (const std::size_t out : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
      const Inflated r = inflate(GetParam().inflate, compressed, in, out);
      EXPECT_EQ(r.bytes, plain) << in << " in, " << out << " out";
      EXPECT_THAT(r.damage, IsEmpty());
    }
  }
}

TEST_P(InflateTest, PartsFollowEachOther) {
  const ByteVector plain = sample();
  const ByteVector one = GetParam().compress(plain);
  for (const std::size_t in : {std::size_t{1}, std::size_t{65536}}) {
    const Inflated r = inflate(GetParam().inflate, one + GetParam().compress({}) + one, in, 4096);
    EXPECT_EQ(r.bytes, plain + plain);
    EXPECT_THAT(r.damage, IsEmpty());
  }
}

TEST_P(InflateTest, CutAnywhereGivesAPrefixAndSaysSo) {
  const ByteVector plain = sample();
  const ByteVector whole = GetParam().compress(plain);
  for (std::size_t size = 5; size < whole.size(); size += 97) {
    const Inflated r =
        inflate(GetParam().inflate,
                {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, 65536, 4096);
    ASSERT_LE(r.bytes.size(), plain.size());
    EXPECT_TRUE(std::equal(r.bytes.begin(), r.bytes.end(), plain.begin()));
    EXPECT_TRUE(r.cut_short) << size;
    EXPECT_THAT(r.damage, HasSubstr("ends too early"));
  }
}

TEST_P(InflateTest, GarbageBehindTheDataIsReported) {
  const ByteVector plain = sample();
  const Inflated r = inflate(GetParam().inflate,
                             GetParam().compress(plain) + from_hex("deadbeefdead"), 65536, 4096);
  EXPECT_EQ(r.bytes, plain);
  EXPECT_FALSE(r.cut_short);
  EXPECT_FALSE(r.damage.empty());
}

ByteVector gzip_of(const ByteVector& bytes) {
  return gzip(bytes);
}

INSTANTIATE_TEST_SUITE_P(Codecs, InflateTest,
                         ::testing::Values(Codec{"gzip", inflate_gzip, gzip_of},
                                           Codec{"zstd", inflate_zstd, zstd},
                                           Codec{"xz", inflate_xz, xz},
                                           Codec{"bzip2", inflate_bzip2, bzip2},
                                           Codec{"lz4", inflate_lz4, lz4}),
                         [](const auto& instance) { return std::string(instance.param.name); });

// RFC 1952 and RFC 1951 by hand: a header with a file name, and one stored block that says "hi".
TEST(Gzip, StoredBlockWithFileName) {
  const ByteVector bytes = from_hex(
      "1f8b 08 08 00000000 00 03 6100"
      "01 0200 fdff 6869"
      "acec33d8 02000000");  // CRC-32 of "hi" is 0xd8932aac
  EXPECT_THAT(inflate(inflate_gzip, bytes, 1, 100).damage, HasSubstr("wrong checksum"));
  const ByteVector good = from_hex(
      "1f8b 08 08 00000000 00 03 6100"
      "01 0200 fdff 6869"
      "ac2a93d8 02000000");
  const Inflated r = inflate(inflate_gzip, good, 1, 100);
  EXPECT_EQ(r.bytes, from_hex("6869"));
  EXPECT_THAT(r.damage, IsEmpty());
}

// Preset 9 has a dictionary of 64 MiB, the largest that xz(1) chooses by itself.
TEST(Xz, LargestPreset) {
  const ByteVector plain = sample();
  EXPECT_EQ(inflate(inflate_xz, xz_with(plain, 64 << 20), 65536, 4096).bytes, plain);
}

TEST(Xz, MemoryIsBounded) {
  const Inflated r = inflate(inflate_xz, xz_with(sample(), 1U << 30), 65536, 4096);
  EXPECT_THAT(r.bytes, IsEmpty());
  EXPECT_THAT(r.damage, HasSubstr("needs more than 192 MiB of memory"));
}

TEST(Gzip, ZerosBehindTheDataArePadding) {
  const Inflated r = inflate(inflate_gzip, gzip({1, 2, 3}) + ByteVector(100, 0), 7, 100);
  EXPECT_EQ(r.bytes, (ByteVector{1, 2, 3}));
  EXPECT_THAT(r.damage, IsEmpty());
}

}  // namespace
}  // namespace rpcrdma::capture
