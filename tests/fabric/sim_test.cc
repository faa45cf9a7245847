// Whole endpoints with connection management in a simulated network that drops, duplicates,
// reorders and corrupts: everything arrives once and in order, or the connection fails visibly.
#include <cstdlib>
#include <memory>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/soft/adapter.h>
#include <rpcrdma/soft/sim_network.h>

namespace rpcrdma {
namespace {

using fabric::EventType;
using fabric::Operation;
using fabric::Status;

constexpr std::uint16_t kPort = 20049;
constexpr std::size_t kMessages = 24;
constexpr std::uint32_t kMessageBytes = 3000;

class Node : public soft::SimNode {
 public:
  Node(const soft::AdapterOptions& options, std::uint64_t seed)
      : adapter(options, seed), buffer(kMessages * kMessageBytes) {
    memory = adapter.register_memory(buffer).value();
  }
  void receive(const soft::Path& path, wire::Bytes packet, fabric::Time now) override {
    adapter.receive(path, packet, now);
  }
  bool transmit(soft::OutPacket& packet, fabric::Time now) override {
    return adapter.transmit(packet, now);
  }
  fabric::Time deadline() override { return adapter.deadline(); }
  void expire(fabric::Time now) override { adapter.expire(now); }

  soft::Adapter adapter;
  std::vector<std::uint8_t> buffer;
  fabric::Memory memory;
  std::vector<fabric::Completion> done;

  void take() {
    std::array<fabric::Completion, 64> some;
    for (std::size_t n; (n = adapter.poll(some)) != 0;) {
      done.insert(done.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
    }
  }
};

fabric::Address address(std::uint32_t n) {
  return fabric::make_ipv4(10, static_cast<std::uint8_t>(n >> 16),
                           static_cast<std::uint8_t>(n >> 8), static_cast<std::uint8_t>(n));
}

soft::SimLink bad_link(double rate) {
  soft::SimLink link;
  for (soft::SimDirection* d : {&link.out, &link.in}) {
    d->delay = 3 * fabric::kMicrosecond;
    d->bits_per_second = 10'000'000'000;
    d->loss = d->duplication = d->reordering = d->corruption = rate;
  }
  return link;
}

enum class Outcome { kDelivered, kFailed };

// A connection that sends kMessages messages and reads them back.
Outcome exchange(std::uint64_t seed, double rate) {
  soft::SimNetwork net(seed);
  soft::AdapterOptions options;
  options.mtu = 1024;
  options.ack_timeout = 8;  // 1 ms
  options.cm.response_timeout = fabric::kMillisecond;
  options.address = address(1);
  Node client(options, seed * 2 + 1);
  options.address = address(2);
  Node server(options, seed * 2 + 2);
  net.add(address(1), client, bad_link(rate));
  net.add(address(2), server, bad_link(rate));
  EXPECT_TRUE(server.adapter.listen(kPort, 0));
  const fabric::Time limit = 100 * fabric::kSecond;

  const auto connection = client.adapter.connect(address(2), kPort, {}, 0).value();
  bool failed = false;
  bool client_up = false;
  bool server_up = false;
  soft::ConnectionId accepted = 0;
  const auto events = [&] {
    soft::AdapterEvent e;
    while (server.adapter.poll(e)) {
      if (e.type == EventType::kRequest) {
        accepted = e.connection;
        for (std::size_t i = 0; i < kMessages; ++i) {
          const fabric::Slice s{server.buffer.data() + i * kMessageBytes, kMessageBytes,
                                server.memory.local_key};
          const fabric::ReceiveRequest r{i, {&s, 1}};
          EXPECT_TRUE(server.adapter.post_receive(accepted, {&r, 1}));
        }
        fabric::ConnectionOptions o;
        o.depths = {64, 64, 64};
        (void)server.adapter.accept(accepted, o, net.now());
        net.wake(1);
      } else {
        (e.type == EventType::kEstablished ? server_up : failed) = true;
      }
    }
    while (client.adapter.poll(e)) {
      (e.type == EventType::kEstablished ? client_up : failed) = true;
    }
    client.take();
    server.take();
  };
  const auto until = [&](auto condition) {
    net.run_until(
        [&] {
          events();
          return failed || condition();
        },
        limit);
    return !failed && condition();
  };
  if (!until([&] { return client_up; })) {
    EXPECT_TRUE(failed) << seed;  // visibly
    return Outcome::kFailed;
  }
  for (std::size_t i = 0; i < client.buffer.size(); ++i) {
    client.buffer[i] = static_cast<std::uint8_t>((i * 2654435761U + seed) >> 7);
  }
  for (std::size_t i = 0; i < kMessages; ++i) {
    const fabric::Slice s{client.buffer.data() + i * kMessageBytes, kMessageBytes,
                          client.memory.local_key};
    fabric::SendRequest r;
    r.id = i;
    r.local = {&s, 1};
    EXPECT_TRUE(client.adapter.post_send(connection, {&r, 1}));
  }
  const bool arrived =
      until([&] { return client.done.size() == kMessages && server.done.size() == kMessages; });
  if (!arrived) {
    EXPECT_TRUE(failed) << seed;
    return Outcome::kFailed;
  }
  for (std::size_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(client.done[i].id, i) << seed;
    EXPECT_EQ(client.done[i].status, Status::kSuccess) << seed;
    EXPECT_EQ(server.done[i].id, i) << seed;
    EXPECT_EQ(server.done[i].bytes, kMessageBytes) << seed;
  }
  EXPECT_TRUE(server.buffer == client.buffer) << seed;
  return Outcome::kDelivered;
}

std::uint64_t seeds() {
  const char* const text = std::getenv("RPCRDMA_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 500;
}

TEST(FabricSim, EverythingArrivesOnceAndInOrderOrFailsVisibly) {
  std::uint64_t delivered = 0;
  const std::uint64_t all = seeds();
  for (std::uint64_t seed = 0; seed < all; ++seed) {
    const double rate = static_cast<double>(seed % 11) / 200;  // 0 to 5 % of each
    if (exchange(seed, rate) == Outcome::kDelivered) ++delivered;
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  // Operations retried seven times fail now and then, and not as a rule.
  EXPECT_GE(delivered, all * 9 / 10);
}

TEST(FabricSim, AThousandConnectionsInOneNetwork) {
  soft::SimNetwork net(1);
  soft::AdapterOptions options;
  options.mtu = 1024;
  constexpr std::uint32_t kClients = 1000;
  options.address = address(0xffff);
  Node server(options, 1);
  net.add(options.address, server, bad_link(0.001));
  ASSERT_TRUE(server.adapter.listen(kPort, 0));
  std::vector<std::unique_ptr<Node>> clients;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    options.address = address(i + 1);
    clients.push_back(std::make_unique<Node>(options, i + 2));
    net.add(options.address, *clients.back(), bad_link(0.001));
    ASSERT_TRUE(clients.back()->adapter.connect(address(0xffff), kPort, {}, 0));
  }
  std::uint32_t established = 0;
  const bool all = net.run_until(
      [&] {
        soft::AdapterEvent e;
        while (server.adapter.poll(e)) {
          if (e.type == EventType::kRequest) {
            EXPECT_TRUE(server.adapter.accept(e.connection, {}, net.now()));
            net.wake(0);
          } else if (e.type == EventType::kEstablished) {
            ++established;
          }
        }
        return established == kClients;
      },
      60 * fabric::kSecond);
  EXPECT_TRUE(all) << established;
}

}  // namespace
}  // namespace rpcrdma
