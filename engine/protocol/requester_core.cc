// The requester's state machine: sends Calls within the credit limit, judges Replies, and fences
// memory before it reports an outcome.
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

// Bytes of an RPC Call's header through its procedure.
constexpr std::size_t kProcedureEnd = 24;
// Of a Call of procedure 0: the longest Reply, which has AUTH_NONE's verifier, and its time limit.
constexpr std::uint32_t kNullReply = 32;
constexpr Time kNullTimeout = 30 * fabric::kSecond;

constexpr const char* kNoCommonVersion = "the peer supports none of our versions";

// How often a Call is resent because its Reply needs more room: once for each chunk. Without a
// limit a peer that always asks for more would keep it for ever.
constexpr std::uint8_t kMaxEnlargements = kMaxResults + 1;

// ERR_VERS has the same form in every version (RFC 8166 section 7); its version field is not
// checked, since the peer may not support the Call's version.
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
      request_(options_.least_credits, options_.credits),
      calls_(options_.max_calls + 1),  // one for a NullCall
      in_flight_calls_(max_in_flight()),
      pulls_(options_.rfc5666 ? options_.credits : 0),
      unacknowledged_(options_.credits),
      to_fence_(max_in_flight()) {}

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
  note_time(now);
  if (spec.message.size() > kMaxPieces || spec.results.size() > kMaxResults) {
    return fabric::fail(Errc::kBadArgument, "too many pieces or results");
  }
  if (spec.message.empty() || spec.message[0].ddp || spec.message[0].bytes.size() < 4) {
    return fabric::fail(Errc::kBadArgument, "the message does not begin with room for the XID");
  }
  if (spec.one_way && (!spec.results.empty() || spec.max_reply != 0 ||
                       spec.message[0].bytes.size() < kProcedureEnd)) {
    return fabric::fail(Errc::kBadArgument, "a one-way Call is an RPC Call without results");
  }
  const std::uint32_t index = new_call(spec.timeout, spec.cookie, now);
  if (index == kNoSlot) return fabric::fail(Errc::kNoRoom);
  Call& c = calls_[index];
  c.one_way = spec.one_way;
  std::copy(spec.message.begin(), spec.message.end(), c.pieces.begin());
  c.piece_count = static_cast<std::uint32_t>(spec.message.size());
  std::copy(spec.results.begin(), spec.results.end(), c.results.begin());
  c.result_count = static_cast<std::uint32_t>(spec.results.size());
  c.max_reply = spec.max_reply;
  enqueue(index, spec.first, now);
  return c.xid;
}

fabric::Expected<std::uint32_t> RequesterCore::option(const OptionSpec& spec, Time now) {
  if (closed_) return fabric::fail(Errc::kNotConnected, "the requester was closed");
  note_time(now);
  if (spec.info.size() > kMaxOptionInfo) {
    return fabric::fail(Errc::kBadArgument, "rdma_optinfo is too long");
  }
  if (spec.message.size() > kMaxPieces) {
    return fabric::fail(Errc::kBadArgument, "too many pieces");
  }
  const bool is_whole = !spec.message.empty() && !spec.is_part;
  if (is_whole && (spec.message[0].ddp || spec.message[0].bytes.size() < 4)) {
    return fabric::fail(Errc::kBadArgument, "the message does not begin with room for the XID");
  }
  const std::uint32_t index = new_call(spec.timeout, spec.cookie, now);
  if (index == kNoSlot) return fabric::fail(Errc::kNoRoom);
  Call& c = calls_[index];
  c.is_option = true;
  c.option_type = spec.type;
  std::copy(spec.info.begin(), spec.info.end(), c.info.begin());
  c.info_bytes = static_cast<std::uint8_t>(spec.info.size());
  std::copy(spec.message.begin(), spec.message.end(), c.pieces.begin());
  c.piece_count = static_cast<std::uint32_t>(spec.message.size());
  c.is_part = spec.is_part;
  c.result_count = 0;
  c.max_reply = 0;
  enqueue(index, false, now);
  return c.xid;
}

std::uint32_t RequesterCore::new_call(Time timeout, std::uint64_t cookie, Time now) {
  by_xid_.reserve_one();
  if (calls_.in_use() >= options_.max_calls + (null_.made ? 1 : 0)) return kNoSlot;
  const std::uint32_t index = calls_.acquire();
  if (index == kNoSlot) return kNoSlot;
  Call& c = calls_[index];
  while (by_xid_.find(next_xid_) != kNoSlot) ++next_xid_;
  c.xid = next_xid_++;
  by_xid_.insert(c.xid, index);
  c.used = true;
  c.in_flight = kNoSlot;
  c.deadline = due(now, timeout);
  next_deadline_ = std::min(next_deadline_, c.deadline);
  c.outcome = {};
  c.outcome.cookie = cookie;
  c.outcome.xid = c.xid;
  c.outcome.times.called = now;
  c.outcome.attempts = 0;
  c.result_bytes = {};
  c.wants_credit = false;
  c.again = c.lost = false;
  c.is_option = c.is_part = c.one_way = c.is_null = false;
  c.offers_all = false;
  c.enlargements = 0;
  return index;
}

