// Tests of the merged order of several files, and of rings that change while they are read.
#include "file_merge.h"

#include "compress_for_tests.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace rpcrdma::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Stamp {
  std::uint32_t seconds;
  std::uint8_t byte;  // the only byte of the frame
};

ByteVector pcap(const std::vector<Stamp>& frames) {
  const Writer le;
  ByteVector bytes = le.pcap_header();
  for (const Stamp& f : frames) bytes = bytes + le.record(f.seconds, 0, {f.byte});
  return bytes;
}

ByteVector pcapng(const std::vector<Stamp>& frames) {
  const Writer be{.big = true};
  ByteVector bytes = be.section() + be.interface(113);
  for (const Stamp& f : frames) bytes = bytes + be.packet(0, f.seconds * 1000000ULL, {f.byte});
  return bytes;
}

// Returns the frames' bytes in capture order; checks the frame numbers.
std::vector<int> bytes_of(const Walk& w) {
  std::vector<int> bytes;
  for (const Taken& taken : w.frames) {
    bytes.push_back(taken.data.at(0));
    EXPECT_EQ(taken.frame.number, bytes.size());
  }
  EXPECT_EQ(w.stats.frames, bytes.size());
  return bytes;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST(FileMerge, InterleavedByTime) {
  TempFolder folder;
  const Walk w = walk(open_files({folder.file("a", pcap({{10, 1}, {13, 4}, {14, 5}, {20, 8}})),
                                  folder.file("b", pcap({{11, 2}, {12, 3}, {19, 7}})),
                                  folder.file("c", pcap({{15, 6}, {21, 9}}))}));
  EXPECT_THAT(w.error, IsEmpty());
  EXPECT_THAT(bytes_of(w), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(w.stats.bytes_total, 3u * 24 + 9 * 17);
  EXPECT_EQ(w.stats.bytes_read, w.stats.bytes_total);
}

TEST(FileMerge, RingWhoseNamesDoNotSortByTime) {
  TempFolder folder;
  const Walk w = walk(open_files({folder.file("r0", pcap({{30, 5}, {31, 6}})),
                                  folder.file("r1", pcap({{10, 1}, {11, 2}})),
                                  folder.file("r2", pcap({{20, 3}, {21, 4}}))}));
  EXPECT_THAT(bytes_of(w), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(FileMerge, OfEqualTimesTheFileNamedFirst) {
  TempFolder folder;
  const std::string a = folder.file("a", pcap({{10, 1}, {10, 2}, {11, 5}}));
  const std::string b = folder.file("b", pcap({{10, 3}, {10, 4}, {11, 6}}));
  EXPECT_THAT(bytes_of(walk(open_files({a, b}))), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(bytes_of(walk(open_files({b, a}))), ElementsAre(3, 4, 1, 2, 6, 5));
}

TEST(FileMerge, OfEqualTimesTheFileThatBeganFirst) {
  TempFolder folder;
  const std::string a = folder.file("a", pcap({{10, 1}, {11, 2}, {11, 3}}));
  const std::string b = folder.file("b", pcap({{11, 4}, {9, 5}, {12, 6}}));
  EXPECT_THAT(bytes_of(walk(open_files({b, a}))), ElementsAre(1, 2, 3, 4, 5, 6));
}

std::vector<std::uint32_t> lanes_of(const Walk& w) {
  std::vector<std::uint32_t> lanes;
  for (const Taken& taken : w.frames) lanes.push_back(taken.frame.lane);
  return lanes;
}

TEST(FileMerge, FilesOfARingAreOneLane) {
  TempFolder folder;
  const std::string a = folder.file("a", pcap({{10, 1}, {11, 2}}));
  const std::string b = folder.file("b", pcap({{11, 3}, {12, 4}}));
  EXPECT_THAT(lanes_of(walk(open_files({b, a}))), ElementsAre(0U, 0U, 0U, 0U));
}

TEST(FileMerge, FilesThatOverlapAreLanesOfTheirOwn) {
  TempFolder folder;
  const std::string a = folder.file("a", pcap({{10, 1}, {12, 3}, {14, 5}}));
  const std::string b = folder.file("b", pcap({{11, 2}, {13, 4}}));
  const std::string later = folder.file("later", pcap({{15, 6}}));
  EXPECT_THAT(lanes_of(walk(open_files({a, b, later}))), ElementsAre(0U, 1U, 0U, 1U, 0U, 0U));
}

// As in mergecap, a frame follows the earlier frames of its own file.
TEST(FileMerge, StepBackWithinAFileKeepsItsOrder) {
  TempFolder folder;
  const Walk w = walk(open_files({folder.file("a", pcap({{10, 1}, {5, 2}, {12, 4}})),
                                  folder.file("b", pcap({{11, 3}, {13, 5}}))}));
  EXPECT_THAT(bytes_of(w), ElementsAre(1, 2, 3, 4, 5));
}

TEST(FileMerge, FormatsAndLinkTypesMayDiffer) {
  TempFolder folder;
  const Walk w = walk(
      open_files({folder.file("a", pcap({{10, 1}, {13, 4}})), folder.file("b", pcapng({{11, 2}})),
                  folder.file("c", gzip(pcapng({{12, 3}, {14, 5}})))}));
  EXPECT_THAT(w.error, IsEmpty());
  EXPECT_THAT(bytes_of(w), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(w.frames[0].frame.link, LinkType::kEthernet);
  EXPECT_EQ(w.frames[1].frame.link, LinkType::kLinuxSll);
}

TEST(FileMerge, DamageNamesItsFileAndTheRestIsRead) {
  TempFolder folder;
  ByteVector cut = pcap({{11, 2}, {12, 9}});
  cut.resize(cut.size() - 1);
  const Walk w =
      walk(open_files({folder.file("good", pcap({{10, 1}, {14, 4}})), folder.file("cut", cut),
                       folder.file("nothing", {}), folder.file("no-frames", pcap({})),
                       folder.file("fine", pcap({{13, 3}}))}));
  EXPECT_THAT(w.error, IsEmpty());
  EXPECT_THAT(bytes_of(w), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(w.stats.cut_short);
  EXPECT_THAT(w.stats.damage, HasSubstr("/nothing: the file is empty; "));
  EXPECT_THAT(w.stats.damage, HasSubstr("/cut: the file ends within the record at offset 41"));
  EXPECT_THAT(w.stats.damage, Not(HasSubstr("good")));
  EXPECT_THAT(w.stats.damage, Not(HasSubstr("no-frames")));
}

TEST(FileMerge, OfManyDamagedFilesTheNumberIsReported) {
  TempFolder folder;
  std::vector<std::string> paths{folder.file("good", pcap({{10, 1}}))};
  for (int i = 0; i < 20; ++i) paths.push_back(folder.file("empty" + std::to_string(i), {}));
  const Walk w = walk(open_files(paths));
  EXPECT_THAT(w.stats.damage, HasSubstr("/empty7: the file is empty"));
  EXPECT_THAT(w.stats.damage, EndsWith("; 12 more files are damaged"));
}

TEST(FileMerge, DropsAreSummed) {
  TempFolder folder;
  const Writer le;
  const auto with_drops = [&](std::uint64_t drops) {
    return le.section() + le.interface() + le.packet(0, 1000000, {1}, le.option(4, le.u64(drops)));
  };
  const Walk w =
      walk(open_files({folder.file("a", with_drops(3)), folder.file("b", with_drops(4))}));
  EXPECT_EQ(w.stats.dropped, 7u);
}

TEST(FileMerge, FilesOneAfterTheOtherTakeOneDescriptor) {
  TempFolder folder;
  std::vector<std::string> paths;
  for (std::uint8_t i = 0; i < 50; ++i) {
    paths.push_back(folder.file(std::to_string(i), pcap({{i * 10U, i}, {i * 10U + 5, i}})));
  }
  const std::size_t before = open_descriptors();
  auto source = merge_files(paths, {.open = 1, .staying = 100});
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_TRUE((*source)->frames_stay());
  EXPECT_EQ(open_descriptors(), before);
  Frame frame;
  std::vector<std::pair<const std::uint8_t*, int>> seen;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE((*source)->next(frame).value());
    EXPECT_LE(open_descriptors(), before + 1);
    seen.emplace_back(frame.data.data(), i / 2);
  }
  EXPECT_FALSE((*source)->next(frame).value());
  // All those frames are still readable, though their files were closed.
  for (const auto& [byte, value] : seen) EXPECT_EQ(*byte, value);
}

TEST(FileMerge, TooManyAtOnce) {
  TempFolder folder;
  std::vector<std::string> paths;
  for (std::uint8_t i = 0; i < 4; ++i) {
    paths.push_back(folder.file(std::to_string(i), pcap({{10, i}, {20, i}})));
  }
  EXPECT_EQ(walk(merge_files(paths, {.open = 4})).frames.size(), 8u);
  EXPECT_THAT(walk(merge_files(paths, {.open = 3})).error,
              HasSubstr("more than 3 of the files overlap in time"));
}

TEST(FileMerge, FramesOfVeryManyFilesDoNotStay) {
  TempFolder folder;
  const std::vector<std::string> paths{folder.file("a", pcap({{10, 1}})),
                                       folder.file("b", pcap({{11, 2}}))};
  EXPECT_TRUE(merge_files(paths, {.staying = 2}).value()->frames_stay());
  EXPECT_FALSE(merge_files(paths, {.staying = 1}).value()->frames_stay());
}

// Those of a compressed file stay in the window over what it decompresses to; those of a pipe do
// not, and then those of no file are said to.
TEST(FileMerge, FramesOfCompressedFilesStayAndThoseOfPipesDoNot) {
  TempFolder folder;
  const std::string plain = folder.file("a", pcap({{10, 1}}));
  const std::string packed = folder.file("c", gzip(pcap({{12, 3}})));
  EXPECT_TRUE(merge_files({plain, packed}, {}).value()->frames_stay());
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::thread writer([&] { write_all(fifo, pcap({{11, 2}})); });
  EXPECT_FALSE(merge_files({plain, fifo}, {}).value()->frames_stay());
  writer.join();
}

TEST(FileMerge, PipesAreReadOnce) {
  TempFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::thread writer([&] { write_all(fifo, pcap({{11, 2}, {13, 4}})); });
  const Walk w = walk(open_files({folder.file("a", pcap({{10, 1}, {12, 3}, {14, 5}})), fifo}));
  writer.join();
  EXPECT_THAT(bytes_of(w), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(w.stats.bytes_total, 0u);
  EXPECT_EQ(w.stats.bytes_read, 2u * 24 + 5 * 17);
}

// A ring that is still being written deletes its oldest files.
TEST(FileMerge, FileThatIsGoneWhenItsTurnComes) {
  TempFolder folder;
  const std::string gone = folder.file("gone", pcap({{11, 2}}));
  auto source = open_files({folder.file("a", pcap({{10, 1}})), gone});
  ASSERT_TRUE(source);
  ASSERT_EQ(::unlink(gone.c_str()), 0);
  const Walk w = walk(std::move(source));
  EXPECT_THAT(bytes_of(w), ElementsAre(1));
  EXPECT_THAT(w.stats.damage, EndsWith("/gone: No such file or directory"));
}

TEST(FileMerge, Errors) {
  TempFolder folder;
  const std::string good = folder.file("good", pcap({{10, 1}}));
  EXPECT_EQ(walk(open_files({good, "/nonexistent/x"})).error,
            "/nonexistent/x: No such file or directory");
  EXPECT_THAT(walk(open_files({good, folder.file("text", ByteVector{'h', 'i', '\n'})})).error,
              HasSubstr("/text: not a capture file"));
  EXPECT_EQ(walk(open_files({"-", good, "-"})).error, "standard input (-) can be given only once");
  EXPECT_THAT(walk(open_files({folder.file("e1", {}), folder.file("e2", {})})).error,
              HasSubstr("/e1: the file is empty"));
}

}  // namespace
}  // namespace rpcrdma::capture
