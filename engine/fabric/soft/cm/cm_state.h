// The CM's state of one connection, with the IDs and lists that it uses.
#pragma once

#include "cm_timers.h"

#include <cstdint>
#include <vector>

#include <rpcrdma/soft/cm.h>
#include <rpcrdma/soft/random.h>
#include <rpcrdma/soft/secret.h>

namespace rpcrdma::soft {

// Mixes every bit of `x` into the whole result.
[[nodiscard]] inline std::uint64_t cm_mix(std::uint64_t x) {
  return Random(x).next();
}

// Communication and transaction IDs (IBA 12.9.4). No ID is reused before all others were, and none
// follows from others: who has not received a message with it cannot name it. A different secret
// gives a different order, so that a peer that remembers an earlier run does not hit a current ID.
class CmIds {
 public:
  explicit CmIds(const Secret& secret)
      : secret_(secret), permutation_(secret, kForCommunicationIds, kHalfBits) {}

  // Returns every 32-bit value but 0 once in 2^32 calls.
  [[nodiscard]] std::uint32_t next_communication() {
    for (;;) {
      const std::uint32_t id = permutation_(counter_++);
      if (id != 0) return id;
    }
  }

  [[nodiscard]] std::uint64_t next_transaction() {
    return secret_.hash(kForTransactions, ++transactions_);
  }

 private:
  static constexpr unsigned kHalfBits = 16;

  Secret secret_;
  SecretPermutation permutation_;
  std::uint64_t transactions_ = 0;
  std::uint32_t counter_ = 0;
};

// An intrusive doubly linked list: removing an element takes constant time, and membership takes no
// extra memory.
template <typename T>
struct CmLinks {
  T* previous = nullptr;
  T* next = nullptr;
  bool linked = false;
};

template <typename T, CmLinks<T> T::*kLinks>
class CmList {
 public:
  [[nodiscard]] T* front() const { return first_; }

  // Does nothing if the element is already in the list.
  void push_back(T& element) {
    CmLinks<T>& links = element.*kLinks;
    if (links.linked) return;
    links = {last_, nullptr, true};
    (last_ == nullptr ? first_ : (last_->*kLinks).next) = &element;
    last_ = &element;
  }

  // Does nothing if the element is not in the list.
  void remove(T& element) {
    CmLinks<T>& links = element.*kLinks;
    if (!links.linked) return;
    (links.previous == nullptr ? first_ : (links.previous->*kLinks).next) = links.next;
    (links.next == nullptr ? last_ : (links.next->*kLinks).previous) = links.previous;
    links = {};
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

// The states are those of IBA 12.9.7, without LAP.
enum class CmState : std::uint8_t {
  kRequesting,     // active: REQ sent
  kReplied,        // active: REP received; the RTU waits for the owner
  kWaiting,        // passive: REQ received; the answer waits for the owner
  kReplying,       // passive: REP sent
  kEstablished,    // both
  kDisconnecting,  // DREQ sent
  kTimeWait,       // over for the owner; kept to answer the peer's duplicates
};

// Messages that wait for transmit(), one bit each; sent in this order. Setting a bit twice has no
// effect, so a flood of duplicates is answered with one message.
enum CmPending : std::uint8_t {
  kPendingReq = 1,
  kPendingMra = 2,
  kPendingRep = 4,
  kPendingRtu = 8,
  kPendingDreq = 16,
  kPendingDrep = 32,
  kPendingRej = 64,
};

// Message codes in MRA and REJ (12.6.6, 12.6.7).
inline constexpr std::uint8_t kAboutReq = 0;
inline constexpr std::uint8_t kAboutRep = 1;
inline constexpr std::uint8_t kAboutOther = 2;

// Reasons of REJs that the CM itself sends (table 109).
inline constexpr std::uint16_t kRejNoResources = 3;
inline constexpr std::uint16_t kRejTimeout = 4;
inline constexpr std::uint16_t kRejUnsupported = 5;
inline constexpr std::uint16_t kRejInvalidCommId = 6;
inline constexpr std::uint16_t kRejInvalidServiceId = 8;
inline constexpr std::uint16_t kRejInvalidTransport = 9;
inline constexpr std::uint16_t kRejStale = 10;
inline constexpr std::uint16_t kRejInvalidGid = 12;
inline constexpr std::uint16_t kRejInvalidMtu = 26;
inline constexpr std::uint16_t kRejConsumer = 28;

// Between an RTU and its repetitions, see CmLimits::rtu_repeats.
inline constexpr fabric::Time kRtuPause = 400 * fabric::kMillisecond;

struct CmConnection {
  CmId id = 0;
  CmState state = CmState::kRequesting;
  bool active = false;
  bool was_established = false;
  bool proven = false;    // passive: the peer has named our ID, so it has received our message
  bool extended = false;  // an MRA has extended the deadline since our last transmission
  std::uint8_t pending = 0;
  std::uint8_t retries_left = 0;
  Path path;
  std::uint64_t transaction_id = 0;  // of the REQ and all later messages but DREQ and DREP
  std::uint64_t disconnect_transaction_id = 0;

  CmQueuePair local;
  std::uint16_t port = 0, source_port = 0;
  std::uint8_t path_mtu = 0, retry_count = 0, local_ack_timeout = 0;
  std::vector<std::uint8_t> private_data;  // of our message, kept for retransmissions

  std::uint32_t remote_id = 0;  // 0 until the peer has sent one
  std::uint64_t remote_guid = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_psn = 0;
  CmId replaced = 0;  // passive: the connection that had the peer's ID before; 0: none
  // Passive, until the peer has proved its address: MADs that came from there for this connection
  // and were not answered yet. All MADs have the same length.
  std::uint32_t unanswered = 0;
  fabric::Time asked = 0;            // passive: when the REQ came
  fabric::Time remote_timeout = 0;   // how long the peer waits for an answer before it retransmits
  fabric::Time remote_patience = 0;  // the same, including all its retries
  fabric::Time give_up = 0;          // kWaiting: the latest end, whatever the peer retransmits

  std::uint16_t rej_reason = 0;  // of our REJ, for retransmission; 0: none was sent
  std::uint8_t rej_about = 0;

  CmTimer timer;
  CmLinks<CmConnection> sending;       // in the list of connections with pending messages
  CmLinks<CmConnection> time_wait;     // in the list of connections in time-wait
  CmLinks<CmConnection> half_open;     // in the list of half-open connections
  CmLinks<CmConnection> of_requester;  // in the list of those of one requester
};

}  // namespace rpcrdma::soft
