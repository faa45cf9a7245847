// Compares docs/json.md and docs/timelines.md with the commands' output: every key is documented,
// with its type and its condition.
#include "eventful_recording.h"
#include "field_lister.h"
#include "kernel_recording.h"
#include "support/background.h"
#include "support/command.h"
#include "support/own_address.h"
#include "support/pcap_edit.h"
#include "support/running_endpoint.h"
#include "support/timeline_checks.h"
#include "support/traffic_count.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;

struct Key {
  std::string type;
  bool always = false;
  bool seen = false;
};
using Keys = std::map<std::string, Key>;

// A word that is a prefix of another follows it.
const std::vector<std::pair<std::string, std::vector<std::string>>> kWords = {
    {"SIDE", {"client", "server"}},
    {"DIRECTION", {"forward", "reverse"}},
    {"LIST", {"read", "write", "reply"}},
    {"LATENCY",
     {"latency_us", "in_responder_us", "parts_us.call_to_first_operation", "parts_us.operations",
      "parts_us.last_operation_to_reply"}},
    {"WHAT", {"connection", "client", "server", "procedure", "size"}},
    {"QUANTILE", {"min", "mean", "p50", "p90", "p95", "p99", "p999", "max"}},
    {"TOTAL", {"count", "min_ns", "max_ns", "sum_ns"}},
    {"CALLED", {"connection", "xid", "frame", "time_ns"}},
    {"CALL", {"frame", "reply_frame", "time_ns", "xid", "connection", "latency_ns"}},
    {"PROCEDURE", {"program", "version", "procedure", "operation"}},
    {"GAP",
     {"lost", "truncated", "one_direction", "set_up_only", "clock_steps_back", "mid_stream_start",
      "events_lost", "operations_unseen", "joined", "not_sampled"}},
    {"WHOSE", {"made", "served"}},
    {"SPENT", {"credit_wait_us", "sending_us", "response_us", "completion_us"}},
    {"BUCKETS", {"count", "min_ns", "max_ns", "sum_ns"}},
    {"PREPARED", {"slot_wait_us", "marshal_us", "post_us"}},
    {"SPAN", {"before", "after"}},
    {"STAGE",
     {"slot", "credit", "post", "network_there", "decode", "read", "execute", "write", "send",
      "network_back", "wake"}},
    {"COUNTED", {"calls", "answered", "failed", "unanswered"}},
    {"PART", {"call_to_first_operation", "operations", "last_operation_to_reply"}},
};

void expand(const std::string& key, const Key& value, Keys& keys) {
  for (const auto& [word, meanings] : kWords) {
    const auto at = key.find(word);
    if (at == std::string::npos) continue;
    for (const std::string& m : meanings) {
      expand(std::string(key).replace(at, word.size(), m), value, keys);
    }
    return;
  }
  EXPECT_TRUE(keys.emplace(key, value).second) << key << " is documented twice";
}

// Returns the rows of the table under a heading.
Keys documented(const std::string& file, const std::string& heading) {
  Keys keys;
  std::istringstream text(read_file(RPCRDMA_TEST_DOCS "/" + file));
  bool here = false;
  for (std::string line; std::getline(text, line);) {
    // Sections under it have smaller headings.
    if (line.starts_with("#") && line.find(' ') <= heading.find(' ')) here = line == heading;
    if (!here || !line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 2, end = 0; (end = line.find(" |", at)) != std::string::npos;
         at = end + 3) {
      cells.push_back(line.substr(at, end - at));
    }
    EXPECT_GE(cells.size(), 3U) << line;
    expand(cells[0].substr(1, cells[0].size() - 2), {cells[1], cells[2] == "always"}, keys);
  }
  EXPECT_FALSE(keys.empty()) << heading;
  return keys;
}

std::string type_of(const json& value) {
  if (value.is_boolean()) return "boolean";
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  if (value.is_string()) return "string";
  if (value.is_array()) return "list";
  return value.is_object() ? "object" : "null";
}

