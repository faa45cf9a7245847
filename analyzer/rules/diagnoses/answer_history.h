// The fates of the latest messages of a connection, by XID: enough to distinguish a repeated or
// late answer from an answer to a Call that never existed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <rpcrdma/model/call.h>

namespace rpcrdma::rules {

enum class Fate : std::uint8_t {
  kReplied,     // a Call with its Reply
  kRefused,     // a Call ended by RDMA_ERROR
  kMalformed,   // a message with an unparsable header: may be a Call, and gets an RDMA_ERROR
  kOption,      // version 2: RDMA2_OPTIONAL, which may get an RDMA_ERROR
  kDone,        // RDMA_DONE, which gets no answer
  kSuperseded,  // a Call that a later one with its XID replaced: may still be answered
};

struct PastMessage {
  std::uint32_t xid = 0;
  std::uint32_t version = 0;
  std::uint32_t proc = 0;
  std::uint32_t opttype = 0;  // kOption
  std::uint32_t psn = 0;      // of its last packet, if known
  bool psn_known = false;
  std::uint8_t sender = 0;
  Fate fate = Fate::kReplied;
  bool answered = false;      // kMalformed, kOption, kSuperseded
  bool done_due = false;      // kReplied: the Reply has Read chunks, and no RDMA_DONE followed yet
  bool misdirected = false;   // kReplied: by a Reply with the direction of a Call (V2-02)
  bool cant_reply = false;    // kRefused: by RDMA2_ERR_CANT_REPLY
  std::uint64_t offered = 0;  // if cant_reply: bytes for results
  std::uint64_t digest = 0;   // kRefused: model::Call::digest
  std::uint64_t shape = 0;    // kRefused: hash of its chunk lists, see answer_checks.cc
  std::uint64_t id = 0;       // model::Message::id
  std::uint64_t passed_by = 0;  // kMalformed: frame of the first answer to a later Call; 0: none
  std::uint64_t frame = 0;      // of the message
  std::int64_t time_ns = 0;
  std::uint64_t end_frame = 0;       // of its answer; 0: none
  std::uint64_t objected_frame = 0;  // of an RDMA_ERROR by the sender for that answer; 0: none
};

class AnswerHistory {
 public:
  // Returns the oldest entry if it had to be dropped.
  PastMessage add(const PastMessage& m) {
    if (ring_.size() < kKept) {
      ring_.push_back(m);
      return {};
    }
    PastMessage& slot = ring_[next_];
    next_ = (next_ + 1) % kKept;
    return std::exchange(slot, m);
  }

  // Returns the latest message of `sender` with this XID for which `wanted` is true; null: none.
  template <typename Wanted>
  [[nodiscard]] PastMessage* find(std::uint8_t sender, std::uint32_t xid, const Wanted& wanted) {
    for (std::size_t i = ring_.size(); i-- > 0;) {
      PastMessage& m = ring_[(next_ + i) % ring_.size()];
      if (m.xid == xid && m.sender == sender && wanted(m)) return &m;
    }
    return nullptr;
  }
  [[nodiscard]] PastMessage* find(std::uint8_t sender, std::uint32_t xid) {
    return find(sender, xid, [](const PastMessage&) { return true; });
  }
  [[nodiscard]] std::vector<PastMessage>& all() { return ring_; }
  [[nodiscard]] const std::vector<PastMessage>& all() const { return ring_; }

  // Returns whether a message with an unparsable header has not been answered by RDMA_ERROR yet.
  [[nodiscard]] bool has_unanswered(std::uint8_t sender) const {
    return std::any_of(ring_.begin(), ring_.end(), [sender](const PastMessage& m) {
      return m.sender == sender && m.fate == Fate::kMalformed && !m.answered;
    });
  }

  // A Call that a later one with its XID replaced; `frame` 0: none.
  struct Superseded {
    std::uint64_t frame = 0;
    std::uint64_t losses_before = 0;
    bool suspect = false;
  };
  Superseded superseded;

  // The model dropped Calls that may still be answered, or two Calls had one XID.
  bool incomplete = false;
  bool cant_reply_seen = false;
  bool refused_seen = false;
  bool malformed_seen = false;
  // The side sent an RDMA2_OPTIONAL, or refused one.
  std::array<bool, 2> knows_options{};

 private:
  static constexpr std::size_t kKept = 64;
  std::vector<PastMessage> ring_;
  std::size_t next_ = 0;  // the oldest entry of a full ring
};

}  // namespace rpcrdma::rules
