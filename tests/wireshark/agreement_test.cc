// The plugin and `rpcrdma decode` agree about every message of every capture.
#include "tshark_once.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::wireshark_tests {
namespace {

// Fields by name; both sides use the names of `rpcrdma decode --json`.
using Fields = std::map<std::string, json>;
using Messages = std::map<std::uint64_t, Fields>;  // by frame

json text(const json* field) {
  return field == nullptr ? json() : *field;
}

json truth(const json* field) {
  return field == nullptr ? json() : json(*field == "1");
}

// Converts seconds with nine decimals to nanoseconds.
json nanoseconds(const json* field) {
  if (field == nullptr) return nullptr;
  std::string digits = field->get<std::string>();
  digits.erase(digits.find('.'), 1);
  return std::stoll(digits, nullptr, 10);
}

json nanoseconds_of_us(const json& us) {
  if (us.is_null()) return nullptr;
  return std::llround(us.get<double>() * 1000);
}

json segment(const json& s) {
  json one{{"handle", number(first(s, "rpcrdma.segment.handle"))},
           {"length", number(first(s, "rpcrdma.segment.length"))},
           {"offset", number(first(s, "rpcrdma.segment.offset"))}};
  if (s.contains("rpcrdma.read.position")) {
    one["position"] = number(first(s, "rpcrdma.read.position"));
  }
  return one;
}

json segments(const json& chunk) {
  json list = json::array();
  for (const json& s : all(chunk, "rpcrdma.segment")) list.push_back(segment(s));
  return list;
}

// Frames of operations by segment: {list, chunk, segment, first frame, last frame}.
void add_links(const json& chunk, const char* list, std::size_t index, json& links) {
  std::size_t at = 0;
  for (const json& s : all(chunk, "rpcrdma.segment")) {
    const auto begin = all(s, "rpcrdma.packet.operation");
    const auto end = all(s, "rpcrdma.packet.operation_end");
    for (std::size_t i = 0; i < begin.size(); ++i) {
      links.push_back(
          {list, index, at, number(&begin[i]), i < end.size() ? number(&end[i]) : json()});
    }
    ++at;
  }
}

const char* severity(const json& value) {
  // Wireshark's PI_ERROR, PI_WARN and PI_NOTE.
  if (value == "8388608") return "error";
  if (value == "6291456") return "warning";
  return value == "4194304" ? "note" : "unknown";
}

json findings(const json& layer) {
  std::multiset<json> all_of;
  const auto rules = all(layer, "rpcrdma.finding");
  const auto trees = all(layer, "rpcrdma.finding_tree");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const json level =
        i < trees.size()
            ? text(first(trees[i].value("_ws.expert", json::object()), "_ws.expert.severity"))
            : json();
    all_of.insert(json::array({rules[i], severity(level)}));
  }
  return all_of;
}

json operations(const json& layer) {
  json list = json::array();
  for (const json& o : all(layer, "rpcrdma.op")) {
    list.push_back({{"kind", text(first(o, "rpcrdma.op.kind")) == "RDMA READ" ? "read" : "write"},
                    {"handle", number(first(o, "rpcrdma.op.handle"))},
                    {"offset", number(first(o, "rpcrdma.op.offset"))},
                    {"length", number(first(o, "rpcrdma.op.length"))},
                    {"bytes", number(first(o, "rpcrdma.op.bytes"))},
                    {"first_frame", number(first(o, "rpcrdma.op.first_frame"))},
                    {"last_frame", number(first(o, "rpcrdma.op.last_frame"))},
                    {"time_ns", nanoseconds(first(o, "rpcrdma.op.time"))}});
  }
  return list;
}

wire::Dialect dialect(const json& name) {
  for (std::size_t i = 0; i < wire::kDialects; ++i) {
    const auto d = static_cast<wire::Dialect>(i);
    if (name == wire::dialect_name(d)) return d;
  }
  return wire::Dialect::kDraft02;
}

