// Several files as one capture.
#include "support/command.h"
#include "support/pcap_edit.h"

#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

// The capture in five files, as tcpdump -C and -W leave them after wrapping around: the first in
// time is not the first by name.
class Ring : public ::testing::Test {
 protected:
  void SetUp() override {
    const PcapEdit whole(read_file(capture("linux-nfs41.pcap")));
    const std::size_t each = (whole.records.size() + 4) / 5;
    for (std::size_t i = 0; i < 5; ++i) {
      PcapEdit part = whole;
      part.records.assign(whole.records.begin() + static_cast<std::ptrdiff_t>(i * each),
                          whole.records.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                      whole.records.size(), (i + 1) * each)));
      write_file(folder_.file("ring" + std::to_string((i + 3) % 5)), part.file());
    }
  }

  TemporaryFolder folder_;
  std::string ring_ = folder_.file("ring*");
  std::string whole_ = capture("linux-nfs41.pcap");
};

TEST_F(Ring, DecodesAsTheWhole) {
  const Result whole = run("RPCRDMA decode " + whole_);
  const Result ring = run("RPCRDMA decode " + ring_);
  EXPECT_EQ(ring.status, 0) << ring.err;
  EXPECT_EQ(ring.err, "");
  EXPECT_GT(whole.out.size(), 1000U);
  EXPECT_EQ(ring.out, whole.out);
}

TEST_F(Ring, OneOfTheFilesFromAPipe) {
  const Result ring = run("gzip " + folder_.file("ring0") + "; zcat " + folder_.file("ring0.gz") +
                          " | RPCRDMA decode - " + folder_.file("ring[1-4]"));
  EXPECT_EQ(ring.out, run("RPCRDMA decode " + whole_).out) << ring.err;
}

TEST_F(Ring, ExtractsAsTheWhole) {
  const Result whole = run("RPCRDMA extract -d " + folder_.file("a") + " " + whole_);
  const Result ring = run("RPCRDMA extract -d " + folder_.file("b") + " " + ring_);
  EXPECT_NE(whole.out, "");
  EXPECT_EQ(ring.out, whole.out) << ring.err;
  EXPECT_EQ(run("diff -r " + folder_.file("a") + " " + folder_.file("b")).status, 0);
}

TEST_F(Ring, AnalyzesAsTheWhole) {
  const Result whole = run("RPCRDMA analyze " + whole_);
  const Result ring = run("RPCRDMA analyze " + ring_);
  EXPECT_EQ(ring.status, whole.status) << ring.err;
  EXPECT_EQ(ring.out, whole.out);
}

TEST_F(Ring, DamageIsWarnedOfByName) {
  const std::string bytes = read_file(folder_.file("ring1"));
  write_file(folder_.file("ring1"), bytes.substr(0, bytes.size() - 3));
  const Result ring = run("RPCRDMA decode " + ring_);
  EXPECT_EQ(ring.status, 0);
  EXPECT_NE(ring.err.find("warning: " + folder_.file("ring1") + ": the file ends within the"),
            std::string::npos)
      << ring.err;
}

}  // namespace
}  // namespace rpcrdma::e2e
