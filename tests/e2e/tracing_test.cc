// The trace events of `serve`, `ping`, `call` and `load`: recordings and live sockets.
#include "support/background.h"
#include "support/event_stream.h"
#include "support/own_address.h"

#include <array>
#include <cstring>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using trace::Emitted;
using trace::EventType;

class Tracing : public trace::OwnRuntime {
 protected:
  const std::string server_ = own_address(1);
  const std::string client_ = own_address(2);

  [[nodiscard]] std::vector<std::string> serving(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"serve", "--listen", server_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] std::string to_server() const { return server_ + " --from " + client_ + " "; }
  void stop(Background& server) const {
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
  }
  // Returns the recordings of a server and of a load with five connections, which trace one
  // connection in so many.
  [[nodiscard]] std::pair<std::string, std::string> record_samples(int servers, int loads) const {
    const std::string theirs = path("server.pcapng"), ours = path("client.pcapng");
    Background server(serving({"--sample", std::to_string(servers), "--record", theirs}));
    EXPECT_TRUE(server.wait_for("listening"));
    const Result r =
        run("RPCRDMA load " + to_server() + "--connections 5 --count 1000 --depth 1 --sample " +
            std::to_string(loads) + " --record " + ours);
    EXPECT_EQ(r.status, 0) << r.err;
    stop(server);
    return {theirs, ours};
  }
};

std::size_t count(const std::vector<Emitted>& events, EventType type) {
  return static_cast<std::size_t>(
      std::ranges::count_if(events, [&](const Emitted& e) { return e.type() == type; }));
}

std::set<EventType> types_of(const std::vector<Emitted>& events) {
  std::set<EventType> types;
  for (const Emitted& e : events) types.insert(e.type());
  return types;
}

// Reads a recording to its end, where its counters must match.
std::vector<Emitted> read_all(const std::string& file) {
  trace::EventStream stream(file);
  auto events = stream.rest();
  EXPECT_TRUE(stream.audit.is_complete()) << file;
  return events;
}

