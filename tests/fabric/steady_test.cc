// The cost of a connection: no heap allocation per packet, little memory, and no CPU time when
// idle.
#include "support/live_bytes.h"
#include "support/two_peers.h"

#include <gmock/gmock.h>

namespace rpcrdma {
namespace {

using fabric::Operation;
using testing::TwoPeers;

TEST(FabricSteady, NothingIsAllocatedPerPacket) {
  TwoPeers p;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  const fabric::MemoryRegion there = p.server.advertise(0, 1U << 20);
  const auto round = [&] {
    p.client.done.clear();
    p.server.done.clear();
    p.server.receive(1, 3U << 20, 4096);
    p.client.receive(1, 3U << 20, 4096);
    p.client.post(Operation::kSend, 1, 0, 100);
    p.client.post(Operation::kWrite, 2, 0, 1U << 20, there);
    p.client.post(Operation::kRead, 3, 1U << 20, 1U << 20, there);
    p.server.post(Operation::kSend, 1, 0, 4096);
    ASSERT_TRUE(p.until([&] { return p.client.done.size() == 4 && p.server.done.size() == 2; }));
  };
  for (int i = 0; i < 20; ++i) ASSERT_NO_FATAL_FAILURE(round());
  const std::size_t before = report::testing::heap().allocations;
  for (int i = 0; i < 50; ++i) ASSERT_NO_FATAL_FAILURE(round());
  EXPECT_EQ(report::testing::heap().allocations - before, 0U);
}

TEST(FabricSteady, AnIdleConnectionWakesNobody) {
  TwoPeers p;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  // Until the last timer of the set-up has expired or was cancelled.
  (void)p.until([&] { return p.client.provider->arm() && p.server.provider->arm(); });
  for (testing::Peer* peer : {&p.client, &p.server}) {
    peer->step();
    ASSERT_TRUE(peer->provider->arm());
    pollfd fd{peer->provider->fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&fd, 1, 300), 0);
  }
}

TEST(FabricSteady, AThousandConnectionsAreSmall) {
  soft::AdapterOptions options;
  options.address = fabric::make_ipv4(127, 0, 0, 1);
  soft::Adapter client(options, 1);
  options.address = fabric::make_ipv4(127, 0, 0, 2);
  soft::Adapter server(options, 2);
  ASSERT_TRUE(server.listen(testing::kPort, 0));
  const auto exchange = [&] {
    for (bool any = true; any;) {
      any = false;
      for (const bool forth : {true, false}) {
        soft::Adapter& from = forth ? client : server;
        soft::Adapter& to = forth ? server : client;
        soft::OutPacket out;
        while (from.transmit(out, 0)) {
          any = true;
          std::array<std::uint8_t, 4200> bytes{};
          std::size_t n = out.header_bytes;
          std::memcpy(bytes.data(), out.header.data(), n);
          for (std::size_t i = 0; i < out.payload_parts; ++i) {
            std::memcpy(bytes.data() + n, out.payload[i].data(), out.payload[i].size());
            n += out.payload[i].size();
          }
          const soft::Path path{out.path->remote, out.path->local, 4791};
          to.receive(path, wire::Bytes(bytes).first(n + out.pad_bytes), 0);
        }
      }
    }
  };
  const auto connect = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(client.connect(fabric::make_ipv4(127, 0, 0, 2), testing::kPort, {}, 0));
      exchange();
      soft::AdapterEvent event;
      while (server.poll(event)) {
        if (event.type != fabric::EventType::kRequest) continue;
        ASSERT_TRUE(server.accept(event.connection, {}, 0));
        const std::vector<fabric::ReceiveRequest> receives(32);
        ASSERT_TRUE(server.post_receive(event.connection, receives));
      }
      exchange();
      while (client.poll(event)) continue;
      while (server.poll(event)) continue;
    }
  };
  ASSERT_NO_FATAL_FAILURE(connect(100));
  const std::size_t before = report::testing::heap().live;
  constexpr std::size_t kConnections = 1000;
  ASSERT_NO_FATAL_FAILURE(connect(kConnections));
  ASSERT_EQ(client.connections(), 1100U);
  ASSERT_EQ(server.connections(), 1100U);
  // Both ends of each.
  EXPECT_LE((report::testing::heap().live - before) / (2 * kConnections), 16384U);
  RecordProperty("bytes_per_connection",
                 static_cast<int>((report::testing::heap().live - before) / (2 * kConnections)));
}

}  // namespace
}  // namespace rpcrdma
