#include "done_table.h"

#include "trace_hooks.h"
#include "work_id.h"

#include <algorithm>

namespace rpcrdma::protocol {

using fabric::Time;

std::uint32_t DoneTable::acquire(std::uint32_t served, std::uint32_t xid) {
  const std::uint32_t slot = entries_.acquire();
  if (slot == kNoSlot) return kNoSlot;
  ReplyReads& e = entries_[slot];
  e.used = true;
  e.served = served;
  e.xid = xid;
  e.bytes = 0;
  e.count = e.next_fence = e.fencing = 0;
  e.sent = e.done = false;
  e.due = fabric::kNever;
  return slot;
}

fabric::Expected<void> DoneTable::advertise(Link& link, std::uint32_t slot,
                                            const fabric::Slice& part, const fabric::Memory& memory,
                                            std::uint32_t position) {
  ReplyReads& e = entries_[slot];
  for (std::uint32_t at = 0; at < part.length;) {
    if (e.count == kMaxSegments) {
      return fabric::fail(fabric::Errc::kNoRoom, "too many segments");
    }
    const std::uint32_t bytes = std::min(part.length - at, link.options.max_segment);
    const auto advertised =
        link.connection->advertise(WorkId{WorkKind::kAdvertise}.encode(), memory, part.data + at,
                                   bytes, fabric::Access::kRemoteRead);
    if (!advertised) return tl::unexpected(advertised.error());
    const wire::Segment segment{advertised->handle, bytes, advertised->offset};
    e.segments[e.count++] = {position, segment};
    e.bytes += bytes;
    bytes_ += bytes;
    ++handles_;
    if (link.trace.on()) {
      trace_advertised(link.trace, segment, fabric::Access::kRemoteRead, e.xid, link.now);
    }
    at += bytes;
  }
  return {};
}

void DoneTable::sent(std::uint32_t slot, Time due) {
  entries_[slot].sent = true;
  entries_[slot].due = due;
  next_due_ = std::min(next_due_, due);
}

bool DoneTable::done(std::uint32_t xid) {
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    const ReplyReads& e = entries_[slot];
    if (!e.used || e.done || e.xid != xid || !e.sent) continue;
    give_up(slot);
    return true;
  }
  return false;
}

void DoneTable::give_up(std::uint32_t slot) {
  ReplyReads& e = entries_[slot];
  e.done = true;
  e.due = fabric::kNever;
  if (e.count == 0) return give(slot);
  to_fence_.push(slot);
}

void DoneTable::post_fences(Link& link) {
  for (; !to_fence_.empty(); to_fence_.pop()) {
    const std::uint32_t slot = to_fence_.front();
    ReplyReads& e = entries_[slot];
    for (; e.next_fence < e.count; ++e.next_fence) {
      const WorkId id{WorkKind::kReplyFence, slot, e.generation,
                      static_cast<std::uint16_t>(e.next_fence)};
      const auto posted =
          link.connection->invalidate(id.encode(), e.segments[e.next_fence].target.handle);
      if (!posted) {
        // Without a connection it is already fenced, which the fabric is about to report.
        if (posted.error().code == fabric::Errc::kBadArgument) {
          link.fail(posted.error().message, trace::kHere);
        }
        return;
      }
      ++e.fencing;
    }
  }
}

std::uint32_t DoneTable::fenced(Link& link, std::uint32_t slot, std::uint32_t generation,
                                std::uint16_t part) {
  ReplyReads* const e = entries_.find(slot, generation);
  if (e == nullptr || !e->used || e->fencing == 0) return kNoSlot;
  --e->fencing;
  --handles_;
  if (link.trace.on()) {
    trace_invalidated(link.trace, e->segments[part].target.handle, trace::kHere, link.now);
  }
  if (!e->fenced()) return kNoSlot;
  const std::uint32_t served = e->served;
  give(slot);
  return served;
}

bool DoneTable::overdue(Time now, std::uint32_t& xid) {
  next_due_ = fabric::kNever;
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    const ReplyReads& e = entries_[slot];
    if (!e.used) continue;
    if (e.due <= now) {
      xid = e.xid;
      return true;
    }
    next_due_ = std::min(next_due_, e.due);
  }
  return false;
}

void DoneTable::give(std::uint32_t slot) {
  ReplyReads& e = entries_[slot];
  bytes_ -= e.bytes;
  e.used = false;
  entries_.give(slot);
}

void DoneTable::clear() {
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot].used) give(slot);
  }
  to_fence_.clear();
  handles_ = 0;
  next_due_ = fabric::kNever;
}

}  // namespace rpcrdma::protocol
