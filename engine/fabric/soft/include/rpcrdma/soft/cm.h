// Connection management over QP 1 (IBA volume 1 chapter 12), sans-I/O: REQ, REP, RTU, REJ, DREQ,
// DREP, MRA with their retries and time-outs, and the IP CM header in a REQ (annex A11). It knows
// only the numbers of queue pairs; the adapter, which owns both, acts on the events.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/soft/secret.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::soft {

// Identifies a connection of the CM: its local communication ID. Never 0, and not reused for a long
// time.
using CmId = std::uint32_t;

// The queue pair parameters that each side sends to the other.
struct CmQueuePair {
  std::uint32_t qpn = 0;
  std::uint32_t starting_psn = 0;        // of the other side's requester (12.7.31)
  std::uint8_t responder_resources = 0;  // Reads that it serves concurrently
  std::uint8_t initiator_depth = 0;      // own Reads that it wants in flight
  std::uint8_t rnr_retry_count = 7;      // for the other side's requester
  bool flow_control = true;              // end to end: its ACKs carry credits
};

struct CmConnect {
  Path path;
  std::uint16_t port = 0;         // RDMA_PS_TCP
  std::uint16_t source_port = 0;  // sent in the IP CM header
  CmQueuePair local;
  std::uint8_t path_mtu = 3;                   // code: 1 256, 2 512, 3 1024, 4 2048, 5 4096 bytes
  std::uint8_t retry_count = 7;                // of the transport, for both sides
  std::uint8_t local_ack_timeout = 14;         // 4.096 us * 2^n
  std::span<const std::uint8_t> private_data;  // at most fabric::kMaxRequestPrivateData
};

// The last three end a connection for its owner. Each ID that was reported or returned gets exactly
// one of them, unless the owner ended it with reject(). Afterwards the ID is invalid.
enum class CmEventType : std::uint8_t {
  kRequest,      // passive: accept() or reject() it; `peer`, path_mtu, retry_count, private data
  kReply,        // active: REP received; `peer`, private data. establish() sends the RTU
  kEstablished,  // passive: RTU or data received
  kRejected,     // active; or passive, by a peer that rejects our REP or withdraws its request;
                 // reason, private data
  kTimedOut,     // no answer after all retries; kRequest: no answer of the owner in time
  kDisconnect,   // the peer sent a DREQ (the DREP is sent automatically), or answered ours, or did
                 // not answer it after all retries; or it reused the queue pair for a new
                 // connection; or disconnect() aborted a connection that was not established yet
};

struct CmEvent {
  CmEventType type = CmEventType::kRequest;
  CmId id = 0;
  std::uint16_t port = 0;  // kRequest: the listener's
  Path path;               // kRequest; the UDP source port follows from the REQ's flow label
  CmQueuePair peer;        // kRequest, kReply
  std::uint8_t path_mtu = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t local_ack_timeout = 0;
  std::uint16_t reason = 0;                // kRejected
  std::vector<std::uint8_t> private_data;  // kRequest: without the IP CM header
};

// A REQ that the CM itself rejected, without an event.
struct CmRefusal {
  fabric::Address peer;
  std::uint16_t port = 0;    // the requested port; 0: not in RDMA_PS_TCP
  std::uint16_t reason = 0;  // see wire::cm_rej_reason()
  const char* why = "";      // for the user, if the reason is not specific enough
};

struct CmLimits {
  // In all states. Connections in time-wait count, but make room for new ones.
  std::size_t connections = 65536;
  // Half-open: reported by kRequest, and neither rejected nor established yet. One requester (an
  // IPv4 address, a /64 of IPv6) may have only as many as remain for all others, but always 1/64 of
  // all. A request beyond takes the place of the requester's oldest, or of the oldest of all, which
  // ends with kTimedOut. If that one is too young, its peer may be about to answer, and the request
  // is dropped; an honest peer repeats it.
  std::size_t half_open = 4096;
  fabric::Time response_timeout = 500 * fabric::kMillisecond;  // of our messages, before a retry
  std::uint8_t retries = 7;
  // How often an RTU is repeated. It may be lost, the owner may have nothing else to send, and a
  // responder sends no second REP to an address that it does not know.
  std::uint8_t rtu_repeats = 0;
  std::uint8_t share = 0;  // see share.h
};

class ConnectionManager {
 public:
  // `secret` determines communication and transaction IDs.
  ConnectionManager(const CmLimits& limits, const Secret& secret);
  ~ConnectionManager();

  // Requests for a port without listener are rejected (reason 8, invalid service ID).
  void listen(std::uint16_t port);
  void unlisten(std::uint16_t port);

  [[nodiscard]] fabric::Expected<CmId> connect(const CmConnect& request, fabric::Time now);
  // Answer kRequest. Errors: kNotConnected for an ID without pending request (the peer may have
  // abandoned it), kBadArgument for private data that is too long.
  [[nodiscard]] fabric::Expected<void> accept(CmId id, const CmQueuePair& local,
                                              std::span<const std::uint8_t> private_data,
                                              fabric::Time now);
  [[nodiscard]] fabric::Expected<void> reject(CmId id, std::uint16_t reason,
                                              std::span<const std::uint8_t> private_data,
                                              fabric::Time now);
  // After kReply, when our queue pair is ready to send: sends the RTU.
  void establish(CmId id, fabric::Time now);
  // After kRequest was accepted: data arrived before the RTU and counts as one. It must have named
  // our QPN and our starting PSN, which only the receiver of the REP knows.
  void data_came(CmId id, fabric::Time now);
  // Sends a DREQ; kDisconnect follows. In other states it aborts the connection (with a REJ to a
  // REP, to a waiting request, or to the receiver of our REQ), and kDisconnect follows at once.
  // Ignores IDs that are unknown or over.
  void disconnect(CmId id, fabric::Time now);

  // Accepts a MAD from QP 1 (256 bytes); invalid ones are dropped and counted.
  void receive(const Path& path, wire::Bytes mad, fabric::Time now);
  // Returns the refusal of the message received last. Null if that was not a REQ, was not refused,
  // or is a retransmission of the REQ refused last, as after a lost REJ. Valid until the next
  // receive().
  [[nodiscard]] const CmRefusal* refusal() const;

  // Returns the next MAD to send; false: none. `mad` stays valid until the next call of the CM.
  [[nodiscard]] bool transmit(const Path*& path, wire::Bytes& mad);
  [[nodiscard]] bool next_event(CmEvent& event);

  // The time of the next expire(), or kNever.
  [[nodiscard]] fabric::Time deadline() const;
  void expire(fabric::Time now);

  struct Counters {
    std::uint64_t received = 0;    // MADs
    std::uint64_t sent = 0;        // MADs, including retries and answers to duplicates
    std::uint64_t retried = 0;     // messages retransmitted for lack of an answer
    std::uint64_t duplicates = 0;  // MADs of a connection that had already been received
    std::uint64_t dropped = 0;     // MADs that no connection expects; answers for lack of room
    std::uint64_t evicted = 0;     // half-open connections that made room for others
    std::uint64_t crowded = 0;     // REQs dropped for lack of room among the half-open connections
    // Messages not sent because as many had been sent as came from an address that is not proven.
    std::uint64_t withheld = 0;
  };
  [[nodiscard]] const Counters& counters() const;
  [[nodiscard]] std::size_t half_open() const;
  // Returns the number of connections in all states; at most CmLimits::connections.
  [[nodiscard]] std::size_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::soft
