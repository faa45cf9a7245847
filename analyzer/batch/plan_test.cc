#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <rpcrdma/batch/folder.h>
#include <rpcrdma/batch/plan.h>
#include <rpcrdma/batch/whole_file.h>

namespace rpcrdma::batch {
namespace {

class BatchFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "rpcrdma-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  std::string path_;
};

Plan example() {
  Plan plan;
  plan.settings = {"rfc5666",          "cel-03",     false, "nfs.op == \"READ\"",
                   {"READ=1ms", "2s"}, {4790, 4800}, 3,     77};
  plan.folder = "/some/where";
  plan.files = {{"a.pcap", 1, 2, ""},
                {"\xff\xfe name\n", UINT64_MAX, -5, ""},
                {"c.pcap", 0, 0, "not a capture: \x80"}};
  plan.others = {{"README", 7, 8, ""}};
  plan.units = {{{{1}}}, {{{0}}}};
  return plan;
}

TEST(PlanText, KeepsEverything) {
  const Plan plan = example();
  const auto read = read_plan(write_plan(plan));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->settings, plan.settings);
  EXPECT_EQ(read->folder, plan.folder);
  EXPECT_EQ(read->units, plan.units);
  ASSERT_EQ(read->files.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->files[i].path, plan.files[i].path);
    EXPECT_EQ(read->files[i].size, plan.files[i].size);
    EXPECT_EQ(read->files[i].mtime_ns, plan.files[i].mtime_ns);
    EXPECT_EQ(read->files[i].unreadable, plan.files[i].unreadable);
  }
  ASSERT_EQ(read->others.size(), 1U);
  EXPECT_EQ(read->others[0].path, "README");
}

TEST(PlanText, ChangedBytesAreNoCrash) {
  const std::string text = write_plan(example());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char c : {'0', '9', '"', '{', '\0', '\xff'}) {
      std::string changed = text;
      changed[at] = c;
      const auto read = read_plan(changed);
      EXPECT_TRUE(read || !read.error().message.empty());
    }
  }
}

TEST(PlanText, NumbersThatDoNotFitAreRefused) {
  const std::string text = write_plan(example());
  const std::size_t at = text.find("\"bytes\":") + 8;
  ASSERT_NE(at, std::string::npos + 8);
  for (const char* number : {"1e19", "1.5", "-1", "98446744073709551615", "true", "null"}) {
    std::string changed = text;
    changed.replace(at, text.find_first_of(",}", at) - at, number);
    EXPECT_FALSE(read_plan(changed)) << number;
  }
}

TEST(PlanText, AUnitsFileIsThereOnceAndReadable) {
  for (const std::vector<Cluster>& clusters : std::vector<std::vector<Cluster>>{
           {{0}}, {{0, 1, 1}}, {{0, 1}, {1}}, {{0, 1, 2}}, {{0, 1, 3}}}) {
    Plan plan = example();
    plan.units = {{clusters}};
    EXPECT_FALSE(read_plan(write_plan(plan)));
  }
}

TEST(Changes, AreCounted) {
  const Plan plan = example();
  const std::vector<Input> same{{"a.pcap", 1, 2, false},
                                {"\xff\xfe name\n", UINT64_MAX, -5, false},
                                {"c.pcap", 0, 0, true},
                                {"README", 7, 8, true}};
  EXPECT_EQ(changes_since(plan, same, plan.folder), "");
  EXPECT_EQ(changes_since(plan, same, "/else"), "their paths are relative to /some/where");
  std::vector<Input> other = same;
  other[0].mtime_ns = 3;
  other[1].path = "/new";
  other.push_back({"/new2", 1, 1, false});
  EXPECT_EQ(changes_since(plan, other, plan.folder),
            "2 files are new, 1 file has changed, 1 file is gone");
}

TEST(CaptureNames, AreRecognized) {
  for (const char* name : {"x.pcap", "/a/b.pcapng", "ring.pcap12", "r.PCAP.gz", "t.cap.zst",
                           "s.snoop", "trace.dat", "x.pcap3.xz"}) {
    EXPECT_TRUE(is_capture_name(name)) << name;
  }
  for (const char* name : {"README", "list.txt", "x.pcap.idx", ".pcap", "notes.gz", "12"}) {
    EXPECT_FALSE(is_capture_name(name)) << name;
  }
}

TEST_F(BatchFiles, AFileIsWholeOrNotThere) {
  const std::string path = path_ + "/x";
  ASSERT_TRUE(write_whole(path, [](const Write& write) { write("one"); }));
  EXPECT_EQ(*read_whole(path), "one");
  ASSERT_TRUE(write_whole(path, [&](const Write& write) {
    write("tw");
    EXPECT_EQ(*read_whole(path), "one");  // until it is complete
    write("o");
  }));
  EXPECT_EQ(*read_whole(path), "two");
  const auto nowhere = write_whole(path_ + "/none/x", [](const Write& write) { write("x"); });
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message, path_ + "/none/x: No such file or directory");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path_), {}), 1);
}

TEST_F(BatchFiles, AClaimIsHeldByOneAndCountsThoseWhoLeftIt) {
  const std::string path = path_ + "/claim";
  {
    auto first = Claim::take(path);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->taken(), Claim::Taken::kYes);
    EXPECT_EQ(first->abandoned(), 0U);
    const auto second = Claim::take(path);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->taken(), Claim::Taken::kBusy);
  }
  auto third = Claim::take(path);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->taken(), Claim::Taken::kYes);
  EXPECT_EQ(third->abandoned(), 1U);
  third->give_back();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(Claim::take(path)->abandoned(), 0U);
}

TEST_F(BatchFiles, ClearRemovesOnlyWhatABatchWrites) {
  const Folder folder(path_ + "/out/");
  EXPECT_EQ(folder.path(), path_ + "/out");
  ASSERT_TRUE(folder.create());
  std::ofstream(folder.plan()) << "x";
  std::ofstream(folder.unit(0)) << "x";
  std::ofstream(folder.file("mine")) << "x";
  EXPECT_EQ(folder.unit(0), path_ + "/out/units/0001.json");
  EXPECT_TRUE(folder.done(0));
  {
    const auto claim = Claim::take(folder.claim(1));
    EXPECT_FALSE(folder.clear());
    EXPECT_TRUE(folder.done(0));
  }
  ASSERT_TRUE(folder.clear());
  EXPECT_FALSE(folder.has_plan());
  EXPECT_FALSE(folder.done(0));
  EXPECT_TRUE(std::filesystem::exists(folder.file("mine")));
}

}  // namespace
}  // namespace rpcrdma::batch