// `path`: of the object, with a dot at the end; empty for the whole document.
void check(const json& value, const std::string& path, Keys& keys) {
  if (value.is_array()) {
    for (const json& element : value) check(element, path + "[]", keys);
    return;
  }
  if (!value.is_object()) return;
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& [name, member] : value.items()) {
    auto key = keys.find(prefix + name);
    if (key == keys.end()) key = keys.find(prefix + "NAME");
    ASSERT_NE(key, keys.end()) << prefix + name << " is not documented";
    key->second.seen = true;
    const std::string type = type_of(member);
    EXPECT_TRUE(key->second.type == type || key->second.type == type + " or null" ||
                (type == "null" && key->second.type.ends_with(" or null")) ||
                // For example, a time without a fraction.
                (type == "integer" && key->second.type.starts_with("number")))
        << key->first << " is documented as " << key->second.type << ", and is " << type;
    // Keys below a NAME are documented once.
    check(member, key->first, keys);
  }
  for (const auto& [name, key] : keys) {
    const bool mine = name.size() > prefix.size() && name.starts_with(prefix) &&
                      name.find_first_of(".[", prefix.size()) == std::string::npos;
    if (mine && key.always) {
      EXPECT_TRUE(value.contains(name.substr(prefix.size()))) << name << " is missing: " << value;
    }
  }
}

constexpr std::size_t kBth = 16 + 14 + 20 + 8;
constexpr std::size_t kSend = kBth + 12;

void set_words(PcapEdit& edit, std::size_t frame, std::size_t offset,
               std::initializer_list<std::uint32_t> words) {
  std::string& record = edit.records[frame - 1];
  for (const std::uint32_t word : words) {
    wire::store_be32(reinterpret_cast<std::uint8_t*>(&record[offset]), word);
    offset += 4;
  }
  mend_icrc(record);
}

// Unusual messages, which well-behaved peers do not send, in place of Replies and ACKs of
// linux-nfs41.pcap.
std::string unusual() {
  PcapEdit edit(read_file(capture("linux-nfs41.pcap")));
  for (const std::size_t frame : {61U, 63U}) {
    set_words(edit, frame, kSend, {0x60000000});  // NAK, PSN Sequence Error
  }
  set_words(edit, 62, kSend + 12, {4, 1, 1, 1});        // ERR_VERS
  set_words(edit, 78, kSend + 4, {2, 64, 4, 3});        // RDMA2_ERR_CANT_REPLY
  set_words(edit, 82, kSend + 4, {2, 64, 5, 1, 9, 0});  // RDMA2_OPTIONAL
  set_words(edit, 86, kSend + 4, {3});                  // version 3
  edit.records[90 - 1][kSend + 10] = 1;                 // more credits, and an invalid ICRC
  return edit.file();
}

// A REJ in place of the REP.
std::string rejected() {
  PcapEdit edit(read_file(capture("linux-nfs41.pcap")));
  edit.records[58 - 1][kSend + 8 + 17] = 0x12;
  mend_icrc(edit.records[58 - 1]);
  return edit.file();
}

// The Reply to a Call is missing from the capture; its ACK shows that.
std::string lossy() {
  PcapEdit edit(read_file(capture("linux-nfs41.pcap")));
  edit.records.erase(edit.records.begin() + 77);
  return edit.file();
}

// The capture begins and ends while a Call is in flight.
std::string middle() {
  PcapEdit edit(read_file(capture("linux-nfs41.pcap")));
  edit.records.assign(edit.records.begin() + 77, edit.records.begin() + 81);
  return edit.file();
}

// The capture shows a request for callbacks, and not the connection's set-up for them.
std::string late() {
  PcapEdit edit(read_file(capture("linux-deleg.pcap")));
  edit.records.erase(edit.records.begin(), edit.records.begin() + 255);
  return edit.file();
}

// Frames of IPsec, which are not decoded.
std::string encrypted() {
  PcapEdit edit(read_file(capture("linux-nfs41.pcap")));
  std::erase_if(edit.records, [](const std::string& r) { return PcapEdit::opcode(r) < 0; });
  edit.records.resize(1);
  edit.records[0][16 + 14 + 9] = 50;
  return edit.file();
}

// iWARP whose set-up is not in the capture.
std::string iwarp_from_the_middle() {
  PcapEdit edit(read_file(capture("cases/b34-iwarp-nfs.pcap")));
  edit.records.erase(edit.records.begin(), edit.records.begin() + 5);
  return edit.file();
}

