#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/fleet/record.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::fleet {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

EndpointSummary endpoint(std::uint64_t generation) {
  EndpointSummary e;
  e.name = "server";
  e.role = "server on 10.0.0.1";
  e.user = "root";
  e.process = 77;
  e.since_ns = 1'700'000'000'000'000'000;
  e.generation = generation;
  e.connections = 3;
  e.credits = {96, 90, 12, 4};
  e.counters = {1000, 990, 2, {1 << 20, 2 << 20, 7}};
  base::Histogram h;
  for (int i = 1; i <= 990; ++i) h.add(std::int64_t{i} * 1000);
  e.latency = base::CompactHistogram(h);
  e.latency_epoch = 2;
  e.events = 12345;
  e.events_lost = 5;
  e.faults = 1;
  e.findings = {1, 2, 3};
  e.recordings = {{"/var/log/x.pcapng", 4096, true}};
  return e;
}

Summary summary() {
  Summary s;
  s.host = "node1.example";
  s.boot = "8f1c";
  s.instance = "abcdef";
  s.version = "0.9";
  s.process = 42;
  s.sequence = 17;
  s.wall_ns = 1'700'000'000'500'000'000;
  s.monotonic_ns = 99'000'000'000;
  s.interval_ns = 1'000'000'000;
  s.agent = {1, 2, 3, 4};
  s.endpoints = {endpoint(1), endpoint(2)};
  s.endpoints[1].end = EndpointEnd::kKilled;
  s.endpoints[1].source = Source::kKernel;
  return s;
}

TEST(Summary, IsReadAsItWasWritten) {
  const std::string text = to_json(summary());
  const auto read = summary_from_json(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), text);
  EXPECT_EQ(read->host, "node1.example");
  EXPECT_EQ(read->sequence, 17U);
  EXPECT_EQ(read->agent, summary().agent);
  ASSERT_EQ(read->endpoints.size(), 2U);
  const EndpointSummary& e = read->endpoints[1];
  EXPECT_EQ(e.end, EndpointEnd::kKilled);
  EXPECT_EQ(e.source, Source::kKernel);
  EXPECT_EQ(e.counters, endpoint(2).counters);
  EXPECT_EQ(e.credits, endpoint(2).credits);
  EXPECT_EQ(e.latency.count(), 990U);
  EXPECT_EQ(e.latency.expanded().quantile(0.5), endpoint(2).latency.expanded().quantile(0.5));
  EXPECT_EQ(e.latency_epoch, 2U);
  EXPECT_EQ(e.recordings.size(), 1U);
}

TEST(Summary, AnotherSchemaIsNamed) {
  json object = json::parse(to_json(summary()));
  object["schema"] = 2;
  const auto read = summary_from_json(object.dump());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "schema version 2 of agent version 0.9; this program reads 1");
  EXPECT_TRUE(is_other_schema(read.error()));
  EXPECT_FALSE(is_other_schema(summary_from_json("[]").error()));
}

