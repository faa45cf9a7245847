// What an endpoint tells of itself, and the packets of the same run, say the same: Call by Call,
// and about the end.
#include "../../engine/trace/live/stream_for_tests.h"
#include "background.h"
#include "own_address.h"

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>

#include <rpcrdma/trace_live/endpoints.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The QP that sent it, what it is, and its XID: of which a Call has one more when it is sent again
// on a new connection, that is, from another QP.
using MessageKey = std::tuple<std::uint32_t, std::string, std::string, std::uint32_t>;
using Messages = std::map<MessageKey, json>;

// What was moved, by whom and to where; when is seen differently from a wire.
json without_time(const json& operation) {
  json told;
  for (const char* key :
       {"kind", "list", "chunk", "segment", "handle", "offset", "length", "bytes", "complete"}) {
    told[key] = operation.at(key);
  }
  return told;
}

class Agreement : public trace::OwnRuntime {
 protected:
  const std::string server_ = own_address(1);
  const std::string client_ = own_address(2);

  Messages messages_of(const std::string& file) const {
    const Result r = run("RPCRDMA decode --json " + path(file));
    EXPECT_EQ(r.status, 0) << r.err;
    Messages messages;
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) {
      const json m = json::parse(line);
      const std::string kind = m.value("kind", "");
      if (kind != "call" && kind != "reply" && kind != "error") continue;
      json told;
      for (const char* key : {"version", "proc", "credit", "read_list", "write_list", "reply_chunk",
                              "length", "invalidated_handle", "rpc"}) {
        told[key] = m.value(key, json());
      }
      told["answered"] = !m["match"].is_null();
      told["requested"] = m["credits"]["requested"];
      told["granted"] = m["credits"]["granted"];
      told["operations"] = json::array();
      for (const json& operation : m["operations"]) {
        told["operations"].push_back(without_time(operation));
      }
      const MessageKey key{m["source"]["qpn"], m["source"]["address"], kind, m["xid"]};
      EXPECT_TRUE(messages.emplace(key, std::move(told)).second) << line;
    }
    return messages;
  }

  json report_of(const std::string& file) const {
    const Result r = run("RPCRDMA analyze --json " + path(file));
    EXPECT_EQ(r.status, 0) << r.err;
    return json::parse(r.out);
  }
};

// What a long Call asks for stands in its chunk: while nobody reads that, only its endpoint tells.
bool same(json events, json packets) {
  if (packets["proc"] == "RDMA_NOMSG" && packets["rpc"].is_null()) events["rpc"] = packets["rpc"];
  return events == packets;
}

void expect_same(const Messages& events, const Messages& packets) {
  std::size_t different = 0;
  for (const auto& [key, told] : packets) {
    const auto it = events.find(key);
    if (it != events.end() && same(it->second, told)) continue;
    if (++different > 3) continue;
    ADD_FAILURE() << fmt::format("QP {} {} {} {:#x}", std::get<0>(key), std::get<1>(key),
                                 std::get<2>(key), std::get<3>(key))
                  << "\npackets " << told << "\nevents  "
                  << (it == events.end() ? json() : it->second);
  }
  EXPECT_EQ(different, 0U);
  EXPECT_THAT(events, SizeIs(packets.size()));
}

// Calls, chunks, bytes and credits of each connection, by the client's QP. How many credits were in
// use depends on when messages that crossed are taken to have met.
std::map<std::uint32_t, json> connections_of(const json& report) {
  std::map<std::uint32_t, json> all;
  for (const json& c : report["connections"]) {
    json told;
    for (const char* key : {"protocol", "version", "port", "messages", "calls", "replies", "errors",
                            "unmatched", "malformed", "forward", "reverse", "thresholds", "credits",
                            "chunks", "inline_bytes", "stray_operations"}) {
      told[key] = c.at(key);
    }
    for (json& credits : told["credits"]) credits.erase("in_use_max");
    for (const char* side : {"client", "server"}) {
      told[side] = {c[side]["address"], c[side]["qpn"], c[side]["private_data"]};
    }
    // The others are tries to connect, which failed.
    if (c["calls"] != 0) all[c["client"]["qpn"]] = std::move(told);
  }
  return all;
}

