// Tests that frames stay readable while the window moves over a file.
#include "window_file.h"

#include "capture_for_tests.h"
#include "compress_for_tests.h"

#include <algorithm>
#include <deque>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::size_t pages = 0;
  std::size_t resident = 0;
  in >> pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Records of `bytes` each (headers included) up to `size`; all but the headers is a hole.
void write_sparse(const std::string& path, std::size_t bytes, std::size_t size) {
  const Writer le;
  std::ofstream out(path, std::ios::binary);
  const auto put = [&](const ByteVector& v) {
    out.write(reinterpret_cast<const char*>(v.data()), static_cast<std::streamsize>(v.size()));
  };
  put(le.pcap_header(0xa1b2c3d4, 1, 262144));
  std::size_t at = 24;
  while (at + bytes <= size) {
    put(le.u32(1) + le.u32(2) + le.u32(bytes - 16) + le.u32(bytes - 16) + ByteVector(64, 0xee));
    at += bytes;
    out.seekp(static_cast<std::streamoff>(at));
  }
  out.flush();
  ASSERT_TRUE(out.good());
  out.close();
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(at)), 0);
}

// Reads a file in which each frame repeats one byte. After each call of next(), checks all frames
// that must still be readable. Returns the number of frames.
std::uint64_t walk_while_frames_stay(const std::string& path) {
  struct Given {
    std::span<const std::uint8_t> data;
    std::uint8_t content;
    std::uint64_t end;
  };
  const auto source = open_file(path);
  if (!source || !(*source)->frames_stay()) return 0;
  std::deque<Given> given;
  std::uint64_t passed = 0;
  Frame frame;
  while ((*source)->next(frame).value()) {
    while (!given.empty() && passed - given.front().end > kReadableBehind) given.pop_front();
    // The oldest are overwritten first.
    for (std::size_t i = 0; i < std::min<std::size_t>(given.size(), 3); ++i) {
      EXPECT_EQ(given[i].data.front(), given[i].content) << frame.number;
      EXPECT_EQ(given[i].data.back(), given[i].content) << frame.number;
    }
    EXPECT_GE(frame.room, frame.data.size());
    passed += frame.room;
    given.push_back({frame.data, frame.data.front(), passed});
  }
  return (*source)->stats().frames;
}

TEST(WindowFile, ResidentMemoryDoesNotGrowWithTheFile) {
  TempFolder folder;
  const std::string path = folder.path("large.pcap");
  write_sparse(path, 100'000, 300 * kMiB);
  auto source = open_file(path);
  ASSERT_TRUE(source);
  const std::size_t before = resident_bytes();
  std::size_t most = before;
  std::uint64_t sum = 0;
  Frame frame;
  while ((*source)->next(frame).value()) {
    for (std::size_t i = 0; i < frame.data.size(); i += 4096) sum += frame.data[i];
    if (frame.number % 16 == 0) most = std::max(most, resident_bytes());
  }
  EXPECT_EQ((*source)->stats().frames, 300 * kMiB / 100'000);
  EXPECT_EQ(sum, (*source)->stats().frames * 0xee);
  // The readable bytes behind the cursor, the steps, and a huge page in use.
  EXPECT_LT(most - before, kReadableBehind + 2 * kMiB + 2 * kMiB);
}

TEST(WindowFile, RecordsAcrossStepsAreWhole) {
  TempFolder folder;
  ByteVector bytes = Writer{}.pcap_header();
  std::uint32_t seed = 1;
  while (bytes.size() < 6 * kMiB) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t size = 1 + (seed >> 14);  // up to 256 KiB
    bytes = std::move(bytes) + Writer{}.record(seed, 1, ByteVector(size, std::uint8_t(seed >> 8)));
  }
  const Walk read = walk(open_file(folder.file("a.pcap", bytes)));
  const Walk memory = walk_memory(bytes);
  ASSERT_EQ(read.frames.size(), memory.frames.size());
  for (std::size_t i = 0; i < read.frames.size(); ++i) {
    EXPECT_EQ(read.frames[i].data, memory.frames[i].data);
  }
  EXPECT_THAT(read.stats.damage, IsEmpty());
}

// Holds for all record lengths, however often the window wraps.
TEST(WindowFile, FramesStayForAWhile) {
  TempFolder folder;
  const std::string path = folder.path("various.pcap");
  std::vector<std::size_t> sizes;
  {
    const Writer le;
    std::ofstream out(path, std::ios::binary);
    const auto put = [&](const ByteVector& v) {
      out.write(reinterpret_cast<const char*>(v.data()), static_cast<std::streamsize>(v.size()));
    };
    put(le.pcap_header(0xa1b2c3d4, 1, 64 << 20));
    std::uint32_t seed = 7;
    for (std::size_t total = 0; total < 80 * kMiB; total += sizes.back()) {
      seed = seed * 1664525 + 1013904223;
      // Occasionally a record longer than the window is designed for.
      const std::size_t most = seed % 97 == 0 ? 12 * kMiB : seed % 13 == 0 ? kMiB : 2000;
      sizes.push_back(1 + (seed >> 8) % most);
      put(le.record(1, 2, ByteVector(sizes.back(), static_cast<std::uint8_t>(sizes.size()))));
    }
  }
  EXPECT_EQ(walk_while_frames_stay(path), sizes.size());
}

// Blocks that are not packets, of any length and number.
TEST(WindowFile, FramesStayWhateverIsSkippedBehindThem) {
  TempFolder folder;
  const Writer le;
  ByteVector bytes = le.section() + le.interface();
  std::uint32_t seed = 3;
  std::size_t packets = 0;
  while (bytes.size() < 60 * kMiB) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t most = seed % 7 == 0 ? 3 * kMiB : seed % 5 == 0 ? 500'000 : 2000;
    bytes = std::move(bytes) + le.block(0x0bad, ByteVector((seed >> 8) % most, 0xcc));
    if (seed % 3 == 0) continue;
    ++packets;
    bytes =
        std::move(bytes) +
        le.packet(0, seed, ByteVector(1 + (seed >> 12) % 3000, static_cast<std::uint8_t>(seed)));
  }
  EXPECT_EQ(walk_while_frames_stay(folder.file("a.pcapng", bytes)), packets);
}