void RequesterCore::enqueue(std::uint32_t index, bool first, Time now) {
  Call& c = calls_[index];
  ++counters_.calls;
  if (traces()) trace_call(trace_, c.xid, trace::kHere, c.stream(), now);
  c.state = State::kWaiting;
  const std::uint32_t before = first ? 0 : waiting_.size();
  const bool stalls = credits_.outstanding() + before >= credits_.limit();
  first ? waiting_.push_front(index) : waiting_.push_back(index);
  if (stalls) {
    ++counters_.stalls;
    begin_credit_wait(c, now);
    credits_changed_ = true;
  }
}

void RequesterCore::close(Time now) {
  close({CallStatus::kClosed, "the requester was closed", {0, 0}}, now);
}

void RequesterCore::refuse(const Versions& spoken, Time now) {
  close({CallStatus::kErrorVersion, kNoCommonVersion, spoken}, now);
}

void RequesterCore::close(const Closing& why, Time now) {
  note_time(now);
  closed_ = true;
  const auto set_outcome = [&](CallOutcome& o) {
    o.status = why.status;
    o.reason = why.reason;
    o.vers_low = why.spoken.low;
    o.vers_high = why.spoken.high;
  };
  while (!waiting_.empty()) {
    const std::uint32_t index = waiting_.front();
    calls_[index].outcome.lost = calls_[index].lost;
    end(index, why.status, why.reason, now);
    set_outcome(calls_[index].outcome);
    finish(index, pool_, now);
  }
  for (std::uint32_t i = ending_.front(); i != kNoSlot; i = calls_[i].next) {
    Call& c = calls_[i];
    if (!std::exchange(c.again, false)) continue;
    c.deadline = fabric::kNever;
    set_outcome(c.outcome);
  }
  while (!sent_.empty()) {
    const std::uint32_t index = sent_.front();
    (void)unsend(calls_[index]);
    const bool is_answered = in_flight_calls_[calls_[index].in_flight].pull != kNoSlot;
    end(index, why.status, why.reason, now);
    set_outcome(calls_[index].outcome);
    if (!is_answered) fence(index, now);
  }
  trace_changed_credits(now);
}

void RequesterCore::attach(Link& link) {
  link_ = &link;
  pool_ = &link.pool;
  trace_ = {link.trace.tracer, 0};
}

// The connection's trace contains all Calls that are transferred to it.
void RequesterCore::established(Time now) {
  trace_ = link_->trace;
  credit_waiters_ = 0;
  for (std::uint32_t i = waiting_.front(), n = 0; i != kNoSlot; i = calls_[i].next, ++n) {
    Call& c = calls_[i];
    c.wants_credit = false;
    if (traces()) trace_call(trace_, c.xid, trace::kHere, c.stream(), now);
    if (n >= credits_.limit()) begin_credit_wait(c, now);
  }
  if (traces()) trace_own_credits(now);
}

void RequesterCore::begin_credit_wait(Call& call, Time now) {
  call.wants_credit = true;
  ++credit_waiters_;
  if (traces()) trace_credit_wait(trace_, call.xid, true, now);
}

void RequesterCore::end_credit_wait(Call& call, Time now) {
  call.wants_credit = false;
  --credit_waiters_;
  if (traces()) trace_credit_wait(trace_, call.xid, false, now);
}

void RequesterCore::trace_own_credits(Time now) const {
  trace::Credits credits;
  credits.side = trace::kHere;
  credits.requested = request_.latest();
  credits.granted = credits_.latest_grant();
  credits.limit = credits_.limit();
  credits.in_use = credits_.outstanding();
  credits.waiting = credit_waiters_;
  credits.in_use_most = credits.in_use;  // it grows only between two such events
  trace_credits(trace_, credits, now);
}