Fields of_tshark(const json& layer) {
  Fields f;
  f["connection"] = number(first(layer, "rpcrdma.connection"));
  f["direction"] = truth(first(layer, "rpcrdma.reverse")) == true ? "reverse" : "forward";
  f["kind"] = text(first(layer, "rpcrdma.kind"));
  f["source"] = {text(first(layer, "rpcrdma.src")), number(first(layer, "rpcrdma.src.qpn"))};
  f["destination"] = {text(first(layer, "rpcrdma.dst")), number(first(layer, "rpcrdma.dst.qpn"))};
  for (const char* name : {"xid", "version", "credit", "inv_handle", "length"}) {
    f[name] = number(first(layer, std::string("rpcrdma.") + name));
  }
  f["dialect"] = text(first(layer, "rpcrdma.dialect"));
  const json proc = number(first(layer, "rpcrdma.proc"));
  f["proc"] = "unknown";  // of a header that ends before it, too
  if (!proc.is_null() && !f["version"].is_null()) {
    const auto version = f["version"].get<std::uint32_t>();
    f["proc"] = version == 2
                    ? wire::later_type_name(dialect(f["dialect"]), proc.get<std::uint32_t>())
                    : wire::proc_name(version, proc.get<std::uint32_t>());
  }
  // decode reports a 0 even if the header has no such word.
  if (f["version"] == 2 && f["inv_handle"].is_null()) f["inv_handle"] = 0;
  f["complete"] = truth(first(layer, "rpcrdma.complete"));
  f["option_type"] = number(first(layer, "rpcrdma.opt.type"));
  f["error"] = number(first(layer, "rpcrdma.error"));
  f["match"] = number(first(layer, "rpcrdma.match.frame"));
  f["latency_ns"] = nanoseconds(first(layer, "rpcrdma.latency"));
  f["requested"] = number(first(layer, "rpcrdma.credit.requested"));
  f["granted"] = number(first(layer, "rpcrdma.credit.granted"));
  f["in_use"] = number(first(layer, "rpcrdma.credit.in_use"));
  f["invalidated_handle"] = number(first(layer, "rpcrdma.invalidated_handle"));
  f["operations"] = operations(layer);
  f["findings"] = findings(layer);

  json links = json::array();
  json reads = json::array();
  std::size_t chunk = 0;
  for (const json& c : all(layer, "rpcrdma.read")) {
    add_links(c, "read", chunk++, links);
    for (const json& s : segments(c)) reads.push_back(s);
  }
  f["read_list"] = reads;
  json writes = json::array();
  chunk = 0;
  for (const json& c : all(layer, "rpcrdma.write")) {
    add_links(c, "write", chunk++, links);
    writes.push_back(segments(c));
  }
  f["write_list"] = writes;
  const json* reply = first(layer, "rpcrdma.reply");
  f["reply_chunk"] = reply == nullptr ? json() : segments(*reply);
  if (reply != nullptr) add_links(*reply, "reply", 0, links);
  std::sort(links.begin(), links.end());
  f["links"] = links;
  return f;
}

Fields of_decode(const json& m) {
  Fields f;
  for (const char* name :
       {"connection", "direction", "kind", "xid", "version", "credit", "inv_handle", "length",
        "dialect", "proc", "complete", "option_type", "match", "invalidated_handle", "read_list",
        "write_list", "reply_chunk"}) {
    f[name] = m.value(name, json());
  }
  f["source"] = {m["source"]["address"], m["source"]["qpn"]};
  f["destination"] = {m["destination"]["address"], m["destination"]["qpn"]};
  f["error"] = m.contains("error") ? m["error"]["code"] : json();
  f["latency_ns"] = nanoseconds_of_us(m["latency_us"]);
  f["requested"] = m["credits"]["requested"];
  f["granted"] = m["credits"]["granted"];
  f["in_use"] = m["credits"]["in_use"];
  json operations = json::array();
  for (json o : m["operations"]) {
    o["time_ns"] = nanoseconds_of_us(o["time_us"]);
    // Segments (links) show its location; no field shows that it is complete.
    for (const char* name : {"list", "chunk", "segment", "complete", "time_us"}) o.erase(name);
    operations.push_back(o);
  }
  f["operations"] = operations;
  std::multiset<json> rules;
  for (const json& finding : m["findings"])
    rules.insert(json::array({finding["rule"], finding["severity"]}));
  f["findings"] = rules;
  return f;
}