TEST(Summary, RefusesWhatNoAgentWrites) {
  const auto refused = [](const std::string& pointer, const json& value) {
    json object = json::parse(to_json(summary()));
    object[json::json_pointer(pointer)] = value;
    const auto read = summary_from_json(object.dump());
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_EQ(refused("/host", ""), "host: empty");
  EXPECT_EQ(refused("/host", std::string(254, 'x')), "host: longer than its limit");
  EXPECT_THAT(refused("/sequence", -1), HasSubstr("sequence: not a whole number"));
  EXPECT_THAT(refused("/sequence", 1.5), HasSubstr("sequence: not a whole number"));
  EXPECT_THAT(refused("/wall_ns", 18'446'744'073'709'551'615U), HasSubstr("wall_ns"));
  EXPECT_EQ(refused("/endpoints", json::object()), "endpoints: not a list");
  EXPECT_EQ(refused("/endpoints/1", 7), "endpoints[1]. is no object");
  EXPECT_EQ(refused("/endpoints/1/generation", 1),
            "endpoints[1].generation: another endpoint has "
            "it");
  EXPECT_EQ(refused("/endpoints/0/source", "moon"), "endpoints[0].source: not a known word");
  EXPECT_EQ(refused("/endpoints/0/chunk_bytes", json::array({1, 2})),
            "endpoints[0].chunk_bytes: has another length");
  EXPECT_EQ(refused("/endpoints/0/latency/buckets", json::array({3, 1, 2, 1})),
            "endpoints[0].latency.buckets: no histogram has these");
  EXPECT_EQ(refused("/endpoints/0/latency/buckets", json::array({1})),
            "endpoints[0].latency.buckets: not in pairs");
  EXPECT_EQ(refused("/endpoints/0/latency/buckets", json::array({99999999, 1})),
            "endpoints[0].latency.buckets: no histogram has these");
  EXPECT_THAT(refused("/endpoints/0/credits", nullptr), HasSubstr("credits. is no object"));
  json many = json::array();
  for (int i = 0; i < 257; ++i) many.push_back(json::object());
  EXPECT_EQ(refused("/endpoints", many), "endpoints: longer than its limit");
  EXPECT_EQ(summary_from_json("{").error().message, "not a JSON object");
  EXPECT_EQ(summary_from_json("{}").error().message, "schema: missing, or not a number");
  EXPECT_THAT(summary_from_json(std::string(kMostSummaryBytes + 1, ' ')).error().message,
              HasSubstr("more than"));
  // Members that a later version of this schema may add are ignored.
  EXPECT_EQ(refused("/later", 1), "accepted");
}

TEST(Summary, WhatDoesNotFitIsLeftOutAndCounted) {
  Summary s = summary();
  s.endpoints.clear();
  for (std::uint64_t i = 0; i < kMostEndpoints + 44; ++i) s.endpoints.push_back(endpoint(i));
  auto read = summary_from_json(to_json(s));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->endpoints.size() + read->endpoints_left_out, kMostEndpoints + 44);
  EXPECT_LE(read->endpoints.size(), kMostEndpoints);

  for (EndpointSummary& e : s.endpoints) e.role = std::string(5000, '"');
  for (EndpointSummary& e : s.endpoints) {
    e.recordings.assign(kMostRecordings, {std::string(3000, '\x01'), 1, false});
  }
  const std::string text = to_json(s);
  EXPECT_LE(text.size(), kMostSummaryBytes);
  read = summary_from_json(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_LT(read->endpoints.size(), kMostEndpoints);
  EXPECT_EQ(read->endpoints.size() + read->endpoints_left_out, kMostEndpoints + 44);
}

TEST(Summary, TextIsCutAtACharacterAndMadeValid) {
  Summary s = summary();
  s.endpoints[0].name = std::string(300, '\xff');
  s.endpoints[1].name = "a";
  for (int i = 0; i < 200; ++i) s.endpoints[1].name += "\xc3\xa9";
  const auto read = summary_from_json(to_json(s));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->endpoints[0].name.size() % 3, 0U);  // replacement characters
  EXPECT_EQ(read->endpoints[1].name.size(), 253U);
}

TEST(FindingNote, IsReadAsItWasWritten) {
  FindingNote n;
  n.host = "h";
  n.instance = "i";
  n.sequence = 3;
  n.wall_ns = 5;
  n.endpoint = "server";
  n.kind = 9;
  n.severity = "warning";
  n.rule = "stall";
  n.count = 12;
  n.text = std::string(2000, 't');
  n.advice = "do";
  const auto read = finding_from_json(to_json(n));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text.size(), kMostText);
  EXPECT_EQ(to_json(*read), to_json(n));
  n.severity = "doom";
  EXPECT_EQ(finding_from_json(to_json(n)).error().message, "severity: not a known word");
}

// Returns the names of all members, of members of members, too.
void add_keys(const json& value, std::set<std::string>& keys) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      keys.insert(key);
      add_keys(member, keys);
    }
  }
  if (value.is_array()) {
    for (const json& element : value) add_keys(element, keys);
  }
}

// docs/agent.md has each member, and each member that its tables have is written.
TEST(Summary, MembersAreThoseOfTheDocument) {
  std::set<std::string> keys;
  add_keys(json::parse(to_json(summary())), keys);
  std::ifstream in(RPCRDMA_TEST_DOCS "/agent.md");
  std::ostringstream whole;
  whole << in.rdbuf();
  const std::string docs = whole.str();
  static const std::regex row("\n\\| (`[^|]*`) \\|");
  static const std::regex word("`([a-z_]+)`");
  const std::string tables = docs.substr(docs.find("| member | what |"));
  std::set<std::string> rows;
  for (std::sregex_iterator at(tables.begin(), tables.end(), row), end; at != end; ++at) {
    const std::string cell = (*at)[1].str();
    for (std::sregex_iterator name(cell.begin(), cell.end(), word); name != end; ++name) {
      rows.insert((*name)[1].str());
    }
  }
  EXPECT_GT(rows.size(), 30U);
  for (const std::string& name : rows) EXPECT_TRUE(keys.contains(name)) << name;
  add_keys(json::parse(to_json(FindingNote{})), keys);
  for (const std::string& name : keys) {
    EXPECT_NE(docs.find('`' + name + '`'), std::string::npos) << name;
  }
}