TEST_F(Tracing, OneConnectionUnderFaultsIsRecordedByBothEnds) {
  const std::string theirs = path("server.pcapng");
  const std::string ours = path("client.pcapng");
  // Credits for half of the Calls: the others wait.
  Background server(serving(
      {"--credits", "4", "--record", theirs, "--fault", "drop dir=out op=ack rate=0.05 seed=7"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = run("RPCRDMA load " + to_server() +
                       "--procedure mix --size 1-60000 --count 200 --depth 8 --json --fault 'drop "
                       "dir=out rate=0.02 seed=1' --record " +
                       ours);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(try_parse_json(r.out)["calls"], 200);
  EXPECT_THAT(r.err, HasSubstr(" events recorded, 0 lost: " + ours + "\n"));
  stop(server);
  EXPECT_THAT(server.out, HasSubstr(" events recorded, 0 lost: " + theirs + "\n"));

  const auto of_server = read_all(theirs);
  const auto of_client = read_all(ours);
  EXPECT_EQ(of_server.at(0).payload(), "serveserver on " + server_ + " port 20049");
  EXPECT_EQ(of_client.at(0).payload(), "loadload of " + server_ + " port 20049");
  const std::set<EventType> of_both{
      EventType::kEndpoint,    EventType::kConnection, EventType::kConnectionEnd,
      EventType::kMessage,     EventType::kOperation,  EventType::kReceives,
      EventType::kCredits,     EventType::kCall,       EventType::kCallEnd,
      EventType::kFabric,      EventType::kFault,      EventType::kLoss,
      EventType::kRegistration};
  EXPECT_THAT(types_of(of_server), IsSupersetOf(of_both));
  EXPECT_THAT(types_of(of_server), ::testing::Contains(EventType::kOperationEnd));
  EXPECT_THAT(types_of(of_client), IsSupersetOf(of_both));
  EXPECT_THAT(types_of(of_client), IsSupersetOf({EventType::kAdvertise, EventType::kInvalidate,
                                                 EventType::kCreditWait}));
  for (const auto& events : {of_server, of_client}) {
    EXPECT_EQ(count(events, EventType::kConnection), 1U);
    EXPECT_EQ(count(events, EventType::kCall), 200U);
    EXPECT_EQ(count(events, EventType::kCallEnd), 200U);
    EXPECT_EQ(count(events, EventType::kMessage), 400U);
    EXPECT_EQ(count(events, EventType::kError), 0U);
  }
}

TEST_F(Tracing, PingAndCallAreRecordedToo) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  for (const std::string command : {"ping", "call"}) {
    const std::string file = path(command + ".pcapng");
    const Result r = run("RPCRDMA " + command + ' ' + to_server() +
                         (command == "ping" ? "-c 1 " : "") + "--record " + file);
    EXPECT_EQ(r.status, 0) << r.err;
    auto events = read_all(file);
    std::erase_if(events, [](const Emitted& e) {
      return e.type() == EventType::kLoss || e.type() == EventType::kRegistration;
    });
    EXPECT_EQ(events.at(0).payload(), command + command + " of " + server_ + " port 20049");
    EXPECT_EQ(count(events, EventType::kCallEnd), 1U) << command;
    EXPECT_EQ(events.back().type(), EventType::kConnectionEnd) << command;
  }
  stop(server);
}

// Both ends trace the same two connections: the first and the fourth.
TEST_F(Tracing, ASampleOfTheConnections) {
  const auto [theirs, ours] = record_samples(3, 3);
  for (const std::string& file : {theirs, ours}) {
    const auto events = read_all(file);
    EXPECT_THAT(events.at(0).payload(), ::testing::EndsWith(", 1 connection in 3 traced"));
    EXPECT_EQ(count(events, EventType::kConnection), 5U);
    EXPECT_EQ(count(events, EventType::kConnectionEnd), 5U);
    std::set<std::uint32_t> sampled, calling;
    for (const Emitted& e : events) {
      const std::uint32_t number = e.header.connection;
      if (e.type() == EventType::kConnection) {
        if (trace::read_event<trace::Connection>(e.view())->not_sampled == 0)
          sampled.insert(number);
      } else if (number != 0 && e.type() != EventType::kConnectionEnd) {
        calling.insert(number);
      }
    }
    EXPECT_THAT(sampled, SizeIs(2));
    EXPECT_EQ(calling, sampled);

    const json report = try_parse_json(run("RPCRDMA analyze --json " + file).out);
    EXPECT_EQ(report["verdict"]["kind"], "no faults found");
    EXPECT_THAT(report["verdict"]["text"].get<std::string>(),
                HasSubstr("3 of 5 connections were not judged: only a sample of the connections "
                          "was traced"));
    EXPECT_EQ(report["capture_quality"]["complete"], false);
    EXPECT_EQ(report["capture_quality"]["not_sampled"]["connections"], 3);
    EXPECT_THAT(run("RPCRDMA analyze " + file).out,
                HasSubstr("endpoint; not in the sample of connections that it traced"));
  }
}

// The server traces connections 1 and 4, the client 1, 3 and 5: only 2 is in no sample. Views
// without messages differ from none.
TEST_F(Tracing, EndsWhoseSamplesDiffer) {
  const auto [theirs, ours] = record_samples(3, 2);
  for (const std::string& files : {ours + ' ' + theirs, theirs + ' ' + ours}) {
    const json report = try_parse_json(run("RPCRDMA analyze --json " + files).out);
    ASSERT_EQ(report["connections"].size(), 5U) << files;
    EXPECT_EQ(report["capture_quality"]["not_sampled"]["ids"], json({2})) << files;
    EXPECT_EQ(report["verdict"]["kind"], "no faults found") << report["verdict"]["text"];
    for (const json& connection : report["connections"]) {
      EXPECT_EQ(connection["messages"] == 0, connection["id"] == 2) << connection["id"];
    }
  }
}

TEST_F(Tracing, ARingOfFilesKeepsTheNewest) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = run("RPCRDMA load " + to_server() + "--count 300 --record " + path("r.pcapng") +
                       " --record-size 20k --record-files 2");
  EXPECT_EQ(r.status, 0) << r.err;
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    if (file.path().extension() == ".pcapng") files.push_back(file.path().string());
  }
  ASSERT_THAT(files, SizeIs(2));
  std::ranges::sort(files);
  EXPECT_THAT(files, Each(StartsWith(path("r_0"))));
  EXPECT_THAT(r.err, HasSubstr(files.back() + '\n'));
  // Each file holds its identity and its connections.
  for (const std::string& file : files) {
    const auto events = read_all(file);
    ASSERT_GE(events.size(), 2U);
    EXPECT_EQ(events[0].type(), EventType::kEndpoint);
    EXPECT_EQ(events[1].type(), EventType::kConnection);
  }
  stop(server);
}

