// `rpcrdma agent` with real endpoints: what it publishes is what they did.
#include "fleet_fixture.h"

#include <csignal>
#include <regex>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class AgentTest : public Fleet {};

TEST_F(AgentTest, PublishesTheCountersOfEndpoints) {
  start_bus();
  listen();
  Background agent(agent_words());
  ASSERT_TRUE(agent.wait_for("publishes as host node on " + server_.url()));
  const auto first = summary();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->sequence, 1U);
  EXPECT_EQ(first->interval_ns, 0);
  EXPECT_FALSE(first->instance.empty());
  EXPECT_TRUE(first->endpoints.empty());
  const std::string recording = folder_.file("server.pcapng");
  Background server(serve_words({"--name", "srv", "--json", "--record", recording}));
  ASSERT_TRUE(follows("srv"));
  const Result load = run("RPCRDMA load " + address_ + " --from " + own_address(2) +
                          " --provider soft --procedure mix --count 500 --connections 2 --json");
  ASSERT_EQ(load.status, 0) << load.err;
  const json did = json::parse(load.out);
  ASSERT_EQ(did["calls"], 500);
  const auto after = summary([&](const fleet::Summary& s) {
    const fleet::EndpointSummary* const e = endpoint(s, "srv");
    return e != nullptr && e->counters.replies >= 500 && e->connections == 0;
  });
  ASSERT_TRUE(after);
  const fleet::EndpointSummary srv = *endpoint(*after, "srv");
  EXPECT_EQ(srv.counters.calls, 500U);
  EXPECT_EQ(srv.counters.replies, 500U);
  EXPECT_EQ(srv.counters.errors, 0U);
  EXPECT_EQ(srv.latency.count(), 500U);
  EXPECT_EQ(srv.events_lost, 0U);
  EXPECT_EQ(srv.end, fleet::EndpointEnd::kNone);
  EXPECT_THAT(srv.role, StartsWith("server on " + address_));
  EXPECT_NE(srv.since_ns, 0);
  ASSERT_EQ(srv.recordings.size(), 1U);
  EXPECT_EQ(srv.recordings[0].file, recording);
  EXPECT_FALSE(srv.recordings[0].on_demand);
  EXPECT_EQ(after->agent, fleet::AgentCounters{});
  EXPECT_NEAR(static_cast<double>(after->interval_ns), 1e9, 0.9e9);
  // What the server itself counted.
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0);
  const std::size_t line = server.out.rfind("\n{") + 1;
  const json counted = json::parse(server.out.substr(line, server.out.find('\n', line) - line));
  EXPECT_EQ(counted["calls"], 500);
  const auto ended = summary([&](const fleet::Summary& s) {
    const fleet::EndpointSummary* const e = endpoint(s, "srv");
    return e != nullptr && e->end != fleet::EndpointEnd::kNone;
  });
  ASSERT_TRUE(ended);
  EXPECT_EQ(endpoint(*ended, "srv")->end, fleet::EndpointEnd::kClosed);
  EXPECT_EQ(endpoint(*ended, "srv")->counters, srv.counters);
  // A restarted endpoint begins anew.
  Background again(serve_words({"--name", "srv"}));
  const auto restarted = summary([&](const fleet::Summary& s) {
    return !s.endpoints.empty() && s.endpoints.back().generation != srv.generation;
  });
  ASSERT_TRUE(restarted);
  EXPECT_EQ(restarted->endpoints.back().name, "srv");
  EXPECT_EQ(restarted->endpoints.back().counters, fleet::Counters{});
  agent.signal(SIGTERM);
  const auto last = summary([](const fleet::Summary& s) { return s.goodbye; });
  EXPECT_EQ(agent.finish(), 0) << agent.out;
  ASSERT_TRUE(last);
  // Nothing was lost.
  EXPECT_EQ(last->sequence, received_);
}

