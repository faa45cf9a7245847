// State that the roles of a channel share: its connection, memory, send queue and tracer, and the
// reason why it failed.
#pragma once

#include "trace_hooks.h"
#include "work_queue.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/reduction.h>

namespace rpcrdma::protocol {

// kNever stays kNever.
[[nodiscard]] inline fabric::Time due(fabric::Time now, fabric::Time wait) {
  return wait >= fabric::kNever - now ? fabric::kNever : now + wait;
}

struct Link {
  Link(MemoryPool& p, const ChannelOptions& o, std::size_t work_slots)
      : pool(p), options(o), trace{o.tracer, o.connection}, work(work_slots) {
    options.max_segment = std::max(options.max_segment, 1U);
    options.max_transfer = std::max(options.max_transfer, 1U);
    version = options.versions.high;
  }

  // Fails the channel: nothing more is sent over it. `side`: the side at fault; `xid`: of the Call
  // concerned.
  void fail(std::string_view reason, std::uint8_t side, std::uint32_t xid = 0) noexcept {
    if (!failure.empty() || down) return;
    if (trace.on()) trace_error(trace, side, xid, reason, now);
    try {
      failure = reason;
    } catch (const std::bad_alloc&) {
      failure = fabric::kOutOfMemory;
    }
  }
  // Called when memory ran out in the middle of an operation. Half-finished work is abandoned and
  // released with the connection.
  void fail_out_of_memory() noexcept { fail(fabric::kOutOfMemory, trace::kHere); }
  [[nodiscard]] bool open() const { return established && !down && failure.empty(); }
  // Limits of Calls sent here. The first of version 2 must be short, and its Reply should be: both
  // thresholds change with it (section 6.1 of draft-cel-nfsv4-rpcrdma-version-two-02).
  [[nodiscard]] Limits call_limits() const {
    const bool two = version == kVersionTwo;
    std::uint32_t send = two ? options.terms.inline_send_2 : options.terms.inline_send;
    std::uint32_t receive = two ? options.terms.inline_receive_2 : options.terms.inline_receive;
    if (two) send = surely_received(send);
    if (two && !peer_raises && peer_sends_short) receive = std::min(receive, kVersionTwoThreshold);
    if (two && !confirmed) {
      send = std::min(send, kFirstMessageThreshold);
      receive = std::min(receive, kFirstMessageThreshold);
    }
    Limits limits{send, receive, options.max_segment, empty_header_bytes(version)};
    if (!two) limits.padding = options.terms.padding;
    limits.read_chunks = options.terms.peer_reads;
    return limits;
  }
  // Limits of Replies to Calls received here.
  [[nodiscard]] Limits reply_limits(std::uint32_t call_version) const {
    const bool two = call_version == kVersionTwo;
    return {two ? options.terms.inline_receive_2 : options.terms.inline_receive,
            two ? options.terms.inline_send_2 : options.terms.inline_send, options.max_segment,
            empty_header_bytes(call_version)};
  }

  // How much of a version 2 threshold the peer certainly receives: no message states whether
  // private data raises its threshold. A peer that has sent more than version 2's default does
  // raise it.
  [[nodiscard]] std::uint32_t surely_received(std::uint32_t threshold) const {
    return peer_raises ? threshold : std::min(threshold, kVersionTwoThreshold);
  }

  MemoryPool& pool;
  ChannelOptions options;
  const trace::ConnectionTracer trace;
  fabric::Time now = 0;  // of the owner's latest call
  WorkQueue work;
  fabric::Connection* connection = nullptr;
  std::uint32_t copied_send = 0;  // fabric::Connection::copied_send(), once it is established
  // Maximum handles advertised at the same time, by the requester and by the responder.
  std::uint32_t handles = 0;
  std::uint32_t reply_handles = 0;
  // Version of the Calls sent here, which is also that of the Calls received (RFC 8167 section
  // 5.1).
  std::uint32_t version = kVersionOne;
  bool follows = false;                     // the peer chooses it, by its first Call
  bool confirmed = false;                   // the peer has sent a message in it that is no error
  fabric::Time tried_two = fabric::kNever;  // when the first message of version 2 was sent
  bool has_two = false;                     // and it was answered in it
  bool peer_raises = false;                 // version 2's thresholds: see surely_received()
  bool peer_sends_short = false;            // it could not send inline a Reply that would fit here
  bool peer_closed = false;                 // Channel::peer_closes()
  std::optional<Versions> refused;          // Channel::refused()
  bool established = false;
  bool down = false;  // no memory is accessed any more, or the last completions are arriving
  std::string failure;
};

}  // namespace rpcrdma::protocol