void RequesterCore::detach(Time now) {
  if (link_ == nullptr) return;
  link_ = nullptr;
  MemoryPool& pool = *pool_;
  credits_.restart();
  unacknowledged_.clear();
  to_fence_.clear();
  handles_ = 0;
  for (std::uint32_t i = sent_.front(); i != kNoSlot; i = calls_[i].next) {
    Call& c = calls_[i];
    c.state = State::kWaiting;
    c.lost = true;
    // It may have been due while it was in flight.
    if (c.one_way) next_deadline_ = std::min(next_deadline_, c.deadline);
    in_flight_calls_[std::exchange(c.in_flight, kNoSlot)].call = kNoSlot;
  }
  waiting_.take_before(sent_);
  for (std::uint32_t i = 0; i < in_flight_calls_.size(); ++i) {
    InFlightCall& f = in_flight_calls_[i];
    if (!f.used) continue;
    f.sent = true;
    if (f.call == kNoSlot) release(i, pool);
  }
  while (!ending_.empty()) finish(ending_.front(), &pool, now);
  pulls_.clear(pool);
  trace_.connection = 0;
}

void RequesterCore::flush(Time now) {
  post_fences();
  const std::uint32_t before = credits_.outstanding();
  while (!waiting_.empty() && may_send() && link_ != nullptr && link_->open()) {
    if (calls_[waiting_.front()].one_way) {
      const Try admitted = admit_one_way(now);
      if (admitted == Try::kWait) break;
      if (admitted == Try::kEnded) continue;
    }
    if (try_send(waiting_.front(), now) == Try::kWait) break;
  }
  credits_changed_ |= credits_.outstanding() != before;
  trace_changed_credits(now);
}

void RequesterCore::trace_changed_credits(Time now) {
  if (std::exchange(credits_changed_, false) && traces()) trace_own_credits(now);
}

// A one-way Call leaves the last credit to a Call with a Reply.
RequesterCore::Try RequesterCore::admit_one_way(Time now) {
  if (credits_.outstanding() + 1 < credits_.limit()) return Try::kSent;
  const std::uint32_t index = waiting_.front();
  const bool too_few = credits_.has_grant() && credits_.limit() < 2;
  if (!too_few && !std::exchange(null_.failed, false)) {
    // If only Calls with a Reply use the credits, their Replies return them.
    const bool helps = credits_.outstanding() == 0 || !unacknowledged_.empty();
    return helps && make_null_call(calls_[index], now) ? Try::kEnded : Try::kWait;
  }
  const char* const why = too_few
                              ? "a one-way Call needs two credits, and the peer grants one"
                              : "procedure 0 of its program, which would grant a credit, failed";
  if (traces()) trace_error(trace_, trace::kHere, calls_[index].xid, why, now);
  end(index, CallStatus::kCannotSend, why, now);
  finish(index, pool_, now);
  return Try::kEnded;
}

bool RequesterCore::make_null_call(const Call& for_call, Time now) {
  if (std::exchange(null_.made, true)) return false;
  const std::uint32_t index = new_call(kNullTimeout, 0, now);
  if (index == kNoSlot) {
    null_.made = false;
    return false;
  }
  // The header of the other Call up to its procedure, then 0, and AUTH_NONE.
  const wire::Bytes header = for_call.pieces[0].bytes.first(kProcedureEnd - 4);
  null_.message = {};
  std::copy(header.begin(), header.end(), null_.message.begin());
  Call& c = calls_[index];
  c.is_null = true;
  c.pieces[0] = {null_.message, nullptr, false};
  c.piece_count = 1;
  c.result_count = 0;
  c.max_reply = kNullReply;
  ++counters_.null_calls;
  enqueue(index, true, now);
  return true;
}

void RequesterCore::acknowledge(std::uint64_t order) {
  while (!unacknowledged_.empty() && unacknowledged_.front() <= order) {
    unacknowledged_.pop();
    credits_.ended();
  }
}

void RequesterCore::forget_order(std::uint64_t order) {
  for (std::size_t i = 0; i < unacknowledged_.size(); ++i) {
    if (unacknowledged_[i] != order) continue;
    unacknowledged_.remove(i);
    return credits_.ended();
  }
}

