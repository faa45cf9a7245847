// Hundreds of connections between adapters in a simulated network: without loss, nothing is sent
// again, however long packets wait; with losses, everything arrives.
#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/soft/adapter.h>
#include <rpcrdma/soft/sim_network.h>

namespace rpcrdma::soft {
namespace {

using fabric::kMillisecond;
using fabric::kSecond;
using fabric::Time;

constexpr std::uint16_t kEchoPort = 20049;
constexpr std::uint32_t kBytes = 10'000;  // three packets
constexpr std::uint32_t kReceives = 16;
constexpr std::size_t kAmple = 256U << 20;

fabric::Address address_of(std::uint8_t last) {
  return fabric::make_ipv4(10, 0, 0, last);
}

// An adapter that accepts everything, posts Receives, and counts what arrives.
class Host : public SimNode {
 public:
  Host(SimNetwork& network, std::uint8_t last, const SimLink& link, AdapterOptions options = {})
      : network_(network),
        adapter(
            [&] {
              options.address = address_of(last);
              return options;
            }(),
            last),
        id(network.add(address_of(last), *this, link)),
        buffer_(kBytes) {
    memory_ = adapter.register_memory(buffer_).value();
  }

  void receive(const Path& path, wire::Bytes packet, Time now) override {
    adapter.receive(path, packet, now);
    for (AdapterEvent e; adapter.poll(e);) on_event(e, now);
    take();
  }
  bool transmit(OutPacket& packet, Time now) override { return adapter.transmit(packet, now); }
  Time deadline() override { return adapter.deadline(); }
  void expire(Time now) override {
    adapter.expire(now);
    take();
  }

  void connect(std::uint8_t to, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      fabric::ConnectionOptions o;
      o.cookie = connections.size();
      connections.push_back(adapter.connect(address_of(to), kEchoPort, o, network_.now()).value());
    }
    sent.resize(connections.size());
  }
  // Posts so many Sends on each connection.
  void send(std::uint32_t count) {
    const fabric::Slice whole{buffer_.data(), kBytes, memory_.local_key};
    fabric::SendRequest r;
    r.operation = fabric::Operation::kSend;
    r.local = {&whole, 1};
    for (const ConnectionId c : connections) {
      for (std::uint32_t i = 0; i < count; ++i) ASSERT_TRUE(adapter.post_send(c, {&r, 1}));
    }
  }

  [[nodiscard]] std::uint64_t acknowledged() const {
    std::uint64_t sum = 0;
    for (const std::uint32_t s : sent) sum += s;
    return sum;
  }

 private:
  SimNetwork& network_;

 public:
  Adapter adapter;
  SimNetwork::NodeId id;
  std::vector<ConnectionId> connections;
  std::vector<std::uint32_t> sent;  // by cookie: acknowledged Sends
  std::uint32_t established = 0;
  std::uint32_t ended = 0;
  std::uint64_t received = 0;

 private:
  void on_event(const AdapterEvent& e, Time now) {
    switch (e.type) {
      case fabric::EventType::kRequest: {
        fabric::ConnectionOptions o;
        o.cookie = e.connection;
        ASSERT_TRUE(adapter.accept(e.connection, o, now));
        for (std::uint32_t i = 0; i < kReceives; ++i) post_receive(e.connection);
        break;
      }
      case fabric::EventType::kEstablished:
        ++established;
        break;
      default:
        ++ended;
    }
  }
  void post_receive(ConnectionId connection) {
    const fabric::Slice whole{buffer_.data(), kBytes, memory_.local_key};
    const fabric::ReceiveRequest r{0, {&whole, 1}};
    ASSERT_TRUE(adapter.post_receive(connection, {&r, 1}));
  }
  void take() {
    std::vector<fabric::Completion> all(64);
    for (std::size_t n = 0; (n = adapter.poll(all)) != 0;) {
      for (std::size_t i = 0; i < n; ++i) {
        if (all[i].status != fabric::Status::kSuccess) continue;
        if (all[i].operation == fabric::Operation::kReceive) {
          ++received;
          post_receive(static_cast<ConnectionId>(all[i].connection));
        } else {
          ++sent[all[i].connection];
        }
      }
    }
  }

  std::vector<std::uint8_t> buffer_;
  fabric::Memory memory_;
};

// One server, and clients that connect to it.
struct Hosts {
  explicit Hosts(const SimLink& server_link, std::uint8_t count = 1, AdapterOptions options = {}) {
    server = std::make_unique<Host>(network, 1, server_link, options);
    EXPECT_TRUE(server->adapter.listen(kEchoPort, 0));
    for (std::uint8_t i = 0; i < count; ++i) {
      clients.push_back(
          std::make_unique<Host>(network, static_cast<std::uint8_t>(2 + i), SimLink{}, options));
    }
  }
  void connect(std::uint32_t each) {
    for (const auto& c : clients) c->connect(1, each);
    ASSERT_TRUE(network.run_until([&] { return server->established == each * clients.size(); },
                                  60 * kSecond));
    ASSERT_TRUE(network.run_until(
        [&] {
          return std::ranges::all_of(clients,
                                     [&](const auto& c) { return c->established == each; });
        },
        60 * kSecond));
  }
  // Each client sends so many on each connection; true: everything is acknowledged within `limit`.
  bool send(std::uint32_t count, Time limit = 600 * kSecond) {
    std::uint64_t expected = 0;
    for (const auto& c : clients) {
      c->send(count);
      expected += c->acknowledged() + std::uint64_t{count} * c->connections.size();
    }
    return network.run_until(
        [&] {
          std::uint64_t sum = 0;
          for (const auto& c : clients) sum += c->acknowledged();
          return sum == expected;
        },
        network.now() + limit);
  }
  [[nodiscard]] QpCounters sum() const {
    QpCounters sum = server->adapter.queue_pairs();
    for (const auto& c : clients) sum += c->adapter.queue_pairs();
    return sum;
  }

