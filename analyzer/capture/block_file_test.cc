#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/pcapng/block_file.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {
namespace {

constexpr std::size_t kData = 100;
constexpr std::size_t kPacketBytes = 32 + kData;

// A file that cannot grow beyond a given size, as on a disk that fills up.
class BlockFileTest : public ::testing::Test {
 protected:
  BlockFileTest() : path_(::testing::TempDir() + "block_file_" + std::to_string(::getpid())) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  }
  ~BlockFileTest() override {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::unlink(path_.c_str());
  }
  void limit(std::size_t bytes) {
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  // The head of a file, and `count` packets.
  static base::PcapngBlocks head() {
    base::PcapngBlocks blocks;
    blocks.section(base::PcapngBlocks::End::kStatistics);
    Interface interface;
    interface.name = "test";
    blocks.interface(interface);
    return blocks;
  }
  static base::PcapngBlocks packets(std::size_t count) {
    const std::vector<std::uint8_t> data(kData);
    base::PcapngBlocks blocks;
    for (std::size_t i = 0; i < count; ++i) blocks.packet(1, data, {});
    return blocks;
  }
  struct Found {
    std::uint64_t frames = 0;
    std::uint64_t dropped = 0;
    std::string damage;
  };
  [[nodiscard]] Found read() const {
    const auto source = open_file(path_);
    EXPECT_TRUE(source) << source.error().message;
    Frame frame;
    for (auto more = (*source)->next(frame); more && *more;) more = (*source)->next(frame);
    const SourceStats& stats = (*source)->stats();
    return {stats.frames, stats.dropped, stats.damage};
  }
  // Statistics that count the missing ones of 10 packets as dropped.
  static auto loss_of(const base::BlockFile& file) {
    return [&file] {
      return base::PcapngBlocks::Statistics{
          .last_ns = 1, .received = 10, .dropped = 10 - file.packets()};
    };
  }

  const std::string path_;
  int fd_ = -1;
  rlimit before_{};
};

TEST_F(BlockFileTest, OneThatIsFullEndsWithWhatItLacks) {
  const std::size_t front = head().bytes().size();
  base::BlockFile file{base::FileDescriptor(fd_)};
  ASSERT_EQ(file.write(head().bytes()), 0);
  limit(front + 5 * kPacketBytes - 1);
  EXPECT_EQ(file.write(packets(10).bytes()), EFBIG);
  EXPECT_EQ(file.packets(), 4U);
  file.end_full(loss_of(file));
  limit(before_.rlim_cur);
  EXPECT_EQ(file.packets(), 4U);
  const Found found = read();
  EXPECT_EQ(found.frames, 4U);
  EXPECT_EQ(found.dropped, 6U);
  EXPECT_EQ(found.damage, "");
}

// Holds even if an earlier call wrote that packet.
TEST_F(BlockFileTest, TheLastPacketMakesRoomForStatistics) {
  const std::size_t front = head().bytes().size();
  base::BlockFile file{base::FileDescriptor(fd_)};
  ASSERT_EQ(file.write(head().bytes()), 0);
  ASSERT_EQ(file.write(packets(4).bytes()), 0);
  limit(front + 4 * kPacketBytes);
  EXPECT_EQ(file.write(packets(6).bytes()), EFBIG);
  file.end_full(loss_of(file));
  file.end_full(loss_of(file));
  limit(before_.rlim_cur);
  EXPECT_EQ(file.packets(), 3U);
  const Found found = read();
  EXPECT_EQ(found.frames, 3U);
  EXPECT_EQ(found.dropped, 7U);
  EXPECT_EQ(found.damage, "");
}

// The file as a killed program leaves it.
TEST_F(BlockFileTest, OneThatWasNotClosedIsReportedAsSuch) {
  base::BlockFile file{base::FileDescriptor(fd_)};
  ASSERT_EQ(file.write(head().bytes()), 0);
  ASSERT_EQ(file.write(packets(4).bytes()), 0);
  const Found found = read();
  EXPECT_EQ(found.frames, 4U);
  EXPECT_EQ(
      found.damage,
      "the recording was not closed: it ends without its statistics, and its last packets may "
      "be missing");
}

TEST_F(BlockFileTest, APipeIsLeftAsItIs) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const base::FileDescriptor from(ends[0]);
  base::BlockFile file{base::FileDescriptor(ends[1])};
  ASSERT_EQ(file.write(head().bytes()), 0);
  file.end_full(loss_of(file));
  std::vector<std::uint8_t> bytes(1000);
  EXPECT_EQ(::read(from.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(head().bytes().size()));
}

}  // namespace
}  // namespace rpcrdma::capture
