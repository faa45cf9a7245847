// Tests of recording a capture: the format's bytes, rings of files, and programs that are
// killed.
#include "capture_for_tests.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <rpcrdma/base/pcapng/recorder.h>

namespace rpcrdma::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStart = 1'800'000'000 * kSecond;

// A folder, its files in order of their names, and their frames.
class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() {
    std::string pattern = ::testing::TempDir() + "recorder_test_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    // File names hold local time.
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  ~RecorderTest() override { std::filesystem::remove_all(folder_); }

  base::RecordOptions options(const std::string& name) {
    base::RecordOptions options;
    options.path = folder_ + "/" + name;
    options.interface = {.name = "eth7", .filter = "udp port 4791", .snaplen = 2000};
    return options;
  }

  std::unique_ptr<base::Recorder> open(const base::RecordOptions& options) {
    auto opened = base::open_recorder(options, kStart);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }

  static Frame frame(std::int64_t time_ns, const ByteVector& data) {
    Frame f;
    f.time_ns = time_ns;
    f.original = static_cast<std::uint32_t>(data.size()) + 7;
    f.data = data;
    return f;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::string folder_;
};

TEST_F(RecorderTest, ReaderGivesBackWhatWasWritten) {
  base::RecordOptions o = options("a.pcapng");
  o.dropped = [] { return std::uint64_t{9}; };
  const auto recorder = open(o);
  std::vector<ByteVector> data;
  for (std::uint8_t i = 0; i < 9; ++i) data.emplace_back(i, i);
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_TRUE(recorder->write(frame(kStart + static_cast<std::int64_t>(i) + 1, data[i])));
  }
  ASSERT_TRUE(recorder->finish(kStart + kSecond));
  const Walk w = walk(open_file(o.path));
  EXPECT_THAT(w.error + w.stats.damage, IsEmpty());
  ASSERT_EQ(w.frames.size(), data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(w.frames[i].data, data[i]);
    EXPECT_EQ(w.frames[i].frame.time_ns, kStart + static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(w.frames[i].frame.original, data[i].size() + 7);
    EXPECT_EQ(w.frames[i].frame.link, LinkType::kEthernet);
  }
  EXPECT_EQ(w.stats.dropped, 9u);
}

// Worked out by hand from the specification, for a machine with little-endian numbers.
TEST_F(RecorderTest, BytesOfTheFormat) {
  const base::RecordOptions o = options("a.pcapng");
  const auto recorder = open(o);
  ASSERT_TRUE(recorder->write(frame(0x0102030405060708, {0xaa, 0xbb, 0xcc})));
  ASSERT_TRUE(recorder->finish(0x0102030405060709));
  EXPECT_EQ(read_all(o.path),
            from_hex(
                // Section header: shb_userappl "rpcrdma", opt_comment that it ends with statistics.
                "0a0d0d0a 50000000 4d3c2b1a 0100 0000 ffffffffffffffff"
                "0400 0700 72706372646d6100"
                "0100 1e00 656e647320776974 6820696e74657266 6163652073746174 6973746963730000"
                "0000 0000 50000000"
                // Interface: Ethernet, snapshot length 2000; if_name, if_tsresol, if_filter.
                "01000000 3c000000 0100 0000 d0070000"
                "0200 0400 65746837 0900 0100 09000000"
                "0b00 0e00 00756470 20706f72 74203437 39310000 0000 0000 3c000000"
                // Packet: interface 0, time, 3 bytes captured of 10.
                "06000000 24000000 00000000 04030201 08070605 03000000 0a000000 aabbcc00 24000000"
                // Statistics: isb_starttime, isb_endtime, isb_ifrecv 1, isb_osdrop 0.
                "05000000 4c000000 00000000 04030201 09070605"
                "0200 0800 04030201 08070605 0300 0800 04030201 09070605"
                "0400 0800 0100000000000000 0700 0800 0000000000000000 0000 0000 4c000000"));
}

TEST_F(RecorderTest, OnlyTheUserMayReadIt) {
  const auto recorder = open(options("a.pcapng"));
  struct stat status {};
  ASSERT_EQ(::stat(recorder->file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(RecorderTest, WithoutFramesItIsAWholeFileToo) {
  const auto recorder = open(options("a.pcapng"));
  EXPECT_THAT(walk(open_file(recorder->file())).error, IsEmpty());
  ASSERT_TRUE(recorder->finish(kStart));
  const Walk w = walk(open_file(recorder->file()));
  EXPECT_THAT(w.error + w.stats.damage, IsEmpty());
  EXPECT_EQ(w.frames.size(), 0u);
}

// A killed program leaves whole blocks, and misses nothing that is older than a second.
TEST_F(RecorderTest, WhatIsWrittenMeanwhileIsWhole) {
  const auto recorder = open(options("a.pcapng"));
  const ByteVector data(1000, 1);
  const auto written = [&] {
    const Walk w = walk(open_file(recorder->file()));
    EXPECT_THAT(w.error, IsEmpty());
    EXPECT_FALSE(w.stats.cut_short);
    EXPECT_THAT(w.stats.damage, StartsWith("the recording was not closed: "));
    return w.frames.size();
  };
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(recorder->write(frame(kStart + i * kSecond / 10, data)));
  }
  EXPECT_EQ(written(), 0u);
  ASSERT_TRUE(recorder->write(frame(kStart + kSecond, data)));
  EXPECT_EQ(written(), 11u);
  ASSERT_TRUE(recorder->write(frame(kStart + kSecond, data)));
  EXPECT_EQ(written(), 11u);
  ASSERT_TRUE(recorder->flush());
  EXPECT_EQ(written(), 12u);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(recorder->write(frame(kStart + kSecond, data)));
  EXPECT_GE(written(), 12u + 200);
}

TEST_F(RecorderTest, RingBySize) {
  base::RecordOptions o = options("ring.pcapng");
  o.ring.file_bytes = 4000;
  const auto recorder = open(o);
  const ByteVector data(1000, 1);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(recorder->write(frame(kStart + i * kSecond, data)));
  ASSERT_TRUE(recorder->finish(kStart + 7 * kSecond));
  EXPECT_THAT(names(),
              ElementsAre("ring_00001_20270115080000.pcapng", "ring_00002_20270115080003.pcapng",
                          "ring_00003_20270115080006.pcapng"));
  std::vector<std::string> paths;
  std::vector<std::size_t> frames;
  for (const std::string& name : names()) {
    paths.push_back(folder_ + "/" + name);
    frames.push_back(walk(open_file(paths.back())).frames.size());
  }
  EXPECT_THAT(frames, ElementsAre(3, 3, 1));
  EXPECT_EQ(walk(open_files(paths)).frames.size(), 7u);
}

TEST_F(RecorderTest, RingByTimeKeepsTheNewest) {
  base::RecordOptions o = options("with.dots/../ring");
  std::filesystem::create_directory(folder_ + "/with.dots");
  o.ring.file_ns = 10 * kSecond;
  o.ring.files = 2;
  const auto recorder = open(o);
  for (const int second : {0, 9, 10, 19, 20, 29, 45}) {
    ASSERT_TRUE(recorder->write(frame(kStart + second * kSecond, {1})));
  }
  ASSERT_TRUE(recorder->finish(kStart + 46 * kSecond));
  std::filesystem::remove(folder_ + "/with.dots");
  EXPECT_THAT(names(), ElementsAre("ring_00003_20270115080020", "ring_00004_20270115080045"));
}

TEST_F(RecorderTest, AFrameLargerThanTheFileStandsAlone) {
  base::RecordOptions o = options("ring");
  o.ring.file_bytes = 500;
  const auto recorder = open(o);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(recorder->write(frame(kStart, ByteVector(900, 1))));
  ASSERT_TRUE(recorder->finish(kStart));
  EXPECT_EQ(names().size(), 3u);
}

// Each file states its own part of a running total, so the sum over the files is right.
TEST_F(RecorderTest, DropsOfARingAddUp) {
  base::RecordOptions o = options("ring");
  std::uint64_t total = 0;
  o.dropped = [&] { return total; };
  o.ring.file_ns = kSecond;
  const auto recorder = open(o);
  std::vector<std::string> paths;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(recorder->write(frame(kStart + i * kSecond, {1})));
    paths.push_back(recorder->file());
    total += 5;
  }
  ASSERT_TRUE(recorder->finish(kStart + 3 * kSecond));
  EXPECT_EQ(walk(open_files(paths)).stats.dropped, 15u);
}

// 700 bytes hold three frames, or two after the blocks that begin a file.
TEST_F(RecorderTest, EachFileOfARingHasWhatItNeeds) {
  base::RecordOptions o = options("ring");
  o.ring.file_bytes = 700;
  std::uint8_t files = 1;
  const ByteVector head(100, 'b'), tail(1000, 'e');
  o.at_begin = [&](const base::RecordOptions::Put& put) {
    put(frame(kStart, head));
    put(frame(kStart, {++files}));
  };
  o.at_end = [&](const base::RecordOptions::Put& put) { put(frame(kStart, tail)); };
  const auto recorder = open(o);
  std::vector<std::vector<ByteVector>> found;
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(recorder->write(frame(kStart, ByteVector(150, 'f'))));
  ASSERT_TRUE(recorder->finish(kStart));
  for (const std::string& name : names()) {
    found.emplace_back();
    for (const Taken& taken : walk(open_file(folder_ + "/" + name)).frames) {
      found.back().push_back(taken.data);
    }
  }
  const ByteVector f(150, 'f');
  EXPECT_THAT(found,
              ElementsAre(ElementsAre(f, f, f, tail), ElementsAre(head, ByteVector{2}, f, f, tail),
                          ElementsAre(head, ByteVector{3}, f)));
}

TEST_F(RecorderTest, ErrorsNameTheFile) {
  base::RecordOptions o = options("missing/a.pcapng");
  EXPECT_THAT(base::open_recorder(o, kStart).error().message,
              HasSubstr("missing/a.pcapng: No such file or directory"));
  o.path = "-";
  o.ring.file_bytes = 1000;
  EXPECT_THAT(base::open_recorder(o, kStart).error().message, HasSubstr("standard output"));
  base::RecordOptions full;
  full.path = "/dev/full";
  EXPECT_THAT(base::open_recorder(full, kStart).error().message,
              HasSubstr("/dev/full: cannot write: No space left on device"));
}

}  // namespace
}  // namespace rpcrdma::capture