  SimNetwork network{1};
  std::unique_ptr<Host> server;
  std::vector<std::unique_ptr<Host>> clients;
};

SimLink slow_link(std::uint64_t bits_per_second, std::size_t queue_bytes = kAmple) {
  SimLink link;
  link.in.bits_per_second = bits_per_second;
  link.in.queue_bytes = queue_bytes;
  return link;
}

TEST(ManyConnections, SlowLinkMakesNobodySendAgain) {
  // Everything at once would take 0.8 s.
  Hosts hosts(slow_link(200'000'000));
  hosts.connect(300);
  ASSERT_TRUE(hosts.send(16));
  EXPECT_EQ(hosts.server->received, 300U * 16U);
  EXPECT_EQ(hosts.sum().retransmitted, 0U);
  EXPECT_EQ(hosts.sum().timeouts, 0U);
}

TEST(ManyConnections, EvenOnePacketOfEachTakesLongerThanTheTimeout) {
  // The window with which they begin takes a second.
  Hosts hosts(slow_link(8'000'000));
  hosts.connect(200);
  ASSERT_TRUE(hosts.send(2));
  EXPECT_EQ(hosts.sum().retransmitted, 0U);
}

TEST(ManyConnections, DoNotOverflowTheBufferOfThePeer) {
  AdapterOptions options;
  options.receive_buffer = 4U << 20;
  // What two clients may have in flight together, while a network adapter counts no overhead.
  Hosts hosts(slow_link(400'000'000, options.receive_buffer * 3 / 4), 2, options);
  hosts.connect(300);
  ASSERT_TRUE(hosts.send(16));
  EXPECT_EQ(hosts.network.counters(hosts.server->id, FaultDirection::kIn).queue_drops, 0U);
  EXPECT_EQ(hosts.sum().retransmitted, 0U);
}

TEST(ManyConnections, PeerThatSleepsForAWhileGetsNothingTwice) {
  Hosts hosts(slow_link(10'000'000'000));
  hosts.connect(100);
  ASSERT_TRUE(hosts.send(2));
  hosts.network.change(hosts.server->id, FaultDirection::kIn, {.delay = 300 * kMillisecond});
  ASSERT_TRUE(hosts.send(1));
  EXPECT_EQ(hosts.sum().retransmitted, 0U);
}

TEST(ManyConnections, APeerThatIsGoneIsNoticed) {
  Hosts hosts(slow_link(10'000'000'000));
  hosts.connect(20);
  hosts.network.change(hosts.server->id, FaultDirection::kIn, {.loss = 1});
  EXPECT_FALSE(hosts.send(1, 20 * kSecond));
  EXPECT_GT(hosts.sum().retransmitted, 20U);
  for (const ConnectionId c : hosts.clients.front()->connections) {
    const fabric::SendRequest r;
    EXPECT_FALSE(hosts.clients.front()->adapter.post_send(c, {&r, 1}));
  }
}

TEST(ManyConnections, LossesAreMadeUpForBeforeTheTimeoutGrows) {
  SimLink link = slow_link(10'000'000'000);
  link.in.loss = 0.01;
  Hosts hosts(link);
  hosts.connect(100);
  // One Call at a time on each connection: only the time-out shows that one is lost.
  const Time begun = hosts.network.now();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(hosts.send(1));
  EXPECT_GT(hosts.sum().timeouts, 0U);
  // In nearly every round, one of the hundred packets is lost once, or twice.
  EXPECT_LT(hosts.network.now() - begun, 20 * 3 * 68 * kMillisecond);
}

TEST(ManyConnections, TakeTurns) {
  Hosts hosts(slow_link(100'000'000));
  hosts.connect(200);
  Host& client = *hosts.clients.front();
  client.send(50);
  hosts.network.run_until([&] { return client.acknowledged() >= 200 * 25; }, 60 * kSecond);
  const auto [least, most] = std::ranges::minmax(client.sent);
  EXPECT_GE(least, 1U) << "one was forgotten";
  EXPECT_LE(most - least, 32U);
}

TEST(ManyConnections, RoomOfAConnectionThatEndsIsUsed) {
  Hosts hosts(slow_link(100'000'000));
  hosts.connect(100);
  Host& client = *hosts.clients.front();
  client.send(16);
  hosts.network.run_until([&] { return client.acknowledged() >= 20; }, 60 * kSecond);
  // These have packets in flight, wait, or have their turn.
  for (std::size_t i = 0; i < 90; ++i) client.adapter.destroy(client.connections[i], 0);
  EXPECT_TRUE(hosts.network.run_until(
      [&] {
        return std::all_of(client.sent.begin() + 90, client.sent.end(),
                           [](std::uint32_t n) { return n == 16; });
      },
      hosts.network.now() + 60 * kSecond));
}

}  // namespace
}  // namespace rpcrdma::soft
