// One connection of the fabric as RPC-over-RDMA uses it: posts Receives, gives each message to the
// requester or the responder that it is for, and posts their work. Either role may be missing; with
// both, each has its own credits and XIDs (RFC 8167 section 4).
//
// Sans-I/O: its owner hands in completions and time, and calls flush() when it has handed in all
// that there was, so that work leaves in batches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/padding.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/protocol/versions.h>

namespace rpcrdma::trace {
class Tracer;
}

namespace rpcrdma::protocol {

// What the peers agreed on while they connected (RFC 8797).
struct Terms {
  // Inline thresholds of version 1, bytes: of a Send at most, and of what comes; 1024 without
  // private data (INL-01).
  std::uint32_t inline_send = 1024;
  std::uint32_t inline_receive = 1024;
  // Replies of version 1 may invalidate one of their Call's handles: both peers set the flag R.
  bool remote_invalidation = false;
  // Inline thresholds of version 2, bytes; of the first message kFirstMessageThreshold.
  std::uint32_t inline_send_2 = kVersionTwoThreshold;
  std::uint32_t inline_receive_2 = kVersionTwoThreshold;
  // What the Connection Configuration Protocol tells of the peer (RFC 5666 section 6.2): how Calls
  // to it are padded; how many RDMA Reads may be under way to it at a time, 0: none; whether it
  // reads Read chunks.
  Padding padding{};
  std::uint32_t max_reads = UINT32_MAX;
  bool peer_reads = true;
};

struct ChannelOptions {
  Terms terms{};
  // A Receive is as long as what may come of any version.
  Versions versions{};
  // In which the first message of version 2 must be answered, or the connection is given up: see
  // lacks_version_two().
  fabric::Time negotiation_timeout = 10 * fabric::kSecond;
  std::uint32_t max_segment = 1U << 30;  // bytes of one exposed segment
  // Bytes of one RDMA Read or Write, as much as the fabric does at once (fabric::Limits); longer
  // segments of the peer's are read and written in parts. Not 0.
  std::uint32_t max_transfer = 1U << 30;
  // What the device can (fabric::Limits): Replies that invalidate a handle are sent only if it
  // sends such, and Calls of version 2 name one that may be invalidated only if it takes them.
  bool sends_invalidate = false;
  bool accepts_invalidate = false;
  // Receives and work for a requester that comes later, see attach(): its credits at most.
  std::uint32_t later_credits = 0;
  // Who is told what happens on it and to its Calls, and under which number (see
  // trace/connection_tracer.h); null: nobody. It outlives the roles. That the connection is there,
  // and its end, are its owner's to tell: before established(), and after the channel's end.
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

  // What the fabric has to provide for it.
  [[nodiscard]] fabric::QueueDepths depths() const;
  // Takes a connection that is about to be set up, and posts the Receives. Error: kNoRoom, kSystem.
  [[nodiscard]] fabric::Expected<void> begin(std::unique_ptr<fabric::Connection> connection);
  [[nodiscard]] fabric::Connection& connection();
  // Instead of the terms in the options. Receives stay as long as they are, so `inline_receive` is
  // at most that.
  void agree(const Terms& terms);
  void established(fabric::Time now);
  // A requester for a channel that is established and has none, with `later_credits` or fewer. When
  // the channel ends, its Calls wait for the next one.
  void attach(Requester& requester, fabric::Time now);
  [[nodiscard]] bool has_requester() const;
  // Takes it away again, so that another may come: one of which nothing is under way, see
  // Requester::idle().
  void detach_requester(fabric::Time now);

  // The version that Calls are sent in from here: the highest, until the peer says that it does not
  // speak it; without a requester that of the Calls that come.
  [[nodiscard]] std::uint32_t version() const;
  // Version 2 was tried, and the peer has not answered in it: the next connection had better begin
  // with version 1, or this may go on for ever (section 6.2 of
  // draft-cel-nfsv4-rpcrdma-version-two-02).
  [[nodiscard]] bool lacks_version_two() const;
  // The peer's ERR_VERS said that it speaks these versions, none of which is among the options'.
  // The channel has failed: whatever else is sent would be refused too.
  [[nodiscard]] std::optional<Versions> refused() const;

  void completed(const fabric::Completion& completion, fabric::Time now);
  // The end of the connection is the peer's wish, and so it has what it was waiting for: Replies
  // whose ACK has not come are taken for arrived.
  void peer_closes();
  // No completion follows.
  void disconnected(fabric::Time now);
  // Ends the connection, as the destructor does too, but what that tells has this time.
  void close(fabric::Time now);

  // When the peer, or its fabric, last gave a sign of life.
  [[nodiscard]] fabric::Time heard() const;
  // Asks for one, by an empty RDMA Write that reaches no memory: a peer that took all it was sent
  // and then vanished would be waited for without end. Without an answer the connection ends as if
  // a Call had not arrived.
  void probe(fabric::Time now);

  // Posts what has gathered.
  void flush(fabric::Time now);
  [[nodiscard]] fabric::Time deadline() const;
  void expire(fabric::Time now);

  // Why it cannot go on, for a person: a peer that broke the protocol, a Call that timed out. Its
  // owner disconnects. Empty: it can.
  [[nodiscard]] const std::string& failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::protocol
