// Compares the soft fabric with the bare sockets below it and with other implementations, in one
// run.
//
//   bench_fabric
//
// Two threads on two cores, on two loopback addresses, both polling without sleep. The floor is a
// ping-pong of UDP datagrams of the same size between two such threads. fi_pingpong (libfabric's
// reliable datagrams over UDP) and qperf (TCP) run after it if they are installed.
#include "two_cores.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <rpcrdma/soft/provider.h>

namespace {

using namespace rpcrdma;
using Clock = std::chrono::steady_clock;
using fabric::Operation;

constexpr std::uint16_t kPort = 20049;
constexpr std::uint32_t kSmall = 64;
constexpr std::uint32_t kLarge = 1U << 20;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "bench_fabric: %s\n", what.c_str());
  std::exit(1);
}

// --- the fabric

class Peer {
 public:
  explicit Peer(const fabric::Address& address, std::size_t bytes) : buffer_(bytes) {
    soft::ProviderOptions options;
    options.adapter.address = address;
    auto opened = soft::SoftProvider::open(options);
    if (!opened) die(opened.error().message);
    provider = std::move(*opened);
    memory = provider->register_memory(buffer_).value();
  }

  fabric::Slice slice(std::size_t offset, std::uint32_t length) {
    return {buffer_.data() + offset, length, memory.local_key};
  }
  void post_receive() {
    const fabric::Slice s = slice(0, kSmall);
    const fabric::ReceiveRequest r{0, {&s, 1}};
    if (!connection->post_receive({&r, 1})) die("cannot post a Receive");
  }
  void post(Operation operation, std::uint32_t length, fabric::MemoryRegion remote = {}) {
    const fabric::Slice s = slice(kSmall, length);
    fabric::SendRequest r;
    r.operation = operation;
    r.local = {&s, 1};
    r.remote_handle = remote.handle;
    r.remote_offset = remote.offset;
    if (!connection->post_send({&r, 1})) die("cannot post");
  }
  // Polls until an operation of this kind is complete.
  void wait(Operation operation) {
    std::array<fabric::Completion, 16> done;
    for (;;) {
      const std::size_t n = provider->poll(done);
      bool met = false;
      for (std::size_t i = 0; i < n; ++i) {
        if (done[i].status != fabric::Status::kSuccess) {
          die(std::string("an operation failed: ") + fabric::status_name(done[i].status));
        }
        met = met || done[i].operation == operation;
      }
      if (met) return;
      provider->progress();
    }
  }
  void wait(fabric::EventType type, fabric::Event& event) {
    for (;;) {
      while (provider->poll(event)) {
        if (event.type == type) return;
        die(std::string("unexpected event: ") + fabric::event_name(event.type));
      }
      provider->progress();
    }
  }
  fabric::MemoryRegion advertise() {
    return connection
        ->advertise(0, memory, buffer_.data() + kSmall, kLarge,
                    fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite)
        .value();
  }

  std::unique_ptr<soft::SoftProvider> provider;
  std::unique_ptr<fabric::Connection> connection;
  fabric::Memory memory;

 private:
  std::vector<std::uint8_t> buffer_;
};

struct FabricResult {
  std::vector<double> round_trips;  // us
  double write = 0;                 // bytes/s, in the best round
  double read = 0;
};

double stream(Peer& client, Operation operation, fabric::MemoryRegion remote, int count) {
  constexpr int kOutstanding = 8;
  const auto begin = Clock::now();
  int posted = 0;
  for (; posted < std::min(kOutstanding, count); ++posted) client.post(operation, kLarge, remote);
  for (int done = 0; done < count;) {
    std::array<fabric::Completion, 16> completions;
    const std::size_t n = client.provider->poll(completions);
    for (std::size_t i = 0; i < n; ++i) {
      if (completions[i].status != fabric::Status::kSuccess) {
        die(std::string("an operation failed: ") + fabric::status_name(completions[i].status));
      }
      ++done;
      if (posted < count) {
        client.post(operation, kLarge, remote);
        ++posted;
      }
    }
    client.provider->progress();
  }
  return double{kLarge} * count / std::chrono::duration<double>(Clock::now() - begin).count();
}

