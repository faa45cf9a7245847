// One connection of the fabric as RPC-over-RDMA uses it: posts Receives, passes each message to the
// requester or the responder, and posts their work. Either role may be missing; with both, each has
// its own credits and XIDs (RFC 8167 section 4).
//
// Sans-I/O: its owner passes in completions and time, and calls flush() after each batch, so that
// work leaves in batches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/memory_share.h>
#include <rpcrdma/protocol/padding.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/protocol/versions.h>

namespace rpcrdma::trace {
class Tracer;
}

namespace rpcrdma::protocol {

// Parameters that the peers agreed on at connection setup (RFC 8797).
struct Terms {
  // Inline thresholds of version 1, in bytes, for Sends and for Receives; 1024 without private data
  // (INL-01).
  std::uint32_t inline_send = 1024;
  std::uint32_t inline_receive = 1024;
  // Replies of version 1 may invalidate one of their Call's handles: both peers set the flag R.
  bool remote_invalidation = false;
  // Inline thresholds of version 2, in bytes; kFirstMessageThreshold for the first message.
  std::uint32_t inline_send_2 = kVersionTwoThreshold;
  std::uint32_t inline_receive_2 = kVersionTwoThreshold;
  // Parameters of the peer in the Connection Configuration Protocol (RFC 5666 section 6.2): how
  // Calls to it are padded; how many RDMA Reads from it may be in flight at a time, where 0 means
  // none; whether it reads Read chunks.
  Padding padding{};
  std::uint32_t max_reads = UINT32_MAX;
  bool peer_reads = true;
};

struct ChannelOptions {
  Terms terms{};
  // A Receive is as long as the longest message of any version.
  Versions versions{};
  // Time in which the first message of version 2 must be answered, or the connection fails: see
  // lacks_version_two().
  fabric::Time negotiation_timeout = 10 * fabric::kSecond;
  std::uint32_t max_segment = 1U << 30;  // bytes of one advertised segment
  // Bytes of one RDMA Read or Write, at most the fabric's limit (fabric::Limits). Longer segments
  // of the peer are read and written in parts. Not 0.
  std::uint32_t max_transfer = 1U << 30;
  // Capabilities of the device (fabric::Limits). Replies use Remote Invalidation only if the device
  // can send it, and Calls of version 2 name a handle for it only if the device accepts it.
  bool sends_invalidate = false;
  bool accepts_invalidate = false;
  // How many Receives are posted at a time (fabric::Limits), if there are enough credits. Not 0.
  std::uint32_t receives_at_once = 1;
  // Reserves Receives and work for a requester that is attached later, see attach(): its maximum
  // credits.
  std::uint32_t later_credits = 0;
  // Limits what the peer's Calls may take of the pool; null: nothing but the pool does. It outlives
  // the roles.
  MemoryShare* share = nullptr;
  // Tracer for events of the channel and its Calls, and the connection's number in them (see
  // trace/connection_tracer.h); null: no tracing. It outlives the roles. The owner emits the
  // connection's start, before established(), and its end, after the channel's end.
  trace::Tracer* tracer = nullptr;
  std::uint32_t connection = 0;
};

class Channel {
 public:
  // The roles, either of which may be null, and the pool outlive it. A requester has one channel at
  // a time.
  Channel(MemoryPool& pool, const ChannelOptions& options, Requester* requester,
          Responder* responder);
  ~Channel();  // ends the connection: Calls that were sent wait for the next channel
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Returns the queue depths that the fabric must provide.
  [[nodiscard]] fabric::QueueDepths depths() const;
  // Returns what the Receives take of the pool.
  [[nodiscard]] std::uint64_t receive_bytes() const;
  // Takes over a connection that is about to be set up, and posts the Receives. Error: kNoRoom,
  // kSystem.
  [[nodiscard]] fabric::Expected<void> begin(std::unique_ptr<fabric::Connection> connection);
  [[nodiscard]] fabric::Connection& connection();
  // Replaces the terms in the options. Receives keep their length, which `inline_receive` must not
  // exceed.
  void agree(const Terms& terms);
  void established(fabric::Time now);
  // Attaches a requester with at most `later_credits` to an established channel without one. When
  // the channel ends, its Calls wait for the next one.
  void attach(Requester& requester, fabric::Time now);
  [[nodiscard]] bool has_requester() const;
  // Detaches the requester, so that another may be attached. It must be idle: see
  // Requester::idle().
  void detach_requester(fabric::Time now);

  // The version in which Calls are sent: the highest, until the peer states that it does not
  // support it; without a requester, the version of the Calls received.
  [[nodiscard]] std::uint32_t version() const;
  // Returns whether version 2 was tried and the peer has not answered in it. The next connection
  // should then start with version 1, or this may repeat for ever (section 6.2 of
  // draft-cel-nfsv4-rpcrdma-version-two-02).
  [[nodiscard]] bool lacks_version_two() const;
  // The versions in the peer's ERR_VERS if none of them is among the options' versions. The channel
  // has failed: any further message would be refused too.
  [[nodiscard]] std::optional<Versions> refused() const;

  void completed(const fabric::Completion& completion, fabric::Time now);
  // Called when the peer closes the connection itself. It must have received what it waited for, so
  // Replies whose ACK is missing count as received.
  void peer_closes();
  // Called when no completion follows.
  void disconnected(fabric::Time now);
  // Ends the connection as the destructor does, but with this time for the events it emits.
  void close(fabric::Time now);

  // When the peer, or its fabric, last gave a sign of life.
  [[nodiscard]] fabric::Time heard() const;
  // Probes the peer with an empty RDMA Write that accesses no memory. Without it, a peer that
  // vanished after receiving everything would never be noticed. If the probe is not acknowledged,
  // the connection ends as if a Call had not arrived.
  void probe(fabric::Time now);

  // Posts the accumulated work.
  void flush(fabric::Time now);
  [[nodiscard]] fabric::Time deadline() const;
  void expire(fabric::Time now);

  // Why the channel has failed, for display: a peer that violated the protocol, a Call that timed
  // out. Its owner must disconnect. Empty: it has not failed.
  [[nodiscard]] const std::string& failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::protocol
