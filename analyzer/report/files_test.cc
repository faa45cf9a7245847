// Tests the statistics of files: what they count, their bounds, merges and JSON.
#include "captures_for_tests.h"
#include "file_tally.h"
#include "report_for_tests.h"

#include <gmock/gmock.h>

#include <rpcrdma/report/file_text.h>
#include <rpcrdma/report/report_text.h>

namespace rpcrdma::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const FileEntry* find_file(const Files& files, const std::string& name) {
  for (const FileEntry& file : files.list) {
    if (file.second.name == name) return &file;
  }
  return nullptr;
}

struct FileTallyTest : ::testing::Test {
  FileTally tally;
  Files files;
  roce::Side server;

  void read(std::uint32_t handle, std::uint64_t offset, std::uint64_t count,
            std::int64_t latency_ns = 1000) {
    model::Call call;
    call.has_file = true;
    call.message.time_ns = 5000;
    call.file.access = model::FileUse::Access::kRead;
    call.file.values.resize(1);
    call.file.handle = handle;
    call.file.file = {handle, 1};
    call.file.offset = offset;
    call.file.count = count;
    call.file.moved = count;
    model::Message reply;
    reply.time_ns = 5000 + latency_ns;
    tally.count(call, &reply, server, false, files);
  }
  const FileStats& only() const { return files.list.begin()->second; }
};

TEST_F(FileTallyTest, PatternsAreSeenInAnyOrderOfReplies) {
  for (const std::uint64_t offset : {8192U, 0U, 4096U, 12288U, 20480U, 16384U}) {
    read(1, offset, 4096);
  }
  EXPECT_EQ(only().reads, 6U);
  EXPECT_EQ(only().read_bytes, 6U * 4096);
  EXPECT_EQ(only().compared, 5U);
  EXPECT_EQ(only().sequential, 4U) << "0 begins the sequence, after the first READ that was seen";
  EXPECT_STREQ(pattern_of(only()), "sequential");
  EXPECT_EQ(typical_size(only()), 4096U);
  EXPECT_EQ(only().latency.count(), 6U);
}

TEST_F(FileTallyTest, RandomReadsAreNoSequence) {
  for (std::uint64_t i = 0; i < 20; ++i) read(1, i * 7 % 20 * 1048576, 4096);
  EXPECT_EQ(only().sequential, 0U);
  EXPECT_STREQ(pattern_of(only()), "random");
}

TEST_F(FileTallyTest, FewReadsAndTheSameAgainAreNoPattern) {
  read(1, 0, 4096);
  EXPECT_STREQ(pattern_of(only()), "");
  for (int i = 0; i < 20; ++i) read(1, 0, 4096);
  EXPECT_EQ(only().compared, 0U);
  read(1, 1048576, 4096);
  EXPECT_EQ(only().compared, 1U);
  EXPECT_STREQ(pattern_of(only()), "") << "two places are not a pattern";
}

TEST_F(FileTallyTest, FilesAndSizesAreBounded) {
  for (std::uint32_t handle = 0; handle < kMaxFiles + 100; ++handle) read(handle, 0, 10);
  EXPECT_EQ(files.list.size(), kMaxFiles);
  EXPECT_EQ(files.others.calls, 100U);
  EXPECT_EQ(files.others.read_bytes, 1000U);
  for (std::uint64_t size = 0; size < 100; ++size) read(1, 0, size);
  const FileStats& stats = files.list.at({server.address.to_string(), 1});
  EXPECT_EQ(stats.sizes.size(), kMaxFileSizes);
  EXPECT_EQ(stats.other_sizes, 101U - (kMaxFileSizes + 1)) << "10 came twice";
}

TEST_F(FileTallyTest, CallsWithoutAFileAreNotCounted) {
  model::Call call;
  tally.count(call, nullptr, server, false, files);
  call.has_file = true;
  tally.count(call, nullptr, server, false, files);
  EXPECT_TRUE(files.empty());
}

TEST_F(FileTallyTest, TheBusiestByTimeAndByBytes) {
  read(1, 0, 10, 5'000'000);
  read(2, 0, 1000000, 1000);
  for (std::uint32_t handle = 3; handle < 20; ++handle) read(handle, 0, 1, 2000);
  const auto shown = busiest_files(files, 1);
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0]->first.handle, 1U);
  EXPECT_EQ(shown[1]->first.handle, 2U);
  EXPECT_EQ(busiest_files(files, SIZE_MAX).size(), files.list.size());
  EXPECT_EQ(busiest_files({}, 10).size(), 0U);
}

model::FileUse named(const std::string& name) {
  model::FileUse use;
  use.text = name;
  use.name_length = static_cast<std::uint16_t>(name.size());
  use.handle = 0x1a2b3c4d;
  return use;
}

TEST(FileText, NamesAreEscapedAndKeepTheirEnds) {
  EXPECT_EQ(file_label(named("dir/big")), "dir/big");
  EXPECT_EQ(file_label(named("")), "fh:1a2b3c4d");
  EXPECT_EQ(file_label(named("a\x1b[2J\n\xff")), "a\\x1b[2J\\x0a\\xff");
  EXPECT_EQ(file_label(named("\xc3\x9c"
                             "bung")),
            "\xc3\x9c"
            "bung");
  EXPECT_EQ(file_label(named("a/very/long/path/big"), 8), "...path/big");
  EXPECT_EQ(file_label(named("xx\xc3\x9c"
                             "bung"),
                       5),
            "...bung")
      << "not in the middle of a letter";
  EXPECT_EQ(file_label({}), "");
}

