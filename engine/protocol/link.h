// What the roles of a channel share: its connection, its memory and its send queue, and why it
// cannot go on.
#pragma once

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
      : pool(p), options(o), work(work_slots) {
    options.max_segment = std::max(options.max_segment, 1U);
  }

  // Nothing more is sent over it.
  void fail(std::string reason) {
    if (failure.empty() && !down) failure = std::move(reason);
  }
  [[nodiscard]] bool open() const { return established && !down && failure.empty(); }
  // Those of Calls sent here, or of Calls received here.
  [[nodiscard]] Limits limits(bool as_requester) const {
    return as_requester ? Limits{options.inline_send, options.inline_receive, options.max_segment}
                        : Limits{options.inline_receive, options.inline_send, options.max_segment};
  }

  MemoryPool& pool;
  ChannelOptions options;
  WorkQueue work;
  fabric::Connection* connection = nullptr;
  std::uint32_t handles = 0;  // that may be exposed at the same time
  bool established = false;
  bool down = false;  // nothing is accessed any more, or the last completions are coming
  std::string failure;
};

}  // namespace rpcrdma::protocol
