// Sums of the roles' counters over several connections.
#pragma once

#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/responder.h>

namespace rpcrdma::service {

inline void add(protocol::ResponderCounters& sum, const protocol::ResponderCounters& c) {
  sum.calls += c.calls;
  sum.replies += c.replies;
  sum.error_version += c.error_version;
  sum.error_chunk += c.error_chunk;
  sum.error_proc += c.error_proc;
  sum.error_option += c.error_option;
  sum.cant_reply += c.cant_reply;
  sum.options += c.options;
  sum.ignored += c.ignored;
  sum.over_credit += c.over_credit;
  sum.delayed += c.delayed;
  sum.slow_pulls += c.slow_pulls;
  sum.bytes += c.bytes;
  sum.unacknowledged += c.unacknowledged;
  sum.unacknowledged_bytes += c.unacknowledged_bytes;
  sum.invalidated += c.invalidated;
  sum.dropped += c.dropped;
  sum.read_replies += c.read_replies;
  sum.done += c.done;
  sum.padded_replies += c.padded_replies;
  sum.refusals += c.refusals;
  sum.unnoted_refusals += c.unnoted_refusals;
}

inline void add(protocol::RequesterCounters& sum, const protocol::RequesterCounters& c) {
  sum.calls += c.calls;
  sum.replies += c.replies;
  sum.timeouts += c.timeouts;
  sum.error_version += c.error_version;
  sum.error_chunk += c.error_chunk;
  sum.error_option += c.error_option;
  sum.cant_reply += c.cant_reply;
  sum.resent += c.resent;
  sum.renegotiated += c.renegotiated;
  sum.enlarged += c.enlarged;
  sum.unmatched += c.unmatched;
  sum.malformed += c.malformed;
  sum.zero_grants += c.zero_grants;
  sum.invalidated += c.invalidated;
  sum.stalls += c.stalls;
  sum.one_way += c.one_way;
  sum.null_calls += c.null_calls;
  sum.padded_calls += c.padded_calls;
  sum.read_replies += c.read_replies;
  sum.inline_calls += c.inline_calls;
  sum.read_chunks += c.read_chunks;
  sum.write_chunks += c.write_chunks;
  sum.reply_chunks += c.reply_chunks;
  sum.long_calls += c.long_calls;
  sum.bytes += c.bytes;
}

}  // namespace rpcrdma::service