TEST(FileText, RangesOfRepliesAreWhatWasMoved) {
  model::FileUse use = named("big");
  EXPECT_EQ(file_text(use, false), "big");
  use.offset = 65536;
  EXPECT_EQ(file_text(use, false), "big 65536");
  use.count = 4096;
  use.moved = 100;
  EXPECT_EQ(file_text(use, false), "big 65536+4096");
  EXPECT_EQ(file_text(use, true), "big 65536+100");
}

TEST(FilesTest, OfLinux) {
  const Report r = testing::report_of("linux-nfs3.pcap");
  const FileEntry* const big = find_file(r.files, "big");
  ASSERT_NE(big, nullptr);
  EXPECT_EQ(big->first.server, "10.77.0.1");
  EXPECT_EQ(big->second.reads, 8U);
  EXPECT_EQ(big->second.read_bytes, 262144U);
  EXPECT_STREQ(pattern_of(big->second), "sequential");
  const FileEntry* const odd = find_file(r.files, "odd");
  ASSERT_NE(odd, nullptr);
  EXPECT_EQ(odd->second.read_bytes, 5003U);
  const FileEntry* const written = find_file(r.files, "w3odd");
  ASSERT_NE(written, nullptr);
  EXPECT_EQ(written->second.written_bytes, 10002U);
  EXPECT_NE(find_file(r.files, "dir/a_rather_long_file_name_number_7.txt"), nullptr);

  const Report four = testing::report_of("linux-nfs41.pcap", "nfs.name == \"big\"");
  ASSERT_EQ(four.files.with_calls(), 1U);
  EXPECT_EQ(busiest_files(four.files, 1).at(0)->second.name, "/big");
  EXPECT_EQ(busiest_files(four.files, 1).at(0)->second.reads, 4U);
}

TEST(FilesTest, AMergeJoinsFilesByServerAndHandle) {
  Report first = report_with("10.0.0.1");
  Report second = report_with("10.0.0.1");
  second.files.list.begin()->second.name = "renamed";
  second.files.list[FileKey{"10.0.0.9", 0x1a2b3c4d}].reads = 1;
  Files joined = first.files;
  joined.add(second.files);
  ASSERT_EQ(joined.list.size(), 2U);
  const FileStats& stats = joined.list.at({"10.0.0.1", 0x1a2b3c4d});
  EXPECT_EQ(stats.writes, 4U);
  EXPECT_EQ(stats.written_bytes, 8192U);
  EXPECT_EQ(stats.name, "renamed");
  EXPECT_EQ(stats.sizes.at(4096), 2U);
  EXPECT_EQ(stats.latency.count(), 2U);

  for (std::uint32_t i = 0; joined.list.size() < kMaxFiles; ++i) joined.list[{"x", i}];
  Files more;
  more.list[{"y", 1}].reads = 3;
  more.others.calls = 4;
  joined.add(more);
  EXPECT_EQ(joined.list.size(), kMaxFiles);
  EXPECT_EQ(joined.others.calls, 7U);
}

// Another capture, or a Call that a filter excludes, may name the directory.
TEST(FilesTest, RelativeNamesAreCompletedByThoseOfDirectories) {
  const auto named_below = [](const char* name, std::optional<std::uint32_t> below) {
    FileStats stats;
    stats.name = name;
    stats.below = below;
    return stats;
  };
  Files files;
  files.list[{"a", 1}] = named_below("big", 2);
  files.list[{"a", 2}] = named_below("dir", 3);
  files.list[{"b", 3}] = named_below("/", std::nullopt);  // of another server
  files.complete_names();
  EXPECT_EQ(files.list.at({"a", 1}).name, "dir/big");
  EXPECT_EQ(files.list.at({"a", 1}).below, 3U);
  Files later;
  later.list[{"a", 3}] = named_below("/", std::nullopt);
  later.list[{"a", 4}] = named_below("round", 5);
  later.list[{"a", 5}] = named_below("and", 4);
  files.add(later);
  EXPECT_EQ(files.list.at({"a", 1}).name, "/dir/big");
  EXPECT_EQ(files.list.at({"a", 1}).below, std::nullopt);
  EXPECT_EQ(files.list.at({"a", 2}).name, "/dir");
  EXPECT_EQ(files.list.at({"b", 3}).name, "/");
  EXPECT_LT(files.list.at({"a", 4}).name.size(), 4096U);
}

TEST(FilesTest, TextListsThemAndSaysHowManyMore) {
  const Report r = testing::report_of("linux-nfs3.pcap");
  const auto text = [&](std::size_t most) {
    TextOptions options;
    options.files = most;
    std::string out;
    write_text(r, options, [&](std::string_view part) { out += part; });
    return out.substr(out.find("\nFile "));
  };
  EXPECT_THAT(text(10), HasSubstr("\nbig  "));
  EXPECT_THAT(text(10), HasSubstr("more files (--files all lists them)"));
  EXPECT_THAT(text(SIZE_MAX), HasSubstr("\ndir/a_rather_long_file_name_number_7.txt"));
  EXPECT_THAT(text(SIZE_MAX), Not(HasSubstr("more files")));
}

TEST(FilesTest, JsonReadsBack) {
  const Report r = testing::report_of("linux-nfs41.pcap");
  const std::string text = testing::json_of(r);
  const auto again = read_json(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(testing::json_of(*again), text);
  EXPECT_THAT(text, HasSubstr("\"name\":\"/big\",\"below\":null,\"server\":\"10.77.0.1\""));
}

}  // namespace
}  // namespace rpcrdma::report
