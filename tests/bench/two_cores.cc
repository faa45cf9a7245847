// Pins threads, measures the UDP floor, and runs fi_pingpong and qperf if they are installed.
#include "two_cores.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rpcrdma::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostBytes = 2048;
constexpr std::uint16_t kPort = 4790;  // next to RoCEv2's

sockaddr_in address_of(const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  inet_pton(AF_INET, text, &address.sin_addr);
  return address;
}

class Socket {
 public:
  explicit Socket(const char* address) : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    const sockaddr_in own = address_of(address);
    if (fd_ < 0 || ::bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
      std::fprintf(stderr, "UDP port %d of %s: %s\n", kPort, address, std::strerror(errno));
      std::exit(1);
    }
  }
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void send(std::size_t bytes, const sockaddr_in& to) {
    ::sendto(fd_, buffer_.data(), bytes, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  void receive(sockaddr_in& from) {
    socklen_t length = sizeof from;
    while (::recvfrom(fd_, buffer_.data(), buffer_.size(), 0, reinterpret_cast<sockaddr*>(&from),
                      &length) < 0) {
      length = sizeof from;
    }
  }

 private:
  int fd_;
  std::array<char, kMostBytes> buffer_{};
};

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), n);
  }
  ::pclose(pipe);
  return text;
}

bool installed(const char* program) {
  const bool there = std::system(fmt::format("command -v {} >/dev/null", program).c_str()) == 0;
  if (!there) std::printf("%s is not installed\n", program);
  return there;
}

}  // namespace

void pin_to(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu % std::max(1U, std::thread::hardware_concurrency()), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

void pin_to_all() {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) CPU_SET(i, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

Percentiles percentiles(std::vector<double>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() * 99 / 100],
          values[values.size() * 999 / 1000]};
}

void udp_ping_pong(std::size_t bytes, int rounds, std::vector<double>& us) {
  Socket client("127.0.0.1");
  Socket server("127.0.0.2");
  std::thread echo([&] {
    pin_to(1);
    for (int i = 0; i < rounds; ++i) {
      sockaddr_in from{};
      server.receive(from);
      server.send(bytes, from);
    }
  });
  pin_to(0);
  const sockaddr_in to = address_of("127.0.0.2");
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    client.send(bytes, to);
    sockaddr_in from{};
    client.receive(from);
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  echo.join();
}

// Runs it and parses its table: bytes, sent, acknowledged, total, time, MB/s, microseconds per
// transfer, ...
FiPingPong fi_pingpong(std::size_t bytes, int rounds) {
  if (!installed("fi_pingpong")) return {};
  pin_to_all();
  const std::string run =
      fmt::format("fi_pingpong -p 'udp;ofi_rxd' -e rdm -S {} -I {}", bytes, rounds);
  const std::string table =
      output_of(fmt::format("({0} >/dev/null 2>&1 & sleep 1; {0} 127.0.0.1 2>&1; wait)", run));
  const std::size_t last_line = table.size() < 2 ? 0 : table.rfind('\n', table.size() - 2) + 1;
  double mb = 0, us = 0;
  if (std::sscanf(table.c_str() + last_line, "%*s %*s %*s %*s %*s %lf %lf", &mb, &us) != 2) {
    return {};
  }
  return {mb * 1e6, 2 * us};  // a round trip is two transfers
}

double qperf_tcp() {
  if (!installed("qperf")) return 0;
  pin_to_all();
  const std::string text = output_of(
      "(qperf >/dev/null 2>&1 & p=$!; sleep 1; qperf -t 3 -m 1M 127.0.0.1 tcp_bw; kill $p)");
  double rate = 0;
  char unit = 0;
  const std::size_t at = text.rfind("bw");
  if (at == std::string::npos ||
      std::sscanf(text.c_str() + at, "bw = %lf %cB/sec", &rate, &unit) != 2) {
    return 0;
  }
  return rate * (unit == 'G' ? 1e9 : unit == 'M' ? 1e6 : 1e3);
}

}  // namespace rpcrdma::bench
