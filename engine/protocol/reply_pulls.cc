#include "reply_pulls.h"

#include "trace_hooks.h"

#include <algorithm>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {

tl::expected<std::uint32_t, const char*> ReplyPulls::begin(Link& link, const Received& reply,
                                                           std::uint64_t most,
                                                           std::uint64_t written,
                                                           std::uint32_t in_flight,
                                                           std::uint32_t credits) {
  std::uint32_t slot = kNoSlot;
  try {
    slot = pulls_.acquire();
  } catch (const std::bad_alloc&) {
    return tl::unexpected<const char*>("there is no memory to read it");
  }
  if (slot == kNoSlot) return tl::unexpected<const char*>("too many Replies are read at a time");
  ReplyPull& p = pulls_[slot];
  p.used = true;
  p.reading = p.finished = false;
  const auto fail = [&](const char* why) {
    give(slot, link.pool);
    return tl::unexpected<const char*>(why);
  };
  if (link.options.terms.max_reads == 0) return fail("reading its Read chunks is not allowed");
  const Refusal bad = check_read_list(*reply.header, reply.payload(),
                                      {most, kAcceptedSegments, written}, p.message);
  if (bad) return fail(bad.reason);
  p.pulled.reserve(p.message);
  p.in_flight = in_flight;
  p.xid = reply.header->xid;
  wire::Header done;
  done.xid = p.xid;
  done.credit = credits;
  done.proc = wire::Proc::kDone;
  const auto block = link.pool.acquire(static_cast<std::uint32_t>(chunk_block_bytes(p.message)));
  if (!block) return fail("there is no memory for the Reply's Read chunks");
  p.pulled.block = *block;
  const auto send = link.pool.acquire(wire::kPrefixBytes);
  if (!send) return fail("there is no memory for an RDMA_DONE");
  p.done = *send;
  (void)wire::encode_header(done, {p.done.data, wire::kPrefixBytes});
  p.pulled.place(p.message);
  max_transfer_ = link.options.max_transfer;
  one_by_one_ = link.options.terms.max_reads != UINT32_MAX;
  if (reading_ < link.options.terms.max_reads) {
    read(link, slot);
  } else {
    waiting_.push(slot);
  }
  return slot;
}

void ReplyPulls::read(Link& link, std::uint32_t slot) {
  ++reading_;
  pulls_[slot].reading = true;
  link.work.add(*this, slot);
}

bool ReplyPulls::next_work(std::uint32_t slot, WorkRequest& work) {
  ReplyPull& p = pulls_[slot];
  if (!p.reading) {
    work.request.id = WorkId{WorkKind::kDoneSend, slot, p.generation}.encode();
    work.slices[0] = p.done.slice(wire::kPrefixBytes);
    work.slice_count = 1;
    return true;
  }
  work.xid = p.xid;
  work.request.id = WorkId{WorkKind::kReplyRead, slot, p.generation, p.pulled.reads}.encode();
  const bool last = p.pulled.next_read(p.message, max_transfer_, work);
  if (!one_by_one_) return last;
  // Each Reply has one Read in flight, and the number of Replies is limited.
  work.request.signaled = true;
  return true;
}

ReplyPulls::Step ReplyPulls::completed(Link& link, const WorkId& id) {
  ReplyPull* const p = pulls_.find(id.slot, id.generation);
  if (p == nullptr || !p->used) return Step::kOn;
  if (id.kind == WorkKind::kDoneSend) {
    p->finished = true;
    return Step::kDone;
  }
  if (!p->pulled.all_read(p->message)) {
    link.work.add(*this, id.slot);
    return Step::kOn;
  }
  if (link.trace.on()) {
    trace_reads_ended(link.trace, p->message, p->pulled, max_transfer_, id, link.now);
  }
  p->reading = false;
  --reading_;
  link.work.add(*this, id.slot);
  if (!waiting_.empty()) {
    const std::uint32_t next = waiting_.front();
    waiting_.pop();
    read(link, next);
  }
  return Step::kRead;
}

void ReplyPulls::give(std::uint32_t slot, MemoryPool& pool) {
  ReplyPull& p = pulls_[slot];
  for (Block* b : {&p.pulled.block, &p.done}) {
    if (*b) pool.release(*b);
    *b = {};
  }
  p.message.shrink();
  p.pulled.shrink();
  p.used = false;
  pulls_.give(slot);
}

void ReplyPulls::clear(MemoryPool& pool) {
  for (std::uint32_t slot = 0; slot < pulls_.size(); ++slot) {
    if (pulls_[slot].used) give(slot, pool);
  }
  waiting_.clear();
  reading_ = 0;
}

}  // namespace rpcrdma::protocol