TEST_F(AgentTest, FindingsArriveAsTheyAreFound) {
  start_bus();
  listen();
  Background agent(agent_words());
  ASSERT_TRUE(agent.wait_for("publishes as host"));
  Background server(serve_words({"--name", "srv"}));
  ASSERT_TRUE(follows("srv"));
  Background load(load_words({"--name", "ld", "--duration", "60s", "--rate", "50"}));
  const auto works = summary([&](const fleet::Summary& s) {
    const fleet::EndpointSummary* const e = endpoint(s, "srv");
    return e != nullptr && e->connections == 1 && e->counters.replies != 0;
  });
  ASSERT_TRUE(works);
  EXPECT_EQ(endpoint(*works, "srv")->credits.granted, 32U);
  server.signal(SIGKILL);
  const auto killed = summary([&](const fleet::Summary& s) {
    const fleet::EndpointSummary* const e = endpoint(s, "srv");
    return e != nullptr && e->end == fleet::EndpointEnd::kKilled && e->findings[1] == 1;
  });
  ASSERT_TRUE(killed);
  EXPECT_EQ(endpoint(*killed, "srv")->connections, 0U);
  std::vector<fleet::FindingNote> all;
  ASSERT_TRUE(becomes([&] {
    all = findings();
    return !all.empty();
  }));
  const fleet::FindingNote& note = all.front();
  EXPECT_EQ(note.host, "node");
  EXPECT_EQ(note.endpoint, "srv");
  EXPECT_EQ(note.severity, "warning");
  EXPECT_EQ(note.count, 1U);
  EXPECT_EQ(note.instance, killed->instance);
  EXPECT_THAT(note.text, HasSubstr("was killed or crashed"));
  EXPECT_NE(note.advice, "");
}

// While the bus is restarted under load, nothing of the counters is lost, and lost summaries are
// counted.
TEST_F(AgentTest, SurvivesARestartOfTheBus) {
  start_bus();
  listen();
  Background agent(agent_words());
  ASSERT_TRUE(agent.wait_for("publishes as host"));
  Background server(serve_words({"--name", "srv"}));
  ASSERT_TRUE(follows("srv"));
  Background load(load_words({"--duration", "90s", "--rate", "100"}));
  std::optional<fleet::Summary> back;
  // Longer and longer, until the agent has had to replace a summary.
  for (int seconds = 2; seconds <= 32; seconds *= 2) {
    const std::uint64_t before = latest_.agent.reconnects;
    server_.stop();
    ASSERT_TRUE(becomes([&] { return !bus_->state().connected; }));
    ::poll(nullptr, 0, seconds * 1000);
    ASSERT_TRUE(server_.start()) << server_.log();
    back = summary([&](const fleet::Summary& s) { return s.agent.reconnects > before; });
    ASSERT_TRUE(back);
    if (back->agent.states_dropped != 0) break;
  }
  EXPECT_NE(back->agent.states_dropped, 0U);
  EXPECT_EQ(back->agent.findings_dropped, 0U);
  // The sequence numbers show all that did not arrive: what the agent replaced, and what was on its
  // way or arrived before this subscription was back.
  EXPECT_LE(back->agent.states_dropped, latest_.sequence - received_);
  load.signal(SIGINT);
  EXPECT_EQ(load.finish(), 0) << load.out;
  const json did = json::parse(load.out.substr(load.out.find('{')));
  const auto after = summary([&](const fleet::Summary& s) {
    const fleet::EndpointSummary* const e = endpoint(s, "srv");
    return e != nullptr && e->counters.replies >= did["calls"].get<std::uint64_t>();
  });
  ASSERT_TRUE(after);
  EXPECT_EQ(endpoint(*after, "srv")->counters.calls, did["calls"].get<std::uint64_t>());
  EXPECT_EQ(endpoint(*after, "srv")->events_lost, 0U);
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.finish(), 0);
  EXPECT_THAT(agent.out, HasSubstr("the bus is disconnected"));
  EXPECT_THAT(agent.out, HasSubstr("summaries were replaced by newer ones"));
}

TEST_F(AgentTest, TwoAgentsOfOneNameAreNamedOnBothSides) {
  start_bus();
  listen();
  Background agent(agent_words());
  ASSERT_TRUE(agent.wait_for("publishes as host"));
  ASSERT_TRUE(summary());
  const Result second = run("RPCRDMA agent --host node --bus " + server_.url());
  EXPECT_EQ(second.status, 2);
  EXPECT_THAT(second.err, HasSubstr("on this machine) publishes as host node already"));
  EXPECT_EQ(std::count(second.err.begin(), second.err.end(), '\n'), 1) << second.err;
  EXPECT_TRUE(agent.wait_for("wants to publish as host node and was refused"));
  // Another one that came while the two could not see each other, and one that is none.
  ASSERT_TRUE(summary());
  fleet::Summary forged = latest_;
  forged.instance = "0123";
  ASSERT_TRUE(bus_->send(fleet::state_subject("node"), fleet::to_json(forged)));
  EXPECT_TRUE(agent.wait_for("publishes as host node, too: stop one"));
}

