#include "requester_core.h"

#include "trace_hooks.h"

#include <algorithm>
#include <utility>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {

using fabric::Errc;
using fabric::Time;

namespace {

RequesterOptions sane(RequesterOptions options) {
  options.credits = std::max(options.credits, 1U);
  options.max_calls = std::max(options.max_calls, 1U);
  return options;
}

// ERR_VERS has the same form in every version (RFC 8166 section 4.5.1); which version a peer that
// has no version 1 puts there is its own affair.
bool decode_version_error(wire::Bytes message, std::uint32_t& low, std::uint32_t& high) {
  wire::XdrReader r(message);
  r.skip(wire::kPrefixBytes - 4);
  const bool is_one = r.u32() == static_cast<std::uint32_t>(wire::Proc::kError) &&
                      r.u32() == static_cast<std::uint32_t>(wire::RdmaErr::kVers);
  low = r.u32();
  high = r.u32();
  return is_one && r.ok();
}

}  // namespace

RequesterCore::RequesterCore(RequesterOwner& owner, const RequesterOptions& options)
    : owner_(owner),
      options_(sane(options)),
      next_xid_(options.first_xid),
      credits_(options_.credits),
      calls_(options_.max_calls),
      flights_(max_flights()),
      to_fence_(max_flights()) {}

SlotList<RequesterCore::Call>& RequesterCore::list_of(State state) {
  return state == State::kWaiting ? waiting_ : state == State::kSent ? sent_ : ending_;
}

void RequesterCore::move(std::uint32_t index, State to) {
  Call& c = calls_[index];
  list_of(c.state).remove(index);
  c.state = to;
  list_of(to).push_back(index);
}

fabric::Expected<std::uint32_t> RequesterCore::call(const CallSpec& spec, Time now) {
  if (closed_) return fabric::fail(Errc::kNotConnected, "the requester was closed");
  if (spec.message.size() > kMaxPieces || spec.results.size() > kMaxResults) {
    return fabric::fail(Errc::kBadArgument, "too many pieces or results");
  }
  if (spec.message.empty() || spec.message[0].ddp || spec.message[0].bytes.size() < 4) {
    return fabric::fail(Errc::kBadArgument, "the message does not begin with the XID's place");
  }
  const std::uint32_t index = calls_.take();
  if (index == kNoSlot) return fabric::fail(Errc::kNoRoom);
  Call& c = calls_[index];
  while (by_xid_.find(next_xid_) != kNoSlot) ++next_xid_;
  c.xid = next_xid_++;
  by_xid_.insert(c.xid, index);
  c.used = true;
  c.flight = kNoSlot;
  std::copy(spec.message.begin(), spec.message.end(), c.pieces.begin());
  c.piece_count = static_cast<std::uint32_t>(spec.message.size());
  std::copy(spec.results.begin(), spec.results.end(), c.results.begin());
  c.result_count = static_cast<std::uint32_t>(spec.results.size());
  c.max_reply = spec.max_reply;
  c.deadline = due(now, spec.timeout);
  next_deadline_ = std::min(next_deadline_, c.deadline);
  c.outcome = {};
  c.outcome.cookie = spec.cookie;
  c.outcome.xid = c.xid;
  c.outcome.times.called = now;
  c.outcome.attempts = 0;
  c.result_bytes = {};
  c.wants_credit = false;
  ++counters_.calls;
  if (tells()) tell_call(trace_, c.xid, trace::kHere, c.pieces[0].bytes, now);
  c.state = State::kWaiting;
  const bool stalls = credits_.outstanding() + waiting_.size() >= credits_.limit();
  waiting_.push_back(index);
  if (stalls) {
    ++counters_.stalls;
    begin_credit_wait(c, now);
    if (tells()) tell_own_credits(now);
  }
  return c.xid;
}

void RequesterCore::close(Time now) {
  closed_ = true;
  while (!waiting_.empty()) {
    const std::uint32_t index = waiting_.front();
    end(index, CallStatus::kClosed, "the requester was closed", now);
    finish(index, pool_, now);
  }
  while (!sent_.empty()) {
    const std::uint32_t index = sent_.front();
    (void)unsend(calls_[index]);
    end(index, CallStatus::kClosed, "the requester was closed", now);
    fence(index, now);
  }
}

void RequesterCore::attach(Link& link) {
  link_ = &link;
  pool_ = &link.pool;
  trace_ = {link.trace.tracer, 0};
}

// On a connection's part of a trace stand all Calls that come to it.
void RequesterCore::established(Time now) {
  trace_ = link_->trace;
  credit_waiters_ = 0;
  for (std::uint32_t i = waiting_.front(), n = 0; i != kNoSlot; i = calls_[i].next, ++n) {
    Call& c = calls_[i];
    c.wants_credit = false;
    if (tells()) tell_call(trace_, c.xid, trace::kHere, c.pieces[0].bytes, now);
    if (n >= credits_.limit()) begin_credit_wait(c, now);
  }
  if (tells()) tell_own_credits(now);
}

