// Files crafted to be expensive. The tests state the most bytes and allocations that each may cost,
// and check that a file of twice the length costs no more.
#include "compress_for_tests.h"
#include "records_for_tests.h"
#include "support/live_bytes.h"
#include "support/traffic_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;
namespace heap = report::testing;
using heap::many;

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Cost {
  std::size_t peak = 0;  // bytes
  std::size_t allocations = 0;
  std::uint64_t frames = 0;
  std::string damage;
};

Cost cost_of(const std::function<Expected<std::unique_ptr<Source>>()>& open) {
  const heap::Heap before = heap::heap();
  heap::reset_peak();
  Cost cost;
  {
    const auto source = open();
    Frame frame;
    while (source && (*source)->next(frame).value_or(false)) ++cost.frames;
    if (source) cost.damage = (*source)->stats().damage;
  }
  const heap::Heap after = heap::heap();
  cost.peak = after.peak - before.live;
  cost.allocations = after.allocations - before.allocations;
  return cost;
}

Cost cost_of(const ByteVector& bytes) {
  return cost_of([&] { return open_memory(bytes); });
}

ByteVector repeat(const ByteVector& piece, std::size_t count) {
  ByteVector all;
  all.reserve(piece.size() * count);
  for (std::size_t i = 0; i < count; ++i) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

// Reads `piece` a million times after `head`, and then twice as often; neither may exceed the
// limits. A description of the damage may be allocated each time.
void expect_bounded(const ByteVector& head, const ByteVector& piece, std::size_t peak,
                    std::size_t allocations_each = 0) {
  for (const std::size_t count : {many(1000000), many(2000000)}) {
    const Cost cost = cost_of(head + repeat(piece, count));
    EXPECT_LE(cost.peak, peak) << count;
    EXPECT_LE(cost.allocations, 1000 + allocations_each * count) << count;
  }
}

const Writer kWriter;

TEST(HostilePcapng, InterfacesWithoutEnd) {
  expect_bounded(kWriter.section(), kWriter.interface(), 8 * kMiB, 8);
}

TEST(HostilePcapng, SectionsWithoutEnd) {
  expect_bounded({}, kWriter.section() + kWriter.interface() + kWriter.packet(0, 1, {1}), kMiB);
}

TEST(HostilePcapng, BlocksOfNothing) {
  expect_bounded(kWriter.section(), kWriter.block(0xbad, {}), kMiB);
}

TEST(HostilePcapng, OptionsWithoutEnd) {
  const ByteVector options = repeat(kWriter.option(1, {}), 1000000);
  const Cost cost = cost_of(kWriter.section() + kWriter.interface(1, options));
  EXPECT_LE(cost.peak, kMiB);
  EXPECT_LE(cost.allocations, 1000U);
}

TEST(HostilePcapng, BlocksOf4GiB) {
  const ByteVector bad = kWriter.u32(6) + kWriter.u32(0xfffffffc) + kWriter.u32(0);
  expect_bounded(kWriter.section() + kWriter.interface(), bad, kMiB);
}

TEST(HostilePcapng, PacketsOfUnknownInterfaces) {
  expect_bounded(kWriter.section(), kWriter.packet(7, 1, {1}), kMiB, 8);
}

TEST(HostilePcap, RecordsOf4GiB) {
  const ByteVector bad =
      kWriter.u32(0) + kWriter.u32(0) + kWriter.u32(0xffffffff) + kWriter.u32(0xffffffff);
  expect_bounded(kWriter.pcap_header(), bad, kMiB);
}

TEST(HostilePcap, RecordsOfNothing) {
  const ByteVector head = kWriter.pcap_header();
  const Cost cost = cost_of(head + repeat(kWriter.record(0, 0, {}), many(1000000)));
  EXPECT_EQ(cost.frames, many(1000000));
  EXPECT_LE(cost.peak, kMiB);
}

TEST(HostileErf, RecordsOfNothing) {
  const ByteVector record = ErfRecord{.time = erf_time(9), .type = 22, .on_wire = 1}.with({});
  const Cost cost = cost_of(repeat(record, many(1000000)));
  EXPECT_EQ(cost.frames, many(1000000));
  EXPECT_LE(cost.peak, kMiB);
}

TEST(HostileErf, ImpossibleLengths) {
  expect_bounded(repeat(ErfRecord{.time = erf_time(9)}.with({1}), 4), ByteVector(8), kMiB);
}

TEST(HostileSnoop, RecordsOf4GiB) {
  expect_bounded(snoop_header(), ByteVector(24, 0xff), kMiB);
}

// Files of some KiB that inflate to a thousand times their length, and empty parts without end.
TEST(HostileCodecs, MostlyNothing) {
  const ByteVector zeros(64 * kMiB);
  for (const auto compress : {xz, bzip2, lz4}) {
    TempFolder folder;
    const ByteVector bomb = compress(kWriter.pcap_header() + zeros);
    ASSERT_LT(bomb.size(), kMiB);
    const std::string file = folder.file("bomb", bomb);
    const Cost cost = cost_of([&] { return open_file(file); });
    EXPECT_EQ(cost.frames, zeros.size() / 16);
    EXPECT_LE(cost.peak, 16 * kMiB);
  }
}

TEST(HostileCodecs, PartsOfNothing) {
  for (const auto compress : {xz, bzip2, lz4}) {
    TempFolder folder;
    const std::string file = folder.file("empty", repeat(compress({}), 100000));
    const Cost cost = cost_of([&] { return open_file(file); });
    EXPECT_EQ(cost.frames, 0U);
    EXPECT_LE(cost.peak, 16 * kMiB);
  }
}

// A file of some KiB that inflates to a thousand times its length.
TEST(HostileGzip, MostlyNothing) {
  TempFolder folder;
  const ByteVector zeros(64 * kMiB);
  const ByteVector bomb = gzip(kWriter.pcap_header() + zeros);
  ASSERT_LT(bomb.size(), kMiB);
  const std::string file = folder.file("bomb.pcap.gz", bomb);
  const Cost cost = cost_of([&] { return open_file(file); });
  EXPECT_EQ(cost.frames, zeros.size() / 16);
  EXPECT_LE(cost.peak, 8 * kMiB);
}

TEST(HostileGzip, MembersOfNothing) {
  TempFolder folder;
  const std::string file = folder.file("empty.pcap.gz", repeat(gzip({}), 200000));
  const Cost cost = cost_of([&] { return open_file(file); });
  EXPECT_EQ(cost.frames, 0U);
  EXPECT_LE(cost.peak, 8 * kMiB);
}

}  // namespace
}  // namespace rpcrdma::capture
