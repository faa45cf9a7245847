#include <gtest/gtest.h>

#include <rpcrdma/batch/units.h>

namespace rpcrdma::batch {
namespace {

ScannedFile file(double from, double until, std::set<std::string> pairs, std::string ring = {}) {
  ScannedFile f;
  f.scan.frames = true;
  f.scan.first_ns = static_cast<std::int64_t>(from * 1e9);
  f.scan.last_ns = static_cast<std::int64_t>(until * 1e9);
  f.scan.pairs = std::move(pairs);
  f.bytes = 1000;
  f.ring = std::move(ring);
  return f;
}

ScannedFile empty_file() {
  ScannedFile f;
  f.scan.empty = true;
  return f;
}

std::vector<Unit> units(std::initializer_list<std::vector<Cluster>> all) {
  std::vector<Unit> list;
  for (const auto& clusters : all) list.push_back({clusters});
  return list;
}

TEST(Units, AreConsecutiveInTimeWhateverTheNames) {
  const std::vector<ScannedFile> ring{file(20, 30, {"a b"}), file(0, 10, {"a b"}),
                                      file(10, 20, {"a b"})};
  EXPECT_EQ(make_units(ring, 1), units({{{1}}, {{2}}, {{0}}}));
  EXPECT_EQ(make_units(ring, 2), units({{{1}, {2}}, {{0}}}));
  EXPECT_EQ(make_units(ring, 3), units({{{1}, {2}, {0}}}));
}

TEST(Units, ClustersOfSeveralHostsStayTogether) {
  // Two rings whose files begin at different times: each file overlaps with the next of the other.
  const std::vector<ScannedFile> rings{file(0, 10, {"a b"}), file(10, 20, {"a b"}),
                                       file(5, 15, {"a b", "a c"}), file(40, 50, {"a b"})};
  EXPECT_EQ(make_units(rings, 1), units({{{0, 1, 2}}, {{3}}}));
}

TEST(Units, OtherHostsAtTheSameTimeAreApart) {
  const std::vector<ScannedFile> files{file(0, 10, {"a b"}), file(0, 10, {"c d"}),
                                       file(2, 9, {"e f"})};
  EXPECT_EQ(make_units(files, 1), units({{{0}}, {{1}}, {{2}}}));
}

TEST(Units, AServerShowsWhatItsClientsShow) {
  const std::vector<ScannedFile> files{file(0, 100, {"a s", "b s"}), file(1, 20, {"a s"}),
                                       file(50, 60, {"b s"}), file(120, 130, {"a s"})};
  EXPECT_EQ(make_units(files, 1), units({{{0, 1, 2}}, {{3}}}));
}

// As report::merge() permits, since processors do not stamp packets in one order.
TEST(Units, ARingsFilesMayOverlapByAMillisecond) {
  EXPECT_EQ(make_units({file(0, 10.0005, {"a b"}), file(10, 20, {"a b"})}, 1).size(), 2U);
  EXPECT_EQ(make_units({file(0, 10.01, {"a b"}), file(10, 20, {"a b"})}, 1).size(), 1U);
  EXPECT_EQ(make_units({file(5, 5, {"a b"}), file(5, 5, {"a b"})}, 1).size(), 1U);
}

// The same packets are in both, even if few.
TEST(Units, FilesOfTwoRingsMayNot) {
  EXPECT_EQ(make_units({file(0, 10.0005, {"a b"}, "x"), file(10, 20, {"a b"}, "y")}, 1).size(), 1U);
  EXPECT_EQ(make_units({file(0, 10, {"a b"}, "x"), file(10, 20, {"a b"}, "y")}, 1).size(), 1U);
  EXPECT_EQ(make_units({file(0, 9, {"a b"}, "x"), file(10, 20, {"a b"}, "y")}, 1).size(), 2U);
  // The ring's own next file does not hide that of the other.
  const std::vector<ScannedFile> files{file(0, 10, {"a b"}, "x"), file(2, 20, {"a b"}, "y"),
                                       file(10, 30, {"a b"}, "x"), file(20, 25, {"a b"}, "y")};
  EXPECT_EQ(make_units(files, 1).size(), 1U);
}

// Such as the last file of a ring, with nothing but the end of a connection.
TEST(Units, AFileWithoutConnectionsIsReadWithAnotherHosts) {
  EXPECT_EQ(make_units({file(0, 10, {"a b"}, "x"), file(9, 9, {}, "y")}, 1).size(), 1U);
  EXPECT_EQ(make_units({file(0, 10, {}, "x"), file(9, 20, {"a b"}, "y")}, 1).size(), 1U);
  EXPECT_EQ(make_units({file(0, 10, {"a b"}, "x"), file(9, 9, {}, "x")}, 1).size(), 2U);
  EXPECT_EQ(make_units({file(0, 10, {"a b"}, "x"), file(11, 12, {}, "y")}, 1).size(), 2U);
  // It does not join what has nothing to do with each other.
  const std::vector<ScannedFile> files{file(0, 100, {}, "x"), file(1, 9, {"a b"}, "y"),
                                       file(10, 20, {"a b"}, "y")};
  EXPECT_EQ(make_units(files, 1), units({{{0, 1}}, {{2}}}));
}

TEST(Rings, HaveNamesThatDifferInNumbers) {
  EXPECT_EQ(ring_of("/x1/ring_00001_20260101.pcap"), "/x#/ring_#_#.pcap");
  EXPECT_EQ(ring_of("7"), "#");
  EXPECT_EQ(ring_of(""), "");
}

TEST(Units, ALongEarlierFileIsNotForgotten) {
  const std::vector<ScannedFile> files{file(0, 100, {"a b"}), file(1, 2, {"a b"}),
                                       file(50, 60, {"a b"})};
  EXPECT_EQ(make_units(files, 1), units({{{0, 1, 2}}}));
}

TEST(Units, FilesWithoutFramesAreInTheFirst) {
  ScannedFile unreadable;
  unreadable.scan.unreadable = "no capture";
  const std::vector<ScannedFile> files{empty_file(), file(7, 8, {}), unreadable, file(1, 2, {})};
  EXPECT_EQ(make_units(files, 1), units({{{3}, {0}}, {{1}}}));
  EXPECT_EQ(make_units({unreadable}, 1), units({}));
  EXPECT_EQ(make_units({unreadable, empty_file()}, 1), units({{{1}}}));
}

TEST(Units, ALargeFileEndsItsUnit) {
  std::vector<ScannedFile> files;
  for (int i = 0; i < 4; ++i) files.push_back(file(i, i + 0.5, {}));
  files[1].bytes = kUnitBytes;
  EXPECT_EQ(make_units(files, 16), units({{{0}, {1}}, {{2}, {3}}}));
}

}  // namespace
}  // namespace rpcrdma::batch
