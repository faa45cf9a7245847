// The cost of the kernel's UDP on loopback, the floor for the soft fabric. Two threads, each
// polling without sleep, play ping-pong with datagrams of 64 to 128 bytes; then one sends 4 KiB
// datagrams in batches (UDP_SEGMENT) that the other receives coalesced (UDP_GRO). Each floor is
// compared with UdpSocket, which also frames packets and checks ICRCs. The two run alternately, and
// the best round of each counts for throughput.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/soft/udp_socket.h>
#include <rpcrdma/wire/roce.h>

namespace {

using namespace rpcrdma;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kIcrcBytes = 4;
constexpr std::size_t kPings = 40'000;
constexpr std::size_t kRounds = 5;
constexpr std::size_t kSegment = kHeaderBytes + 4096 + kIcrcBytes;
constexpr std::size_t kBatch = 15;
constexpr std::size_t kBatches = 20'000;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "bench_udp_floor: %s\n", what.c_str());
  std::exit(1);
}

fabric::Address address(std::uint8_t last) {
  return fabric::make_ipv4(127, 32, 7, last);
}

// --- The floor: plain system calls

struct RawSocket {
  explicit RawSocket(std::uint8_t last) : fd(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(0x7f200800U | last);
    local.sin_port = htons(wire::kRoceUdpPort);
    const int df = IP_PMTUDISC_DO, on = 1, bytes = 8 << 20;
    ::setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &df, sizeof df);
    ::setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
      ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) {
      give_up("127.32.8.x: " + std::string(std::strerror(errno)));
    }
  }
  ~RawSocket() { ::close(fd); }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  int fd;
  sockaddr_in local{};
};

class RawPeer {
 public:
  RawPeer(RawSocket& socket, const RawSocket& peer, std::size_t bytes)
      : fd_(socket.fd), to_(peer.local), bytes_(bytes) {}

  void send() {
    if (::sendto(fd_, buffer_.data(), bytes_, 0, reinterpret_cast<const sockaddr*>(&to_),
                 sizeof to_) < 0) {
      give_up(std::strerror(errno));
    }
  }
  std::size_t receive() {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    return ::recvfrom(fd_, buffer_.data(), buffer_.size(), 0, reinterpret_cast<sockaddr*>(&from),
                      &length) > 0
               ? 1
               : 0;
  }

 private:
  int fd_;
  sockaddr_in to_;
  std::size_t bytes_;
  std::array<std::uint8_t, 2048> buffer_{};
};

// --- The same through UdpSocket

class SoftPeer {
 public:
  SoftPeer(soft::UdpSocket& socket, const fabric::Address& peer, std::size_t datagram_bytes)
      : socket_(socket), path_{socket.local(), peer, socket.source_port()} {
    packet_.path = &path_;
    packet_.header = {0x04, 0, 0xff, 0xff, 0, 0, 0, 0x12};
    packet_.header_bytes = kHeaderBytes;
    packet_.payload_bytes = static_cast<std::uint32_t>(datagram_bytes - kHeaderBytes - kIcrcBytes);
    packet_.payload[0] = {content_.data(), packet_.payload_bytes};
    packet_.payload_parts = 1;
  }
  SoftPeer(const SoftPeer&) = delete;
  SoftPeer& operator=(const SoftPeer&) = delete;

  void add() {
    while (!socket_.add(packet_)) {
    }
  }
  void send() {
    add();
    while (!socket_.flush()) {
    }
  }
  std::size_t receive() {
    std::size_t packets = 0;
    socket_.receive([&](const soft::InPacket&) { ++packets; });
    return packets;
  }

 private:
  soft::UdpSocket& socket_;
  soft::Path path_;
  soft::OutPacket packet_;
  std::array<std::uint8_t, 4096> content_{};
};

soft::UdpSocket open_soft(std::uint8_t last) {
  auto socket = soft::UdpSocket::open(address(last));
  if (!socket) give_up(socket.error().message);
  return std::move(*socket);
}

// --- Ping-pong

