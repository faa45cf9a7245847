// One connection of a provider, from its first request until nothing refers to it.
#pragma once

#include "completion_queues.h"
#include "device.h"
#include "translate.h"

#include <array>
#include <string>
#include <vector>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/fabric/ring.h>

namespace rpcrdma::verbs {

// Identifies a slot and its current connection; never 0.
using Name = std::uint32_t;

enum class Phase : std::uint8_t {
  kFree,
  kRequested,    // a peer's request, not answered yet
  kResolving,    // resolving the address, then the route
  kConnecting,   // a REQ is in flight
  kAccepted,     // a REP is in flight
  kEstablished,  //
  kDown,         // ended; its owner still has it
  kLingering,    // has no owner; its peer has not answered a DREQ yet
};

// Send queue work that is not known to be complete, or is behind such work. It completes in order,
// but on siw Reads may complete after work behind them.
struct SendWork {
  std::uint64_t id = 0;
  fabric::Operation operation = fabric::Operation::kSend;
  bool news = true;         // report success, too
  std::uint32_t value = 0;  // kRead: bytes; kAdvertise, kInvalidate: the handle
  bool complete = false;
};

// Returns the work of a completion, and removes what is complete. `late_reads`: this work may have
// completed before Reads in front of it.
inline SendWork complete(fabric::Ring<SendWork>& sends, std::uint64_t n, bool late_reads) {
  const SendWork done = sends[n];
  const bool after_all = !late_reads || done.operation == fabric::Operation::kRead;
  for (std::uint64_t i = sends.begin(); i <= n; ++i) {
    if (after_all || sends[i].operation != fabric::Operation::kRead) {
      sends[i].complete = true;
      sends[i].news = false;
    }
  }
  while (!sends.empty() && sends.front().complete) sends.pop();
  return done;
}

// A Receive that waits until there is a queue pair.
struct HeldReceive {
  std::uint64_t id = 0;
  std::array<fabric::Slice, fabric::kMaxSlices> slices;
  std::uint32_t count = 0;
};

// Work requests posted together. Those that the provider adds wait for the next one of the owner.
constexpr std::size_t kChain = 16;

struct Slot {
  Phase phase = Phase::kFree;
  std::uint32_t index = 0;
  std::uint8_t generation = 0;
  bool active = false;     // this side connected
  bool peer_left = false;  // the peer has disconnected
  bool leaving = false;    // a DREQ was sent and not yet answered
  bool failing = false;    // is in the list of failed connections
  bool dirty = false;      // is in the list of connections with an unposted chain
  rdma_cm_id* id = nullptr;
  std::uint16_t port = 0;       // kRequested: the listener's; kResolving: the peer's
  std::uint8_t tries_left = 0;  // kResolving: attempts to resolve the address
  std::uint64_t cookie = 0;
  fabric::Address peer;
  std::string reason;  // why it failed; empty: it did not, or only flushed work shows it

  // As in ConnectionOptions.
  fabric::QueueDepths depths;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t retry_count = 0, rnr_retry_count = 0;
  std::vector<std::uint8_t> private_data;  // kept until it is sent

  CompletionQueues::Share completions;
  std::uint32_t send_room = 0, receive_room = 0;
  std::uint32_t most_inline = 0;  // bytes
  std::uint32_t silent = 0;       // consecutive send work without completion
  fabric::Ring<SendWork> sends{UINT32_MAX};
  fabric::Ring<std::uint64_t> receives{UINT32_MAX};  // IDs
  std::vector<HeldReceive> held;
  std::array<ibv_send_wr, kChain> chain;
  std::size_t chained = 0;

  [[nodiscard]] bool alive() const { return phase > Phase::kFree && phase < Phase::kDown; }
  [[nodiscard]] bool has_qp() const { return id != nullptr && id->qp != nullptr; }
};

}  // namespace rpcrdma::verbs
