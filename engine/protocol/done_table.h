// Replies of which parts are left to be read by the requester, until it says by RDMA_DONE that it
// has (RFC 5666 sections 3.5, 3.8). What it may read is exposed for that Reply alone, and withdrawn
// before it is its owner's again.
#pragma once

#include "fixed_ring.h"
#include "link.h"
#include "slots.h"

#include <array>
#include <cstdint>
#include <span>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/wire/chunks.h>

namespace rpcrdma::protocol {

struct ReplyReads {
  std::uint32_t generation = 0;
  bool used = false;
  std::uint32_t served = kNoSlot;
  std::uint32_t xid = 0;
  std::uint64_t bytes = 0;
  std::array<wire::ReadSegment, kMaxSegments> segments;
  std::uint32_t count = 0;
  std::uint32_t next_fence = 0;       // those before it are withdrawn, or being so
  std::uint32_t fencing = 0;          // withdrawals under way
  bool sent = false;                  // the Reply is
  bool done = false;                  // the peer has read it
  fabric::Time due = fabric::kNever;  // by when it has to say so

  [[nodiscard]] bool fenced() const { return next_fence == count && fencing == 0; }
  [[nodiscard]] std::span<const wire::ReadSegment> list() const {
    return std::span(segments).first(count);
  }
};

class DoneTable {
 public:
  // `limit`: Replies.
  explicit DoneTable(std::uint32_t limit) : entries_(limit), to_fence_(limit) {}

  [[nodiscard]] std::uint32_t size() const { return entries_.in_use(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint32_t handles() const { return handles_; }  // exposed and not withdrawn

  // kNoSlot: there are as many as may be.
  [[nodiscard]] std::uint32_t acquire(std::uint32_t served, std::uint32_t xid);
  // Adds a part to it. Error: the connection's; what was exposed goes with give_up().
  [[nodiscard]] fabric::Expected<void> advertise(Link& link, std::uint32_t slot,
                                                 const fabric::Slice& part,
                                                 const fabric::Memory& memory,
                                                 std::uint32_t position);
  [[nodiscard]] ReplyReads& operator[](std::uint32_t slot) { return entries_[slot]; }
  void sent(std::uint32_t slot, fabric::Time due);

  // The peer has read the Reply with this XID. False: there is none that waits for it.
  [[nodiscard]] bool done(std::uint32_t xid);
  // Without a peer that was told of it.
  void give_up(std::uint32_t slot);
  void post_fences(Link& link);
  // A handle is withdrawn, of that part. When it was the last the entry is gone, and its serving's
  // slot is returned; else kNoSlot.
  [[nodiscard]] std::uint32_t fenced(Link& link, std::uint32_t slot, std::uint32_t generation,
                                     std::uint8_t part);

  // When the first of them is due, or sooner.
  [[nodiscard]] fabric::Time deadline() const { return next_due_; }
  // The XID of one that is overdue.
  [[nodiscard]] bool overdue(fabric::Time now, std::uint32_t& xid);
  // Nothing is exposed any more.
  void clear();

 private:
  void give(std::uint32_t slot);

  Slots<ReplyReads> entries_;
  FixedRing<std::uint32_t> to_fence_;
  std::uint64_t bytes_ = 0;
  std::uint32_t handles_ = 0;
  fabric::Time next_due_ = fabric::kNever;
};

}  // namespace rpcrdma::protocol