TEST(WindowFile, FramesStayWhileRecordsAreLookedFor) {
  TempFolder folder;
  const Writer le;
  ByteVector bytes = le.pcap_header();
  for (std::uint8_t part = 1; part < 4; ++part) {
    for (int i = 0; i < 100; ++i) bytes = std::move(bytes) + le.record(1, 2, ByteVector(100, part));
    bytes.resize(bytes.size() + 12 * kMiB, 0xff);
  }
  EXPECT_EQ(walk_while_frames_stay(folder.file("a.pcap", bytes)), 300U);
}

// The window over what a file decompresses to keeps frames as long as that over a file.
TEST(WindowStream, FramesOfCompressedFilesStayForAWhile) {
  TempFolder folder;
  const Writer le;
  ByteVector bytes = le.pcap_header();
  std::uint32_t seed = 11;
  std::size_t records = 0;
  while (bytes.size() < 24 * kMiB) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t most = seed % 31 == 0 ? 250'000 : 60'000;
    const ByteVector record =
        le.record(1, 2, ByteVector(1 + (seed >> 8) % most, static_cast<std::uint8_t>(++records)));
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  EXPECT_EQ(walk_while_frames_stay(folder.file("a.pcap.gz", gzip(bytes))), records);
  EXPECT_EQ(walk_while_frames_stay(folder.file("a.pcap.zst", zstd(bytes))), records);
}

TEST(WindowFile, FileThatBecomesShorterEndsThere) {
  TempFolder folder;
  const std::string path = folder.path("shrinking.pcap");
  write_sparse(path, 10'000, 20 * kMiB);
  auto source = open_file(path);
  ASSERT_TRUE(source);
  Frame frame;
  ASSERT_TRUE((*source)->next(frame).value());
  ASSERT_EQ(::truncate(path.c_str(), 5 * kMiB), 0);
  while ((*source)->next(frame).value()) {
  }
  EXPECT_LE((*source)->stats().frames, 5 * kMiB / 10'000);
  EXPECT_GE((*source)->stats().frames, 3 * kMiB / 10'000);
  EXPECT_TRUE((*source)->stats().cut_short);
  EXPECT_THAT((*source)->stats().damage, HasSubstr("was truncated"));
}

TEST(WindowFile, FileThatGrowsEndsWhereItDid) {
  TempFolder folder;
  const Writer le;
  const std::string path = folder.file("growing.pcap", le.pcap_header() + le.record(1, 2, {1}));
  auto source = open_file(path);
  ASSERT_TRUE(source);
  {
    std::ofstream out(path, std::ios::binary | std::ios::app);
    out << std::string(100, 'x');
  }
  const Walk w = walk(std::move(source));
  EXPECT_EQ(w.frames.size(), 1u);
  EXPECT_THAT(w.stats.damage, IsEmpty());
}

}  // namespace
}  // namespace rpcrdma::capture
