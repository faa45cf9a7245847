#include "records_for_tests.h"

#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;

class TemporaryFile {
 public:
  explicit TemporaryFile(const ByteVector& bytes)
      : path_(::testing::TempDir() + "mark_test." + std::to_string(::getpid())) {
    write(bytes);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  void write(const ByteVector& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Seen {
  Frame frame;
  ByteVector data;
};

std::vector<Seen> read_on(Source& source) {
  std::vector<Seen> all;
  Frame frame;
  for (;;) {
    const auto more = source.next(frame);
    if (!more || !*more) return all;
    all.push_back({frame, ByteVector(frame.data.begin(), frame.data.end())});
  }
}

// From each mark in the file, the rest reads as it did the first time.
void expect_same_from_every_mark(const std::string& path) {
  const auto whole = open_file(path);
  ASSERT_TRUE(whole) << whole.error().message;
  std::vector<Mark> marks;
  std::vector<Seen> all;
  for (Frame frame;;) {
    const auto mark = (*whole)->mark();
    ASSERT_TRUE(mark);
    marks.push_back(*mark);
    const auto more = (*whole)->next(frame);
    ASSERT_TRUE(more) << more.error().message;
    if (!*more) break;
    all.push_back({frame, ByteVector(frame.data.begin(), frame.data.end())});
  }
  ASSERT_GT(all.size(), 1u);
  for (std::size_t from = 0; from < marks.size(); ++from) {
    const auto again = open_file_at(path, marks[from]);
    ASSERT_TRUE(again) << again.error().message;
    const std::vector<Seen> rest = read_on(**again);
    ASSERT_EQ(rest.size(), all.size() - from);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const Seen& a = all[from + i];
      EXPECT_EQ(rest[i].frame.number, a.frame.number);
      EXPECT_EQ(rest[i].frame.time_ns, a.frame.time_ns);
      EXPECT_EQ(rest[i].frame.interface, a.frame.interface);
      EXPECT_EQ(rest[i].frame.link, a.frame.link);
      EXPECT_EQ(rest[i].data, a.data);
    }
  }
}

TEST(Mark, PcapngIsReadOnFromAnyFrame) {
  const Writer le;
  const Writer be{.big = true};
  const TemporaryFile file(le.section() + le.interface(1) + le.packet(0, 7, {1, 2, 3}) +
                           le.interface(113) + le.packet(1, 8, {4}) + be.section() +
                           be.interface(276) + be.packet(0, 9, {5, 6}));
  expect_same_from_every_mark(file.path());
}

TEST(Mark, PcapIsReadOnFromAnyFrame) {
  expect_same_from_every_mark(std::string(RPCRDMA_TEST_CAPTURES) + "/roce-icrc-oracle.pcap");
}

TEST(Mark, ErfIsReadOnFromAnyFrame) {
  ByteVector bytes;
  for (std::uint8_t i = 0; i < 9; ++i) {
    bytes = bytes + ErfRecord{.time = erf_time(100 + i), .flags = i}.with({i, i});
    if (i == 4) bytes = bytes + ErfRecord{.type = 48}.with(ByteVector(16));
  }
  const TemporaryFile file(bytes);
  expect_same_from_every_mark(file.path());
}

TEST(Mark, SnoopIsReadOnFromAnyFrame) {
  ByteVector bytes = snoop_header();
  for (std::uint8_t i = 0; i < 9; ++i) bytes = bytes + snoop_record(i, i, ByteVector(i + 1U, i));
  const TemporaryFile file(bytes);
  expect_same_from_every_mark(file.path());
}

// Frame 7 shows that times are in nanoseconds; frame 12 does not.
TEST(Mark, PcapKeepsItsResolutionOfTime) {
  const Writer le;
  ByteVector bytes = le.pcap_header();
  for (std::uint32_t i = 0; i < 6; ++i) bytes = bytes + le.record(7, 1000 * i, {1});
  for (std::uint32_t i = 0; i < 5; ++i) bytes = bytes + le.record(7, 50'000'000 + i, {2});
  for (std::uint32_t i = 0; i < 5; ++i) bytes = bytes + le.record(8, 1000 * i, {3});
  const TemporaryFile file(bytes);
  expect_same_from_every_mark(file.path());
}

TEST(Mark, AFileThatBecameAnotherIsDistinguished) {
  const Writer le;
  const ByteVector bytes =
      le.section() + le.interface(1) + le.packet(0, 7, {1}) + le.packet(0, 8, {2});
  const TemporaryFile file(bytes);
  const auto source = open_file(file.path());
  ASSERT_TRUE(source);
  static_cast<void>(read_on(**source));
  const auto end = (*source)->mark();
  ASSERT_TRUE(end);
  file.write(le.section() + le.interface(1));
  const auto again = open_file_at(file.path(), *end);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("the file was changed"));
}

TEST(Mark, OfMemoryThereIsNone) {
  const Writer le;
  const ByteVector bytes = le.section() + le.interface(1) + le.packet(0, 7, {1});
  const auto source = open_memory(bytes);
  ASSERT_TRUE(source);
  EXPECT_FALSE((*source)->mark());
}

}  // namespace
}  // namespace rpcrdma::capture
