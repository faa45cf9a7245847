// One connection of a provider, from its first request until nothing refers to it any more.
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

// Names a slot and who is in it; never 0.
using Name = std::uint32_t;

enum class Phase : std::uint8_t {
  kFree,
  kRequested,    // by a peer; not answered
  kResolving,    // its address, its route
  kConnecting,   // a REQ is under way
  kAccepted,     // a REP is under way
  kEstablished,  //
  kDown,         // ended; its owner still has it
  kLingering,    // has no owner; its peer has yet to answer a DREQ
};

// What was posted to the send queue and is not known to be complete. Such work completes in order.
struct SendWork {
  std::uint64_t id = 0;
  fabric::Operation operation = fabric::Operation::kSend;
  bool news = true;         // also when it succeeds
  std::uint32_t value = 0;  // kRead: bytes; kAdvertise, kInvalidate: the handle
};

// A Receive that waits for its queue pair.
struct HeldReceive {
  std::uint64_t id = 0;
  std::array<fabric::Slice, fabric::kMaxSlices> slices;
  std::uint32_t count = 0;
};

// Work requests that leave together: those that the provider adds wait for those that follow.
constexpr std::size_t kChain = 16;

struct Slot {
  Phase phase = Phase::kFree;
  std::uint32_t index = 0;
  std::uint8_t generation = 0;
  bool active = false;     // this side connected
  bool peer_left = false;  // it has disconnected
  bool leaving = false;    // a DREQ was sent, and its answer is to come
  bool failing = false;    // stands in the list of those that failed
  bool dirty = false;      // its chain waits in the list of such
  rdma_cm_id* id = nullptr;
  std::uint16_t port = 0;       // kRequested: the listener's; kResolving: the peer's
  std::uint8_t tries_left = 0;  // kResolving: its address
  std::uint64_t cookie = 0;
  fabric::Address peer;
  std::string reason;  // why it failed; empty: it did not, or only the end of its work shows it

  // As ConnectionOptions.
  fabric::QueueDepths depths;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t retry_count = 0, rnr_retry_count = 0;
  std::vector<std::uint8_t> private_data;  // until it is sent

  CompletionQueues::Share completions;
  std::uint32_t send_room = 0, receive_room = 0;
  std::uint32_t most_inline = 0;  // bytes
  std::uint32_t silent = 0;       // send work in a row that asks for no completion
  fabric::Ring<SendWork> sends{UINT32_MAX};
  fabric::Ring<std::uint64_t> receives{UINT32_MAX};  // IDs
  std::vector<HeldReceive> held;
  std::array<ibv_send_wr, kChain> chain;
  std::size_t chained = 0;

  [[nodiscard]] bool alive() const { return phase > Phase::kFree && phase < Phase::kDown; }
  [[nodiscard]] bool has_qp() const { return id != nullptr && id->qp != nullptr; }
};

}  // namespace rpcrdma::verbs