TEST_F(AgentTest, ForgedAndOversizedRequestsHarmNobody) {
  start_bus();
  listen();
  Background agent(agent_words());
  ASSERT_TRUE(agent.wait_for("publishes as host"));
  Background server(serve_words({"--name", "srv"}));
  ASSERT_TRUE(follows("srv"));
  const std::string control = fleet::control_subject("node");
  for (const std::string& bytes :
       {std::string(), std::string("{"), std::string(900'000, 'x'), std::string("\x00\xff\n", 3),
        std::string(R"({"schema":1,"op":"moon"})"), std::string(R"({"schema":9,"op":"hello"})"),
        std::string(R"({"schema":1,"op":"record","id":"../../x","endpoint":"","duration_ns":1,)"
                    R"("most_bytes":1})"),
        std::string(R"({"schema":1,"op":"ack","id":"12","bytes":1})"),
        std::string(R"({"schema":1,"op":"stop","id":"12"})")}) {
    ASSERT_TRUE(bus_->send(control, bytes));
  }
  EXPECT_TRUE(agent.wait_for("a request over the bus is not valid: "));
  const auto refused = bus_->request(
      control,
      R"({"schema":1,"op":"record","id":"1f","endpoint":"","duration_ns":99999999999999,"most_bytes":1})",
      std::chrono::seconds(50));
  ASSERT_TRUE(refused);
  EXPECT_THAT(*refused, HasSubstr("records for at most"));
  ASSERT_TRUE(summary());
  ASSERT_TRUE(summary([&](const fleet::Summary& s) { return endpoint(s, "srv") != nullptr; }));
}

TEST_F(AgentTest, SaysInOneLineWhatIsWrong) {
  const auto refused = [&](const std::string& options, const std::string& part) {
    const Result r = run("RPCRDMA agent " + options);
    EXPECT_EQ(r.status, 2) << options;
    EXPECT_EQ(r.out, "") << options;
    EXPECT_THAT(r.err, StartsWith("rpcrdma: agent: ")) << options;
    EXPECT_THAT(r.err, HasSubstr(part)) << options;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  };
  refused("--bus nats://127.0.0.1:1", "bus nats://127.0.0.1:1: no NATS server answers there");
  refused("--bus 127.0.0.1:1 --host x", "bus nats://127.0.0.1:1: no NATS server answers there");
  refused("--bus x --user u --password-file /nowhere", "--password-file /nowhere: No such file");
  refused("--bus x --nkey /nowhere", "/nowhere: No such file");
  refused("--bus x --tls-ca /nowhere", "/nowhere: No such file");
  refused("--bus x --record-max 2Gi", "--record-max 2Gi: not a size of at most 1Gi");
  start_bus({.jetstream = false});
  refused("--bus " + server_.url(), "it has no JetStream");
  server_.stop();
  start_bus();
  refused("--host " + std::string(300, 'x') + " --bus " + server_.url(),
          "--host: give a name of 1 to 253 bytes");
  listen();
  ASSERT_TRUE(bus_->request("$JS.API.STREAM.CREATE.RPCRDMA_FINDINGS",
                            R"({"name":"RPCRDMA_FINDINGS","subjects":["rpcrdma.findings.*"],)"
                            R"("storage":"file","retention":"limits","discard":"new"})",
                            std::chrono::seconds(50)));
  refused("--bus " + server_.url(), "the stream RPCRDMA_FINDINGS exists with other settings");
}

// An endpoint with its maximum of readers is named, counted, and read when there is room.
TEST_F(AgentTest, AnEndpointThatCannotBeReadIsCounted) {
  start_bus();
  listen();
  Background server(serve_words({"--name", "srv"}));
  ASSERT_TRUE(wait_for_endpoint("srv"));
  std::vector<base::FileDescriptor> readers;
  ASSERT_TRUE(becomes([&] {
    auto fd = trace::connect_endpoint("srv");
    if (fd) readers.push_back(std::move(*fd));
    return readers.size() == trace::kMostReaders;
  }));
  Background agent(agent_words());
  ASSERT_TRUE(agent.wait_for("cannot read an endpoint: "));
  const auto unread =
      summary([](const fleet::Summary& s) { return s.agent.endpoints_unread == 1; });
  ASSERT_TRUE(unread);
  EXPECT_TRUE(unread->endpoints.empty());
  readers.clear();
  EXPECT_TRUE(follows("srv"));
  EXPECT_TRUE(summary([](const fleet::Summary& s) { return s.agent.endpoints_unread == 0; }));
}

// The kernel's sums, from a fake source that counts 100 Calls a second.
TEST_F(AgentTest, CountsTheKernel) {
  start_bus();
  listen();
  ::setenv("RPCRDMA_FAKE_KERNEL", "", 1);
  Background agent(agent_words({"--kernel"}), {}, RPCRDMA_FAKE_KERNEL_COMMAND);
  const auto counted = summary([](const fleet::Summary& s) {
    const fleet::EndpointSummary* const e = endpoint(s, "kernel");
    return e != nullptr && e->counters.calls >= 200;
  });
  ::unsetenv("RPCRDMA_FAKE_KERNEL");
  ASSERT_TRUE(counted);
  const fleet::EndpointSummary& kernel = *endpoint(*counted, "kernel");
  EXPECT_EQ(kernel.source, fleet::Source::kKernel);
  EXPECT_EQ(kernel.role, "client of a fake Linux");
  // A summary of `seconds`: one Call more is in flight, and one in a hundred fails.
  const std::uint64_t seconds = kernel.counters.errors;
  EXPECT_EQ(kernel.counters.calls, 100 * seconds + 1);
  EXPECT_EQ(kernel.counters.replies, 100 * seconds);
  EXPECT_EQ(kernel.counters.chunk_bytes[1], 65536 * 100 * seconds);
  EXPECT_EQ(kernel.latency.count(), kernel.counters.replies);
  EXPECT_EQ(kernel.credits, (fleet::CreditSums{128, 64, 1, 0}));
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.finish(), 0) << agent.out;
}

