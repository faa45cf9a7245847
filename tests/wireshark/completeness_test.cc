// With the plugin, Wireshark shows no fewer RPC messages than without it, in any capture.
#include "lines.h"
#include "tshark_once.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace rpcrdma::wireshark_tests {
namespace {

struct Frame {
  std::uint64_t messages = 0;  // RPC messages
  bool nfs = false;
  bool sent_again = false;  // a copy, or a retransmission
  std::set<std::string> xids;
};
using Frames = std::map<std::uint64_t, Frame>;

enum class Plugin : bool { kNone, kOurs };

Frames frames_of(Plugin plugin, const std::string& file, bool two_passes = false) {
  const bool ours = plugin == Plugin::kOurs;
  std::vector<std::string> arguments{
      "-Y", ours ? "rpc || nfs || rpcrdma.packet.retransmission" : "rpc || nfs"};
  for (const char* word :
       {"-T", "fields", "-e", "frame.number", "-e", "frame.protocols", "-e", "rpc.xid"}) {
    arguments.emplace_back(word);
  }
  if (ours) arguments.insert(arguments.end(), {"-e", "rpcrdma.packet.retransmission"});
  if (two_passes) arguments.emplace_back("-2");
  const Result r = (ours ? TsharkOnce::with_plugin() : TsharkOnce::plain()).run(file, arguments);
  EXPECT_EQ(r.status, 0) << r.err;
  Frames frames;
  for (const std::string& line : lines(r.out)) {
    const Row columns = split(line, "\t");
    Frame& frame = frames[std::stoull(columns.at(0))];
    for (const std::string& layer : split(columns.at(1), ":")) {
      if (layer == "rpc") ++frame.messages;
      if (layer.starts_with("nfs")) frame.nfs = true;
    }
    if (!columns.at(2).empty()) {
      for (const std::string& xid : split(columns[2], ",")) frame.xids.insert(xid);
    }
    frame.sent_again = ours && !columns.at(3).empty();
  }
  return frames;
}

// Captures in which the built-in dissector shows too much, or results that the plugin does not
// keep.
struct Exception {
  const char* capture;
  std::uint64_t frame;
  const char* why;
};
constexpr std::array kExceptions = {
    Exception{"rules/OPS-01-kind.pcap", 7,
              "data that was read from a Write chunk is no RPC message"},
    Exception{"rules/RD-09-read-twice.pcap", 11, "a Call that has been read only in half"},
    Exception{"rules/HDR-09-chunks.pcap", 15,
              "data for one of two Calls with one XID, of which "
              "one was answered"},
    Exception{"rules/GSS-CHUNK.pcap", 15,
              "the wrapped body was reduced, so its lengths do not fit"},
    Exception{"rules/RD-01-long-5666.pcap", 13, "the Reply in a Read chunk is not kept"},
    Exception{"rules/RD-01-long-reverse-5666.pcap", 17, "the Reply in a Read chunk is not kept"},
};

bool is_exception(const std::string& name, std::uint64_t frame) {
  return std::any_of(kExceptions.begin(), kExceptions.end(),
                     [&](const Exception& e) { return name == e.capture && frame == e.frame; });
}

// Returns whether the plugin shows the RPC message with another frame: one with Read chunks can be
// complete in more than one sense.
bool is_elsewhere(const Frame& frame, const Frames& ours, const Frames& plain, bool nfs) {
  return !frame.xids.empty() && std::any_of(ours.begin(), ours.end(), [&](const auto& other) {
    return !plain.contains(other.first) && other.second.nfs >= nfs &&
           std::includes(other.second.xids.begin(), other.second.xids.end(), frame.xids.begin(),
                         frame.xids.end());
  });
}

std::vector<std::string> all_captures() {
  std::vector<std::string> names;
  const std::filesystem::path root = RPCRDMA_TEST_CAPTURES;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string kind = entry.path().extension();
    if (kind.starts_with(".pcap") || kind == ".erf") {
      names.push_back(std::filesystem::relative(entry.path(), root));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class WiresharkShowsNoLess : public ::testing::TestWithParam<std::string> {};

TEST_P(WiresharkShowsNoLess, RpcAndNfsThanWithoutThePlugin) {
  const std::string& name = GetParam();
  const std::string file = Tshark::instance().copy(capture(name));
  const Frames plain = frames_of(Plugin::kNone, file);
  const Frames ours = frames_of(Plugin::kOurs, file);
  std::uint64_t expected = 0;
  std::uint64_t messages = 0;
  for (const auto& [number, frame] : ours) messages += frame.messages;
  for (const auto& [number, frame] : plain) {
    const auto it = ours.find(number);
    const Frame seen = it != ours.end() ? it->second : Frame();
    if (seen.sent_again || is_exception(name, number)) continue;
    ++expected;  // the built-in dissector shows some messages twice in one frame
    EXPECT_TRUE(seen.messages != 0 || is_elsewhere(frame, ours, plain, false))
        << name << " frame " << number << ": no RPC";
    EXPECT_TRUE(!frame.nfs || seen.nfs || is_elsewhere(frame, ours, plain, true))
        << name << " frame " << number << ": no NFS";
  }
  EXPECT_GE(messages, expected) << name;

  // Where ICRCs are wrong everywhere, the first Send waits for an answer: it is left to the
  // built-in dissector in one pass, and its RPC message stands with the answer in both.
  if (name == "cases/b14-icrc-wrong-all.pcap") return;
  // Wireshark analyzes all frames before it shows any; tshark does so with -2.
  const Frames again = frames_of(Plugin::kOurs, file, true);
  EXPECT_EQ(again.size(), ours.size()) << name;
  for (const auto& [number, frame] : ours) {
    const auto it = again.find(number);
    ASSERT_NE(it, again.end()) << name << " frame " << number;
    EXPECT_EQ(it->second.messages, frame.messages) << name << " frame " << number;
    EXPECT_EQ(it->second.nfs, frame.nfs) << name << " frame " << number;
    EXPECT_EQ(it->second.xids, frame.xids) << name << " frame " << number;
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, WiresharkShowsNoLess, ::testing::ValuesIn(all_captures()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(WiresharkCompleteness, HasCapturesInWhichTheBuiltInDissectorShowsMessages) {
  EXPECT_GT(all_captures().size(), 300U);
  std::size_t with_messages = 0;
  for (const char* name : {"cases/tunnel-or-link-vxlan.pcap", "cases/tunnel-or-link-ppp.pcap",
                           "cases/b14-icrc-wrong-all.pcap", "cases/protocol-c14-one-way.pcap"}) {
    with_messages += frames_of(Plugin::kNone, readable(name)).size() >= 9 ? 1 : 0;
  }
  EXPECT_EQ(with_messages, 4U);
  for (const Exception& e : kExceptions) {
    EXPECT_TRUE(frames_of(Plugin::kNone, readable(e.capture)).contains(e.frame)) << e.capture;
  }
}

}  // namespace
}  // namespace rpcrdma::wireshark_tests