RequesterCore::Try RequesterCore::try_send(std::uint32_t index, Time now) {
  Call& c = calls_[index];
  const auto refuse = [&](const fabric::Error& error) {
    if (traces()) trace_error(trace_, trace::kHere, c.xid, error.message, now);
    end(index, CallStatus::kCannotSend, error.message.c_str(), now);
    finish(index, pool_, now);
    return Try::kEnded;
  };
  // Calls in flight and waiting, with this one.
  request_.next(credits_.outstanding() + waiting_.size());
  const auto planned = plan(c);
  if (!planned) return refuse(planned.error());
  if (c.one_way && planned->segments != 0) {
    return refuse({Errc::kBadArgument,
                   "it does not fit inline, and a one-way Call has no Reply to end chunks"});
  }
  if (handles_ + planned->segments > link_->handles) return Try::kWait;
  const bool alone = in_flight_calls_.in_use() == 0;
  const std::uint32_t at = in_flight_calls_.acquire();
  if (at == kNoSlot) return Try::kWait;
  InFlightCall& f = in_flight_calls_[at];
  f.start(index);
  const auto built = build(c, *planned, WorkId{WorkKind::kAdvertise, at, f.generation}.encode(), f);
  if (!built && f.segment_count == 0) {
    release(at, *pool_);
    const Errc code = built.error().code;
    // The end of another Call, or of the connection, changes the situation.
    if (code == Errc::kNotConnected || (code == Errc::kNoRoom && !alone)) return Try::kWait;
    return refuse(built.error());
  }
  c.in_flight = at;
  handles_ += f.segment_count;
  if (c.wants_credit) end_credit_wait(c, now);
  move(index, State::kSent);
  credits_.sent();
  c.order = ++last_order_;
  if (c.one_way) unacknowledged_.push(c.order);
  if (!built) {
    f.sent = true;
    // The fabric is about to report the end of the connection, which fences the advertised memory.
    if (built.error().code == Errc::kNotConnected) return Try::kWait;
    if (traces()) trace_error(trace_, trace::kHere, c.xid, built.error().message, now);
    end(index, CallStatus::kCannotSend, "its memory could not be advertised", now);
    fence(index, now);
    return Try::kEnded;
  }
  c.outcome.times.sent = now;
  c.outcome.times.arrived = 0;
  ++c.outcome.attempts;
  if (c.lost) ++counters_.resent;
  count(*planned, c);
  if (link_->version == kVersionTwo) link_->tried_two = std::min(link_->tried_two, now);
  link_->work.add(*this, at);
  return Try::kSent;
}

fabric::Expected<CallPlan> RequesterCore::plan(const Call& call) const {
  if (call.is_option) {
    if (link_->version != kVersionTwo) {
      return fabric::fail(Errc::kBadArgument,
                          "options need version 2, which the peer does not support");
    }
    const std::uint64_t bytes = option_header_bytes(call.info_bytes) +
                                stream_bytes(std::span(call.pieces).first(call.piece_count));
    if (bytes <= link_->call_limits().call_threshold) return CallPlan{};
    return fabric::fail(Errc::kBadArgument, "the option is longer than the inline threshold");
  }
  Limits limits = link_->call_limits();
  limits.inline_only = options_.inline_only;
  limits.offer_all = call.offers_all;
  limits.offer_nothing =
      options_.rfc5666 && options_.offer_nothing && link_->version == kVersionOne;
  return plan_call(limits, std::span(call.pieces).first(call.piece_count),
                   std::span(call.results).first(call.result_count), call.max_reply);
}

fabric::Expected<void> RequesterCore::build(const Call& call, const CallPlan& plan,
                                            std::uint64_t advertise_id, InFlightCall& in_flight) {
  CallContent content{link_->version, call.xid, request_.latest(), {}, {}};
  if (call.is_option) {
    const wire::Bytes info = std::span(call.info).first(call.info_bytes);
    content.message = std::span(call.pieces).first(call.piece_count);
    return build_option(*link_, {call.option_type, info, call.is_part}, content, in_flight);
  }
  content.message = std::span(call.pieces).first(call.piece_count);
  content.results = std::span(call.results).first(call.result_count);
  return build_call(*link_, plan, content, advertise_id, in_flight);
}

void RequesterCore::count(const CallPlan& plan, const Call& call) {
  if (call.is_option) return;
  const auto reads = std::count(plan.by_read.begin(), plan.by_read.end(), true);
  counters_.read_chunks += static_cast<std::uint64_t>(reads);
  if (plan.long_call) {
    ++counters_.long_calls;
  } else if (reads == 0) {
    ++counters_.inline_calls;
  }
  if (plan.padded) ++counters_.padded_calls;
  if (plan.write_list) counters_.write_chunks += call.result_count;
  if (plan.reply_chunk != 0) ++counters_.reply_chunks;

  MessageBytes& bytes = counters_.bytes;
  bytes.inline_calls += plan.inline_bytes;
  const InFlightCall& f = in_flight_calls_[call.in_flight];
  for (std::uint32_t i = 0; i < f.read_segments; ++i) {
    const bool whole = plan.long_call && f.positions[i] == 0;
    (whole ? bytes.long_calls : bytes.read_chunks) += f.segments[i].length;
  }
}

void RequesterCore::count(const Received& message, const CheckedReply& reply) {
  ++counters_.replies;
  MessageBytes& bytes = counters_.bytes;
  const bool is_inline = message.header->proc != wire::Proc::kNomsg;
  (is_inline ? bytes.inline_replies : bytes.reply_chunks) += reply.stream.size();
  for (const std::uint32_t written : reply.result_bytes) bytes.write_chunks += written;
}