// Of what a header, a Call and its Reply, or the use of credits shows. How packets fared, and how
// long that took, only packets tell; and how long credits were short is a matter of when.
std::set<std::pair<std::string, std::string>> findings_of(const json& report) {
  static const std::set<std::string> kOfPackets{"RETX-STORM", "SLOW-NETWORK", "SLOW-PEER",
                                                "CAPTURE", "CREDIT-STARVED"};
  std::set<std::pair<std::string, std::string>> all;
  for (const json& f : report["findings"]) {
    if (!kOfPackets.contains(f["rule"])) all.emplace(f["rule"], f["connection"].dump());
  }
  return all;
}

TEST_F(Agreement, OfAMixedLoadUnderFaults) {
  Background server({"serve", "--listen", server_, "--credits", "8", "--pcapng",
                     path("server-packets.pcapng"), "--record", path("server-events.pcapng")});
  ASSERT_TRUE(server.wait_for("listening"));
  const Result load = run(
      "RPCRDMA load " + server_ + " --from " + client_ +
      " --procedure mix --size 1-20000 --depth 12 --connections 3 --count 400 --json --pcapng " +
      path("client-packets.pcapng") + " --record " + path("client-events.pcapng") +
      " --fault 'drop rate=0.01 seed=7; duplicate rate=0.01 seed=2; reorder by=2 rate=0.01 "
      "seed=3'");
  EXPECT_EQ(load.status, 0) << load.err;
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0) << server.out;

  const Messages of_client = messages_of("client-packets.pcapng");
  EXPECT_THAT(of_client, SizeIs(800));
  expect_same(messages_of("client-events.pcapng"), of_client);
  expect_same(messages_of("server-events.pcapng"), messages_of("server-packets.pcapng"));

  for (const std::string side : {"client", "server"}) {
    const json events = report_of(side + "-events.pcapng");
    const json packets = report_of(side + "-packets.pcapng");
    EXPECT_EQ(events["recording"]["lost"], 0) << side;
    EXPECT_THAT(connections_of(packets), SizeIs(3));
    EXPECT_EQ(connections_of(events), connections_of(packets)) << side;
    EXPECT_EQ(findings_of(events), findings_of(packets)) << side;
  }
}

// The client finds that nothing comes back, ends its connections, and tries new ones in vain.
TEST_F(Agreement, OfHowAKilledServerEnded) {
  Background server({"serve", "--listen", server_});
  ASSERT_TRUE(server.wait_for("listening"));
  Background load({"load",          server_,
                   "--from",        client_,
                   "--procedure",   "mix",
                   "--size",        "1-5000",
                   "--depth",       "2",
                   "--connections", "2",
                   "--rate",        "500",
                   "--duration",    "90s",
                   "--pcapng",      path("packets.pcapng"),
                   "--record",      path("events.pcapng"),
                   "--name",        "agreement"});
  for (int tries = 0; tries < 5000 && !trace::connect_endpoint("agreement"); ++tries) {
    ::poll(nullptr, 0, 10);
  }
  {
    Background reader({"attach", "agreement", "--events"});
    ASSERT_TRUE(reader.wait_for("reply"));
    server.signal(SIGKILL);
    ASSERT_TRUE(reader.wait_for("connection end")) << reader.out;
  }
  load.signal(SIGINT);
  EXPECT_EQ(load.finish(), 0) << load.out;

  const Messages packets = messages_of("packets.pcapng");
  expect_same(messages_of("events.pcapng"), packets);
  const auto unanswered = std::ranges::count_if(packets, [](const auto& m) {
    return std::get<2>(m.first) == "call" && !m.second["answered"].template get<bool>();
  });
  EXPECT_GE(unanswered, 1);
  EXPECT_LE(unanswered, 4);

  const json of_events = report_of("events.pcapng");
  const json of_packets = report_of("packets.pcapng");
  EXPECT_EQ(connections_of(of_events), connections_of(of_packets));
  for (const json& report : {of_events, of_packets}) {
    for (const json& c : report["connections"]) {
      if (c["calls"] == 0) continue;
      EXPECT_EQ(c["state"], "closed");
      EXPECT_EQ(c["closed_by"], "client");
    }
    std::set<json> lost;
    for (const json& f : report["findings"]) {
      if (f["rule"] == "CONN-LOST") lost.insert(f["connection"]);
    }
    EXPECT_TRUE(lost.contains(1) || lost.contains(2)) << report["findings"];
  }
}

}  // namespace
}  // namespace rpcrdma::e2e