TEST(Record, MessagesAreReadAsTheyWereWritten) {
  const auto round = [](const Request& request) {
    const auto read = request_from_json(to_json(request));
    return read && to_json(*read) == to_json(request);
  };
  EXPECT_TRUE(round(Hello{"a1", 7, "b2"}));
  EXPECT_TRUE(round(RecordRequest{"0f", "srv", 10, 20}));
  EXPECT_TRUE(round(RecordAck{"0f", 99}));
  EXPECT_TRUE(round(RecordStop{"0f"}));
  EXPECT_EQ(request_from_json(to_json(Request(RecordStop{"../x"}))).error().message,
            "id: not hexadecimal");
  const std::string data(300, 'd');
  for (const RecordMessage& message :
       {RecordMessage(RecordProgress{1, 2}), RecordMessage(RecordChunk{1ULL << 40U, data}),
        RecordMessage(RecordEnd{5, 6, 7, 8, "why"}), RecordMessage(RecordFailed{"why"})}) {
    const std::string bytes = to_bytes(message);
    const auto read = record_message(bytes);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_bytes(*read), bytes);
  }
  EXPECT_FALSE(record_message("C"));
  EXPECT_FALSE(record_message("C12345678"));
  EXPECT_FALSE(record_message("C" + std::string(8 + kRecordChunk + 1, 'x')));
  EXPECT_FALSE(record_message(R"({"schema":1,"type":"moon"})"));
  RecordChecksum checksum;
  checksum.add("1234");
  checksum.add("56789");
  EXPECT_EQ(checksum.value(), 0xe3069283U);  // RFC 3720, appendix B.4
}

TEST(LatencySince, IsTheDifference) {
  EndpointSummary before = endpoint(1);
  EndpointSummary now = endpoint(1);
  base::Histogram h = before.latency.expanded();
  for (int i = 0; i < 10; ++i) h.add(5'000'000);
  now.latency = base::CompactHistogram(h);
  const base::Histogram added = latency_since(now, &before);
  EXPECT_EQ(added.count(), 10U);
  EXPECT_EQ(added.sum(), 50'000'000U);
  EXPECT_NEAR(static_cast<double>(added.quantile(0.5)), 5e6, 5e6 * 0.02);
  EXPECT_EQ(added.max(), 5'000'000);
  // Nothing was added, or the two cannot be compared.
  EXPECT_EQ(latency_since(now, &now).count(), 0U);
  EXPECT_EQ(latency_since(now, nullptr).count(), 1000U);
  before.generation = 2;
  EXPECT_EQ(latency_since(now, &before).count(), 1000U);
  before.generation = 1;
  before.latency_epoch = 1;
  EXPECT_EQ(latency_since(now, &before).count(), 1000U);
}

TEST(Subjects, NameAnyHost) {
  EXPECT_EQ(state_subject("node-1_a"), "rpcrdma.state.node-1_a");
  EXPECT_EQ(control_subject("a.b"), "rpcrdma.control.a%2Eb");
  EXPECT_EQ(host_token("*> \n\xc3"), "%2A%3E%20%0A%C3");
  for (const std::string& host :
       {std::string("a.b"), std::string("%"), std::string("\xff\0x", 3)}) {
    EXPECT_EQ(host_of_subject(state_subject(host)), host);
    EXPECT_EQ(host_of_subject(findings_subject(host)), host);
    EXPECT_EQ(host_of_subject(record_subject(host, "12")), host);
  }
  for (const char* const other :
       {"", "rpcrdma.", "rpcrdma.state", "rpcrdma.state.", "x.state.a", "rpcrdma.moon.a",
        "rpcrdma.state.a.b", "rpcrdma.state.%2", "rpcrdma.state.%2e", "rpcrdma.record.a"}) {
    EXPECT_FALSE(host_of_subject(other)) << other;
  }
}

}  // namespace
}  // namespace rpcrdma::fleet
