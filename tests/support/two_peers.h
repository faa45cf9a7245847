// Two connected endpoints in one thread: of any provider, or of the soft fabric on two loopback
// addresses of this process.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/soft/provider.h>

namespace rpcrdma::testing {

inline constexpr std::uint16_t kPort = 20049;
inline constexpr fabric::Access kReadAndWrite =
    fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite;

template <typename Provider>
struct PeerOf {
  std::unique_ptr<Provider> provider;
  std::unique_ptr<fabric::Connection> connection;
  std::vector<std::uint8_t> buffer;
  fabric::Memory memory;
  std::vector<fabric::Completion> done;
  std::vector<fabric::Event> events;

  PeerOf(std::unique_ptr<Provider> opened, std::size_t bytes)
      : provider(std::move(opened)), buffer(bytes) {
    if (provider == nullptr) return;
    memory = provider->register_memory(buffer).value();
    done.reserve(4096);
  }
  ~PeerOf() {
    connection.reset();
    // Requests that were not accepted are connections, too.
    events.clear();
    if (provider != nullptr) provider->deregister_memory(memory);
  }
  PeerOf(const PeerOf&) = delete;
  PeerOf& operator=(const PeerOf&) = delete;

  void step() {
    provider->progress();
    fabric::Event event;
    while (provider->poll(event)) events.push_back(std::move(event));
    std::array<fabric::Completion, 64> some;
    const std::size_t n = provider->poll(some);
    done.insert(done.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
  }
  fabric::Slice slice(std::size_t offset, std::size_t length) {
    return {buffer.data() + offset, static_cast<std::uint32_t>(length), memory.local_key};
  }
  void receive(std::uint64_t id, std::size_t offset, std::size_t length) {
    const fabric::Slice s = slice(offset, length);
    const fabric::ReceiveRequest r{id, {&s, 1}};
    ASSERT_TRUE(connection->post_receive({&r, 1}));
  }
  void post(fabric::Operation operation, std::uint64_t id, std::size_t offset, std::size_t length,
            fabric::MemoryRegion remote = {}, std::uint32_t extra = 0) {
    const fabric::Slice s = slice(offset, length);
    fabric::SendRequest r;
    r.id = id;
    r.operation = operation;
    r.local = {&s, 1};
    r.remote_handle = remote.handle;
    r.remote_offset = remote.offset;
    r.immediate = r.invalidate = extra;
    ASSERT_TRUE(connection->post_send({&r, 1}));
  }
  fabric::MemoryRegion advertise(std::size_t offset, std::size_t length) {
    return connection
        ->advertise(0, memory, buffer.data() + offset, static_cast<std::uint32_t>(length),
                    kReadAndWrite)
        .value();
  }
};

// Returns null, and fails the test, if it is not available.
inline std::unique_ptr<soft::SoftProvider> open_soft(const soft::ProviderOptions& options) {
  auto opened = soft::SoftProvider::open(options);
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
  return opened ? std::move(*opened) : nullptr;
}

using Peer = PeerOf<soft::SoftProvider>;

// Addresses that no other test on this machine uses at the same time.
inline fabric::Address own_address(std::uint8_t last) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  return fabric::make_ipv4(127, static_cast<std::uint8_t>(100 + pid % 100),
                           static_cast<std::uint8_t>(pid / 100), last);
}

template <typename Provider>
class TwoPeersOf {
 public:
  // `to`: the address of the second, which listens.
  TwoPeersOf(std::unique_ptr<Provider> first, std::unique_ptr<Provider> second,
             const fabric::Address& to, std::size_t bytes = 4U << 20)
      : client(std::move(first), bytes), server(std::move(second), bytes), server_address_(to) {}

  // Drives both alternately until `condition` holds; returns false when both have been silent for
  // ten seconds.
  template <typename Condition>
  bool until(Condition&& condition) {
    while (!condition()) {
      client.step();
      server.step();
      if (condition()) return true;
      if (!client.provider->arm() || !server.provider->arm()) continue;
      std::array<pollfd, 2> fds{pollfd{client.provider->fd(), POLLIN, 0},
                                pollfd{server.provider->fd(), POLLIN, 0}};
      if (::poll(fds.data(), fds.size(), 10'000) == 0) return false;
    }
    return true;
  }

  // Connects, until the server has the request.
  void request(const fabric::ConnectionOptions& options = {}) {
    listener = server.provider->listen(kPort, 0).value();
    client.connection = client.provider->connect(server_address_, kPort, options).value();
    ASSERT_TRUE(until([&] { return !server.events.empty() || !client.events.empty(); }));
    ASSERT_EQ(server.events.size(), 1U) << (client.events.empty() ? "" : client.events[0].reason);
    ASSERT_EQ(server.events[0].type, fabric::EventType::kRequest);
    server.connection = std::move(server.events[0].request);
  }
  void connect(const fabric::ConnectionOptions& options = {}) {
    ASSERT_NO_FATAL_FAILURE(request(options));
    server.events.clear();
    ASSERT_TRUE(server.connection->accept(options));
    ASSERT_TRUE(until([&] { return !server.events.empty() && !client.events.empty(); }));
    ASSERT_EQ(server.events[0].type, fabric::EventType::kEstablished)
        << server.events[0].reject_reason << " " << server.events[0].reason;
    ASSERT_EQ(client.events[0].type, fabric::EventType::kEstablished);
    server.events.clear();
    client.events.clear();
  }

  PeerOf<Provider> client;
  PeerOf<Provider> server;
  std::unique_ptr<fabric::Listener> listener;

 private:
  fabric::Address server_address_;
};

class TwoPeers : public TwoPeersOf<soft::SoftProvider> {
 public:
  explicit TwoPeers(const soft::ProviderOptions& options = {}, std::size_t bytes = 4U << 20)
      : TwoPeers(options, own_address(1), own_address(2), bytes) {}
  TwoPeers(const soft::ProviderOptions& options, const fabric::Address& from,
           const fabric::Address& to, std::size_t bytes = 4U << 20)
      : TwoPeersOf(open(options, from, ".client"), open(options, to, ".server"), to, bytes) {}

 private:
  static std::unique_ptr<soft::SoftProvider> open(soft::ProviderOptions options,
                                                  const fabric::Address& address,
                                                  const char* suffix) {
    options.adapter.address = address;
    if (!options.pcapng.empty()) options.pcapng += suffix;
    return open_soft(options);
  }
};

}  // namespace rpcrdma::testing
