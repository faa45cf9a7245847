// A wire between two interfaces of this network namespace that delays what it is asked to: a
// network of which a test knows which messages it held up. Frames keep their order.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>

namespace rpcrdma::e2e {

class DelayingWire {
 public:
  enum Direction { kThere, kBack };  // from the first interface to the second, and back

  // How long to hold up the n-th Send of a direction.
  using Rule = std::function<std::int64_t(Direction, std::uint64_t n)>;

  DelayingWire(const std::string& first, const std::string& second, Rule rule)
      : rule_(std::move(rule)) {
    sides_[0].socket = open(first);
    sides_[1].socket = open(second);
    thread_ = std::thread([this] { run(); });
  }
  ~DelayingWire() {
    stop();
    for (const Side& side : sides_) ::close(side.socket);
  }
  DelayingWire(const DelayingWire&) = delete;
  DelayingWire& operator=(const DelayingWire&) = delete;

  [[nodiscard]] bool is_open() const { return sides_[0].socket >= 0 && sides_[1].socket >= 0; }

  void stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // XIDs of the messages that were held up, once stopped.
  [[nodiscard]] const std::set<std::uint32_t>& delayed() const { return delayed_; }

 private:
  struct Frame {
    std::int64_t due_ns;
    std::vector<char> bytes;  // with the kernel's header for offloads
  };
  struct Side {
    int socket = -1;
    std::deque<Frame> to_other;
    std::uint64_t sends = 0;
  };

  static int open(const std::string& interface) {
    const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));
    if (fd < 0) return -1;
    const int on = 1;
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(ETH_P_ALL);
    at.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
    packet_mreq promiscuous{};
    promiscuous.mr_ifindex = at.sll_ifindex;
    promiscuous.mr_type = PACKET_MR_PROMISC;
    // Segmentation and checksums may be left to the interface: the kernel's header passes that on.
    if (at.sll_ifindex == 0 || ::setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) != 0 ||
        ::setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) !=
            0 ||
        ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
      ::close(fd);
      return -1;
    }
    return fd;
  }

  void run() {
    while (!stopped_) {
      std::int64_t next = base::monotonic_ns() + 20 * base::kMillisecond;
      for (std::size_t side = 0; side < 2; ++side) {
        receive(static_cast<Direction>(side));
        const std::int64_t due = forward(side);
        if (due != 0 && due < next) next = due;
      }
      const std::int64_t wait = next - base::monotonic_ns();
      if (wait <= 0) continue;
      std::array<pollfd, 2> sockets{pollfd{sides_[0].socket, POLLIN, 0},
                                    pollfd{sides_[1].socket, POLLIN, 0}};
      const timespec time{0, wait};
      ::ppoll(sockets.data(), sockets.size(), &time, nullptr);
    }
  }

  void receive(Direction direction) {
    Side& side = sides_[direction];
    std::array<char, 80'000> buffer;
    for (;;) {
      sockaddr_ll from{};
      socklen_t length = sizeof from;
      const ssize_t size = ::recvfrom(side.socket, buffer.data(), buffer.size(), 0,
                                      reinterpret_cast<sockaddr*>(&from), &length);
      if (size <= 0) return;
      if (from.sll_pkttype == PACKET_OUTGOING) continue;  // what this wire put there
      const std::int64_t now = base::monotonic_ns();
      const std::int64_t hold = hold_up(direction, buffer.data(), static_cast<std::size_t>(size));
      std::int64_t due = now + hold;
      if (!side.to_other.empty()) due = std::max(due, side.to_other.back().due_ns);
      side.to_other.push_back({due, {buffer.data(), buffer.data() + size}});
    }
  }

  // Frames of RoCEv2 over IPv4 whose packet is a Send with the beginning of a message.
  std::int64_t hold_up(Direction direction, const char* frame, std::size_t size) {
    constexpr std::size_t kKernels = 10, kBth = kKernels + 14 + 20 + 8, kBthSize = 12;
    constexpr std::uint8_t kSendFirst = 0, kSendOnly = 4, kSendOnlyInvalidate = 0x17;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(frame[i]); };
    if (size < kBth + kBthSize + 4 + 4) return 0;
    if (byte(kKernels + 12) != 8 || byte(kKernels + 13) != 0 || byte(kKernels + 14) != 0x45)
      return 0;
    if (byte(kBth - 6) != 0x12 || byte(kBth - 5) != 0xb7) return 0;  // UDP port 4791
    const std::uint8_t opcode = byte(kBth);
    const bool to_cm = byte(kBth + 5) == 0 && byte(kBth + 6) == 0 && byte(kBth + 7) == 1;
    if (to_cm || (opcode != kSendFirst && opcode != kSendOnly && opcode != kSendOnlyInvalidate)) {
      return 0;
    }
    const std::int64_t hold = rule_(direction, sides_[direction].sends++);
    if (hold == 0) return 0;
    std::uint32_t xid = 0;
    const std::size_t invalidated = opcode == kSendOnlyInvalidate ? 4 : 0;
    std::memcpy(&xid, frame + kBth + kBthSize + invalidated, sizeof xid);
    delayed_.insert(ntohl(xid));
    return hold;
  }

  // Returns when the next frame is due, or 0.
  std::int64_t forward(std::size_t from) {
    std::deque<Frame>& frames = sides_[from].to_other;
    while (!frames.empty() && frames.front().due_ns <= base::monotonic_ns()) {
      const std::vector<char>& bytes = frames.front().bytes;
      // What does not go out is lost, as on any wire: the transport repeats it.
      static_cast<void>(::send(sides_[1 - from].socket, bytes.data(), bytes.size(), 0));
      frames.pop_front();
    }
    return frames.empty() ? 0 : frames.front().due_ns;
  }

  Rule rule_;
  std::array<Side, 2> sides_;
  std::set<std::uint32_t> delayed_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace rpcrdma::e2e