// CNPs of the client, too, and a pause frame of class 3.
std::string congested() {
  constexpr std::size_t kRecord = 16, kAddresses = 14 + 12;
  PcapEdit edit(read_file(capture("cases/b35-cnp-ecn-ce.pcap")));
  for (std::string& record : edit.records) {
    if (PcapEdit::opcode(record) != 0x81) continue;
    std::string swapped = record;
    for (std::size_t i = 0; i < 4; ++i) {
      std::swap(swapped[kRecord + kAddresses + i], swapped[kRecord + kAddresses + 4 + i]);
    }
    edit.records.push_back(swapped);
    break;
  }
  std::string pause(60, '\0');
  pause.replace(
      0, 22, std::string("\x01\x80\xc2\0\0\x01\x02\0\0\0\0\x07\x88\x08\x01\x01\0\x08\0\0\0\0", 22));
  pause[18 + 2 * 3] = '\x10';
  std::string header = edit.records.back().substr(0, 16);
  const auto size = static_cast<std::uint32_t>(pause.size());
  std::memcpy(header.data() + 8, &size, 4);
  std::memcpy(header.data() + 12, &size, 4);
  edit.records.push_back(header + pause);
  return edit.file();
}

// Captures that together produce every key.
std::vector<std::string> all_captures(const TemporaryFolder& folder) {
  write_file(folder.file("unusual.pcap"), unusual());
  write_file(folder.file("rejected.pcap"), rejected());
  write_file(folder.file("lossy.pcap"), lossy());
  write_file(folder.file("middle.pcap"), middle());
  write_file(folder.file("late.pcap"), late());
  write_file(folder.file("iwarp.pcap"), iwarp_from_the_middle());
  write_file(folder.file("tracepoints.pcapng"),
             tracepoint_recording(read_file(capture("linux-nfs41.pcap"))));
  return {capture("linux-nfs41.pcap"),
          capture("linux-nfs3.pcap"),
          capture("linux-deleg.pcap"),
          capture("linux-non-rpc.pcap"),
          capture("roce-icrc-oracle.pcap"),
          folder.file("unusual.pcap"),
          folder.file("rejected.pcap"),
          folder.file("lossy.pcap"),
          folder.file("middle.pcap"),
          folder.file("late.pcap"),
          capture("dialects/flags.pcap"),
          capture("dialects/ietf-03.pcap"),
          capture("cases/protocol-c03-msgp-write.pcap"),
          capture("cases/b34-iwarp-nfs.pcap"),
          folder.file("iwarp.pcap"),
          capture("cases/b35-cnp-ecn-ce.pcap")};
}