// Counts the complete Enhanced Packet Blocks in a pcapng file.
std::size_t whole_packets(const std::string& file) {
  constexpr std::uint32_t kPacket = 6;
  const std::string bytes = read_file(file);
  std::size_t packets = 0;
  for (std::size_t at = 0; at + 8 <= bytes.size();) {
    std::array<std::uint32_t, 2> head{};  // type and length
    std::memcpy(head.data(), bytes.data() + at, sizeof head);
    if (head[1] == 0 || head[1] > bytes.size() - at) break;
    packets += head[0] == kPacket ? 1 : 0;
    at += head[1];
  }
  return packets;
}

TEST_F(Tracing, WhatAKilledServerRecordedIsReadToTheLastWholeBlock) {
  const std::string file = path("killed.pcapng");
  Background server(serving({"--record", file}));
  ASSERT_TRUE(server.wait_for("listening"));
  Background client({"load", server_, "--from", client_, "--duration", "1h"});
  // Some of the events have been written.
  while (std::filesystem::file_size(file) < 20'000) ::usleep(1000);
  server.signal(SIGKILL);
  EXPECT_EQ(server.finish(), 128 + SIGKILL);
  client.signal(SIGKILL);
  client.finish();
  trace::EventStream stream(file);
  const auto events = stream.rest();
  EXPECT_EQ(events.size(), whole_packets(file));
  EXPECT_EQ(count(events, EventType::kConnection), 1U);
  EXPECT_GT(count(events, EventType::kCall), 10U);
  // No endpoint owns its socket any more.
  EXPECT_THAT(trace::list_endpoints().value(), IsEmpty());
}

TEST_F(Tracing, RunningCommandsCanBeRead) {
  Background server(serving({"--name", "store"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const auto endpoints = trace::list_endpoints().value();
  ASSERT_THAT(endpoints, SizeIs(1));
  EXPECT_EQ(endpoints[0].name, "store");
  EXPECT_EQ(endpoints[0].role, "server on " + server_ + " port 20049");
  struct stat status {};
  ASSERT_EQ(::stat(endpoints[0].path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);

  trace::EventStream first(trace::connect_endpoint("store").value());
  trace::EventStream second(trace::connect_endpoint(endpoints[0].path).value());
  ASSERT_EQ(first.next_event()->type(), EventType::kEndpoint);
  ASSERT_EQ(second.next_event()->type(), EventType::kEndpoint);
  const Result r = run("RPCRDMA call " + to_server() + "--procedure echo-bulk --size 10000");
  EXPECT_EQ(r.status, 0) << r.err;
  for (trace::EventStream* stream : {&first, &second}) {
    std::vector<Emitted> events;
    while (events.empty() || events.back().type() != EventType::kConnectionEnd) {
      auto event = stream->next_event();
      ASSERT_TRUE(event);
      // Memory is registered before its connection exists.
      if (event->type() == EventType::kRegistration) continue;
      events.push_back(std::move(*event));
    }
    EXPECT_EQ(events[0].type(), EventType::kConnection);
    EXPECT_EQ(count(events, EventType::kCall), 1U);
    EXPECT_EQ(count(events, EventType::kMessage), 2U);
    EXPECT_GE(count(events, EventType::kOperation), 2U);
  }
  stop(server);
  // The only remaining events deregister the server's memory.
  while (const auto event = first.next_event()) {
    EXPECT_EQ(event->type(), EventType::kRegistration);
  }
  EXPECT_TRUE(first.audit.is_complete());
  EXPECT_FALSE(std::filesystem::exists(endpoints[0].path));
}

// A server is called as fast as it replies, with more events than a reader's queue holds. One
// reader reads between the rounds, each of which fits; the other reads nothing until the end.
TEST_F(Tracing, AReaderThatStopsIsReportedExactlyWhatItHasNotGot) {
  constexpr int kRounds = 10;
  constexpr std::uint64_t kCalls = 2500, kLeastEventsOfACall = 5;
  Background server(serving({"--name", "store"}));
  ASSERT_TRUE(server.wait_for("listening"));
  trace::EventStream keeps_up(trace::connect_endpoint("store").value());
  trace::EventStream stops(trace::connect_endpoint("store").value());
  ASSERT_EQ(keeps_up.next()->type(), EventType::kEndpoint);
  ASSERT_EQ(stops.next()->type(), EventType::kEndpoint);
  for (int round = 0; round < kRounds; ++round) {
    const Result r =
        run("RPCRDMA load " + to_server() + "--depth 16 --count " + std::to_string(kCalls));
    ASSERT_EQ(r.status, 0) << r.err;
    auto event = keeps_up.next();
    while (event && event->type() != EventType::kConnectionEnd) event = keeps_up.next();
    ASSERT_TRUE(event);
  }
  const trace::Audit::Sums& all = keeps_up.audit.ring(1);
  const std::uint64_t recorded = all.received;
  EXPECT_GT(recorded, kRounds * kCalls * kLeastEventsOfACall);
  keeps_up.read_until(1, recorded);
  EXPECT_EQ(all.emitted, recorded);
  EXPECT_EQ(all.lost, 0U);

  stops.read_until(1, recorded);
  const trace::Audit::Sums& part = stops.audit.ring(1);
  EXPECT_EQ(part.emitted, recorded);
  EXPECT_GT(part.lost, 0U);
  EXPECT_EQ(part.received + part.lost, recorded);
  stop(server);
}

TEST_F(Tracing, WhoMayNotBeReadHasNoSocket) {
  Background server(serving({"--no-live"}));
  ASSERT_TRUE(server.wait_for("listening"));
  EXPECT_THAT(trace::list_endpoints().value(), IsEmpty());
  stop(server);
}

// A folder that others can write to is not used; the command works without it.
TEST_F(Tracing, WithoutASocketThereIsAWarning) {
  ASSERT_TRUE(std::filesystem::create_directory(path("rpcrdma")));
  std::filesystem::permissions(path("rpcrdma"), std::filesystem::perms::all);
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  EXPECT_THAT(server.out, HasSubstr("rpcrdma: serve: warning: no live socket: "));
  stop(server);
}

TEST_F(Tracing, ARecordingThatCannotBeWrittenIsAFailure) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const std::string file = path("full.pcapng");
  const Result r =
      run("ulimit -f 32; RPCRDMA load " + to_server() + "--count 300 --record " + file);
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.out, HasSubstr("300 Calls in "));
  const std::string recorded = "rpcrdma: load: --record: " + file + ": cannot write: ";
  const std::size_t at = r.err.find(recorded);
  ASSERT_NE(at, std::string::npos) << r.err;
  EXPECT_EQ(r.err.find(recorded, at + 1), std::string::npos) << r.err;
  EXPECT_THAT(r.err, HasSubstr(" events recorded before that"));
  const Result analysis = run("RPCRDMA analyze " + file);
  EXPECT_EQ(analysis.status, 0) << analysis.err;
  EXPECT_THAT(analysis.out, Not(HasSubstr("Healthy"))) << analysis.out;
  EXPECT_THAT(analysis.out, HasSubstr("dropped while capturing")) << analysis.out;
  stop(server);
}

TEST(TracingUsage, BadArgumentsGiveOneLine) {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Result r = run("RPCRDMA serve --listen 127.0.0.1 " + arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << arguments << r.err;
    EXPECT_THAT(r.err, HasSubstr(part)) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
  };
  refused("--record /nonexistent/x", "--record: /nonexistent/x");
  refused("--record /dev/full", "--record: /dev/full: cannot write");
  refused("--record -", "--record -: standard output");
  refused("--record x --record-size big", "--record-size big: not a size");
  refused("--record x --record-time soon", "--record-time soon: not a duration");
  refused("--record x --record-files 3", "also give --record-size or --record-time");
  refused("--record-size 1M", "--record FILE");
  refused("--record x --pcapng x", "the same file");
  refused("--sample 0", "--sample 0: not from 1 to 16777215");
  refused("--sample 16777216", "--sample 16777216: not from 1 to");
  refused("--name store/1", "--name store/1: contains a slash");
  refused("--name ''", "--name: empty");
}

// The live stream is identical to the file that the same endpoint writes.
TEST_F(Tracing, PacketsAreShownLive) {
  const std::string file = path("packets.pcapng"), live = path("live.pcapng");
  Background server(serving({"--pcapng", file}));
  ASSERT_TRUE(server.wait_for("listening"));
  Background attached({"attach", "serve", "--packets", "-w", live});
  Background shown({"attach", "serve", "--packets", "--json"}, path("shown"));
  ASSERT_TRUE(attached.wait_for("attached to serve"));
  Background ping({"ping", server_, "--from", client_, "--no-live", "-i", "0.01"});
  ASSERT_TRUE(shown.wait_for("attached to serve"));
  ASSERT_TRUE(ping.wait_for("seq=1"));
  ping.signal(SIGINT);
  ping.finish();
  stop(server);
  EXPECT_EQ(attached.finish(), 0);
  EXPECT_EQ(shown.finish(), 0);
  EXPECT_THAT(shown.out, HasSubstr(" packets, 0 lost"));
  const std::string decode = "RPCRDMA decode --json ";
  const std::string packets = run(decode + file).out;
  EXPECT_FALSE(packets.empty());
  EXPECT_EQ(run(decode + live).out, packets);
}

}  // namespace
}  // namespace rpcrdma::e2e