// Adds the operations that `recorded`, this message or the other half of its Call, reports for the
// chunks in this message's header: decode lists a Call's Reads with the Call, and its Writes with
// the Reply.
void add_links_of(const json& message, const json& recorded, json& links) {
  for (const json& o : recorded["operations"]) {
    const json& list = o["list"];
    const bool named = list == "read"    ? !message["read_list"].empty()
                       : list == "write" ? o["chunk"] < message["write_list"].size()
                                         : !message["reply_chunk"].is_null();
    if (named) links.push_back({list, o["chunk"], o["segment"], o["first_frame"], o["last_frame"]});
  }
}

Messages by_tshark(const std::string& file) {
  const Result r = TsharkOnce::with_plugin().run(
      file, {"-2", "-T", "json", "--no-duplicate-keys", "-J", "frame rpcrdma", "-Y", "rpcrdma"});
  EXPECT_EQ(r.status, 0) << r.err;
  Messages messages;
  if (r.out.empty()) return messages;
  const json packets = e2e::parse_json(r.out);
  for (const json& packet : packets) {
    const json& layers = packet["_source"]["layers"];
    for (const json& layer : all(layers, "rpcrdma")) {
      if (!layer.contains("rpcrdma.kind")) continue;
      const std::uint64_t frame = std::stoull(layers["frame"]["frame.number"].get<std::string>());
      EXPECT_TRUE(messages.emplace(frame, of_tshark(layer)).second)
          << file << " frame " << frame << " has two messages";
    }
  }
  return messages;
}

Messages by_decode(const std::string& file) {
  const Result r = tshark("RPCRDMA decode --json " + file);
  EXPECT_EQ(r.status, 0) << r.err;
  std::map<std::uint64_t, json> lines;
  for (json& m : e2e::json_lines(r.out)) lines.emplace(m["frame"].get<std::uint64_t>(), m);
  Messages messages;
  for (const auto& [frame, m] : lines) {
    Fields& fields = messages.emplace(frame, of_decode(m)).first->second;
    json links = json::array();
    add_links_of(m, m, links);
    const auto other = m["match"].is_null() ? lines.end() : lines.find(m["match"]);
    if (other != lines.end()) add_links_of(m, other->second, links);
    std::sort(links.begin(), links.end());
    fields["links"] = links;
  }
  return messages;
}

// Findings that decode assigns to no message, since the evidence is several messages or an
// operation. Wireshark shows each with a frame of its evidence, which may have a message.
std::set<json> findings_of_connections(const std::string& file, const Messages& recorded) {
  std::set<json> rest;
  const Result r = tshark("RPCRDMA analyze --json " + file);
  EXPECT_LE(r.status, 1) << r.err;  // 1: there are errors
  const json report = e2e::parse_json(r.out);
  std::map<json, std::uint64_t> with_messages;
  for (const auto& [frame, fields] : recorded) {
    for (const json& f : fields.at("findings")) ++with_messages[f];
  }
  std::map<json, std::uint64_t> counted;
  for (const json& f : report["findings"]) {
    counted[json::array({f["rule"], f["severity"]})] += f["count"].get<std::uint64_t>();
  }
  for (const auto& [finding, count] : counted) {
    if (count > with_messages[finding]) rest.insert(finding);
  }
  return rest;
}

bool said(const json& by_decode, const json& seen, const std::set<json>& of_connections) {
  std::multiset<json> more = seen;
  for (const json& f : by_decode) {
    const auto it = more.find(f);
    if (it == more.end()) return false;
    more.erase(it);
  }
  return std::all_of(more.begin(), more.end(),
                     [&](const json& f) { return of_connections.contains(f); });
}