// What the client of a capture records, except a message.
std::string recording_without_message(std::size_t number) {
  PcapEdit edit(read_file(capture("linux-nfs41.pcap")));
  constexpr int kSendOnly = 0x04;
  std::size_t nth = 0;
  const auto lost = std::find_if(edit.records.begin(), edit.records.end(), [&](const auto& r) {
    return PcapEdit::opcode(r) == kSendOnly && ++nth == number;
  });
  EXPECT_NE(lost, edit.records.end());
  if (lost != edit.records.end()) edit.records.erase(lost);
  const std::string file = edit.file();
  const auto bytes =
      trace_reader::testing::events_of_capture(
          {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, {.side = 0})
          .pcapng();
  return {bytes.begin(), bytes.end()};
}

void expect_documented(const std::string& command) {
  const TemporaryFolder folder;
  Keys keys = documented("json.md", "## " + command);
  std::vector<std::string> files = all_captures(folder);
  files.push_back(folder.file("tracepoints.pcapng"));
  for (const std::string& file : files) {
    const Result r = run("RPCRDMA " + command.substr(command.find(' ')) + " " + file);
    for (const json& object : json_lines(r.out)) {
      // Events have a table of their own.
      if (object.value("kind", "") == "event") continue;
      ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
    }
  }
  if (command == "rpcrdma analyze --json") {
    write_file(folder.file("eventful.pcapng"), eventful_recording());
    write_file(folder.file("sums.pcapng"), sums_recording());
    for (const char* name : {"eventful.pcapng", "sums.pcapng"}) {
      const Result recorded = run("RPCRDMA analyze --json " + folder.file(name));
      for (const json& object : json_lines(recorded.out)) {
        ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
      }
    }
    write_file(folder.file("congested.pcap"), congested());
    const Result signals = run("RPCRDMA analyze --json --no-icrc " + folder.file("congested.pcap"));
    for (const json& object : json_lines(signals.out)) {
      ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
    }
    write_file(folder.file("encrypted.pcap"), encrypted());
    const Result unread = run("RPCRDMA analyze --json " + folder.file("encrypted.pcap"));
    for (const json& object : json_lines(unread.out)) {
      ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
    }
    for (const char* name : {"rules/CONN-LOST-unanswered.pcap", "cases/hung-32-calls-90s.pcap",
                             "cases/tunnel-or-link-vxlan.pcap", "cases/b14-icrc-wrong-all.pcap",
                             "cases/b11-rej-consumer-with-status4.pcap",
                             "sessions/pnfs-flexfiles.pcap", "sessions/nconnect.pcap"}) {
      const Result one = run("RPCRDMA analyze --json " + capture(name));
      for (const json& object : json_lines(one.out))
        ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
    }
    // Without a Call, and without a Reply.
    for (const std::size_t number : {20U, 21U}) {
      write_file(folder.file("client.pcapng"), recording_without_message(number));
      const Result views = run("RPCRDMA analyze --json " + capture("linux-nfs41.pcap") + " " +
                               folder.file("client.pcapng"));
      for (const json& object : json_lines(views.out))
        ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
    }
    const Result limited = run("RPCRDMA analyze --json --slow 1ms,READ=2ms " +
                               capture("linux-nfs3.pcap") + " " + capture("rules/STALL-hung.pcap"));
    for (const json& object : json_lines(limited.out))
      ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
    const Result again = run("RPCRDMA analyze --json " + capture("rules/RETX-STORM.pcap"));
    for (const json& object : json_lines(again.out))
      ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
    const Result r = run("RPCRDMA analyze --json -Y nfs " + folder.file("middle.pcap"));
    for (const json& object : json_lines(r.out)) ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
  }
  for (const auto& [name, key] : keys) EXPECT_TRUE(key.seen) << name << " was never written";
}

TEST(JsonDocs, DecodeWritesWhatIsDocumented) {
  expect_documented("rpcrdma decode --json");
}

std::string both_ends() {
  return capture("kernel/k61-client.dat") + " " + capture("kernel/k61-server.dat.gz") + " " +
         capture("kernel/k61-wire.pcap.gz");
}

TEST(JsonDocs, DecodeOfBothEndsWritesWhatIsDocumented) {
  Keys keys = documented("json.md", "## rpcrdma decode --both --json");
  for (const auto& [name, key] : documented("json.md", "## rpcrdma decode --json")) {
    if (!name.starts_with("findings")) keys.emplace(name, Key{key.type, false, true});
  }
  for (const json& object : json_lines(run("RPCRDMA decode --both --json " + both_ends()).out)) {
    ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
  }
  for (const auto& [name, key] : keys) EXPECT_TRUE(key.seen) << name << " was never written";
}

TEST(JsonDocs, ExportOfBothEndsWritesWhatIsDocumented) {
  Keys points = documented("timelines.md", "### Points of both ends");
  Keys stages = documented("timelines.md", "### Stages of both ends");
  const json trace = parse_json(run("RPCRDMA export --format perfetto " + both_ends()).out);
  std::size_t checked = 0;
  for (const json& event : trace["traceEvents"]) {
    const std::string category = event.value("cat", "");
    if (category != "point" && category != "stage") continue;
    ++checked;
    ASSERT_NO_FATAL_FAILURE(check(event["args"], "", category == "point" ? points : stages));
  }
  EXPECT_GT(checked, 0U);
  for (const auto& [name, key] : stages) EXPECT_TRUE(key.seen) << name << " was never written";
}

// Includes keys that the captures of these tests do not produce.
TEST(JsonDocs, EveryFieldOfAReportIsDocumented) {
  report::FieldLister lister;
  const report::Report empty;
  lister("schema", std::string());
  report::fields_before_connections(lister, empty, [](report::FieldLister&) {});
  lister.objects("connections", empty.connections, 0);
  report::fields_after_connections(lister, empty);
  Keys keys = documented("json.md", "## rpcrdma analyze --json");
  for (const auto& [path, type] : lister.keys()) {
    auto key = keys.find(path);
    if (key == keys.end()) key = keys.find(path.substr(0, path.rfind('.') + 1) + "NAME");
    ASSERT_NE(key, keys.end()) << path << " is not documented";
    key->second.seen = true;
    EXPECT_EQ(key->second.type, type) << path;
  }
  for (const auto& [path, key] : keys) {
    // These follow from other fields.
    const bool follows = path.starts_with("capture_quality") || path.starts_with("latency.by") ||
                         path.starts_with("verdict") || path.starts_with("ends");
    EXPECT_TRUE(key.seen || follows) << path << " is no field";
  }
}

TEST(JsonDocs, AnalyzeWritesWhatIsDocumented) {
  expect_documented("rpcrdma analyze --json");
}

// Both ends of a connection, with Calls that are slow at the server.
TEST(JsonDocs, TopWritesWhatIsDocumented) {
  const TemporaryFolder folder;
  ::setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  Background server({"serve", "--listen", own_address(1), "--name", "server"});
  ASSERT_TRUE(server.wait_for("listening on")) << server.out;
  Background client({"load", own_address(1), "--from", own_address(2), "--name", "client",
                     "--procedure", "sleep", "--sleep", "20ms", "--duration", "90s"});
  ASSERT_TRUE(wait_for_endpoint("client"));
  Keys keys = documented("json.md", "## rpcrdma top --json");
  const Result r = run("RPCRDMA top client server --json --seconds 3");
  ::unsetenv("XDG_RUNTIME_DIR");
  for (const json& object : json_lines(r.out)) ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
  for (const auto& [name, key] : keys) {
    // Only where nothing can be judged.
    EXPECT_TRUE(key.seen || name == "ends[].why") << name << " was never written";
  }
}

// RDMA Writes with more data than their length fields say.
std::string irregular() {
  PcapEdit edit(read_file(capture("linux-nfs3.pcap")));
  for (std::size_t i = 0; i < edit.records.size(); ++i) {
    const int opcode = PcapEdit::opcode(edit.records[i]);
    if (opcode == 0x06 || opcode == 0x0a) set_words(edit, i + 1, kSend + 12, {1});
  }
  return edit.file();
}

// Two directions that are joined to one connection only after a while.
std::string two_halves() {
  PcapEdit edit(read_file(capture("linux-nfs41.pcap")));
  edit.records.erase(edit.records.begin(), edit.records.begin() + 176);
  return edit.file();
}

// Whether the captures have every event. A build with sanitizers skips those with violations, which
// TimelinesOfWhatIsWrongToo exports.
constexpr bool kEveryEvent = !report::testing::kSanitized;

// All event types of a timeline, by the heading that describes them.
struct TimelineDocs {
  std::map<std::string, Keys> tables;

  Keys& table(const std::string& heading) {
    const auto [at, added] = tables.try_emplace(heading);
    if (added) at->second = documented("timelines.md", heading);
    return at->second;
  }
  void expect_all_seen(std::size_t events) {
    if (!kEveryEvent) return;
    EXPECT_EQ(tables.size(), events);
    for (const auto& [heading, keys] : tables) {
      for (const auto& [name, key] : keys) {
        EXPECT_TRUE(key.seen) << heading << ": " << name << " was never written";
      }
    }
  }
};

// Exports them all in a format, and conversations with violations.
std::vector<std::string> exported_as(const std::string& format) {
  const TemporaryFolder folder;
  std::string captures = kEveryEvent ? capture("rules/*.pcap") : std::string();
  for (const std::string& name : all_captures(folder)) captures += " " + name;
  write_file(folder.file("irregular.pcap"), irregular());
  write_file(folder.file("halves.pcap"), two_halves());
  captures += " " + folder.file("irregular.pcap") + " " + folder.file("halves.pcap");
  const Result r = run("for f in " + captures + "; do RPCRDMA export --format " + format +
                       " $f -o " + folder.path() + "/${f##*/}.out || exit 9; done");
  EXPECT_EQ(r.status, 0) << r.err;
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".out") texts.push_back(read_file(entry.path().string()));
  }
  EXPECT_GT(texts.size(), kEveryEvent ? 100U : 14U);
  return texts;
}

