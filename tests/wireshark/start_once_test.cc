// The preloaded tshark writes the same output as a tshark started for each command line.
#include "lines.h"
#include "tshark_once.h"

#include <gtest/gtest.h>

namespace rpcrdma::wireshark_tests {
namespace {

TEST(TsharkOnce, WritesWhatTsharkWritesThatIsStartedForEach) {
  struct Case {
    std::string file;
    std::vector<std::string> arguments;
  };
  const std::vector<Case> cases = {
      {readable("linux-nfs41.pcap"), {}},
      {readable("linux-deleg.pcap"), {"-2", "-T", "json", "-Y", "rpcrdma || rpc"}},
      {readable("rules/RP-02.pcap"), {"-q", "-z", "rpcrdma,findings"}},
      {readable("rules/RETX-STORM.pcap"), {"-T", "psml"}},
      {Tshark::instance().file("missing.pcap"), {}},
      {readable("linux-nfs41.pcap"), {"--no-such-option"}},
      {readable("linux-nfs41.pcap"), {"-Y", "rpcrdma.no_such_field"}}};
  for (const bool ours : {true, false}) {
    const TsharkOnce& once = ours ? TsharkOnce::with_plugin() : TsharkOnce::plain();
    for (const auto& [file, arguments] : cases) {
      std::string shell = (ours ? "TSHARK -r " : "PLAIN -r ") + once.link();
      for (const std::string& a : arguments) shell += " '" + a + "'";
      const Result r = once.run(file, arguments);
      const Result fresh = tshark(shell);
      EXPECT_EQ(r.status, fresh.status) << file << shell;
      EXPECT_TRUE(r.out == fresh.out) << file << shell;
      EXPECT_EQ(r.err, fresh.err) << file << shell;
    }
  }
}

}  // namespace
}  // namespace rpcrdma::wireshark_tests
