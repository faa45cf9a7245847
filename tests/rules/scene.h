// Builds a conversation between an RPC client (192.0.2.1) and a server (192.0.2.2) over RoCEv2,
// packet by packet, as a capture between them would show it. Times, PSNs and numbers are the same
// in every run.
#pragma once

#include "bodies.h"
#include "message.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::scenes {

enum Side : int { kClient = 0, kServer = 1 };
[[nodiscard]] constexpr Side other(Side s) {
  return s == kClient ? kServer : kClient;
}

// Returns CM private data of RFC 8797; sizes in bytes.
[[nodiscard]] Bytes private_data(std::uint32_t send, std::uint32_t receive,
                                 bool remote_invalidation);

struct ConnectOptions {
  Side active = kClient;  // sends the REQ
  Bytes client_private = private_data(4096, 4096, true);
  Bytes server_private = private_data(4096, 4096, true);
  std::uint8_t req_responder_resources = 16, req_initiator_depth = 16;
  std::uint8_t rep_responder_resources = 16, rep_initiator_depth = 16;
  std::uint8_t retry_count = 6, rnr_retry_count = 7;
  std::uint16_t port = 20049;
  std::uint32_t mtu = 1024;      // bytes
  std::uint8_t server_host = 2;  // the server is 192.0.2.server_host
  bool in_capture = true;        // false: the capture begins after the set-up
  // A REJ with this reason answers the REQ; nothing can be sent then.
  std::optional<std::uint16_t> reject;
  // If not 0, the number of REQs, which stay unanswered; nothing can be sent then, either.
  unsigned unanswered = 0;
};

class Scene;

// One connection of a scene. The other side acknowledges each Send, RDMA Write and RDMA Read,
// unless `acks` is off.
class Connection {
 public:
  bool acks = true;

  // Sends a message, in as many packets as the path MTU requires.
  void send(Side from, const Message& message);
  void send(Side from, const Bytes& content, std::optional<std::uint32_t> invalidate = std::nullopt,
            bool immediate = false);
  void call(const Message& message) { send(kClient, message); }
  void reply(const Message& message) { send(kServer, message); }
  // Sends a plain Call of the client and its Reply.
  void exchange(std::uint32_t xid);

  // RDMA Write by `from` to the other side's memory.
  void write(Side from, std::uint32_t handle, std::uint64_t offset, const Bytes& data);
  void write(const wire::Segment& target, const Bytes& data) {
    write(kServer, target.handle, target.offset, data);
  }
  // RDMA Read by `from`, with a response of `data`.
  void read(Side from, std::uint32_t handle, std::uint64_t offset, const Bytes& data);
  void read(const wire::Segment& target) {
    read(kServer, target.handle, target.offset, pattern(target.length));
  }
  // Request and response of a Read. read_request() returns the PSN for the response.
  std::uint32_t read_request(Side from, std::uint32_t handle, std::uint64_t offset,
                             std::uint32_t length);
  void read_response(Side from, std::uint32_t psn, const Bytes& data);

  // Returns the PSN of the next request of `side`.
  [[nodiscard]] std::uint32_t psn(Side side) const;
  // `from` acknowledges (refuses) the other side's request with this PSN; default: the latest one.
  void ack(Side from, std::optional<std::uint32_t> psn = std::nullopt);
  void nak(Side from, wire::NakCode code, std::optional<std::uint32_t> psn = std::nullopt);
  void rnr(Side from, std::optional<std::uint32_t> psn = std::nullopt);
  // Retransmits all request packets of `from` from this PSN on.
  void resend(Side from, std::uint32_t psn);
  // `from` sends a CNP.
  void cnp(Side from);
  // Sends any packet; the destination QP is filled in.
  void packet(Side from, wire::RocePacket packet);

  // DREQ by `from`, and the other side's DREP.
  void disconnect(Side from = kClient);

  [[nodiscard]] const ConnectOptions& options() const { return options_; }

 private:
  friend class Scene;
  Connection(Scene& scene, ConnectOptions options, std::uint32_t number);
  void open();
  void mad(Side from, const wire::CmMessage& message);
  void request(Side from, wire::RocePacket packet, const Bytes& payload);
  void acknowledge(Side from);

  struct Request {
    wire::RocePacket packet;
    Bytes payload;
  };

  Scene& scene_;
  ConnectOptions options_;
  std::array<std::uint32_t, 2> qpn_{}, comm_id_{}, psn_{};
  std::array<std::uint32_t, 2> msn_{};  // by responder
  std::array<std::vector<Request>, 2> sent_;
};

class Scene {
 public:
  Connection& connect(ConnectOptions options = {});

  // Adds time before the next packet, in nanoseconds. By default packets are 10 microseconds apart.
  void wait(std::int64_t ns) { now_ += ns; }

  // Drops the next packets from the capture, or flips a bit in them.
  void lose_next(unsigned packets = 1) { lose_ = packets; }
  void damage_next(unsigned packets = 1) { damage_ = packets; }
  // Truncates the next frame to this many bytes.
  void cut_next(std::uint32_t bytes) { cut_ = bytes; }
  // Whether the switches mark the packets from now on.
  void mark(bool on) { marks_ = on; }

  [[nodiscard]] std::size_t packets() const { return frames_.size(); }
  // Returns the capture file: classic pcap, nanoseconds, Ethernet.
  [[nodiscard]] Bytes pcap() const;

 private:
  friend class Connection;
  struct Frame {
    std::int64_t time_ns = 0;
    std::uint32_t original = 0;
    Bytes bytes;
  };
  void put(Side from, const wire::RocePacket& packet, const Bytes& payload,
           std::uint8_t server_host);

  std::int64_t now_ = 1'800'000'000'000'000'000;  // the capture's clock
  unsigned lose_ = 0, damage_ = 0;
  std::uint32_t cut_ = 0;
  bool marks_ = false;
  std::vector<Frame> frames_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace rpcrdma::scenes
