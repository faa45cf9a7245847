// Connection management over QP 1 (IBA volume 1 chapter 12), sans-I/O: REQ, REP, RTU, REJ, DREQ,
// DREP, MRA with their retries and time-outs, and the IP CM header in a REQ (annex A11). It knows
// nothing of queue pairs but their numbers; whoever owns both (the adapter) acts on the events.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::soft {

// Names a connection of the CM's: its local communication ID. Never 0, not used again for long.
using CmId = std::uint32_t;

// What either side tells the other about its queue pair.
struct CmQueuePair {
  std::uint32_t qpn = 0;
  std::uint32_t starting_psn = 0;        // of what the other side's requester sends (12.7.31)
  std::uint8_t responder_resources = 0;  // Reads of the other's that it serves at a time
  std::uint8_t initiator_depth = 0;      // own Reads that it wants outstanding
  std::uint8_t rnr_retry_count = 7;      // that the other side's requester shall use
  bool flow_control = true;              // end-to-end: its ACKs carry credits
};

struct CmConnect {
  Path path;
  std::uint16_t port = 0;         // RDMA_PS_TCP
  std::uint16_t source_port = 0;  // told in the IP CM header
  CmQueuePair local;
  std::uint8_t path_mtu = 3;                   // code: 1 256, 2 512, 3 1024, 4 2048, 5 4096 bytes
  std::uint8_t retry_count = 7;                // of the transport, for both sides
  std::uint8_t local_ack_timeout = 14;         // 4.096 us * 2^n
  std::span<const std::uint8_t> private_data;  // at most fabric::kMaxRequestPrivateData
};

// The last three end a connection for its owner: of each ID that was told or returned, exactly one
// of them comes, unless the owner ended it with reject(). Then the ID means nothing any more.
enum class CmEventType : std::uint8_t {
  kRequest,      // passive: accept() or reject() it; `peer`, path_mtu, retry_count, private data
  kReply,        // active: a REP came; `peer`, private data. The RTU goes out with establish()
  kEstablished,  // passive: the RTU came, or data did
  kRejected,     // active; or passive, by a peer that refuses our REP or takes its request back;
                 // reason, private data
  kTimedOut,  // no answer after all retries; kRequest: the owner gave none before the peer gave up
  kDisconnect,  // the peer sent a DREQ (a DREP goes out by itself), or answered ours, or did not
                // answer it after all retries; it began anew with the same queue pair; or
                // disconnect() gave up what was not established yet
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

// A REQ that the CM refused with a REJ by itself: no event tells of it.
struct CmRefusal {
  fabric::Address peer;
  std::uint16_t port = 0;    // that it asked for; 0: none of RDMA_PS_TCP's
  std::uint16_t reason = 0;  // see wire::cm_rej_reason()
  const char* why = "";      // for a person, where the reason says too little
};

struct CmLimits {
  // Of all states. Those in time-wait count, but make room for new ones.
  std::size_t connections = 65536;
  // Told by kRequest, neither accepted nor rejected; of one peer not more than are left for all
  // others. A peer that asks for more is rejected (reason 3, no resources).
  std::size_t waiting_requests = 1024;
  fabric::Time response_timeout = 500 * fabric::kMillisecond;  // of our messages, before a retry
  std::uint8_t retries = 7;
};

class ConnectionManager {
 public:
  // `seed` makes communication and transaction IDs that another run does not repeat.
  ConnectionManager(const CmLimits& limits, std::uint64_t seed);
  ~ConnectionManager();

  // Requests for a port that nobody listens to are rejected (reason 8, invalid service ID).
  void listen(std::uint16_t port);
  void unlisten(std::uint16_t port);

  [[nodiscard]] fabric::Expected<CmId> connect(const CmConnect& request, fabric::Time now);
  // Answers to kRequest. Errors: kNotConnected for an ID that waits for none (any more: the peer
  // may have given up), kBadArgument for private data that is too long.
  [[nodiscard]] fabric::Expected<void> accept(CmId id, const CmQueuePair& local,
                                              std::span<const std::uint8_t> private_data,
                                              fabric::Time now);
  [[nodiscard]] fabric::Expected<void> reject(CmId id, std::uint16_t reason,
                                              std::span<const std::uint8_t> private_data,
                                              fabric::Time now);
  // After kReply: our queue pair is ready to send; sends the RTU.
  void establish(CmId id, fabric::Time now);
  // After kRequest was accepted: data came before the RTU did, which is as good.
  void data_came(CmId id);
  // Sends a DREQ; kDisconnect follows. In any state: what was begun is given up (REJ to a REP or a
  // request that waits, and to a REQ's receiver), and kDisconnect follows at once. An ID that is
  // not known, or over, is ignored.
  void disconnect(CmId id, fabric::Time now);

  // A MAD from QP 1 (256 bytes); what does not belong here is dropped and counted.
  void receive(const Path& path, wire::Bytes mad, fabric::Time now);
  // Of what came last; null: it was no REQ, or is not refused, or is the one that was refused last
  // and comes again, as it does when its REJ was lost. Valid until receive() is called again.
  [[nodiscard]] const CmRefusal* refusal() const;

  // The next MAD that is to go out; false: none. `mad` stays valid until the CM is called again.
  [[nodiscard]] bool transmit(const Path*& path, wire::Bytes& mad);
  [[nodiscard]] bool next_event(CmEvent& event);

  // When expire() has something to do; kNever.
  [[nodiscard]] fabric::Time deadline() const;
  void expire(fabric::Time now);

  struct Counters {
    std::uint64_t received = 0;    // MADs
    std::uint64_t sent = 0;        // MADs, retries and answers to duplicates too
    std::uint64_t retried = 0;     // messages repeated because no answer came
    std::uint64_t duplicates = 0;  // MADs of a connection that had come before
    std::uint64_t dropped = 0;     // MADs that no connection expects; answers for want of room
  };
  [[nodiscard]] const Counters& counters() const;
  // How many there are, in all states; at most CmLimits::connections.
  [[nodiscard]] std::size_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::soft
