// The user-space fabric against the bare sockets under it and against its peers, in one run.
//
//   bench_fabric
//
// Two threads on two cores, on two loopback addresses, both polling without sleep. The floor is a
// ping-pong of UDP datagrams of the same size between two such threads. fi_pingpong (libfabric's
// reliable datagrams over UDP) and qperf (TCP) run after it if they are installed.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/soft/provider.h>

namespace {

using namespace rpcrdma;
using Clock = std::chrono::steady_clock;
using fabric::Operation;

constexpr std::uint16_t kPort = 20049;
constexpr std::uint32_t kSmall = 64;
constexpr std::uint32_t kLarge = 1U << 20;

void pin(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu % std::max(1U, std::thread::hardware_concurrency()), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void pin_to_all() {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) CPU_SET(i, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "bench_fabric: %s\n", what.c_str());
  std::exit(1);
}

struct Percentiles {
  double p50 = 0;
  double p99 = 0;
};

// Round trips in microseconds.
Percentiles percentiles(std::vector<double>& us) {
  std::sort(us.begin(), us.end());
  return {us[us.size() / 2], us[us.size() * 99 / 100]};
}

// --- the floor: sockets alone

int udp_socket(const char* address) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_port = htons(4790);
  inet_pton(AF_INET, address, &own.sin_addr);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0) {
    die("cannot bind a UDP socket");
  }
  return fd;
}

void receive(int fd, std::array<char, 2048>& buffer, sockaddr_in& from) {
  socklen_t length = sizeof from;
  while (recvfrom(fd, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from),
                  &length) < 0) {
    length = sizeof from;
  }
}

void floor_ping_pong(int rounds, std::vector<double>& us) {
  const int client = udp_socket("127.0.0.1");
  const int server = udp_socket("127.0.0.2");
  std::thread echo([&] {
    pin(1);
    std::array<char, 2048> buffer{};
    for (int i = 0; i < rounds; ++i) {
      sockaddr_in from{};
      receive(server, buffer, from);
      sendto(server, buffer.data(), kSmall, 0, reinterpret_cast<sockaddr*>(&from), sizeof from);
    }
  });
  pin(0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(4790);
  inet_pton(AF_INET, "127.0.0.2", &to.sin_addr);
  std::array<char, 2048> buffer{};
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    sendto(client, buffer.data(), kSmall, 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
    sockaddr_in from{};
    receive(client, buffer, from);
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  echo.join();
  close(client);
  close(server);
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
    memory = provider->remember(buffer_).value();
  }

  fabric::Slice slice(std::size_t offset, std::uint32_t length) {
    return {buffer_.data() + offset, length, memory.local_key};
  }
  void post_receive() {
    const fabric::Slice s = slice(0, kSmall);
    const fabric::ReceiveRequest r{0, {&s, 1}};
    if (!connection->post_receive({&r, 1})) die("cannot post a Receive");
  }
  void post(Operation operation, std::uint32_t length, fabric::Exposure remote = {}) {
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
      const std::size_t n = provider->take(done);
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
      while (provider->take(event)) {
        if (event.type == type) return;
        die(std::string("unexpected event: ") + fabric::event_name(event.type));
      }
      provider->progress();
    }
  }
  fabric::Exposure expose() {
    return connection
        ->expose(0, memory, buffer_.data() + kSmall, kLarge,
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
  double write = 0;                 // bytes/s, of the best turn
  double read = 0;
};

double stream(Peer& client, Operation operation, fabric::Exposure remote, int count) {
  constexpr int kOutstanding = 8;
  const auto begin = Clock::now();
  int posted = 0;
  for (; posted < std::min(kOutstanding, count); ++posted) client.post(operation, kLarge, remote);
  for (int done = 0; done < count;) {
    std::array<fabric::Completion, 16> completions;
    const std::size_t n = client.provider->take(completions);
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
  fabric::Exposure exposed;
  std::thread server_thread([&] {
    pin(1);
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
    exposed = server.expose();
    for (int i = 0; i < rounds; ++i) {
      server.wait(Operation::kReceive);
      server.post(Operation::kSend, kSmall);
      server.post_receive();
    }
    while (!over) {
      std::array<fabric::Completion, 16> done;
      (void)server.provider->take(done);
      server.provider->progress();
    }
  });
  pin(0);
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
  result.write = std::max(result.write, stream(client, Operation::kWrite, exposed, transfers));
  result.read = std::max(result.read, stream(client, Operation::kRead, exposed, transfers));
  over = true;
  server_thread.join();
}

// --- the peers

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), n);
  }
  pclose(pipe);
  return text;
}

