// Tests that a report does not depend on the number of threads.
#include "captures_for_tests.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include <unistd.h>

#include <rpcrdma/base/pcapng/blocks.h>

namespace rpcrdma::report {
namespace {

using testing::json_of;

// A pcapng file that repeats the packets of a real session. Its other blocks are longer than the
// read-ahead of all threads: buffers that a thread still uses must not be overwritten.
class ThreadsOnLongBlocks : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "threads-" + std::to_string(::getpid()) + ".pcapng";
    std::ofstream out(path_, std::ios::binary);
    base::PcapngBlocks blocks;
    const auto flush = [&] {
      const auto& bytes = blocks.bytes();
      out.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
      blocks.clear();
    };
    blocks.section();
    blocks.interface({});
    const auto source =
        capture::open_file(std::string(RPCRDMA_TEST_CAPTURES) + "/linux-nfs41.pcap");
    ASSERT_TRUE(source);
    capture::Frame frame;
    constexpr std::array<std::size_t, 3> kLengths{200'000, 1'000'000, 3'000'000};
    while ((*source)->next(frame).value()) {
      blocks.packet(frame);
      if (frame.number % 50 != 0) continue;
      flush();
      put_unknown_block(out, kLengths[frame.number / 50 % kLengths.size()]);
    }
    flush();
  }
  void TearDown() override { std::remove(path_.c_str()); }

  // Fills the block with bytes that would be damage if they were read as packets.
  static void put_unknown_block(std::ofstream& out, std::size_t bytes) {
    const auto word = [&](std::uint32_t v) { out.write(reinterpret_cast<const char*>(&v), 4); };
    const auto total = static_cast<std::uint32_t>(bytes + 12);
    word(0x0bad);
    word(total);
    const std::vector<char> filling(bytes, '\x55');
    out.write(filling.data(), static_cast<std::streamsize>(filling.size()));
    word(total);
  }

  [[nodiscard]] std::string reported_by(unsigned threads) const {
    Analysis analysis;
    const auto source = capture::open_file(path_);
    EXPECT_TRUE(source && analysis.pipeline().run(**source, {}, threads));
    analysis.pipeline().finish();
    analysis.finish((*source)->stats());
    return json_of(analysis.report());
  }

 private:
  std::string path_;
};

TEST_F(ThreadsOnLongBlocks, ShowTheSame) {
  const std::string alone = reported_by(1);
  EXPECT_NE(alone.find("\"icrc_bad\":0"), std::string::npos);
  EXPECT_EQ(reported_by(2), alone);
  EXPECT_EQ(reported_by(3), alone);
}

}  // namespace
}  // namespace rpcrdma::report
