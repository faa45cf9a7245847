// The time of a file's last frame, found from its end, is the one that reading the file finds.
#include "tail.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <rpcrdma/batch/scan.h>

namespace rpcrdma::batch {
namespace {

constexpr std::int64_t kFirst = 1'700'000'000;  // seconds

void put(std::string& to, std::initializer_list<std::uint32_t> words) {
  for (const std::uint32_t word : words) to.append(reinterpret_cast<const char*>(&word), 4);
}

// `records` of `bytes` each, one a millisecond.
std::string pcap_of(std::uint32_t records, std::uint32_t bytes) {
  std::string file;
  put(file, {0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1});
  for (std::uint32_t i = 0; i < records; ++i) {
    put(file, {static_cast<std::uint32_t>(kFirst) + i / 1000, i % 1000 * 1000, bytes, bytes});
    file.append(bytes, static_cast<char>(i));
  }
  return file;
}

std::string pcapng_of(std::uint32_t records, std::uint32_t bytes) {
  std::string file;
  put(file, {0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff, 28});
  put(file, {1, 20, 1, 65535, 20});
  for (std::uint32_t i = 0; i < records; ++i) {
    const std::uint64_t time = std::uint64_t{kFirst} * 1'000'000 + i * 1000;
    const std::uint32_t length = 32 + bytes;
    put(file, {6, length, 0, static_cast<std::uint32_t>(time >> 32),
               static_cast<std::uint32_t>(time), bytes, bytes});
    file.append(bytes, static_cast<char>(i));
    put(file, {length});
  }
  return file;
}

class Ends : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "rpcrdma-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  std::string write(const std::string& bytes) const {
    std::string name = path_ + "/file";
    std::ofstream(name, std::ios::binary) << bytes;
    return name;
  }

  std::string path_;
};

constexpr std::uint32_t kRecords = 4000;
constexpr std::int64_t kFirstNs = kFirst * 1'000'000'000;
constexpr std::int64_t kLastNs = kFirstNs + (kRecords - 1) * std::int64_t{1'000'000};

TEST_F(Ends, OfPcap) {
  const std::string whole = pcap_of(kRecords, 700);
  EXPECT_EQ(last_time(write(whole), kFirstNs), kLastNs);
  // The last record is cut.
  EXPECT_EQ(last_time(write(whole.substr(0, whole.size() - 300)), kFirstNs), kLastNs - 1'000'000);
  EXPECT_EQ(last_time(write(whole + std::string(2'000'000, 'x')), kFirstNs), std::nullopt);
}

TEST_F(Ends, OfPcapng) {
  const std::string whole = pcapng_of(kRecords, 700);
  EXPECT_EQ(last_time(write(whole), kFirstNs), kLastNs);
  std::string statistics;
  put(statistics, {5, 24, 0, 0, 0, 24});
  EXPECT_EQ(last_time(write(whole + statistics), kFirstNs), kLastNs);
  // Packets behind another section are read.
  EXPECT_EQ(last_time(write(whole + pcapng_of(1, 4)), kFirstNs),
            kLastNs - (kRecords - 1) * std::int64_t{1'000'000});
  EXPECT_EQ(last_time(write(whole.substr(0, whole.size() - 300)), kFirstNs), std::nullopt);
}

TEST_F(Ends, OfOtherFilesAreRead) {
  EXPECT_EQ(last_time(write(pcap_of(10, 100)), kFirstNs), std::nullopt);  // small
  EXPECT_EQ(last_time(write(std::string(4'000'000, '\0')), kFirstNs), std::nullopt);
  EXPECT_EQ(last_time(path_ + "/none", kFirstNs), std::nullopt);
}

TEST_F(Ends, AScanFindsThemEitherWay) {
  for (const std::string& bytes :
       {pcap_of(kRecords, 700), pcapng_of(kRecords, 700), pcap_of(kRecords, 60)}) {
    const Scan scan = scan_file(write(bytes));
    EXPECT_TRUE(scan.frames);
    EXPECT_EQ(scan.first_ns, kFirstNs);
    EXPECT_EQ(scan.last_ns, kLastNs);
  }
}

TEST(ScanFile, FindsTheHosts) {
  const Scan scan = scan_file(RPCRDMA_TEST_CAPTURES "/linux-nfs41.pcap");
  EXPECT_EQ(scan.unreadable, "");
  EXPECT_EQ(scan.pairs, std::set<std::string>{"10.77.0.1 10.77.0.2"});
  EXPECT_NE(scan_file("/nonexistent").unreadable, "");
  EXPECT_EQ(scan_file("/nonexistent").unreadable, "No such file or directory");
}

}  // namespace
}  // namespace rpcrdma::batch
