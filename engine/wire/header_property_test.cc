// Properties of every header, checked with thousands of random ones from a fixed seed.
#include "support/wire_bytes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::wire {
namespace {

constexpr int kHeaders = 4000;

// A header and the memory that it points to.
struct OwnedHeader {
  Header header;
  std::vector<ReadSegment> reads;
  std::vector<std::vector<Segment>> chunks;
  std::vector<WriteChunk> writes;
  std::vector<Segment> reply;
  std::vector<std::uint8_t> optinfo;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  // Small values and the ends of the range are as frequent as all others together.
  std::uint32_t word() {
    switch (below(4)) {
      case 0:
        return below(8);
      case 1:
        return UINT32_MAX - below(4);
      default:
        return static_cast<std::uint32_t>(random_());
    }
  }

  std::unique_ptr<OwnedHeader> header() {
    auto h = std::make_unique<OwnedHeader>();
    Header& out = h->header;
    out.xid = word();
    out.vers = 1 + below(2);
    out.credit = word();
    constexpr Proc kOne[] = {Proc::kMsg, Proc::kNomsg, Proc::kMsgp, Proc::kDone, Proc::kError};
    constexpr Proc kTwo[] = {Proc::kMsg, Proc::kNomsg, Proc::kError, Proc::kOptional};
    out.proc = out.vers == 1 ? kOne[below(5)] : kTwo[below(4)];
    out.direction = static_cast<MsgType>(below(2));
    out.inv_handle = word();
    out.align = word();
    out.thresh = word();
    out.error = static_cast<RdmaErr>(1 + below(out.vers == 1 ? 2 : 5));
    out.vers_low = word();
    out.vers_high = word();
    out.processed = below(2) == 1;
    out.segment_index = word();
    out.length_needed = word();
    out.opttype = word();
    add_lists(*h);
    h->optinfo.resize(below(40));
    for (std::uint8_t& byte : h->optinfo) byte = static_cast<std::uint8_t>(random_());
    out.optinfo = h->optinfo;
    return h;
  }

 private:
  Segment segment() { return {word(), word(), random_()}; }

  std::vector<Segment> segments() {
    std::vector<Segment> out(below(5));
    for (Segment& s : out) s = segment();
    return out;
  }

  void add_lists(OwnedHeader& h) {
    h.reads.resize(below(5));
    for (ReadSegment& read : h.reads) read = {word(), segment()};
    h.header.reads = h.reads;
    h.chunks.resize(below(4));
    for (auto& chunk : h.chunks) chunk = segments();
    h.writes.assign(h.chunks.begin(), h.chunks.end());
    h.header.writes = h.writes;
    h.reply = segments();
    if (below(2) == 1) h.header.reply = WriteChunk(h.reply);
  }

