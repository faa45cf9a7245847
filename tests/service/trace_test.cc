// Events of servers and clients about their connections, and the consistency of all layers' events.
#include "support/service_hosts.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include <rpcrdma/trace/connection_tracer.h>
#include <rpcrdma/trace/read.h>

namespace rpcrdma::testing {
namespace {

using service::echo::Proc;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Event {
  trace::EventHeader header;
  std::vector<std::uint8_t> bytes;

  [[nodiscard]] trace::EventView view() const { return trace::view_event(bytes).value(); }
  [[nodiscard]] trace::EventType type() const { return static_cast<trace::EventType>(header.type); }
  [[nodiscard]] std::string payload() const {
    const auto v = view();
    return {v.payload.begin(), v.payload.end()};
  }
  template <typename T>
  [[nodiscard]] T as() const {
    return trace::read_event<T>(view()).value();
  }
};

class Events {
 public:
  explicit Events(std::uint32_t ring, bool listen = false, std::uint32_t one_in = 1)
      : tracer(ring, 1U << 22, one_in) {
    tracer.listen(listen);
  }
  void take() {
    tracer.ring().read([&](const trace::EventHeader& h, std::span<const std::uint8_t> bytes) {
      all.push_back({h, {bytes.begin(), bytes.end()}});
    });
  }
  [[nodiscard]] std::vector<Event> of(trace::EventType type) {
    take();
    std::vector<Event> some;
    std::ranges::copy_if(all, std::back_inserter(some),
                         [&](const Event& e) { return e.type() == type; });
    return some;
  }