void RequesterCore::begin_credit_wait(Call& call, Time now) {
  call.wants_credit = true;
  ++credit_waiters_;
  if (tells()) tell_credit_wait(trace_, call.xid, true, now);
}

void RequesterCore::end_credit_wait(Call& call, Time now) {
  call.wants_credit = false;
  --credit_waiters_;
  if (tells()) tell_credit_wait(trace_, call.xid, false, now);
}

void RequesterCore::tell_own_credits(Time now) const {
  trace::Credits credits;
  credits.side = trace::kHere;
  credits.requested = credits_.own();
  credits.granted = credits_.limit();
  credits.in_use = credits_.outstanding();
  credits.waiting = credit_waiters_;
  tell_credits(trace_, credits, now);
}

void RequesterCore::detach(Time now) {
  if (link_ == nullptr) return;
  link_ = nullptr;
  MemoryPool& pool = *pool_;
  credits_.restart();
  to_fence_.clear();
  handles_ = 0;
  for (std::uint32_t i = sent_.front(); i != kNoSlot; i = calls_[i].next) {
    Call& c = calls_[i];
    c.state = State::kWaiting;
    flights_[std::exchange(c.flight, kNoSlot)].call = kNoSlot;
  }
  waiting_.take_before(sent_);
  for (std::uint32_t i = 0; i < flights_.size(); ++i) {
    Flight& f = flights_[i];
    if (!f.used) continue;
    f.sent = true;
    if (f.call == kNoSlot) release(i, pool);
  }
  while (!ending_.empty()) finish(ending_.front(), &pool, now);
  trace_.connection = 0;
}

void RequesterCore::flush(Time now) {
  post_fences();
  const std::uint32_t before = credits_.outstanding();
  while (!waiting_.empty() && credits_.may_send() && link_ != nullptr && link_->open()) {
    if (try_send(waiting_.front(), now) == Try::kWait) break;
  }
  if (credits_.outstanding() != before && tells()) tell_own_credits(now);
}

RequesterCore::Try RequesterCore::try_send(std::uint32_t index, Time now) {
  Call& c = calls_[index];
  const CallContent content{c.xid, credits_.own(), std::span(c.pieces).first(c.piece_count),
                            std::span(c.results).first(c.result_count)};
  const auto refuse = [&](const fabric::Error& error) {
    if (tells()) tell_error(trace_, trace::kHere, c.xid, error.message, now);
    end(index, CallStatus::kCannotSend, error.message.c_str(), now);
    finish(index, pool_, now);
    return Try::kEnded;
  };
  const auto plan = plan_call(link_->limits(true), content.message, content.results, c.max_reply);
  if (!plan) return refuse(plan.error());
  if (handles_ + plan->segments > link_->handles) return Try::kWait;
  const bool alone = flights_.in_use() == 0;
  const std::uint32_t at = flights_.take();
  if (at == kNoSlot) return Try::kWait;
  Flight& f = flights_[at];
  f.start(index);
  const auto built =
      build_call(*link_, *plan, content, WorkId{WorkKind::kExpose, at, f.generation}.encode(), f);
  if (!built && f.segment_count == 0) {
    release(at, *pool_);
    const Errc code = built.error().code;
    // With the end of another Call, or of the connection, something changes.
    if (code == Errc::kNotConnected || (code == Errc::kNoRoom && !alone)) return Try::kWait;
    return refuse(built.error());
  }
  c.flight = at;
  handles_ += f.segment_count;
  if (c.wants_credit) end_credit_wait(c, now);
  move(index, State::kSent);
  credits_.sent();
  if (!built) {
    f.sent = true;
    // The end of the connection is about to be told, and fences what has been exposed.
    if (built.error().code == Errc::kNotConnected) return Try::kWait;
    if (tells()) tell_error(trace_, trace::kHere, c.xid, built.error().message, now);
    end(index, CallStatus::kCannotSend, "its memory could not be exposed", now);
    fence(index, now);
    return Try::kEnded;
  }
  c.outcome.times.sent = now;
  c.outcome.times.arrived = 0;
  if (++c.outcome.attempts > 1) ++counters_.resent;
  count(*plan, c);
  link_->work.add(*this, at);
  return Try::kSent;
}

