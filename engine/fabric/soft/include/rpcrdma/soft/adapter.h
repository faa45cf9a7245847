// A channel adapter in software, sans-I/O: connection management, queue pairs and memory behind one
// address. Packets and time come in; packets, completions and events go out. The caller carries the
// packets and provides the clock: UDP sockets (soft/provider.h) or a simulated link. Not
// thread-safe.
//
// If memory runs out, the requested call fails with kSystem, a packet is dropped as if it were
// lost, and a connection request is rejected. Ending a connection and reporting its end need no
// memory: it is reserved when the connection begins.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/cm.h>
#include <rpcrdma/soft/fault_rules.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/soft/qp_counters.h>

namespace rpcrdma::trace {
class Tracer;
}

namespace rpcrdma::soft {

struct AdapterOptions {
  fabric::Address address;
  std::uint32_t mtu = 4096;       // of the path: 256, 512, 1024, 2048 or 4096 bytes
  std::uint8_t ack_timeout = 14;  // code: 4.096 us * 2^n; 0: no time-out
  // How long the ACK of a Send waits for a message of ours to leave with; 0: it does not wait.
  fabric::Time ack_hold = 10 * fabric::kMicrosecond;
  std::uint8_t min_rnr_timer = 12;  // code of the wait after an RNR NAK: 0.64 ms
  // Maximum number of packets in flight on a connection; fewer if the receive buffer is small.
  std::uint32_t window = 256;
  // Bytes that the carrier keeps for the adapter until it receives them. The window on the packets
  // in flight to one peer address, on all connections, follows from it: a peer is assumed to have
  // as much.
  std::size_t receive_buffer = 16U << 20;
  // Reads are requested in parts of at most this many packets.
  std::uint32_t read_packets = 64;
  bool flow_control = true;  // ACKs carry the number of posted Receives
  std::uint16_t udp_source_port = 4791;
  std::size_t max_connections = 16384;  // at most 16,381
  std::uint8_t share = 0;               // see share.h
  fabric::QueueDepths max_depths{4096, 4096, 4096};
  CmLimits cm{.rtu_repeats = 2};
  // Receives events about packets of connections with a ConnectionOptions::trace_connection, about
  // the peer's accesses to local memory, about connection requests that are rejected without an
  // event, and, from the provider, about registered memory. Null: no tracing. It must outlive the
  // adapter.
  trace::Tracer* tracer = nullptr;
};

// Identifies a connection of the adapter: its queue pair number.
using ConnectionId = std::uint32_t;

struct AdapterEvent {
  fabric::EventType type = fabric::EventType::kEstablished;
  ConnectionId connection = 0;
  std::uint64_t cookie = 0;  // of the connection; of the listener for kRequest
  fabric::Address peer;
  fabric::Address local;
  std::uint32_t local_qpn = 0;
  std::uint32_t peer_qpn = 0;
  std::vector<std::uint8_t> private_data;
  std::uint16_t reject_reason = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint16_t path_mtu = 0;  // bytes
  bool failed = false;
  std::string_view reason;  // in static storage
};

// Converts to a provider's event, except for `request`, which the provider creates. If it throws
// std::bad_alloc, `from` is unchanged.
inline void move_event(AdapterEvent& from, fabric::Event& to) {
  to.reason = from.reason;
  to.type = from.type;
  to.cookie = from.cookie;
  to.peer = from.peer;
  to.local = from.local;
  to.local_qpn = from.local_qpn;
  to.peer_qpn = from.peer_qpn;
  to.private_data = std::move(from.private_data);
  to.reject_reason = from.reject_reason;
  to.responder_resources = from.responder_resources;
  to.initiator_depth = from.initiator_depth;
  to.path_mtu = from.path_mtu;
  to.failed = from.failed;
  to.request.reset();
}

struct AdapterCounters {
  std::uint64_t packets_in = 0, packets_out = 0;
  std::uint64_t malformed = 0;  // not a transport packet, or an unsupported one
  std::uint64_t strays = 0;     // for no connection here, or not from its peer
  // Dropped for lack of memory: like a lost packet, the peer retransmits it.
  std::uint64_t no_memory = 0;
  // For a connection that is not established, and without the proof that the sender received our
  // REP: its first packet, or the PSN in the REP.
  std::uint64_t unproven = 0;
  // See ConnectionManager::Counters: crowded, evicted, withheld.
  std::uint64_t requests_crowded = 0, half_open_evicted = 0, answers_withheld = 0;
  std::uint64_t half_open = 0;  // now
};

class Adapter {
 public:
  // Equal secrets and equal input produce equal output.
  Adapter(const AdapterOptions& options, const Secret& secret);
  ~Adapter();