  trace::Tracer tracer;
  std::vector<Event> all;
};

service::LoopOptions findings_after(Events& events) {
  service::LoopOptions options;
  options.tracer = &events.tracer;
  return options;
}

std::vector<std::uint8_t> part(const Event& event, std::size_t begin, std::size_t end) {
  const auto payload = event.view().payload;
  return {payload.begin() + static_cast<std::ptrdiff_t>(begin),
          payload.begin() + static_cast<std::ptrdiff_t>(end)};
}

TEST(ServiceTrace, ConnectionsAreEmittedThoughNobodyListens) {
  Events of_server(1), of_client(2);
  service::ServerOptions server_options;
  server_options.inline_threshold = 2048;
  ServerParts parts(server_options, {}, findings_after(of_server));
  {
    ClientHost host(1, {}, &of_client.tracer);
    EchoClient echo(host);
    echo.call({Proc::kEchoBulk, 65536, 0, 1, 0});
    ASSERT_TRUE(both_until(host, parts, [&] { return echo.done.size() == 1; }));
    echo.client().finish();
    ASSERT_TRUE(both_until(
        host, parts, [&] { return echo.client().closed() && parts.server->connections() == 0; }));
  }
  of_server.take();
  of_client.take();
  ASSERT_THAT(of_server.all, SizeIs(2));
  ASSERT_THAT(of_client.all, SizeIs(2));
  for (const Events* events : {&of_server, &of_client}) {
    EXPECT_EQ(events->all[0].type(), trace::EventType::kConnection);
    EXPECT_EQ(events->all[1].type(), trace::EventType::kConnectionEnd);
    EXPECT_EQ(events->all[0].header.connection, events->all[1].header.connection);
    EXPECT_EQ(events->all[0].header.connection >> 24U, events == &of_server ? 1U : 2U);
    EXPECT_LE(events->all[0].header.time, events->all[1].header.time);
  }
  const auto server = of_server.all[0].as<trace::Connection>();
  const auto client = of_client.all[0].as<trace::Connection>();
  EXPECT_EQ(server.local, own_address(kServerHost).gid());
  EXPECT_EQ(server.peer, own_address(1).gid());
  EXPECT_EQ(client.local, server.peer);
  EXPECT_EQ(client.peer, server.local);
  EXPECT_GT(server.local_qpn, 1U);
  EXPECT_EQ(client.peer_qpn, server.local_qpn);
  EXPECT_EQ(server.peer_qpn, client.local_qpn);
  EXPECT_EQ(server.active, 0);
  EXPECT_EQ(client.active, 1);
  EXPECT_EQ(client.version, 1);
  EXPECT_EQ(server.version, 0);  // not negotiated yet
  for (const auto& c : {server, client}) {
    EXPECT_EQ(c.port, 20049);
    EXPECT_EQ(c.inline_send, 2048U);
    EXPECT_EQ(c.inline_receive, 2048U);
    EXPECT_EQ(c.responder_resources, 16);
    EXPECT_EQ(c.initiator_depth, 16);
    EXPECT_EQ(c.sees_peer_operations, 1);
    EXPECT_EQ(c.sent_private_data, wire::kPrivateDataBytes);
  }
  // One side received what the other sent, followed by padding.
  const std::size_t n = wire::kPrivateDataBytes;
  EXPECT_EQ(part(of_server.all[0], 0, n), part(of_client.all[0], n, 2 * n));
  EXPECT_EQ(part(of_client.all[0], 0, n), part(of_server.all[0], n, 2 * n));
  EXPECT_EQ(part(of_client.all[0], 0, 4), (std::vector<std::uint8_t>{0xf6, 0xab, 0x0e, 0x18}));

  const auto server_end = of_server.all[1].as<trace::ConnectionEnd>();
  EXPECT_EQ(server_end.side, trace::kPeer);
  EXPECT_EQ(server_end.established, 1);
  EXPECT_EQ(of_server.all[1].payload(), "the peer disconnected");
  EXPECT_EQ(of_client.all[1].as<trace::ConnectionEnd>().side, trace::kHere);
}

// Each end traces every second of four connections, and only beginning and end of the others.
TEST(ServiceTrace, ASampleOfTheConnections) {
  Events of_server(1, true, 2), of_client(2, true, 2);
  ServerParts parts({}, {}, findings_after(of_server));
  {
    ClientHost host(1, {}, &of_client.tracer);
    for (std::size_t n = 1; n <= 4; ++n) {
      EchoClient echo(host);
      echo.call({Proc::kEchoBulk, 4096, 0, 1, 0});
      ASSERT_TRUE(both_until(host, parts, [&] { return echo.done.size() == 1; }));
      echo.client().finish();
      ASSERT_TRUE(both_until(host, parts, [&] { return parts.server->connections() == 0; }));
    }
  }
  for (Events* events : {&of_server, &of_client}) {
    events->take();
    std::map<std::uint32_t, std::set<trace::EventType>> types;
    std::vector<int> left_out;
    for (const Event& e : events->all) {
      if (e.header.connection != 0) types[e.header.connection].insert(e.type());
      if (e.type() == trace::EventType::kConnection)
        left_out.push_back(e.as<trace::Connection>().not_sampled);
    }
    EXPECT_THAT(left_out, ::testing::ElementsAre(0, 1, 0, 1));
    ASSERT_THAT(types, SizeIs(4));
    const std::set<trace::EventType> only{trace::EventType::kConnection,
                                          trace::EventType::kConnectionEnd};
    const std::uint32_t first = types.begin()->first;
    for (const auto& [connection, seen] : types) {
      if ((connection - first) % 2 == 0) {
        EXPECT_TRUE(seen.contains(trace::EventType::kMessage));
        EXPECT_TRUE(seen.contains(trace::EventType::kCallEnd));
      } else {
        EXPECT_EQ(seen, only);
      }
    }
  }
}

// A client's connection keeps its place in the sample when it is established again.
TEST(ServiceTrace, AConnectionStaysOutsideOfTheSample) {
  Events of_client(2, true, 2);
  service::ServerOptions options;
  options.idle = 20 * fabric::kMillisecond;
  ServerParts parts(options, "", {});
  ClientHost host(1, {}, &of_client.tracer);
  // The next one is not in the sample, the one after it would be.
  (void)of_client.tracer.new_connection();
  EchoClient echo(host);
  for (std::size_t n = 1; n <= 3; ++n) {
    echo.call({Proc::kNull, 0, 0, 0, 0});
    ASSERT_TRUE(both_until(host, parts, [&] { return echo.done.size() == n; }));
    ASSERT_TRUE(both_until(
        host, parts, [&] { return of_client.of(trace::EventType::kConnectionEnd).size() >= n; }));
  }
  EXPECT_GE(of_client.of(trace::EventType::kConnection).size(), 3U);
  for (const Event& e : of_client.of(trace::EventType::kConnection)) {
    EXPECT_EQ(e.as<trace::Connection>().not_sampled, 1);
  }
  EXPECT_THAT(of_client.of(trace::EventType::kMessage), IsEmpty());
}

// A client that disappears: the server retransmits until its fabric gives up.
TEST(ServiceTrace, AConnectionThatFailsIsEmittedFromOneThatIsClosed) {
  Events of_server(1);
  service::ServerOptions options;
  options.probe = 50 * fabric::kMillisecond;
  ServerParts parts(options, {}, findings_after(of_server));
  for (const char* faults : {"", "drop op=cm-dreq"}) {
    ClientHost host(1, faults, nullptr, kShortAckTimeout);
    EchoClient echo(host);
    echo.call({Proc::kNull, 0, 0, 0, 0});
    ASSERT_TRUE(both_until(host, parts, [&] { return echo.done.size() == 1; }));
  }
  const fabric::Time end = parts.loop->now() + 20 * fabric::kSecond;
  while (parts.server->connections() != 0 && parts.loop->now() < end) {
    ASSERT_TRUE(parts.loop->run_once(fabric::kSecond));
  }
  const auto ends = of_server.of(trace::EventType::kConnectionEnd);
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(ends[0].as<trace::ConnectionEnd>().failed, 0);
  EXPECT_EQ(ends[0].as<trace::ConnectionEnd>().side, trace::kPeer);
  EXPECT_EQ(ends[1].as<trace::ConnectionEnd>().failed, 1);
  EXPECT_EQ(ends[1].as<trace::ConnectionEnd>().side, trace::kHere);
  EXPECT_THAT(ends[1].payload(), ::testing::HasSubstr("retries exceeded"));
}

TEST(ServiceTrace, ConnectionsThatDoNotCome) {
  Events of_server(1), of_client(2);
  service::ServerOptions server_options;
  server_options.max_connections = 1;
  server_options.private_data = false;
  auto parts = std::make_unique<ServerParts>(server_options, "", findings_after(of_server));
  ClientHost host(1, {}, &of_client.tracer);
  EchoClient first(host);
  ASSERT_TRUE(both_until(host, *parts, [&] { return first.client().up() == 1; }));
  service::ClientOptions options = to_server();
  options.max_attempts = 1;
  EchoClient second(host, options);
  ASSERT_TRUE(both_until(host, *parts, [&] { return second.client().closed(); }));
  auto ends = of_client.of(trace::EventType::kConnectionEnd);
  ASSERT_THAT(ends, SizeIs(1));
  auto end = ends[0].as<trace::ConnectionEnd>();
  EXPECT_EQ(end.side, trace::kPeer);
  EXPECT_EQ(end.established, 0);
  EXPECT_EQ(end.reject_reason, 28);
  const std::string server_address = own_address(kServerHost).to_string();
  const std::string said = "too many connections";
  EXPECT_EQ(ends[0].payload(),
            server_address + ": rejected, reason 28 (consumer reject): " + said + said);
  EXPECT_EQ(end.private_data, said.size());
  EXPECT_EQ(end.peer, own_address(kServerHost).gid());
  EXPECT_EQ(end.port, 20049);
  EXPECT_EQ(end.active, 1);
  ends = of_server.of(trace::EventType::kConnectionEnd);
  ASSERT_THAT(ends, SizeIs(1));
  end = ends[0].as<trace::ConnectionEnd>();
  EXPECT_EQ(end.side, trace::kHere);
  EXPECT_EQ(end.established, 0);
  EXPECT_EQ(end.reject_reason, 28);
  EXPECT_EQ(ends[0].payload(), own_address(1).to_string() + ": " + said + said);
  EXPECT_EQ(end.private_data, said.size());
  EXPECT_EQ(end.peer, own_address(1).gid());
  EXPECT_EQ(end.port, 20049);
  EXPECT_EQ(end.active, 0);
  const auto connections = of_server.of(trace::EventType::kConnection);
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_NE(connections[0].header.connection, ends[0].header.connection);
  // If one side sent no private data, the defaults apply.
  const auto connection = connections[0].as<trace::Connection>();
  EXPECT_EQ(connection.sent_private_data, 0);
  EXPECT_EQ(connection.inline_send, 1024U);
  EXPECT_THAT(connections[0].payload(), SizeIs(fabric::kMaxRequestPrivateData));

  // The server ends.
  parts.reset();
  ASSERT_TRUE(host.until([&] { return first.client().up() == 0; }));
  ends = of_server.of(trace::EventType::kConnectionEnd);
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(ends[1].as<trace::ConnectionEnd>().side, trace::kHere);
  EXPECT_EQ(ends[1].as<trace::ConnectionEnd>().established, 1);
  ends = of_client.of(trace::EventType::kConnectionEnd);
  ASSERT_GE(ends.size(), 2U);
  EXPECT_EQ(ends[1].as<trace::ConnectionEnd>().side, trace::kPeer);
  EXPECT_EQ(ends[1].as<trace::ConnectionEnd>().established, 1);
}

// Both sides' events about each operation.
TEST(ServiceTrace, TheLayersShowOneStory) {
  Events of_server(1, true), of_client(2, true);
  ServerParts parts({}, {}, findings_after(of_server));
  ClientHost host(1, {}, &of_client.tracer);
  {
    service::ClientOptions options = to_server();
    options.connections = 2;
    EchoClient echo(host, options);
    for (int i = 0; i < 20; ++i) {
      echo.call({Proc::kEchoBulk, 65536, 0, 1, 0});
      echo.call({Proc::kEcho, 500, 0, 1, 0});
      echo.call({Proc::kList, 10, 1000, 1, 0});
    }
    ASSERT_TRUE(both_until(host, parts, [&] { return echo.done.size() == 60; }));
    EXPECT_TRUE(echo.all_right());
    echo.client().finish();
    ASSERT_TRUE(both_until(
        host, parts, [&] { return echo.client().closed() && parts.server->connections() == 0; }));
  }
  EXPECT_EQ(of_server.tracer.ring().lost() + of_client.tracer.ring().lost(), 0U);
  for (Events* events : {&of_server, &of_client}) {
    events->take();
    // All events of a connection are between its start and its end.
    std::map<std::uint32_t, std::vector<trace::EventType>> types;
    for (const Event& e : events->all) types[e.header.connection].push_back(e.type());
    // The shared part is the memory that their pool registered.
    EXPECT_THAT(types[0], ::testing::Each(trace::EventType::kRegistration));
    EXPECT_THAT(types[0], ::testing::Not(IsEmpty()));
    types.erase(0);
    EXPECT_THAT(types, SizeIs(2));
    for (const auto& [connection, emitted] : types) {
      EXPECT_EQ(emitted.front(), trace::EventType::kConnection);
      EXPECT_EQ(emitted.back(), trace::EventType::kConnectionEnd);
      EXPECT_EQ(std::ranges::count(emitted, trace::EventType::kConnection), 1);
      EXPECT_EQ(std::ranges::count(emitted, trace::EventType::kConnectionEnd), 1);
    }
    EXPECT_THAT(events->of(trace::EventType::kError), IsEmpty());
    EXPECT_THAT(events->of(trace::EventType::kCall), SizeIs(60));
    EXPECT_THAT(events->of(trace::EventType::kCallEnd), SizeIs(60));
    EXPECT_THAT(events->of(trace::EventType::kMessage), SizeIs(120));
  }
  // Bytes of operations by handle: the responder's posts, and the requester's view of them, in more
  // parts.
  const auto bytes_of = [](Events& events, std::uint8_t side) {
    std::map<std::pair<trace::Transfer, std::uint32_t>, std::uint64_t> bytes;
    for (const Event& e : events.of(trace::EventType::kOperation)) {
      const auto o = e.as<trace::Operation>();
      EXPECT_EQ(o.side, side);
      bytes[{o.kind, o.handle}] += o.length;
    }
    return bytes;
  };
  const auto posted = bytes_of(of_server, trace::kHere);
  EXPECT_THAT(posted, ::testing::Not(IsEmpty()));
  EXPECT_EQ(posted, bytes_of(of_client, trace::kPeer));
  // Every advertised handle was invalidated.
  EXPECT_EQ(of_client.of(trace::EventType::kAdvertise).size(),
            of_client.of(trace::EventType::kInvalidate).size());
  // Each message of one side is the other's.
  std::multiset<std::string> sent, received;
  for (const Event& e : of_server.of(trace::EventType::kMessage)) {
    if (e.as<trace::Message>().side == trace::kHere) sent.insert(e.payload());
  }
  for (const Event& e : of_client.of(trace::EventType::kMessage)) {
    if (e.as<trace::Message>().side == trace::kPeer) received.insert(e.payload());
  }
  EXPECT_EQ(sent, received);
}

TEST(ServiceTrace, DeclaredFaultsUnderTheirConnection) {
  Events of_server(1, true), of_client(2, true);
  ServerParts parts({}, "drop dir=in op=send msg=2 attempt=1; delay dir=out op=cm-rep by=1us",
                    findings_after(of_server));
  ClientHost host(1, {}, &of_client.tracer);
  EchoClient echo(host);
  for (int i = 0; i < 3; ++i) {
    echo.call({Proc::kNull, 0, 0, 0, 0});
    ASSERT_TRUE(both_until(host, parts, [&] { return echo.done.size() == echo.made; }));
  }
  const auto faults = of_server.of(trace::EventType::kFault);
  ASSERT_THAT(faults, SizeIs(2));
  // Packets of the connection manager belong to no connection.
  EXPECT_EQ(faults[0].payload(), "delay dir=out op=cm-rep by=1us");
  EXPECT_EQ(faults[0].header.connection, 0U);
  EXPECT_EQ(faults[0].as<trace::Fault>().outgoing, 1);
  EXPECT_EQ(faults[1].payload(), "drop dir=in op=send msg=2 attempt=1");
  EXPECT_EQ(faults[1].header.connection,
            of_server.of(trace::EventType::kConnection).at(0).header.connection);
  EXPECT_EQ(faults[1].as<trace::Fault>().outgoing, 0);
  EXPECT_EQ(faults[1].as<trace::Fault>().action,
            static_cast<std::uint8_t>(soft::FaultAction::kDrop));
  // And their consequences.
  const auto below = of_client.of(trace::EventType::kFabric);
  ASSERT_GE(below.size(), 2U);
  EXPECT_EQ(below[0].as<trace::Fabric>().kind, trace::FabricKind::kTimeout);
  EXPECT_EQ(below[1].as<trace::Fabric>().kind, trace::FabricKind::kRetransmission);
  EXPECT_EQ(below[0].header.connection,
            of_client.of(trace::EventType::kConnection).at(0).header.connection);
}

}  // namespace
}  // namespace rpcrdma::testing