json of_reads(const json& links) {
  json reads = json::array();
  for (const json& link : links) {
    if (link[0] == "read") reads.push_back(link);
  }
  return reads;
}

void expect_same(const std::string& name, const Messages& shown, const Messages& recorded,
                 const std::set<json>& of_connections) {
  std::size_t different = 0;
  for (const auto& [frame, fields] : recorded) {
    const auto it = shown.find(frame);
    if (it == shown.end()) {
      ADD_FAILURE() << name << " frame " << frame << ": no message in Wireshark";
      continue;
    }
    for (const auto& [field, value] : fields) {
      const auto ours = it->second.find(field);
      json seen = ours == it->second.end() ? json() : ours->second;
      // For a Call without Reply, decode does not report the data written for it.
      if (field == "links" && fields.at("match").is_null()) seen = of_reads(seen);
      if (seen == value || (field == "findings" && said(value, seen, of_connections))) continue;
      if (++different > 20) continue;
      ADD_FAILURE() << name << " frame " << frame << " " << field << "\nWireshark " << seen
                    << "\ndecode    " << value;
    }
  }
  EXPECT_EQ(different, 0U) << name;
  for (const auto& [frame, fields] : shown) {
    EXPECT_TRUE(recorded.contains(frame)) << name << " frame " << frame << ": no message in decode";
  }
}

// Input that Wireshark can read and `rpcrdma decode` cannot yet: encapsulations, link types,
// fragments, a file with nanoseconds in place of microseconds. The messages in it equal those of
// another capture.
struct ReadByWiresharkAlone {
  const char* capture;
  const char* same_as;
  std::set<std::string> different;  // fields
};

const std::vector<ReadByWiresharkAlone>& read_by_wireshark_alone() {
  static const std::vector<ReadByWiresharkAlone> all = [] {
    std::vector<ReadByWiresharkAlone> list;
    list.push_back({"pcap-usec-gt-1e6", "ok-5-getattr", {"latency_ns", "findings"}});
    return list;
  }();
  return all;
}

const ReadByWiresharkAlone* find_read_by_wireshark_alone(const std::string& file) {
  const std::string stem = std::filesystem::path(file).stem();
  const auto& all = read_by_wireshark_alone();
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const ReadByWiresharkAlone& r) { return stem == r.capture; });
  return it != all.end() ? &*it : nullptr;
}

void erase(Messages& messages, const std::set<std::string>& fields) {
  for (auto& [frame, message] : messages) {
    for (const std::string& field : fields) message.erase(field);
  }
}

void expect_same(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename();
  const ReadByWiresharkAlone* const alone = find_read_by_wireshark_alone(file);
  const std::string other =
      alone == nullptr ? file : capture(std::string("cases/") + alone->same_as + ".pcap");
  Messages shown = by_tshark(Tshark::instance().copy(file));
  Messages recorded = by_decode(other);
  const std::set<json> of_connections = findings_of_connections(other, recorded);
  if (alone != nullptr) {
    EXPECT_NE(by_decode(file), shown)
        << name << ": decode reads it now, so take it out of read_by_wireshark_alone()";
    EXPECT_FALSE(shown.empty()) << name;
    erase(shown, alone->different);
    erase(recorded, alone->different);
  }
  expect_same(name, shown, recorded, of_connections);
}

std::vector<std::string> captures() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RPCRDMA_TEST_CAPTURES)) {
    // Wireshark has dissectors of its own for iWARP, and passes none of it to the plugin.
    if (entry.path().extension().string().starts_with(".pcap") &&
        entry.path().stem() != "b34-iwarp-nfs") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

class WiresharkAgrees : public ::testing::TestWithParam<std::string> {};

TEST_P(WiresharkAgrees, WithDecode) {
  expect_same(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Captures, WiresharkAgrees, ::testing::ValuesIn(captures()),
                         [](const auto& instance) {
                           std::string name = std::filesystem::path(instance.param).stem();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(WiresharkAgreement, HasCaptures) {
  EXPECT_GT(captures().size(), 150U);
}

}  // namespace
}  // namespace rpcrdma::wireshark_tests
