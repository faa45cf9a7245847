// Table of Replies whose Read chunks the requester has not finished reading, until its RDMA_DONE
// (RFC 5666 sections 3.5, 3.8). Memory is advertised for that Reply alone, and invalidated before
// it returns to its owner.
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
  std::uint32_t next_fence = 0;       // handles before it are invalidated, or being invalidated
  std::uint32_t fencing = 0;          // invalidations in flight
  bool sent = false;                  // the Reply has been sent
  bool done = false;                  // the peer has read it
  fabric::Time due = fabric::kNever;  // deadline for the RDMA_DONE

  [[nodiscard]] bool fenced() const { return next_fence == count && fencing == 0; }
  [[nodiscard]] std::span<const wire::ReadSegment> list() const {
    return std::span(segments).first(count);
  }
};

class DoneTable {
 public:
  // `limit`: maximum number of Replies.
  explicit DoneTable(std::uint32_t limit) : entries_(limit), to_fence_(limit) {}

  [[nodiscard]] std::uint32_t size() const { return entries_.in_use(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // advertised and not invalidated
  [[nodiscard]] std::uint32_t handles() const { return handles_; }

  // Returns kNoSlot if the table is full.
  [[nodiscard]] std::uint32_t acquire(std::uint32_t served, std::uint32_t xid);
  // Adds a part to the Reply and advertises it. Error: the connection's; give_up() cleans up what
  // was advertised.
  [[nodiscard]] fabric::Expected<void> advertise(Link& link, std::uint32_t slot,
                                                 const fabric::Slice& part,
                                                 const fabric::Memory& memory,
                                                 std::uint32_t position);
  [[nodiscard]] ReplyReads& operator[](std::uint32_t slot) { return entries_[slot]; }
  void sent(std::uint32_t slot, fabric::Time due);

  // The peer has read the Reply with this XID. Returns false if no such Reply waits.
  [[nodiscard]] bool done(std::uint32_t xid);
  // Abandons a Reply that the peer has never seen.
  void give_up(std::uint32_t slot);
  void post_fences(Link& link);
  // A handle of that part is invalidated. After the last one the entry is removed and the slot of
  // its served Call returned; else returns kNoSlot.
  [[nodiscard]] std::uint32_t fenced(Link& link, std::uint32_t slot, std::uint32_t generation,
                                     std::uint16_t part);

  // The first of the entries' deadlines, or earlier.
  [[nodiscard]] fabric::Time deadline() const { return next_due_; }
  // Returns whether an entry is overdue, and its XID.
  [[nodiscard]] bool overdue(fabric::Time now, std::uint32_t& xid);
  // Called when no memory is advertised any more.
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