  // As in fabric::Provider and fabric::Connection.
  [[nodiscard]] fabric::Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory);
  void deregister_memory(const fabric::Memory& memory);
  [[nodiscard]] fabric::Expected<void> listen(std::uint16_t port, std::uint64_t cookie);
  void unlisten(std::uint16_t port, fabric::Time now);
  [[nodiscard]] fabric::Expected<ConnectionId> connect(const fabric::Address& peer,
                                                       std::uint16_t port,
                                                       const fabric::ConnectionOptions& options,
                                                       fabric::Time now);
  [[nodiscard]] fabric::Expected<void> accept(ConnectionId id,
                                              const fabric::ConnectionOptions& options,
                                              fabric::Time now);
  [[nodiscard]] fabric::Expected<void> reject(ConnectionId id,
                                              std::span<const std::uint8_t> private_data,
                                              fabric::Time now);
  void disconnect(ConnectionId id, fabric::Time now);
  // Removes the connection without events or completions.
  void destroy(ConnectionId id, fabric::Time now);
  [[nodiscard]] fabric::Expected<std::size_t> post_send(
      ConnectionId id, std::span<const fabric::SendRequest> requests);
  [[nodiscard]] fabric::Expected<std::size_t> post_receive(
      ConnectionId id, std::span<const fabric::ReceiveRequest> requests);
  [[nodiscard]] fabric::Expected<fabric::MemoryRegion> advertise(ConnectionId id,
                                                                 const fabric::Memory& memory,
                                                                 std::uint8_t* data,
                                                                 std::uint32_t length,
                                                                 fabric::Access access);
  [[nodiscard]] fabric::Expected<void> invalidate(ConnectionId id, std::uint64_t work,
                                                  std::uint32_t handle);
  [[nodiscard]] std::size_t poll(std::span<fabric::Completion> completions);
  [[nodiscard]] bool poll(AdapterEvent& event);
  [[nodiscard]] bool anything_to_poll() const;

  // Accepts a packet from the network: BTH through pad bytes, without ICRC. `path.remote` is the
  // sender.
  void receive(const Path& path, wire::Bytes packet, fabric::Time now);
  // Returns the next packet for the network; false: none at present. Bursts of one connection stay
  // together.
  [[nodiscard]] bool transmit(OutPacket& packet, fabric::Time now);
  // The time of the next expire(), or fabric::kNever.
  [[nodiscard]] fabric::Time deadline() const;
  // Makes deadline() exact if it is before `end`: until then it may be that of a timer that was
  // postponed since.
  void update_deadlines(fabric::Time end);
  // `all_received`: everything that had arrived by now was passed to receive(). Otherwise time-outs
  // of answers are postponed, since the answer may be there. Returns false if one was.
  bool expire(fabric::Time now, bool all_received = true);
  // Whether the owner sleeps until something happens, or polls. A sleeping owner answers more
  // slowly, and waking the peer only for an ACK costs as much as waking it for an answer.
  void owner_sleeps(bool sleeps);

  // Returns the trace_connection of the connection that sends or receives this packet; 0: none.
  [[nodiscard]] std::uint32_t trace_connection(FaultDirection direction, const Path& path,
                                               std::uint32_t dest_qp) const;

  [[nodiscard]] AdapterCounters counters() const;
  // The sum over all current and past connections.
  [[nodiscard]] QpCounters queue_pairs() const;
  [[nodiscard]] std::size_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::soft