void run_fabric(int rounds, int transfers, FabricResult& result) {
  std::atomic<bool> over = false;
  std::atomic<bool> ready = false;
  fabric::MemoryRegion advertised;
  std::thread server_thread([&] {
    bench::pin_to(1);
    Peer server(fabric::make_ipv4(127, 0, 0, 2), kSmall + kLarge);
    auto listener = server.provider->listen(kPort, 0);
    if (!listener) die(listener.error().message);
    ready = true;
    fabric::Event event;
    server.wait(fabric::EventType::kRequest, event);
    server.connection = std::move(event.request);
    for (int i = 0; i < 16; ++i) server.post_receive();
    if (!server.connection->accept({})) die("cannot accept");
    server.wait(fabric::EventType::kEstablished, event);
    advertised = server.advertise();
    for (int i = 0; i < rounds; ++i) {
      server.wait(Operation::kReceive);
      server.post(Operation::kSend, kSmall);
      server.post_receive();
    }
    while (!over) {
      std::array<fabric::Completion, 16> done;
      (void)server.provider->poll(done);
      server.provider->progress();
    }
  });
  bench::pin_to(0);
  while (!ready) std::this_thread::yield();
  Peer client(fabric::make_ipv4(127, 0, 0, 1), kSmall + kLarge);
  auto connection = client.provider->connect(fabric::make_ipv4(127, 0, 0, 2), kPort, {});
  if (!connection) die(connection.error().message);
  client.connection = std::move(*connection);
  fabric::Event event;
  client.wait(fabric::EventType::kEstablished, event);
  for (int i = 0; i < 16; ++i) client.post_receive();
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    client.post(Operation::kSend, kSmall);
    client.wait(Operation::kReceive);
    result.round_trips.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    client.post_receive();
  }
  result.write = std::max(result.write, stream(client, Operation::kWrite, advertised, transfers));
  result.read = std::max(result.read, stream(client, Operation::kRead, advertised, transfers));
  over = true;
  server_thread.join();
}

void compare(const char* with, double theirs, const FabricResult& ours) {
  if (theirs == 0) return;
  std::printf("%-44s %5.2f GB/s: Write %.2f times, Read %.2f times\n", with, theirs / 1e9,
              ours.write / theirs, ours.read / theirs);
}

}  // namespace

int main() {
  constexpr int kTurns = 12;
  constexpr int kRounds = 20'000;
  constexpr int kTransfers = 1'000;
  std::vector<double> floor;
  FabricResult ours;
  // Alternately, so that changes in the machine's speed affect both.
  for (int i = 0; i < kTurns; ++i) {
    bench::udp_ping_pong(kSmall, kRounds, floor);
    run_fabric(kRounds, kTransfers, ours);
  }
  const bench::Percentiles f = bench::percentiles(floor);
  const bench::Percentiles p = bench::percentiles(ours.round_trips);
  std::printf("ping-pong of %u bytes, polling       p50 %7.2f us  p99 %7.2f us\n", kSmall, p.p50,
              p.p99);
  std::printf("floor: bare UDP, the same           p50 %7.2f us  p99 %7.2f us\n", f.p50, f.p99);
  std::printf("SEND ping-pong / UDP ping-pong: %.2f times\n", p.p50 / f.p50);
  std::printf("RDMA Write of 1 MiB: %.2f GB/s\n", ours.write / 1e9);
  std::printf("RDMA Read of 1 MiB:  %.2f GB/s, Read / Write %.2f times\n", ours.read / 1e9,
              ours.read / ours.write);
  std::fflush(stdout);
  constexpr int kPeerRounds = 300;
  compare("fi_pingpong -p \"udp;ofi_rxd\" -e rdm, 1 MiB:",
          bench::fi_pingpong(kLarge, kPeerRounds).bytes_per_second, ours);
  compare("qperf tcp_bw, 1 MiB:", bench::qperf_tcp(), ours);
  return 0;
}