bool RequesterCore::next_work(std::uint32_t slot, WorkRequest& work) {
  const InFlightCall& f = in_flight_calls_[slot];
  work.request.id = WorkId{WorkKind::kCallSend, slot, f.generation}.encode();
  work.slices[0] = f.send.slice(f.send_bytes);
  work.slice_count = 1;
  // The end of a one-way Call is its acknowledgment.
  if (f.send_bytes <= link_->copied_send && f.call != kNoSlot && !calls_[f.call].one_way) {
    work.is_copied();
  }
  return true;
}

void RequesterCore::posted(std::uint32_t slot) {
  InFlightCall& f = in_flight_calls_[slot];
  f.sent = true;
  f.give_send(*pool_);
}

bool RequesterCore::expects(std::uint32_t xid) const {
  const std::uint32_t index = by_xid_.find(xid);
  return index != kNoSlot && calls_[index].state == State::kSent &&
         in_flight_calls_[calls_[index].in_flight].pull == kNoSlot &&
         !link_->work.holds(*this, calls_[index].in_flight);
}

Keep RequesterCore::receive(const Received& message) {
  const auto prefix = wire::decode_prefix(message.message());
  // If there is no responder here, a Call from the peer may have the XID of one of our own Calls
  // (RFC 8167 section 2.4).
  const bool malformed = !prefix || is_inline(message, wire::MsgType::kCall);
  if (malformed || !expects(prefix->xid)) {
    ++(malformed ? counters_.malformed : counters_.unmatched);
    const std::uint32_t xid = prefix ? prefix->xid : 0;
    if (traces()) {
      trace_error(trace_, trace::kPeer, xid,
                  !prefix     ? prefix.error().what
                  : malformed ? "a Call, but there is no responder here"
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
  InFlightCall& f = in_flight_calls_[c.in_flight];
  if (message.has_invalidated) {
    // Version 2 names the handle; version 1 leaves the choice to the responder.
    const bool may = f.version != kVersionTwo || message.invalidated == f.inv_handle;
    if (!may || !f.drop_handle(message.invalidated)) {
      link_->fail("a Reply invalidated a handle that is not its Call's", trace::kPeer, c.xid);
      return Keep::kNo;
    }
    --handles_;
    ++counters_.invalidated;
    if (traces()) trace_invalidated(trace_, message.invalidated, trace::kPeer, message.at);
  }
  c.outcome.times.replied = message.at;
  if (!unacknowledged_.empty()) acknowledge(c.order);
  judge(index, message);
  if (!f.nothing_to_fence() || f.pull != kNoSlot) f.received = message.block;
  const Keep keep = f.received ? Keep::kYes : Keep::kNo;
  fence(index, message.at);
  return keep;
}

void RequesterCore::judge(std::uint32_t index, const Received& message) {
  Call& c = calls_[index];
  CallOutcome& o = c.outcome;
  if (decode_version_error(message.message(), o.vers_low, o.vers_high)) {
    return judge_version_error(index, message.at);
  }
  o.vers_low = o.vers_high = 0;
  const InFlightCall& f = in_flight_calls_[c.in_flight];
  if (message.header && message.header->vers == f.version &&
      message.header->proc == wire::Proc::kError) {
    return judge_error(index, *message.header, message.at);
  }
  OfferedChunks offered = f.offered();
  offered.rfc5666 = options_.rfc5666 && f.version == kVersionOne;
  const CheckedReply reply = c.is_option ? check_option_reply(message, c.option_type)
                                         : check_reply(message, c.xid, offered);
  if (!reply.ok()) {
    ++counters_.malformed;
    if (traces()) trace_error(trace_, trace::kPeer, c.xid, reply.reason, message.at);
    return end(index, CallStatus::kBadReply, reply.reason, message.at);
  }
  link_->confirmed = true;
  if (f.version == kVersionTwo) link_->has_two = true;
  if (c.is_option) {
    ++counters_.replies;
  } else {
    count(message, reply);
  }
  if (message.header->credit == 0) {
    ++counters_.zero_grants;
    if (traces()) trace_error(trace_, trace::kPeer, c.xid, "a grant of zero credits", message.at);
  }
  credits_.grant(message.header->credit);
  c.result_bytes = reply.result_bytes;
  o.reply = reply.stream;
  o.padding = reply.padding;
  o.payload = reply.payload;
  if (reply.has_reads) return pull(index, message);
  end(index, CallStatus::kReplied, "", message.at);
}

void RequesterCore::pull(std::uint32_t index, const Received& message) {
  Call& c = calls_[index];
  // No more than the Call asked for.
  std::uint64_t most = wire::xdr_padded(c.max_reply);
  for (std::uint32_t i = 0; i < c.result_count; ++i) most += wire::xdr_padded(c.results[i].length);
  std::uint64_t written = 0;
  for (std::uint32_t i = 0; i < c.result_count; ++i) {
    written += wire::xdr_padded(c.result_bytes[i]);
  }
  const auto slot = pulls_.begin(*link_, message, most, written, c.in_flight, request_.latest());
  if (!slot) {
    ++counters_.malformed;
    if (traces()) trace_error(trace_, trace::kPeer, c.xid, slot.error(), message.at);
    return end(index, CallStatus::kBadReply, slot.error(), message.at);
  }
  ++counters_.read_replies;
  counters_.bytes.reply_reads += pulls_[*slot].message.read_bytes;
  in_flight_calls_[c.in_flight].pull = *slot;
}

void RequesterCore::pull_completed(const WorkId& id, Time now) {
  const ReplyPulls::Step step = pulls_.completed(*link_, id);
  if (step != ReplyPulls::Step::kDone) return;
  InFlightCall& f = in_flight_calls_[pulls_[id.slot].in_flight];
  const std::uint32_t index = f.call;
  Call& c = calls_[index];
  // A Call that was closed meanwhile already has its outcome.
  if (c.state == State::kSent) {
    const PulledChunks& pulled = pulls_[id.slot].pulled;
    const char* const reason = check_reply_stream(pulled.stream, c.xid);
    c.outcome.reply = pulled.stream;
    c.outcome.items = pulled.items;
    if (*reason != 0 && traces()) trace_error(trace_, trace::kPeer, c.xid, reason, now);
    end(index, *reason == 0 ? CallStatus::kReplied : CallStatus::kBadReply, reason, now);
  }
  settle(index, now);
}

void RequesterCore::settle(std::uint32_t index, Time now) {
  const InFlightCall& f = in_flight_calls_[calls_[index].in_flight];
  const bool is_pulled = f.pull == kNoSlot || pulls_[f.pull].finished;
  if (is_pulled && f.fenced()) finish(index, pool_, now);
}

void RequesterCore::judge_version_error(std::uint32_t index, Time now) {
  Call& c = calls_[index];
  CallOutcome& o = c.outcome;
  const std::uint32_t refused = in_flight_calls_[c.in_flight].version;
  ++counters_.error_version;
  const Versions spoken{o.vers_low, o.vers_high};
  const auto common = highest_common(link_->options.versions, spoken);
  // Only downwards, so that no peer can cause an endless loop.
  const bool lower = common && *common < refused;
  if (!lower && link_->version >= refused) {
    end(index, CallStatus::kErrorVersion, kNoCommonVersion, now);
    // The peer has chosen the version of reverse Calls; its own Calls can still be answered.
    if (common || link_->follows || spoken.low > spoken.high) return;
    link_->refused = spoken;
    return link_->fail(kNoCommonVersion, trace::kPeer, c.xid);
  }
  if (lower && *common < link_->version) {
    link_->version = *common;
    link_->confirmed = false;
  }
  ++counters_.renegotiated;
  end_again(index, now);
}

void RequesterCore::judge_error(std::uint32_t index, const wire::HeaderView& header, Time now) {
  Call& c = calls_[index];
  CallOutcome& o = c.outcome;
  // Although an error carries no valid credit grant.
  if (header.vers == kVersionTwo) link_->has_two = true;
  switch (header.error) {
    case wire::RdmaErr::kCantReply:
      ++counters_.cant_reply;
      if (enlarge(c, header)) {
        ++counters_.enlarged;
        return end_again(index, now);
      }
      o.processed = header.processed;
      o.segment_index = header.segment_index;
      o.length_needed = header.length_needed;
      return end(index, CallStatus::kCantReply,
                 "the Reply does not fit into the chunks that the Call offered", now);
    case wire::RdmaErr::kInvalProc:
      ++counters_.error_chunk;
      return end(index, CallStatus::kErrorProc, "the peer does not support the message type", now);
    case wire::RdmaErr::kInvalOption:
      ++counters_.error_option;
      return end(index, CallStatus::kErrorOption, "the peer does not know the option", now);
    case wire::RdmaErr::kVers:
    case wire::RdmaErr::kChunk:
      break;
  }
  ++counters_.error_chunk;
  end(index, CallStatus::kErrorChunk,
      header.vers == kVersionTwo ? "the peer could not read the header"
                                 : "the peer could not read the header or place the Reply",
      now);
}

bool RequesterCore::enlarge(Call& call, const wire::HeaderView& error) {
  if (call.is_option || options_.inline_only || call.enlargements == kMaxEnlargements) return false;
  const InFlightCall& f = in_flight_calls_[call.in_flight];
  const std::span segments = std::span(f.segments).first(f.segment_count).subspan(f.read_segments);
  if (error.segment_index > segments.size()) return false;
  ++call.enlargements;
  // Find the chunk of the segment, and the bytes before it. Without a segment index, and without a
  // Reply chunk offered, the missing one is the Reply chunk.
  std::uint32_t chunk = 0;
  std::uint32_t first = 0;  // of the chunk
  const std::uint32_t at = error.segment_index - 1;
  if (error.segment_index == 0) {
    if (f.reply_segments != 0) return false;
    // The peer sends less inline than is expected here. Use the binding's lengths unless the peer
    // asks for more.
    call.offers_all = true;
    link_->peer_sends_short = true;  // so that later Calls need not be refused first
    std::uint64_t most = call.max_reply;
    for (std::uint32_t i = 0; i < call.result_count; ++i) {
      most += wire::xdr_padded(call.results[i].length);
    }
    if (error.length_needed <= most) return true;
    chunk = f.write_chunks;
  } else {
    while (chunk < f.write_chunks && at >= first + f.write_segments[chunk]) {
      first += f.write_segments[chunk++];
    }
  }
  std::uint64_t bytes = error.length_needed;
  for (std::uint32_t i = first; error.segment_index != 0 && i < at; ++i)
    bytes += segments[i].length;
  if (chunk < f.write_chunks) {
    ResultSpace& space = call.results[chunk];
    return bytes > space.length && owner_.on_short_result(call.outcome.cookie, chunk, bytes, space);
  }
  if (bytes <= call.max_reply || bytes > options_.most_reply) return false;
  call.max_reply = static_cast<std::uint32_t>(bytes);
  return true;
}

Time RequesterCore::negotiation_deadline() const {
  if (link_ == nullptr || !link_->open() || link_->has_two || link_->version != kVersionTwo ||
      link_->tried_two == fabric::kNever) {
    return fabric::kNever;
  }
  return due(link_->tried_two, link_->options.negotiation_timeout);
}

void RequesterCore::end_again(std::uint32_t index, Time now) {
  Call& c = calls_[index];
  const Time deadline = c.deadline;
  end(index, CallStatus::kReplied, "", now);
  c.deadline = deadline;
  c.again = true;
  c.outcome.vers_low = c.outcome.vers_high = 0;
}

void RequesterCore::end(std::uint32_t index, CallStatus status, const char* reason, Time now) {
  Call& c = calls_[index];
  const bool changes = c.state == State::kSent || c.wants_credit;
  if (c.state == State::kSent && !c.one_way) credits_.ended();
  if (c.wants_credit) end_credit_wait(c, now);
  credits_changed_ |= changes;
  c.outcome.status = status;
  c.outcome.reason = reason;
  c.deadline = fabric::kNever;
  move(index, State::kEnding);
}

void RequesterCore::fence(std::uint32_t index, Time now) {
  InFlightCall& f = in_flight_calls_[calls_[index].in_flight];
  if (f.nothing_to_fence()) {
    settle(index, now);
  } else {
    to_fence_.push(calls_[index].in_flight);
  }
}

bool RequesterCore::unsend(Call& c) {
  if (!link_->work.cancel(*this, c.in_flight)) return false;
  if (c.one_way) forget_order(c.order);
  in_flight_calls_[c.in_flight].sent = true;
  if (--c.outcome.attempts == 0) {
    c.outcome.times.sent = 0;
  } else if (c.lost) {
    --counters_.resent;
  }
  return true;
}

void RequesterCore::post_fences() {
  while (!to_fence_.empty()) {
    const std::uint32_t at = to_fence_.front();
    InFlightCall& f = in_flight_calls_[at];
    for (; f.next_fence < f.segment_count; ++f.next_fence) {
      if (!f.valid[f.next_fence]) continue;
      const auto part = static_cast<std::uint16_t>(f.next_fence);
      const auto posted =
          link_->connection->invalidate(WorkId{WorkKind::kFence, at, f.generation, part}.encode(),
                                        f.segments[f.next_fence].handle);
      if (!posted) {
        // Without a connection it is already fenced, which the fabric is about to report.
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
  if (id.kind == WorkKind::kReplyRead || id.kind == WorkKind::kDoneSend) {
    return pull_completed(id, now);
  }
  InFlightCall* const f = in_flight_calls_.find(id.slot, id.generation);
  if (f == nullptr || !f->used) return;
  if (id.kind == WorkKind::kCallSend) {
    f->sent = true;
    f->give_send(*pool_);
    if (f->call == kNoSlot) return release(id.slot, *pool_);
    Call& c = calls_[f->call];
    c.outcome.times.arrived = now;
    if (!c.one_way || c.state != State::kSent) return;
    ++counters_.one_way;
    end(f->call, CallStatus::kSent, "", now);
    finish(f->call, pool_, now);
  } else if (f->fencing != 0) {
    --f->fencing;
    --handles_;
    if (traces()) trace_invalidated(trace_, f->segments[id.part].handle, trace::kHere, now);
    if (f->call != kNoSlot && f->fenced()) settle(f->call, now);
  }
}

void RequesterCore::expire(Time now) {
  note_time(now);
  if (now >= negotiation_deadline()) {
    link_->fail("no answer to the first message of version 2", trace::kPeer);
  }
  if (now < next_deadline_) return;
  next_deadline_ = fabric::kNever;
  for (std::uint32_t i = 0; i < calls_.size(); ++i) {
    Call& c = calls_[i];
    if (!c.used) continue;
    if (c.deadline > now) {
      next_deadline_ = std::min(next_deadline_, c.deadline);
      continue;
    }
    // Sent in time, as far as this side can know.
    if (c.one_way && c.state == State::kSent && !link_->work.holds(*this, c.in_flight)) continue;
    ++counters_.timeouts;
    if (c.state == State::kEnding) {
      // It was to be resent. It ends instead as soon as its memory is fenced.
      c.again = false;
      c.deadline = fabric::kNever;
      c.outcome.status = CallStatus::kTimedOut;
      c.outcome.reason = "it was refused, and not answered in time";
      continue;
    }
    const bool has_in_flight = c.state == State::kSent;
    const bool was_sent = has_in_flight && !unsend(c);
    c.outcome.lost = c.lost && !was_sent;
    end(i, CallStatus::kTimedOut,
        was_sent         ? "no Reply in time"
        : c.outcome.lost ? "its connection ended before the Reply arrived"
                         : "it was not sent in time",
        now);
    if (was_sent) {
      link_->fail("a Call timed out", trace::kPeer, c.xid);
    } else if (has_in_flight) {
      fence(i, now);
    } else {
      finish(i, pool_, now);
    }
  }
  trace_changed_credits(now);
}

void RequesterCore::wait_again(std::uint32_t index, MemoryPool& pool) {
  Call& c = calls_[index];
  c.again = false;
  const std::uint32_t at = std::exchange(c.in_flight, kNoSlot);
  InFlightCall& f = in_flight_calls_[at];
  f.call = kNoSlot;
  f.give_blocks(pool);
  if (f.sent) release(at, pool);
  ending_.remove(index);
  c.state = State::kWaiting;
  waiting_.push_front(index);
}

void RequesterCore::finish(std::uint32_t index, MemoryPool* pool, Time now) {
  Call& c = calls_[index];
  if (c.again) return wait_again(index, *pool);
  CallOutcome outcome = c.outcome;
  outcome.times.ended = now;
  if (trace_.on()) trace_call_end(trace_, outcome);
  const auto result_bytes = c.result_bytes;
  outcome.result_bytes = std::span(result_bytes).first(c.result_count);
  // The Reply lies in one of these until the callback returns.
  Block reply;
  Block received;
  std::uint32_t pull = kNoSlot;
  if (c.in_flight != kNoSlot) {
    InFlightCall& f = in_flight_calls_[c.in_flight];
    pull = std::exchange(f.pull, kNoSlot);
    reply = std::exchange(f.reply, {});
    received = std::exchange(f.received, {});
    f.call = kNoSlot;
    f.give_blocks(*pool);
    if (f.sent) release(c.in_flight, *pool);
  }
  ending_.remove(index);
  by_xid_.erase(c.xid);
  c.used = false;
  const bool is_null = c.is_null;
  calls_.give(index);
  if (is_null) {
    null_.made = false;
    null_.failed = outcome.status != CallStatus::kReplied && !waiting_.empty() &&
                   calls_[waiting_.front()].one_way;
  }
  try {
    if (!is_null) owner_.on_outcome(outcome);
  } catch (const std::bad_alloc&) {
    if (link_ != nullptr) link_->fail_out_of_memory();
  }
  if (reply) pool->release(reply);
  if (received) pool->release(received);
  if (pull != kNoSlot) pulls_.give(pull, *pool);
}

void RequesterCore::release(std::uint32_t at, MemoryPool& pool) {
  InFlightCall& f = in_flight_calls_[at];
  f.give_send(pool);
  f.give_blocks(pool);
  f.used = false;
  f.call = kNoSlot;
  f.pull = kNoSlot;
  in_flight_calls_.give(at);
}

}  // namespace rpcrdma::protocol
