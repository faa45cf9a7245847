// Recordings of endpoints: Wireshark shows the same about every message as `rpcrdma decode`.
#include "lines.h"
#include "support/background.h"
#include "support/own_address.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace rpcrdma::wireshark_tests {
namespace {

// Formats values as tshark does with -E aggregator=,
template <class Value>
void append(std::string& list, const Value& value) {
  if (!list.empty()) list += ',';
  list += value;
}

std::string hex(const json& number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", number.get<unsigned>());
  return text.data();
}

std::string text(const json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string seconds(const json& us) {
  if (us.is_null()) return {};
  const long long ns = std::llround(us.get<double>() * 1000);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%lld.%09lld", ns / 1'000'000'000, ns % 1'000'000'000);
  return text.data();
}

constexpr const char* kColumns =
    " -Y rpcrdma.kind -e frame.number -e rpcrdma.xid -e rpcrdma.version -e rpcrdma.credit "
    "-e rpcrdma.kind -e rpcrdma.connection -e rpcrdma.match.frame -e rpcrdma.latency "
    "-e rpcrdma.credit.requested -e rpcrdma.credit.granted -e rpcrdma.credit.in_use "
    "-e rpcrdma.length -e rpcrdma.src -e rpcrdma.dst -e rpcrdma.invalidated_handle "
    "-e rpcrdma.segment.handle -e rpcrdma.segment.length -e rpcrdma.segment.offset "
    "-e rpcrdma.read.position -e rpcrdma.op.handle -e rpcrdma.op.bytes "
    "-e rpcrdma.op.first_frame -e rpcrdma.op.last_frame -e rpcrdma.finding";

Row recorded(const json& m) {
  std::array<std::string, 9> lists;
  auto& [handles, lengths, offsets, positions, op_handles, op_bytes, op_first, op_last, rules] =
      lists;
  const auto segment = [&](const json& s) {
    append(handles, hex(s["handle"]));
    append(lengths, s["length"].dump());
    std::array<char, 24> offset{};
    std::snprintf(offset.data(), offset.size(), "0x%016llx", s["offset"].get<unsigned long long>());
    append(offsets, offset.data());
  };
  for (const json& s : m["read_list"]) {
    segment(s);
    append(positions, s["position"].dump());
  }
  for (const json& chunk : m["write_list"]) {
    for (const json& s : chunk) segment(s);
  }
  if (!m["reply_chunk"].is_null()) {
    for (const json& s : m["reply_chunk"]) segment(s);
  }
  for (const json& o : m["operations"]) {
    append(op_handles, hex(o["handle"]));
    append(op_bytes, o["bytes"].dump());
    append(op_first, o["first_frame"].dump());
    append(op_last, o["last_frame"].dump());
  }
  for (const json& f : m["findings"]) append(rules, text(f["rule"]));
  const json& invalidated = m["invalidated_handle"];
  Row row{text(m["frame"]),
          hex(m["xid"]),
          text(m["version"]),
          text(m["credit"]),
          text(m["kind"]),
          text(m["connection"]),
          text(m["match"]),
          seconds(m["latency_us"]),
          text(m["credits"]["requested"]),
          text(m["credits"]["granted"]),
          text(m["credits"]["in_use"]),
          text(m["length"]),
          text(m["source"]["address"]),
          text(m["destination"]["address"]),
          invalidated.is_null() ? std::string() : hex(invalidated)};
  row.insert(row.end(), lists.begin(), lists.end());
  return row;
}

// decode assigns findings about a connection to none of its messages; Wireshark needs a frame for
// them, and picks one of the evidence.
bool is_of_connection(const json& analysis, const std::string& rule, const std::string& frame) {
  for (const json& f : analysis["findings"]) {
    if (f["rule"] != rule) continue;
    for (const json& evidence : f["frames"]) {
      if (evidence.dump() == frame) return true;
    }
  }
  return false;
}

void expect_same_findings(const std::string& seen, const std::string& expected,
                          const std::string& frame, const json& analysis) {
  Row more = seen.empty() ? Row() : split(seen, ",");
  for (const std::string& rule : expected.empty() ? Row() : split(expected, ",")) {
    const auto it = std::find(more.begin(), more.end(), rule);
    EXPECT_NE(it, more.end()) << "frame " << frame << ": no " << rule;
    if (it != more.end()) more.erase(it);
  }
  for (const std::string& rule : more) {
    EXPECT_TRUE(is_of_connection(analysis, rule, frame)) << "frame " << frame << ": " << rule;
  }
}

void expect_same_events(const std::string& file) {
  const Row names = split(kColumns, "-e ");
  std::map<std::string, Row> shown;  // by frame
  for (const Row& row : fields("-2 -r " + Tshark::instance().copy(file) + kColumns)) {
    shown[row[0]] = row;
  }
  const json analysis = e2e::parse_json(tshark("RPCRDMA analyze --json " + file).out);
  std::size_t messages = 0;
  for (const json& m : e2e::json_lines(tshark("RPCRDMA decode --json " + file).out)) {
    if (m["kind"] == "event") continue;
    ++messages;
    const Row expected = recorded(m);
    const Row& seen = shown[expected[0]];
    ASSERT_EQ(seen.size(), expected.size()) << "frame " << expected[0];
    for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
      EXPECT_EQ(seen[i], expected[i]) << "frame " << expected[0] << " " << names[i + 1];
    }
    expect_same_findings(seen.back(), expected.back(), expected[0], analysis);
  }
  EXPECT_EQ(messages, 120U);
  EXPECT_EQ(shown.size(), messages);
}

TEST(Recordings, OfBothEndsAreShownAsDecodeShows) {
  const e2e::TemporaryFolder folder;
  ::setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  const std::string server = e2e::own_address(1);
  const std::string theirs = folder.file("server.pcapng");
  const std::string ours = folder.file("client.pcapng");
  e2e::Background serving({"serve", "--listen", server, "--record", theirs});
  ASSERT_TRUE(serving.wait_for("listening")) << serving.out;
  const Result r = tshark("RPCRDMA load " + server + " --from " + e2e::own_address(2) +
                          " --procedure mix --size 1-60000 --count 60 --depth 4 --record " + ours);
  EXPECT_EQ(r.status, 0) << r.err;
  serving.signal(SIGINT);
  EXPECT_EQ(serving.finish(), 0) << serving.out;
  expect_same_events(ours);
  expect_same_events(theirs);
}

}  // namespace
}  // namespace rpcrdma::wireshark_tests