bool installed(const char* program) {
  return std::system((std::string("command -v ") + program + " >/dev/null").c_str()) == 0;
}

// The number in front of `unit`.
double number_before(const std::string& text, const char* unit) {
  const std::size_t at = text.find(unit);
  if (at == std::string::npos) return 0;
  const std::size_t from = text.find_last_of("= ", at - 2);
  return std::strtod(text.c_str() + from + 1, nullptr);
}

// Of libfabric's table: bytes, sent, acknowledged, total, time, MB/s, microseconds, ...
double mb_per_second(const std::string& table) {
  char unused[32];
  double mb = 0;
  const std::size_t last_line = table.rfind('\n', table.size() - 2) + 1;
  return std::sscanf(table.c_str() + last_line, "%31s %31s %31s %31s %31s %lf", unused, unused,
                     unused, unused, unused, &mb) == 6
             ? mb
             : 0;
}

void compare(const char* with, double theirs, const FabricResult& ours) {
  std::printf("%-44s %5.2f GB/s: Write %.2f times, Read %.2f times\n", with, theirs / 1e9,
              ours.write / theirs, ours.read / theirs);
}

void peers(const FabricResult& ours) {
  pin_to_all();
  if (installed("fi_pingpong")) {
    const std::string run = "fi_pingpong -p 'udp;ofi_rxd' -e rdm -S 1048576 -I 300";
    const double mb = mb_per_second(
        output_of("(" + run + " >/dev/null 2>&1 & sleep 1; " + run + " 127.0.0.1 2>&1; wait)"));
    compare("fi_pingpong -p \"udp;ofi_rxd\" -e rdm, 1 MiB:", mb * 1e6, ours);
  } else {
    std::printf("fi_pingpong is not installed (libfabric-bin)\n");
  }
  if (installed("qperf")) {
    const std::string text = output_of(
        "(qperf >/dev/null 2>&1 & p=$!; sleep 1; qperf -t 3 -m 1M 127.0.0.1 tcp_bw; kill $p)");
    compare("qperf tcp_bw, 1 MiB:", number_before(text, "GB/sec") * 1e9, ours);
  } else {
    std::printf("qperf is not installed\n");
  }
}

}  // namespace

int main() {
  constexpr int kTurns = 12;
  constexpr int kRounds = 20'000;
  constexpr int kTransfers = 1'000;
  std::vector<double> floor;
  FabricResult ours;
  // By turns, so that both have their share of a machine's good and bad moments.
  for (int i = 0; i < kTurns; ++i) {
    floor_ping_pong(kRounds, floor);
    run_fabric(kRounds, kTransfers, ours);
  }
  const Percentiles f = percentiles(floor);
  const Percentiles p = percentiles(ours.round_trips);
  std::printf("ping-pong of %u bytes, polling       p50 %7.2f us  p99 %7.2f us\n", kSmall, p.p50,
              p.p99);
  std::printf("floor: bare UDP, the same           p50 %7.2f us  p99 %7.2f us\n", f.p50, f.p99);
  std::printf("SEND ping-pong / UDP ping-pong: %.2f times\n", p.p50 / f.p50);
  std::printf("RDMA Write of 1 MiB: %.2f GB/s\n", ours.write / 1e9);
  std::printf("RDMA Read of 1 MiB:  %.2f GB/s\n", ours.read / 1e9);
  std::fflush(stdout);
  peers(ours);
  return 0;
}
