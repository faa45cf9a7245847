// An endpoint's events and the packets of the same run agree: Call by Call, and about the end.
#include "support/background.h"
#include "support/event_stream.h"
#include "support/own_address.h"
#include "support/running_endpoint.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The sender's QP, the kind and the XID: a Call that is resent on a new connection, from another
// QP, has several keys.
using MessageKey = std::tuple<std::uint32_t, std::string, std::string, std::uint32_t>;
struct Message {
  json recorded;  // independent of time
  std::int64_t time_ns = 0;
  std::int64_t latency_ns = -1;  // -1: not an answer
  std::int64_t in_use = 0;       // credits
};
using Messages = std::map<MessageKey, Message>;

// The data moved, its direction and location. Times are not compared: an endpoint starts a peer's
// Read when it processes the request, which can be long after the packet, and ends it with the last
// response, of which packets may be lost; Writes end when a later packet arrives.
json without_time(const json& operation) {
  json recorded;
  for (const char* key :
       {"kind", "list", "chunk", "segment", "handle", "offset", "length", "bytes", "complete"}) {
    recorded[key] = operation.at(key);
  }
  return recorded;
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
      const json m = parse_json(line);
      const std::string kind = m.value("kind", "");
      if (kind != "call" && kind != "reply" && kind != "error") continue;
      json recorded;
      for (const char* key : {"version", "proc", "credit", "read_list", "write_list", "reply_chunk",
                              "length", "invalidated_handle", "rpc"}) {
        recorded[key] = m.value(key, json());
      }
      recorded["answered"] = !m["match"].is_null();
      recorded["requested"] = m["credits"]["requested"];
      recorded["granted"] = m["credits"]["granted"];
      recorded["operations"] = json::array();
      for (const json& operation : m["operations"]) {
        recorded["operations"].push_back(without_time(operation));
      }
      const MessageKey key{m["source"]["qpn"], m["source"]["address"], kind, m["xid"]};
      const json& latency = m["latency_us"];
      Message message{std::move(recorded), m["time_ns"], -1, m["credits"]["in_use"]};
      if (kind != "call" && !latency.is_null()) {
        message.latency_ns = std::llround(latency.get<double>() * 1000);
      }
      EXPECT_TRUE(messages.emplace(key, std::move(message)).second) << line;
    }
    return messages;
  }

  // Runs a server and a load, each with packets and events recorded. Stops the server when it has
  // printed `until`.
  void run_load(const std::vector<std::string>& serve, const std::string& load,
                const std::string& until = {}) const {
    std::vector<std::string> command{"serve",
                                     "--listen",
                                     server_,
                                     "--pcapng",
                                     path("server-packets.pcapng"),
                                     "--record",
                                     path("server-events.pcapng")};
    command.insert(command.end(), serve.begin(), serve.end());
    Background server(command);
    ASSERT_TRUE(server.wait_for("listening"));
    const Result r =
        run("RPCRDMA load " + server_ + " --from " + client_ + " --json --pcapng " +
            path("client-packets.pcapng") + " --record " + path("client-events.pcapng") + load);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_TRUE(server.wait_for(until)) << server.out;
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
  }

  json report_of(const std::string& file) const {
    const Result r = run("RPCRDMA analyze --json " + path(file));
    EXPECT_EQ(r.status, 0) << r.err;
    return parse_json(r.out);
  }
};

// The procedure of a long Call is in its chunk: if the chunk is never read, only the endpoint knows
// it.
bool same(json events, json packets) {
  if (packets["proc"] == "RDMA_NOMSG" && packets["rpc"].is_null()) events["rpc"] = packets["rpc"];
  return events == packets;
}

void expect_same(const Messages& events, const Messages& packets) {
  std::size_t different = 0;
  for (const auto& [key, seen] : packets) {
    const auto it = events.find(key);
    if (it != events.end() && same(it->second.recorded, seen.recorded)) continue;
    if (++different > 3) continue;
    ADD_FAILURE() << fmt::format("QP {} {} {} {:#x}", std::get<0>(key), std::get<1>(key),
                                 std::get<2>(key), std::get<3>(key))
                  << "\npackets " << seen.recorded << "\nevents  "
                  << (it == events.end() ? json() : it->second.recorded);
  }
  EXPECT_EQ(different, 0U);
  EXPECT_THAT(events, SizeIs(packets.size()));
}

