// What the roles of a channel share: its connection, its memory and its send queue, whom they tell
// what happens, and why it cannot go on.
#pragma once

#include "trace_hooks.h"
#include "work_queue.h"

#include <algorithm>
#include <string>
#include <utility>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/reduction.h>

namespace rpcrdma::protocol {

// Never stays never.
[[nodiscard]] inline fabric::Time due(fabric::Time now, fabric::Time wait) {
  return wait >= fabric::kNever - now ? fabric::kNever : now + wait;
}

struct Link {
  Link(MemoryPool& p, const ChannelOptions& o, std::size_t work_slots)
      : pool(p), options(o), trace{o.tracer, o.connection}, work(work_slots) {
    options.max_segment = std::max(options.max_segment, 1U);
  }

  // Nothing more is sent over it. `side`: whose fault it is; `xid`: of a Call that it is about.
  void fail(std::string reason, std::uint8_t side, std::uint32_t xid = 0) {
    if (!failure.empty() || down) return;
    if (trace.on()) tell_error(trace, side, xid, reason, now);
    failure = std::move(reason);
  }
  [[nodiscard]] bool open() const { return established && !down && failure.empty(); }
  // Those of Calls sent here, or of Calls received here.
  [[nodiscard]] Limits limits(bool as_requester) const {
    return as_requester ? Limits{options.inline_send, options.inline_receive, options.max_segment}
                        : Limits{options.inline_receive, options.inline_send, options.max_segment};
  }

  MemoryPool& pool;
  ChannelOptions options;
  const trace::ConnectionTracer trace;
  fabric::Time now = 0;  // when its owner called it last
  WorkQueue work;
  fabric::Connection* connection = nullptr;
  std::uint32_t handles = 0;  // that may be exposed at the same time
  bool established = false;
  bool down = false;  // nothing is accessed any more, or the last completions are coming
  std::string failure;
};

}  // namespace rpcrdma::protocol