std::string heading_of(const json& event) {
  const std::string category = event["cat"];
  if (category == "call") return "### Calls";
  if (category == "operation") {
    return event["ph"] == "X" ? "### RDMA operations" : "### Unmatched RDMA operations";
  }
  return category == "credits"          ? "### Credits"
         : category == "finding"        ? "### Findings"
         : category == "refusal"        ? "### Refusals"
         : category == "retransmission" ? "### Retransmissions"
                                        : "### Connections";
}

TEST(JsonDocs, CompareWritesWhatIsDocumented) {
  Keys keys = documented("json.md", "## rpcrdma compare --json");
  const json object = parse_json(run("RPCRDMA compare --json " + capture("linux-nfs41.pcap") + " " +
                                     capture("linux-nfs3.pcap"))
                                     .out);
  ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
  const json same = parse_json(
      run("RPCRDMA compare --json " + capture("linux-nfs3.pcap") + " " + capture("linux-nfs3.pcap"))
          .out);
  ASSERT_NO_FATAL_FAILURE(check(same, "", keys));
  for (const auto& [name, key] : keys) EXPECT_TRUE(key.seen) << name << " was never written";
}

TEST(JsonDocs, ExportToPerfettoWritesWhatIsDocumented) {
  TimelineDocs docs;
  for (const std::string& text : exported_as("perfetto")) {
    const json trace = parse_json(text);
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] == "M") continue;
      ASSERT_NO_FATAL_FAILURE(check(event["args"], "", docs.table(heading_of(event)))) << event;
    }
  }
  docs.expect_all_seen(8);
}