// An endpoint emits a message event before the message leaves, or after it has arrived. So by its
// events, a client's Calls are in flight longer than by the packets at its own address, and more of
// them at a time; a server's are in flight shorter. The difference depends on scheduling and has no
// bound.
void expect_as_seen_from_inside(const Messages& events, const Messages& packets,
                                const std::string& address, bool client) {
  // Maximum difference of clocks: packets have wall-clock time; events have monotonic time plus an
  // offset, which is the difference between one reading of each clock.
  constexpr std::int64_t kClocks = 1'000'000;
  constexpr std::int64_t kRounding = 2;  // of microseconds in JSON, ns
  std::map<std::string, std::size_t> wrong;
  for (const auto& [key, packet] : packets) {
    const auto it = events.find(key);
    if (it == events.end()) continue;
    const Message& event = it->second;
    const std::int64_t later = event.time_ns - packet.time_ns;
    const bool sent = std::get<1>(key) == address;
    if (sent ? later > kClocks : later < -kClocks) ++wrong["time"];
    const std::int64_t longer = event.latency_ns - packet.latency_ns;
    if (client ? longer < -kRounding : longer > kRounding) ++wrong["latency"];
    if (event.latency_ns == 0) ++wrong["latency of 0"];
    const std::int64_t more = event.in_use - packet.in_use;
    if (client ? more < 0 : more > 0) ++wrong["credits in use"];
  }
  EXPECT_THAT(wrong, IsEmpty()) << (client ? "client" : "server");
}

// Calls, chunks, bytes and credits of each connection, by the client's QP. The number of credits in
// use depends on the assumed order of messages that cross: see above.
std::map<std::uint32_t, json> connections_of(const json& report) {
  std::map<std::uint32_t, json> all;
  for (const json& c : report["connections"]) {
    json recorded;
    for (const char* key : {"protocol", "version", "port", "messages", "calls", "replies", "errors",
                            "unmatched", "malformed", "forward", "reverse", "thresholds", "credits",
                            "chunks", "inline_bytes", "unmatched_operations"}) {
      recorded[key] = c.at(key);
    }
    for (json& credits : recorded["credits"]) credits.erase("in_use_max");
    for (const char* side : {"client", "server"}) {
      recorded[side] = {c[side]["address"], c[side]["qpn"], c[side]["private_data"]};
    }
    // The others are failed connection attempts.
    if (c["calls"] != 0) all[c["client"]["qpn"]] = std::move(recorded);
  }
  return all;
}

// Findings that follow from a header, a Call and its Reply, or the use of credits. Only packets
// show losses and their duration: an endpoint reports its retransmissions, not what was lost, and
// CAPTURE concerns the capture itself. A short lack of credits is near the threshold of a finding,
// on either side of it; a permanent one is compared.
using Findings = std::set<std::pair<std::string, std::string>>;
Findings findings_of(const json& report, const std::set<std::string>& left_out) {
  static const std::set<std::string> kOfPackets{"RETX-STORM", "SLOW-NETWORK", "SLOW-PEER",
                                                "CAPTURE"};
  Findings all;
  for (const json& f : report["findings"]) {
    if (kOfPackets.contains(f["rule"]) || left_out.contains(f["rule"])) continue;
    all.emplace(f["rule"], f["connection"].dump());
  }
  return all;
}

TEST_F(Agreement, OfAMixedLoadUnderFaults) {
  run_load({"--credits", "8"},
           " --procedure mix --size 1-20000 --depth 12 --connections 3 --count 400 --fault 'drop "
           "rate=0.01 seed=7; duplicate rate=0.01 seed=2; reorder by=2 "
           "rate=0.01 seed=3'");
  for (const std::string side : {"client", "server"}) {
    const Messages of_packets = messages_of(side + "-packets.pcapng");
    const Messages of_events = messages_of(side + "-events.pcapng");
    EXPECT_THAT(of_packets, SizeIs(800));
    expect_same(of_events, of_packets);
    expect_as_seen_from_inside(of_events, of_packets, side == "client" ? client_ : server_,
                               side == "client");
    const json events = report_of(side + "-events.pcapng");
    const json packets = report_of(side + "-packets.pcapng");
    EXPECT_EQ(events["recording"]["lost"], 0) << side;
    EXPECT_EQ(events["capture_quality"]["truncated"]["amount"], 0) << side;
    const Result lines = run("RPCRDMA decode " + path(side + "-events.pcapng"));
    EXPECT_EQ(lines.out.find("incomplete"), std::string::npos) << side;
    EXPECT_THAT(connections_of(packets), SizeIs(3));
    EXPECT_EQ(connections_of(events), connections_of(packets)) << side;
    EXPECT_EQ(findings_of(events, {"CREDIT-STARVED"}), findings_of(packets, {"CREDIT-STARVED"}))
        << side;
  }
}

// No messages cross, so credits agree at each message.
TEST_F(Agreement, OfOneCallAtATime) {
  run_load({}, " --procedure mix --size 1-20000 --depth 1 --connections 1 --count 300");
  for (const std::string side : {"client", "server"}) {
    const Messages packets = messages_of(side + "-packets.pcapng");
    const Messages events = messages_of(side + "-events.pcapng");
    EXPECT_THAT(packets, SizeIs(600));
    expect_same(events, packets);
    for (const auto& [key, packet] : packets) {
      const std::int64_t outstanding = std::get<2>(key) == "call" ? 1 : 0;
      EXPECT_EQ(packet.in_use, outstanding) << side;
      EXPECT_EQ(events.at(key).in_use, outstanding) << side;
    }
  }
}