void RequesterCore::count(const CallPlan& plan, const Call& call) {
  const auto reads = std::count(plan.by_read.begin(), plan.by_read.end(), true);
  counters_.read_chunks += static_cast<std::uint64_t>(reads);
  if (plan.long_call) {
    ++counters_.long_calls;
  } else if (reads == 0) {
    ++counters_.inline_calls;
  }
  if (plan.write_list) counters_.write_chunks += call.result_count;
  if (plan.reply_chunk != 0) ++counters_.reply_chunks;

  MessageBytes& bytes = counters_.bytes;
  bytes.inline_calls += plan.inline_bytes;
  const Flight& f = flights_[call.flight];
  for (std::uint32_t i = 0; i < f.read_segments; ++i) {
    const bool whole = plan.long_call && f.positions[i] == 0;
    (whole ? bytes.long_calls : bytes.read_chunks) += f.segments[i].length;
  }
}

void RequesterCore::count(const Received& message, const CheckedReply& reply) {
  ++counters_.replies;
  MessageBytes& bytes = counters_.bytes;
  const bool is_inline = message.header->proc == wire::Proc::kMsg;
  (is_inline ? bytes.inline_replies : bytes.reply_chunks) += reply.stream.size();
  for (const std::uint32_t written : reply.result_bytes) bytes.write_chunks += written;
}

bool RequesterCore::next_work(std::uint32_t slot, WorkRequest& work) {
  const Flight& f = flights_[slot];
  work.request.id = WorkId{WorkKind::kCallSend, slot, f.generation}.encode();
  work.slices[0] = f.send.slice(f.send_bytes);
  work.slice_count = 1;
  return true;
}

bool RequesterCore::expects(std::uint32_t xid) const {
  const std::uint32_t index = by_xid_.find(xid);
  return index != kNoSlot && calls_[index].state == State::kSent &&
         !link_->work.holds(*this, calls_[index].flight);
}

Keep RequesterCore::receive(const Received& message) {
  const auto prefix = wire::decode_prefix(message.message());
  // A Call to us that no responder of ours waits for can have the XID of one of our own (RFC 8167
  // section 2.4).
  const bool malformed = !prefix || is_inline(message, wire::MsgType::kCall);
  if (malformed || !expects(prefix->xid)) {
    ++(malformed ? counters_.malformed : counters_.unmatched);
    const std::uint32_t xid = prefix ? prefix->xid : 0;
    if (tells()) {
      tell_error(trace_, trace::kPeer, xid,
                 !prefix     ? prefix.error().what
                 : malformed ? "a Call, and nobody here serves any"
                             : "a Reply that no Call waits for",
                 message.at);
    }
    if (message.has_invalidated) {
      link_->fail("a message invalidated a handle that is not its Call's", trace::kPeer, xid);
    }
    return Keep::kNo;
  }
  const std::uint32_t index = by_xid_.find(prefix->xid);
  Call& c = calls_[index];
  Flight& f = flights_[c.flight];
  if (message.has_invalidated) {
    if (!f.forget_handle(message.invalidated)) {
      link_->fail("a Reply invalidated a handle that is not its Call's", trace::kPeer, c.xid);
      return Keep::kNo;
    }
    --handles_;
    ++counters_.invalidated;
    if (tells()) tell_withdrawn(trace_, message.invalidated, trace::kPeer, message.at);
  }
  c.outcome.times.replied = message.at;
  judge(index, message);
  if (!f.nothing_to_fence()) f.received = message.block;
  const Keep keep = f.received ? Keep::kYes : Keep::kNo;
  fence(index, message.at);
  return keep;
}

void RequesterCore::judge(std::uint32_t index, const Received& message) {
  Call& c = calls_[index];
  CallOutcome& o = c.outcome;
  if (decode_version_error(message.message(), o.vers_low, o.vers_high)) {
    ++counters_.error_version;
    return end(index, CallStatus::kErrorVersion, "the peer does not speak version 1", message.at);
  }
  o.vers_low = o.vers_high = 0;
  if (message.header && message.header->vers == 1 && message.header->proc == wire::Proc::kError) {
    ++counters_.error_chunk;
    return end(index, CallStatus::kErrorChunk,
               "the peer could not read the header, or not place the Reply", message.at);
  }
  const CheckedReply reply = check_reply(message, c.xid, flights_[c.flight].offered());
  if (!reply.ok()) {
    ++counters_.malformed;
    if (tells()) tell_error(trace_, trace::kPeer, c.xid, reply.reason, message.at);
    return end(index, CallStatus::kBadReply, reply.reason, message.at);
  }
  count(message, reply);
  if (message.header->credit == 0) {
    ++counters_.zero_grants;
    if (tells()) tell_error(trace_, trace::kPeer, c.xid, "a grant of zero credits", message.at);
  }
  credits_.grant(message.header->credit);
  c.result_bytes = reply.result_bytes;
  o.reply = reply.stream;
  end(index, CallStatus::kReplied, "", message.at);
}