TEST(JsonDocs, ExportToQlogWritesWhatIsDocumented) {
  TimelineDocs docs;
  const Keys of_decode = documented("json.md", "## rpcrdma decode --json");
  const auto take = [&](const std::string& heading, const std::set<std::string>& keys) {
    for (const auto& [name, key] : of_decode) {
      if (keys.contains(name.substr(0, name.find_first_of(".[")))) {
        docs.table(heading).emplace(name, key);
      }
    }
  };
  take("### rpcrdma:message",
       {"kind", "xid", "version", "dialect", "credit", "proc", "read_list", "write_list",
        "reply_chunk", "error", "option_type", "inv_handle", "malformed", "rpc"});
  take("### rpcrdma:call_ended", {"rpc"});
  docs.table("### rpcrdma:call_ended").erase("rpc.status");  // of Replies
  for (const std::string& text : exported_as("qlog")) {
    for (const json& record : timeline::testing::read_sequence(text)) {
      if (record.contains("qlog_version")) continue;
      json event = record;
      event["data"] = json::object();
      check(event, "", docs.table("### Every event"));
      ASSERT_NO_FATAL_FAILURE(
          check(record["data"], "", docs.table("### " + record["name"].get<std::string>())))
          << record;
    }
  }
  docs.expect_all_seen(13);
}

TEST(JsonDocs, EventsAreWrittenAsDocumented) {
  const TemporaryFolder folder;
  write_file(folder.file("eventful.pcapng"), eventful_recording());
  Keys keys = documented("json.md", "## Events of endpoints");
  const std::string fields = read_file(RPCRDMA_TEST_DOCS "/fields.md");
  for (json& object :
       json_lines(run("RPCRDMA decode --json " + folder.file("eventful.pcapng")).out)) {
    for (auto& [name, value] : object["fields"].items()) {
      if (name.ends_with("_name")) continue;
      EXPECT_NE(fields.find("| `" + name + "` |"), std::string::npos) << name;
    }
    object["fields"] = json::object();
    ASSERT_NO_FATAL_FAILURE(check(object, "", keys));
  }
  for (const auto& [name, key] : keys) EXPECT_TRUE(key.seen) << name << " was never written";
}

void collect_names(const json& value, std::set<std::string>& names) {
  if (value.is_array()) {
    for (const json& element : value) collect_names(element, names);
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      names.insert(name);
      collect_names(member, names);
    }
  }
}

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    for (const int shift : {4, 0}) text += "0123456789abcdef"[(c >> shift) & 15];
  }
  return text;
}

TEST(JsonDocs, HeaderWritesFieldsOfTheSchema) {
  std::string shell;
  const PcapEdit edit(unusual());
  for (const std::string& record : edit.records) {
    const int opcode = PcapEdit::opcode(record);
    const auto run_on = [&](const char* kind, std::size_t at) {
      const std::string bytes = record.substr(at, record.size() - 4 - at);
      shell += std::string("RPCRDMA header --json --as ") + kind + " " + hex(bytes) + "\n";
    };
    if (opcode == 0x04) run_on("message", kSend);  // SEND Only
    if (opcode == 0x64) run_on("cm", kSend + 8);   // UD SEND Only, behind its DETH
  }
  std::set<std::string> names;
  for (const json& object : json_lines(run(shell).out)) collect_names(object, names);
  EXPECT_GT(names.size(), 100U);
  const std::string fields = read_file(RPCRDMA_TEST_DOCS "/fields.md");
  for (std::string name : names) {
    if (name.ends_with("_name")) name.resize(name.size() - 5);
    EXPECT_NE(fields.find("| `" + name + "` |"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace rpcrdma::e2e