TEST_F(Agreement, OfCreditsThatAreShort) {
  run_load({"--credits", "2"}, " --procedure null --depth 16 --connections 1 --count 3000");
  for (const std::string side : {"client", "server"}) {
    const Messages packets = messages_of(side + "-packets.pcapng");
    const Messages events = messages_of(side + "-events.pcapng");
    expect_same(events, packets);
    expect_as_seen_from_inside(events, packets, side == "client" ? client_ : server_,
                               side == "client");
  }
  // The client is affected, and its packets show it.
  const Findings starved = findings_of(report_of("client-events.pcapng"), {});
  EXPECT_TRUE(starved.contains({"CREDIT-STARVED", "1"}));
  EXPECT_EQ(starved, findings_of(report_of("client-packets.pcapng"), {}));
}

// The client acknowledges no Reply and disappears: its server retransmits without success.
TEST_F(Agreement, OfAClientThatIsGone) {
  run_load({},
           " --procedure null --depth 1 --connections 1 --count 1 --fault 'drop op=cm-dreq; drop "
           "dir=out op=ack'",
           "retries exceeded\n");
  for (const std::string side : {"client", "server"}) {
    const json events = report_of(side + "-events.pcapng");
    const json packets = report_of(side + "-packets.pcapng");
    EXPECT_EQ(connections_of(events), connections_of(packets)) << side;
    EXPECT_EQ(findings_of(events, {}), findings_of(packets, {})) << side;
    EXPECT_EQ(findings_of(events, {}).contains({"CONN-LOST", "1"}), side == "server");
    if (side != "server") continue;
    // The server disconnects a client that does not answer. Packets do not show whether the client
    // ended or the network failed.
    for (const auto& [report, role] : {std::pair(events, json("client")), {packets, json()}}) {
      for (const json& f : report["findings"]) {
        if (f["rule"] != "CONN-LOST") continue;
        EXPECT_EQ(f["role"], role) << f;
      }
      EXPECT_EQ(report["connections"][0]["closed_by"], "server");
    }
  }
}

// The client's fabric rejects the connection, and no server sees it: the packets show that, and the
// endpoint reports it.
TEST_F(Agreement, OfAClientThatAsksWhereNobodyListens) {
  Background server({"serve", "--listen", server_, "--port", "20055", "--pcapng",
                     path("server-packets.pcapng"), "--record", path("server-events.pcapng")});
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r =
      run("RPCRDMA call " + server_ + " --from " + client_ + " --timeout 1s --pcapng " +
          path("client-packets.pcapng") + " --record " + path("client-events.pcapng"));
  EXPECT_NE(r.status, 0) << r.out;
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0) << server.out;

  for (const std::string side : {"client", "server"}) {
    const std::string peer = side == "client" ? "server" : "client";
    const auto refused = [&](const json& report) {
      json all;
      for (const json& c : report["connections"]) {
        if (c["state"] != "rejected") continue;
        all.push_back({c["reject_reason"], c["closed_by"], c["port"], c[peer]["address"]});
      }
      return all;
    };
    const json events = report_of(side + "-events.pcapng");
    const json packets = report_of(side + "-packets.pcapng");
    const json recorded = refused(events);
    EXPECT_EQ(recorded, refused(packets)) << side;
    ASSERT_FALSE(recorded.empty());
    EXPECT_EQ(recorded[0],
              json({"invalid service ID", "server", 20049, side == "client" ? server_ : client_}));
    EXPECT_EQ(findings_of(events, {}), findings_of(packets, {})) << side;
    EXPECT_TRUE(findings_of(events, {}).contains({"CONN-LOST", "1"})) << side;
    EXPECT_EQ(events["recording"]["unattributed"], 0) << side;
  }
  const Result lines = run("RPCRDMA decode " + path("server-events.pcapng"));
  EXPECT_THAT(lines.out,
              HasSubstr("connection end | by the endpoint, Reject reason invalid service "
                        "ID, Peer address " +
                        client_ + ", Port 20049, Reason \"" + client_ +
                        ": rejected, reason 8 (invalid service ID): no listener "
                        "on that port\""));
  const Result text = run("RPCRDMA analyze " + path("server-events.pcapng"));
  EXPECT_THAT(text.out, HasSubstr("refused    by the server: invalid service ID"));
}

// The client detects the silence, closes its connections, and fails to open new ones.
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
  ASSERT_TRUE(wait_for_endpoint("agreement"));
  {
    Background reader({"attach", "agreement", "--events"});
    ASSERT_TRUE(reader.wait_for("reply"));
    server.signal(SIGKILL);
    ASSERT_TRUE(reader.wait_for("connection end")) << reader.out;
  }
  load.signal(SIGINT);
  EXPECT_EQ(load.finish(), 1) << load.out;  // its server is lost

  const Messages packets = messages_of("packets.pcapng");
  const Messages events = messages_of("events.pcapng");
  expect_same(events, packets);
  expect_as_seen_from_inside(events, packets, client_, true);
  const auto unanswered = std::ranges::count_if(packets, [](const auto& m) {
    return std::get<2>(m.first) == "call" && !m.second.recorded["answered"].template get<bool>();
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