  std::mt19937_64 random_;
};

std::vector<std::uint8_t> encoded_whole(const Header& header) {
  std::vector<std::uint8_t> out(encoded_size(header));
  EXPECT_EQ(encode_header(header, out).value_or(0), out.size());
  return out;
}

bool same_chunk(const WriteChunkView& view, const WriteChunk& chunk) {
  return std::equal(view.begin(), view.end(), chunk.begin(), chunk.end());
}

void expect_same_lists(const HeaderView& view, const Header& header) {
  EXPECT_TRUE(
      std::equal(view.reads.begin(), view.reads.end(), header.reads.begin(), header.reads.end()));
  ASSERT_EQ(view.writes.size(), header.writes.size());
  std::size_t i = 0;
  for (const WriteChunkView chunk : view.writes) EXPECT_TRUE(same_chunk(chunk, header.writes[i++]));
  ASSERT_EQ(view.reply.has_value(), header.reply.has_value());
  EXPECT_TRUE(!view.reply || same_chunk(*view.reply, *header.reply));
}

void expect_same_error(const HeaderView& view, const Header& header) {
  EXPECT_EQ(view.error, header.error);
  if (header.error == RdmaErr::kVers) {
    EXPECT_EQ(view.vers_low, header.vers_low);
    EXPECT_EQ(view.vers_high, header.vers_high);
  }
  if (header.error == RdmaErr::kCantReply) {
    EXPECT_EQ(view.processed, header.processed);
    EXPECT_EQ(view.segment_index, header.segment_index);
    EXPECT_EQ(view.length_needed, header.length_needed);
  }
}

// Fields that the version and type do not carry are not compared.
void expect_same(const HeaderView& view, const Header& header) {
  EXPECT_EQ(view.xid, header.xid);
  EXPECT_EQ(view.vers, header.vers);
  EXPECT_EQ(view.credit, header.credit);
  ASSERT_EQ(view.proc, header.proc);
  switch (header.proc) {
    case Proc::kMsgp:
      EXPECT_EQ(view.align, header.align);
      EXPECT_EQ(view.thresh, header.thresh);
      return expect_same_lists(view, header);
    case Proc::kMsg:
    case Proc::kNomsg:
      if (header.vers == 2) {
        EXPECT_EQ(view.direction, header.direction);
        EXPECT_EQ(view.inv_handle, header.inv_handle);
      }
      return expect_same_lists(view, header);
    case Proc::kDone:
      return;
    case Proc::kError:
      return expect_same_error(view, header);
    case Proc::kOptional:
      EXPECT_EQ(view.direction, header.direction);
      EXPECT_EQ(view.opttype, header.opttype);
      EXPECT_TRUE(std::equal(view.optinfo.begin(), view.optinfo.end(), header.optinfo.begin(),
                             header.optinfo.end()));
      return;
  }
}

TEST(HeaderPropertyTest, WhatIsEncodedDecodesToTheSame) {
  Generator generator(1);
  for (int i = 0; i < kHeaders; ++i) {
    const auto h = generator.header();
    auto bytes = encoded_whole(h->header);
    const std::size_t size = bytes.size();
    bytes.resize(size + generator.below(12), 0xff);
    const auto view = decode_header(bytes);
    ASSERT_TRUE(view) << describe(view.error()) << ", header " << i;
    EXPECT_EQ(view->length, size);
    expect_same(*view, h->header);
    ASSERT_FALSE(HasFailure()) << "header " << i;
  }
}

TEST(HeaderPropertyTest, EveryTruncationIsTruncated) {
  Generator generator(2);
  for (int i = 0; i < kHeaders; ++i) {
    const auto bytes = encoded_whole(generator.header()->header);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // An allocation of exactly this size lets AddressSanitizer detect reads past its end.
      const auto copy = std::make_unique<std::uint8_t[]>(size);
      std::memcpy(copy.get(), bytes.data(), size);
      const auto view = decode_header({copy.get(), size});
      ASSERT_FALSE(view) << size << " of " << bytes.size() << ", header " << i;
      ASSERT_EQ(view.error().code, Errc::kTruncated) << describe(view.error());
      ASSERT_LE(view.error().offset, size);
    }
  }
}

// Reads every element of the views, so that AddressSanitizer checks them, and returns whether they
// lie within the header. The caller uses `sum`, so that no compiler removes the reads.
bool views_lie_within(const HeaderView& view, Bytes message, std::uint64_t& sum) {
  const std::uint8_t* const end = message.data() + view.length;
  for (const ReadSegment read : view.reads) sum += read.target.length;
  for (const WriteChunkView chunk : view.writes) {
    if (chunk.bytes() + chunk.size() * kSegmentBytes > end) return false;
    sum += total_length(chunk);
  }
  if (view.reply) sum += total_length(*view.reply);
  for (const std::uint8_t byte : view.optinfo) sum += byte;
  return view.length <= message.size();
}

TEST(HeaderPropertyTest, EveryWordMayBeCorrupted) {
  Generator generator(3);
  std::uint64_t sum = 0;
  for (int i = 0; i < kHeaders; ++i) {
    const auto bytes = encoded_whole(generator.header()->header);
    const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
    const Bytes message(copy.get(), bytes.size());
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      std::memcpy(copy.get(), bytes.data(), bytes.size());
      store_be32(copy.get() + at, generator.word());
      const auto view = decode_header(message);
      if (view) {
        ASSERT_TRUE(views_lie_within(*view, message, sum)) << "word at " << at << ", header " << i;
      } else {
        ASSERT_LE(view.error().offset, bytes.size());
        ASSERT_STRNE(view.error().rule, "");
      }
    }
  }
  EXPECT_NE(sum, 0U);
}

TEST(HeaderPropertyTest, RandomBytesBehindAnyPrefixAreHarmless) {
  Generator generator(4);
  std::uint64_t sum = 0;
  for (int i = 0; i < 50 * kHeaders; ++i) {
    const std::size_t size = 16 + generator.below(120);
    const auto bytes = std::make_unique<std::uint8_t[]>(size);
    for (std::size_t at = 0; at + 4 <= size; at += 4) {
      store_be32(bytes.get() + at, generator.below(3) == 0 ? generator.word() : generator.below(2));
    }
    store_be32(bytes.get() + 4, 1 + generator.below(2));
    store_be32(bytes.get() + 12, generator.below(6));
    const Bytes message(bytes.get(), size);
    const auto view = decode_header(message);
    ASSERT_TRUE(!view || views_lie_within(*view, message, sum));
  }
  EXPECT_NE(sum, 0U);
}

}  // namespace
}  // namespace rpcrdma::wire