// Appends a round trip's time in nanoseconds for each ping.
template <typename Peer>
void ping_pong(Peer& ping, Peer& pong, std::vector<std::int64_t>& times) {
  std::thread answering([&pong] {
    for (std::size_t i = 0; i < kPings; ++i) {
      while (pong.receive() == 0) {
      }
      pong.send();
    }
  });
  for (std::size_t i = 0; i < kPings; ++i) {
    const auto begin = Clock::now();
    ping.send();
    while (ping.receive() == 0) {
    }
    times.push_back((Clock::now() - begin).count());
  }
  answering.join();
}

double percentile(std::vector<std::int64_t>& times, double share) {
  const auto at =
      times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), at, times.end());
  return static_cast<double>(*at) / 1000;
}

void compare_ping_pong(std::size_t bytes) {
  std::vector<std::int64_t> raw, soft;
  for (std::size_t round = 0; round < kRounds; ++round) {
    RawSocket raw_a(1), raw_b(2);
    RawPeer raw_ping(raw_a, raw_b, bytes), raw_pong(raw_b, raw_a, bytes);
    ping_pong(raw_ping, raw_pong, raw);
    soft::UdpSocket a = open_soft(1), b = open_soft(2);
    SoftPeer ping(a, address(2), bytes), pong(b, address(1), bytes);
    ping_pong(ping, pong, soft);
  }
  for (const double share : {0.5, 0.99}) {
    const double floor = percentile(raw, share), ours = percentile(soft, share);
    std::printf("ping-pong %3zu bytes  p%-3.0f  raw %6.2f us  UdpSocket %6.2f us  %.2f times\n",
                bytes, share * 100, floor, ours, ours / floor);
  }
}

// --- Throughput

// Returns the datagrams of 4 KiB payload that arrive per second, while `send_batch` sends
// continuously and `receive` returns the number received.
template <typename Send, typename Receive>
double throughput(Send&& send_batch, Receive&& receive) {
  std::atomic<bool> done = false;
  std::size_t came = 0;
  Clock::time_point last;
  std::thread receiving([&] {
    for (;;) {
      const bool was_done = done.load(std::memory_order_acquire);
      if (const std::size_t n = receive(); n != 0) {
        came += n;
        last = Clock::now();
      } else if (was_done) {
        return;
      }
    }
  });
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < kBatches; ++i) send_batch();
  done.store(true, std::memory_order_release);
  receiving.join();
  return static_cast<double>(came) / std::chrono::duration<double>(last - begin).count();
}

double raw_throughput() {
  RawSocket a(1), b(2);
  std::vector<std::uint8_t> out(kBatch * kSegment), in(65536);
  iovec content{out.data(), out.size()};
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(sizeof(std::uint16_t))> control{};
  msghdr message{};
  message.msg_name = &b.local;
  message.msg_namelen = sizeof b.local;
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = IPPROTO_UDP;
  header->cmsg_type = UDP_SEGMENT;
  header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const std::uint16_t segment = kSegment;
  std::memcpy(CMSG_DATA(header), &segment, sizeof segment);
  return throughput(
      [&] {
        if (::sendmsg(a.fd, &message, 0) < 0) give_up(std::strerror(errno));
      },
      [&]() -> std::size_t {
        const ssize_t n = ::recv(b.fd, in.data(), in.size(), 0);
        return n <= 0 ? 0 : static_cast<std::size_t>(n) / kSegment;
      });
}

double soft_throughput() {
  soft::UdpSocket a = open_soft(1), b = open_soft(2);
  SoftPeer sender(a, address(2), kSegment), receiver(b, address(1), kSegment);
  return throughput(
      [&] {
        for (std::size_t i = 0; i < kBatch; ++i) sender.add();
      },
      [&] { return receiver.receive(); });
}

void compare_throughput() {
  double raw = 0, soft = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    raw = std::max(raw, raw_throughput());
    soft = std::max(soft, soft_throughput());
  }
  const auto gb = [](double datagrams) { return datagrams * 4096 / 1e9; };
  std::printf("4 KiB in batches of %zu  raw %.2f GB/s  UdpSocket %.2f GB/s  %.2f times\n", kBatch,
              gb(raw), gb(soft), soft / raw);
}

}  // namespace

int main() {
  for (const std::size_t bytes : {64U, 96U, 128U}) compare_ping_pong(bytes);
  compare_throughput();
}