void RequesterCore::end(std::uint32_t index, CallStatus status, const char* reason, Time now) {
  Call& c = calls_[index];
  const bool changes = c.state == State::kSent || c.wants_credit;
  if (c.state == State::kSent) credits_.ended();
  if (c.wants_credit) end_credit_wait(c, now);
  if (changes && tells()) tell_own_credits(now);
  c.outcome.status = status;
  c.outcome.reason = reason;
  c.deadline = fabric::kNever;
  move(index, State::kEnding);
}

void RequesterCore::fence(std::uint32_t index, Time now) {
  Flight& f = flights_[calls_[index].flight];
  if (f.nothing_to_fence()) {
    finish(index, pool_, now);
  } else {
    to_fence_.push(calls_[index].flight);
  }
}

bool RequesterCore::unsend(Call& c) {
  if (!link_->work.withdraw(*this, c.flight)) return false;
  flights_[c.flight].sent = true;
  if (--c.outcome.attempts == 0) {
    c.outcome.times.sent = 0;
  } else {
    --counters_.resent;
  }
  return true;
}

void RequesterCore::post_fences() {
  while (!to_fence_.empty()) {
    const std::uint32_t at = to_fence_.front();
    Flight& f = flights_[at];
    for (; f.next_fence < f.segment_count; ++f.next_fence) {
      if (!f.valid[f.next_fence]) continue;
      const auto part = static_cast<std::uint8_t>(f.next_fence);
      const auto posted =
          link_->connection->invalidate(WorkId{WorkKind::kFence, at, f.generation, part}.encode(),
                                        f.segments[f.next_fence].handle);
      if (!posted) {
        // Without a connection it is fenced already, which is about to be told.
        if (posted.error().code == Errc::kBadArgument) {
          link_->fail(posted.error().message, trace::kHere);
        }
        return;
      }
      ++f.fencing;
    }
    to_fence_.pop();
  }
}

void RequesterCore::completed(const WorkId& id, Time now) {
  Flight* const f = flights_.find(id.slot, id.generation);
  if (f == nullptr || !f->used) return;
  if (id.kind == WorkKind::kCallSend) {
    f->sent = true;
    f->give_send(*pool_);
    if (f->call == kNoSlot) return release(id.slot, *pool_);
    calls_[f->call].outcome.times.arrived = now;
  } else if (f->fencing != 0) {
    --f->fencing;
    --handles_;
    if (tells()) tell_withdrawn(trace_, f->segments[id.part].handle, trace::kHere, now);
    if (f->call != kNoSlot && f->fencing == 0 && f->next_fence == f->segment_count) {
      finish(f->call, pool_, now);
    }
  }
}

void RequesterCore::expire(Time now) {
  if (now < next_deadline_) return;
  next_deadline_ = fabric::kNever;
  for (std::uint32_t i = 0; i < calls_.size(); ++i) {
    Call& c = calls_[i];
    if (!c.used) continue;
    if (c.deadline > now) {
      next_deadline_ = std::min(next_deadline_, c.deadline);
      continue;
    }
    ++counters_.timeouts;
    const bool has_flight = c.state == State::kSent;
    const bool was_sent = has_flight && !unsend(c);
    end(i, CallStatus::kTimedOut, was_sent ? "no Reply came in time" : "it was not sent in time",
        now);
    if (was_sent) {
      link_->fail("a Call timed out", trace::kPeer, c.xid);
    } else if (has_flight) {
      fence(i, now);
    } else {
      finish(i, pool_, now);
    }
  }
}

void RequesterCore::finish(std::uint32_t index, MemoryPool* pool, Time now) {
  Call& c = calls_[index];
  CallOutcome outcome = c.outcome;
  outcome.times.ended = now;
  if (trace_.on()) tell_call_end(trace_, outcome);
  const auto result_bytes = c.result_bytes;
  outcome.result_bytes = std::span(result_bytes).first(c.result_count);
  // The Reply lies in one of these until it has been told.
  Block reply;
  Block received;
  if (c.flight != kNoSlot) {
    Flight& f = flights_[c.flight];
    reply = std::exchange(f.reply, {});
    received = std::exchange(f.received, {});
    f.call = kNoSlot;
    f.give_blocks(*pool);
    if (f.sent) release(c.flight, *pool);
  }
  ending_.remove(index);
  by_xid_.erase(c.xid);
  c.used = false;
  calls_.give(index);
  owner_.on_outcome(outcome);
  if (reply) pool->give(reply);
  if (received) pool->give(received);
}

void RequesterCore::release(std::uint32_t at, MemoryPool& pool) {
  Flight& f = flights_[at];
  f.give_send(pool);
  f.give_blocks(pool);
  f.used = false;
  f.call = kNoSlot;
  flights_.give(at);
}

}  // namespace rpcrdma::protocol