// Endpoints' and hosts' names are data.
TEST_F(AgentTest, NamesFromOutsideAreEscaped) {
  start_bus();
  listen();
  Background agent(agent_words({}, "no de.\x1b*>"));
  ASSERT_TRUE(agent.wait_for("publishes as host no de."));
  EXPECT_EQ(agent.out.find('\x1b'), std::string::npos);
  const auto first = summary();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->host, "no de.\x1b*>");
}

// The example that comes with the unit is read, and has nothing that the agent does not know.
TEST_F(AgentTest, ReadsTheExampleOfItsConfiguration) {
  start_bus();
  std::string text = read_file(RPCRDMA_SOURCE_DIR "/packaging/systemd/agent.conf");
  text = std::regex_replace(text, std::regex("nats://192.0.2.9:4222"), server_.url());
  text = std::regex_replace(text, std::regex("/var/lib/rpcrdma-agent"), folder_.path());
  text = std::regex_replace(text, std::regex("#(profile|host) ="), "$1 =");
  write_file(folder_.file("agent.conf"), text);
  Background agent({"agent", "--config", folder_.file("agent.conf")});
  EXPECT_TRUE(agent.wait_for("publishes as host node7")) << agent.out;
  const Result r =
      run("sed 's/^#\\([a-z-]* = \\)/\\1/' " RPCRDMA_SOURCE_DIR
          "/packaging/systemd/agent.conf | grep -v 'nkey\\|creds\\|user\\|password\\|log-file' >" +
          folder_.file("all.conf") + " && RPCRDMA agent --config " + folder_.file("all.conf"));
  EXPECT_THAT(r.err, HasSubstr("/etc/rpcrdma/ca.pem: No such file"));
}

TEST_F(AgentTest, SystemdAcceptsTheUnit) {
  const std::string unit = folder_.file("rpcrdma-agent.service");
  const std::string text = read_file(RPCRDMA_SOURCE_DIR "/packaging/systemd/rpcrdma-agent.service");
  write_file(unit, std::regex_replace(text, std::regex("/usr/bin/rpcrdma"), RPCRDMA_COMMAND));
  const Result r = run("systemd-analyze verify --man=no " + unit);
  EXPECT_EQ((r.out + r.err).find("rpcrdma-agent.service:"), std::string::npos) << r.out << r.err;
}

}  // namespace
}  // namespace rpcrdma::e2e
