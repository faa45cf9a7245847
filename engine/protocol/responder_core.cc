// The responder's state machine: accepts Calls within the credits granted, pulls their Read chunks,
// delivers them, and sends Replies.
#include "responder_core.h"

#include "trace_hooks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

namespace rpcrdma::protocol {

using fabric::Errc;
using fabric::Time;
using State = ServedCall::State;

namespace {

// Retry interval when other connections have exhausted the memory pool. Nothing signals here that
// they have released memory.
constexpr Time kRetry = 5 * fabric::kMillisecond;
constexpr const char* kNoMemory = "there is no memory for it";
constexpr const char* kSlowPull = "the Read chunks of a Call arrived too slowly";

ResponderOptions sane(ResponderOptions options) {
  options.credits = std::max(options.credits, 1U);
  options.least_pull_rate = std::max(options.least_pull_rate, 1U);
  return options;
}

}  // namespace

ResponderCore::ResponderCore(ResponderOwner& owner, const ResponderOptions& options)
    : owner_(owner),
      options_(sane(options)),
      served_(max_served()),
      deferred_(options_.credits),
      waiting_(max_served()),
      dropped_(max_served()),
      done_(done_limit()),
      grant_(options_.credits) {}

void ResponderCore::grant(std::uint32_t credits) {
  grant_ = std::clamp(credits, 1U, options_.credits);
}

std::uint64_t ResponderCore::id_of(std::uint32_t index) const {
  return std::uint64_t{served_[index].generation} << 32U | index;
}

void ResponderCore::attach(Link& link) {
  link_ = &link;
  pool_ = &link.pool;
  share_ = link.options.share;
}

void ResponderCore::detach() {
  if (link_ == nullptr) return;
  const Link& link = *link_;
  link_ = nullptr;
  outstanding_ = most_outstanding_ = 0;
  credits_changed_ = false;
  highest_grant_ = traced_grant_ = 1;
  asked_ = 0;
  transfers_ = 0;
  retry_at_ = fabric::kNever;
  waiting_.clear();
  dropped_.clear();
  done_.clear();
  reading_ = 0;
  coming_ = 0;
  slow_at_ = fabric::kNever;
  for (; !deferred_.empty(); deferred_.pop()) pool_->release(deferred_.front().block);
  for (std::uint32_t i = 0; i < served_.size(); ++i) {
    ServedCall& s = served_[i];
    if (s.state == State::kFree) continue;
    const State state = s.state;
    const std::uint64_t id = id_of(i);
    s.state = State::kFree;
    if (s.handed_up && link.trace.on()) trace_call_end(link.trace, s, link.now);
    if (state == State::kReplying && !link.peer_closed) {
      ++counters_.unacknowledged;
      counters_.unacknowledged_bytes += s.chunk_bytes;
    }
    if (state == State::kOwned) owner_.on_cancelled(id);
    if (state == State::kReplying || state == State::kAdvertised) owner_.on_sent(id);
    give_blocks(s);
    served_.give(i);
  }
}

Time ResponderCore::deadline() const {
  if (link_ == nullptr || link_->down || !link_->failure.empty()) return fabric::kNever;
  const Time own = std::min({retry_at_, done_.deadline(), slow_at_});
  return transfers_ == 0 ? own : std::min(own, due(progress_, options_.patience));
}

void ResponderCore::expire(Time now) {
  if (now < deadline()) return;
  if (slow_at_ <= now) return end_slow_pull(now);
  if (retry_at_ <= now) return pull(now);
  if (done_.deadline() <= now) {
    std::uint32_t xid = 0;
    if (!done_.overdue(now, xid)) return;
    return link_->fail("no RDMA_DONE for a Reply with Read chunks", trace::kPeer, xid);
  }
  link_->fail("neither Read chunks nor a Reply made progress for too long", trace::kPeer);
}

void ResponderCore::transfer_begins(Time now) {
  if (transfers_++ == 0) progress_ = std::max(progress_, now);
}

void ResponderCore::transfer_ends(Time now) {
  --transfers_;
  progress_ = now;
}

void ResponderCore::give_blocks(ServedCall& served) {
  pulled_ -= served.pulled.block.size;
  served.give_blocks(*pool_, share_);
}

fabric::Expected<Block> ResponderCore::block_for(std::uint64_t bytes, ServedCall& served) {
  if (share_ != nullptr) {
    if (!share_->take(bytes, served.held)) return fabric::fail(Errc::kNoRoom);
  } else if (pool_->in_use() + bytes > pool_->limit() - pool_->limit() / 4) {
    return fabric::fail(Errc::kNoRoom);
  }
  auto block = pool_->acquire(static_cast<std::uint32_t>(bytes));
  if (!block && share_ != nullptr) share_->give(served.held);
  return block;
}

void ResponderCore::pull_begins(ServedCall& served, Time now) {
  served.state = State::kReading;
  ++reading_;
  coming_ += served.call.read_bytes;
  const std::uint64_t at_least =
      coming_ * static_cast<std::uint64_t>(fabric::kSecond) / options_.least_pull_rate;
  served.pull_until = due(due(now, options_.pull_grace), static_cast<Time>(at_least));
  slow_at_ = std::min(slow_at_, served.pull_until);
  transfer_begins(now);
}

void ResponderCore::pull_ends(const ServedCall& served) {
  coming_ -= served.call.read_bytes;
  if (--reading_ == 0) slow_at_ = fabric::kNever;
}

void ResponderCore::end_slow_pull(Time now) {
  slow_at_ = fabric::kNever;
  for (std::uint32_t i = 0; i < served_.size(); ++i) {
    const ServedCall& s = served_[i];
    if (s.state != State::kReading) continue;
    if (s.pull_until <= now) {
      ++counters_.slow_pulls;
      return link_->fail(kSlowPull, trace::kPeer, s.call.xid);
    }
    slow_at_ = std::min(slow_at_, s.pull_until);
  }
}

void ResponderCore::over_credit(const Received& message) {
  ++counters_.over_credit;
  const auto prefix = wire::decode_prefix(message.message());
  link_->fail("the peer sent more Calls than it was granted credits", trace::kPeer,
              prefix ? prefix->xid : 0);
}

void ResponderCore::one_more_outstanding() {
  most_outstanding_ = std::max(most_outstanding_, ++outstanding_);
  credits_changed_ = true;
}

// The slot stays until flush(): the upper layer may drop a Call from within on_call(), and a free
// slot would deliver another to it.
void ResponderCore::drop(std::uint64_t id, Time now) {
  const auto index = static_cast<std::uint32_t>(id);
  ServedCall* const s = served_.find(index, static_cast<std::uint32_t>(id >> 32U));
  if (s == nullptr || s->state != State::kOwned) return;
  s->state = State::kDropped;
  if (link_ == nullptr) return;  // as in do_reply()
  link_->now = now;
  ++counters_.dropped;
  --outstanding_;
  credits_changed_ = true;
  dropped_.push(index);
}

void ResponderCore::flush() {
  if (link_ != nullptr && !dropped_.empty()) {
    for (; !dropped_.empty(); dropped_.pop()) release(dropped_.front());
    pull(link_->now);
  }
  if (link_ != nullptr && std::exchange(credits_changed_, false)) {
    if (link_->trace.on()) trace_peer_credits(link_->now);
    most_outstanding_ = outstanding_;
  }
  if (link_ != nullptr) done_.post_fences(*link_);
}

void ResponderCore::trace_peer_credits(Time now) const {
  trace::Credits credits;
  credits.side = trace::kPeer;
  credits.requested = asked_;
  credits.granted = traced_grant_;
  credits.in_use = outstanding_;
  credits.in_use_most = most_outstanding_;
  trace_credits(link_->trace, credits, now);
}

void ResponderCore::receive_done(std::uint32_t xid) {
  if (done_.done(xid)) {
    ++counters_.done;
    return;
  }
  ++counters_.ignored;
  if (link_->trace.on()) {
    trace_error(link_->trace, trace::kPeer, xid, "an RDMA_DONE that no Reply waits for",
                link_->now);
  }
}

Keep ResponderCore::receive(const Received& message) {
  // It needs no slot, and there may be none.
  if (options_.rfc5666 && message.header && message.header->proc == wire::Proc::kDone) {
    receive_done(message.header->xid);
    return Keep::kNo;
  }
  std::uint32_t index = kNoSlot;
  try {
    index = served_.acquire();
  } catch (const std::bad_alloc&) {
    link_->fail_out_of_memory();
    return Keep::kNo;
  }
  if (index != kNoSlot) return begin(index, message);
  if (outstanding_ >= highest_grant_) {
    over_credit(message);
    return Keep::kNo;
  }
  one_more_outstanding();
  deferred_.push({message.block, message.bytes, message.at});
  return Keep::kYes;
}

Keep ResponderCore::begin(std::uint32_t index, const Received& message) {
  ServedCall& s = served_[index];
  CallVerdict verdict;
  try {
    verdict =
        check_call(message.message(), message.header, link_->options.versions, options_, s.call);
    s.pulled.reserve(s.call);
  } catch (const std::bad_alloc&) {
    served_.give(index);
    link_->fail_out_of_memory();
    return Keep::kNo;
  }
  if (verdict.answer == CallAnswer::kIgnore || verdict.answer == CallAnswer::kDone) {
    ++counters_.ignored;
    if (link_->trace.on()) {
      trace_error(link_->trace, trace::kPeer, verdict.xid, verdict.reason, link_->now);
    }
    served_.give(index);
    return Keep::kNo;
  }
  if (outstanding_ >= highest_grant_) {
    served_.give(index);
    over_credit(message);
    return Keep::kNo;
  }
  one_more_outstanding();
  ++counters_.calls;
  s.handed_up = false;
  s.replied_at = 0;
  s.has_invalidate = false;
  s.reads = kNoSlot;
  s.option.delivers = false;
  const bool is_good =
      verdict.answer == CallAnswer::kServe || verdict.answer == CallAnswer::kOption;
  if (is_good) {
    asked_ = s.call.credit;
    if (link_->follows) {
      link_->version = s.call.version;
      link_->confirmed = true;
    }
  }
  if (verdict.answer == CallAnswer::kServe) return serve(index, message);
  if (verdict.answer == CallAnswer::kOption) return answer_option(index, message);
  refuse(index, verdict, trace::kPeer, link_->now);
  return Keep::kNo;
}

Keep ResponderCore::answer_option(std::uint32_t index, const Received& message) {
  ServedCall& s = served_[index];
  s.received_at = message.at;
  const wire::HeaderView& header = *message.header;
  const OptionRegistry::Handler* const handler =
      options_.options != nullptr ? options_.options->find(header.opttype) : nullptr;
  if (handler == nullptr) {
    refuse(
        index,
        {CallAnswer::kErrorOption, header.xid, "V2-08", "rdma_opttype is not known", header.vers},
        trace::kPeer, link_->now);
    return Keep::kNo;
  }
  const std::size_t threshold = link_->surely_received(link_->options.terms.inline_send_2);
  const std::size_t most = threshold - std::min(threshold, option_header_bytes(kMaxOptionInfo));
  const auto room = pool_->acquire(static_cast<std::uint32_t>(std::max(most, std::size_t{1})));
  if (!room) {
    refuse(index, {CallAnswer::kErrorChunk, header.xid, "", kNoMemory, header.vers}, trace::kHere,
           link_->now);
    return Keep::kNo;
  }
  s.copies = *room;
  const std::optional<OptionAnswer> answer =
      (*handler)({header.optinfo, message.payload(), link_->now},
                 {s.option.info, wire::MutableBytes(room->data, most)});
  const bool is_good =
      answer && answer->info_bytes <= kMaxOptionInfo && answer->payload_bytes <= most;
  CallVerdict verdict{CallAnswer::kErrorChunk, header.xid, "V2-08",
                      "the content does not match the option", header.vers};
  if (is_good && answer->delivers) {
    const CallVerdict stream = check_stream(message.payload(), header.xid, header.vers);
    if (stream.answer != CallAnswer::kServe) verdict = stream;
    if (stream.answer == CallAnswer::kServe) {
      s.option.type = header.opttype;
      s.option.info_bytes = static_cast<std::uint32_t>(answer->info_bytes);
      return serve_option(index, message);
    }
  }
  if (!is_good || answer->delivers) {
    refuse(index, verdict, trace::kPeer, link_->now);
    return Keep::kNo;
  }
  ++counters_.options;
  s.option.type = header.opttype;
  s.option.info_bytes = static_cast<std::uint32_t>(answer->info_bytes);
  const Piece payload{wire::Bytes(room->data, answer->payload_bytes), nullptr, false};
  if (!build_option_reply(*pool_, {&payload, 1}, false, grant_now(), s)) {
    link_->fail("there is no memory for an answer", trace::kHere, header.xid);
  }
  send(index, State::kRefusing, link_->now);
  return Keep::kNo;
}

Keep ResponderCore::serve_option(std::uint32_t index, const Received& message) {
  ServedCall& s = served_[index];
  ++counters_.options;
  pool_->release(std::exchange(s.copies, {}));
  s.option.delivers = true;
  s.received = message.block;
  s.call.payload = message.payload();
  s.pulled.place(s.call);
  deliver(index, message.at);
  return Keep::kYes;
}

// Inline, or not at all.
fabric::Expected<void> ResponderCore::reply_to_option(std::uint32_t index,
                                                      std::span<const Piece> message, Time now) {
  ServedCall& s = served_[index];
  const std::uint64_t bytes = stream_bytes(message);
  const std::size_t threshold = link_->reply_limits(s.call.version).reply_threshold;
  if (option_header_bytes(s.option.info_bytes) + bytes > threshold) {
    const char* const why = "the Reply in an option does not fit inline";
    refuse_short(index, {}, why, true, now);
    return fabric::fail(Errc::kNoRoom, why);
  }
  if (auto built = build_option_reply(*pool_, message, true, grant_now(), s); !built) {
    refuse(index, {CallAnswer::kErrorChunk, s.call.xid, "", kNoMemory, s.call.version},
           trace::kHere, now);
    return built;
  }
  ++counters_.replies;
  count_service(s, now);
  counters_.bytes.inline_replies += bytes;
  s.chunk_bytes = 0;
  send(index, State::kReplying, now);
  return {};
}

Keep ResponderCore::serve(std::uint32_t index, const Received& message) {
  ServedCall& s = served_[index];
  s.received_at = message.at;
  if (!s.call.reads.empty() && link_->options.terms.max_reads == 0) {
    refuse(index,
           {CallAnswer::kErrorChunk, s.call.xid, "DEP-02",
            "the peer does not allow reading from it", s.call.version},
           trace::kPeer, link_->now);
    return Keep::kNo;
  }
  if (s.call.version == kVersionTwo &&
      !reply_header_fits(link_->reply_limits(s.call.version), s.call.offer)) {
    refuse_short(index, {}, "the chunks have more segments than a Reply has room for", false,
                 link_->now);
    return Keep::kNo;
  }
  const Keep keep = s.call.is_long ? Keep::kNo : Keep::kYes;
  if (keep == Keep::kYes) s.received = message.block;
  if (s.call.reads.empty()) {
    s.pulled.place(s.call);
    deliver(index, message.at);
  } else {
    s.state = State::kWaiting;
    waiting_.push(index);
    pull(link_->now);
    if (s.state == State::kWaiting) ++counters_.delayed;
  }
  return keep;
}

void ResponderCore::pull(Time now) {
  retry_at_ = fabric::kNever;
  for (; !waiting_.empty(); waiting_.pop()) {
    const std::uint32_t index = waiting_.front();
    ServedCall& s = served_[index];
    if (reading_ >= link_->options.terms.max_reads) return;
    const std::uint64_t bytes = std::bit_ceil(chunk_block_bytes(s.call));
    // The end of one of the others triggers a retry.
    if (pulled_ != 0 && pulled_ + bytes > options_.max_pulled_bytes) return;
    auto block = block_for(bytes, s);
    if (block) {
      s.pulled.block = *block;
      pulled_ += block->size;
      s.pulled.place(s.call);
      pull_begins(s, now);
      link_->work.add(*this, index);
      continue;
    }
    const std::uint64_t most = pool_->limit() - pool_->limit() / 4;
    const bool hopeless = bytes > most || block.error().code != Errc::kNoRoom;
    if (!hopeless && now < due(s.received_at, options_.patience)) {
      retry_at_ = due(now, kRetry);
      return;
    }
    refuse(index, {CallAnswer::kErrorChunk, s.call.xid, "", kNoMemory, s.call.version},
           trace::kHere, now);
  }
}

void ResponderCore::deliver(std::uint32_t index, Time pulled) {
  ServedCall& s = served_[index];
  s.state = State::kOwned;
  s.handed_up = true;
  s.pulled_at = pulled;
  if (link_->trace.on()) {
    trace_call(link_->trace, s.call.xid, trace::kPeer, s.pulled.stream, link_->now);
  }
  MessageBytes& bytes = counters_.bytes;
  if (s.call.is_long) {
    bytes.long_calls += s.pulled.stream.size();
    bytes.read_chunks += s.call.read_bytes - s.pulled.stream.size();
  } else {
    bytes.inline_calls += s.pulled.stream.size();
    bytes.read_chunks += s.call.read_bytes;
  }
  IncomingCall call;
  call.id = id_of(index);
  call.xid = s.call.xid;
  call.stream = s.pulled.stream;
  call.items = s.pulled.items;
  call.padding = s.call.padding;
  call.offer = s.call.offer;
  call.received = s.received_at;
  call.pulled = pulled;
  try {
    owner_.on_call(call);
  } catch (const std::bad_alloc&) {
    if (link_ != nullptr) link_->fail_out_of_memory();
  }
}

fabric::Expected<void> ResponderCore::reply(std::uint64_t id, std::span<const Piece> message,
                                            Time now) {
  try {
    return do_reply(id, message, now);
  } catch (const std::bad_alloc&) {
    if (link_ != nullptr) link_->fail_out_of_memory();
    return fabric::fail(Errc::kSystem, fabric::kOutOfMemory);
  }
}

fabric::Expected<void> ResponderCore::do_reply(std::uint64_t id, std::span<const Piece> message,
                                               Time now) {
  const auto index = static_cast<std::uint32_t>(id);
  ServedCall* const s = served_.find(index, static_cast<std::uint32_t>(id >> 32U));
  if (s == nullptr || s->state != State::kOwned) return fabric::fail(Errc::kNotConnected);
  if (link_ == nullptr) {
    // Called from within the cancelling of another Call; this one has ended with it.
    s->state = State::kRefusing;
    return fabric::fail(Errc::kNotConnected);
  }
  link_->now = now;
  const bool starts_well = !message.empty() && !message[0].ddp && message[0].bytes.size() >= 4;
  if (s->option.delivers && starts_well) return reply_to_option(index, message, now);
  Shortage shortage;
  auto planned = starts_well ? plan(s->call, message, shortage)
                             : fabric::fail(Errc::kBadArgument,
                                            "the Reply does not begin with room for the XID");
  auto built = planned.map([](const ReplyPlan&) {});
  if (planned) built = build(index, *planned, message);
  if (!built && s->state == State::kRefusing) return built;
  if (!built) {
    // Only an insufficient offer is the peer's fault.
    const bool offers_too_little = !planned && planned.error().code == Errc::kNoRoom;
    const std::string& why = built.error().message;
    if (offers_too_little && s->call.version == kVersionTwo) {
      refuse_short(index, shortage, why.c_str(), true, now);
      return built;
    }
    refuse(index,
           {CallAnswer::kErrorChunk, s->call.xid, "", why.empty() ? kNoMemory : why.c_str(),
            s->call.version},
           offers_too_little ? trace::kPeer : trace::kHere, now);
    return built;
  }
  choose_invalidation(*s);
  ++counters_.replies;
  count_service(*s, now);
  if (planned->padded) ++counters_.padded_replies;
  MessageBytes& bytes = counters_.bytes;
  if (!planned->read_reply) {
    (planned->long_reply ? bytes.reply_chunks : bytes.inline_replies) += planned->stream_bytes;
  }
  const std::uint64_t in_results = write_chunk_bytes(*planned, message);
  bytes.write_chunks += in_results;
  s->chunk_bytes = in_results + (planned->long_reply ? planned->stream_bytes : 0);
  if (s->reads != kNoSlot) {
    ++counters_.read_replies;
    bytes.reply_reads += done_[s->reads].bytes;
    done_.sent(s->reads, due(now, options_.done_timeout));
  }
  send(index, State::kReplying, now);
  return {};
}

// In version 2, messages above its default threshold are sent only to a peer that is known to
// accept them, or that has left no alternative.
fabric::Expected<ReplyPlan> ResponderCore::plan(const CheckedCall& call,
                                                std::span<const Piece> message,
                                                Shortage& shortage) const {
  const Limits limits = reply_limits(call, message);
  Limits sure = limits;
  if (call.version == kVersionTwo) {
    sure.reply_threshold = link_->surely_received(limits.reply_threshold);
  }
  auto planned = plan_reply(sure, message, call.offer, &shortage);
  const bool other_way = sure.reply_threshold != limits.reply_threshold && !planned;
  return other_way ? plan_reply(limits, message, call.offer, &shortage) : planned;
}

Limits ResponderCore::reply_limits(const CheckedCall& call, std::span<const Piece> message) const {
  Limits limits = link_->reply_limits(call.version);
  if (options_.rfc5666 && call.version == kVersionOne) limits.padding = options_.padding;
  const std::uint64_t bytes = stream_bytes(message);
  limits.reply_reads =
      options_.rfc5666 && call.version == kVersionOne && link_->options.terms.max_reads != 0 &&
      done_.size() < done_limit() &&
      (done_.size() == 0 || done_.bytes() + bytes <= options_.max_advertised_bytes) &&
      done_.handles() + kMaxSegments <= link_->reply_handles;
  return limits;
}

fabric::Expected<void> ResponderCore::build(std::uint32_t index, const ReplyPlan& plan,
                                            std::span<const Piece> message) {
  ServedCall& s = served_[index];
  if (plan.read_segments != 0) s.reads = done_.acquire(index, s.call.xid);
  const ReplyTerms terms{grant_now(), options_.rfc5666, &done_, options_.padding};
  auto built = build_reply(*link_, plan, message, terms, s);
  if (!built && s.reads != kNoSlot) {
    done_.give_up(std::exchange(s.reads, kNoSlot));
    // Its memory stays valid until none of it is advertised.
    s.state = State::kRefusing;
    link_->fail(built.error().message, trace::kHere, s.call.xid);
  }
  return built;
}

void ResponderCore::count_service(const ServedCall& s, Time now) {
  if (options_.durations == nullptr) return;
  const Time ended = options_.read_clock != nullptr ? std::max(options_.read_clock(), now) : now;
  options_.durations->add(ended - s.received_at);
}

std::uint32_t ResponderCore::grant_now() const {
  return std::max(grant_, done_.size() + 1) - done_.size();
}

// Version 1 leaves the choice to the responder, if both peers support it (RFC 8797); in version 2
// it is the requester's (section 5.2.3 of draft-cel-nfsv4-rpcrdma-version-two-02).
void ResponderCore::choose_invalidation(ServedCall& served) const {
  if (!link_->options.sends_invalidate) return;
  const CheckedCall& call = served.call;
  if (call.version == kVersionTwo) {
    served.invalidates = call.inv_handle;
    served.has_invalidate = call.inv_handle != 0;
  } else if (link_->options.terms.remote_invalidation) {
    const auto one =
        std::ranges::find_if(call.segments, [](const auto& s) { return s.length != 0; });
    served.has_invalidate = one != call.segments.end();
    if (served.has_invalidate) served.invalidates = one->handle;
  }
}

void ResponderCore::refuse_short(std::uint32_t index, const Shortage& shortage, const char* why,
                                 bool processed, Time now) {
  const CheckedCall& call = served_[index].call;
  const bool of_reply = shortage.chunk == Shortage::kReplyChunk;
  wire::Header details;
  details.processed = processed;
  if (of_reply && !call.offer.has_reply_chunk) {
    // There is no segment to point at; this is the length that it would need.
    details.length_needed = static_cast<std::uint32_t>(shortage.bytes);
  } else if (shortage.chunk != Shortage::kUnknown) {
    // A chunk is filled in order, so the missing bytes belong to its last segment.
    const ChunkRange& chunk = of_reply ? call.reply : call.writes[shortage.chunk];
    std::uint64_t before = 0;
    for (const wire::Segment& s : call.of({chunk.first, chunk.count - 1})) before += s.length;
    auto first = static_cast<std::uint32_t>(call.segments.size());
    if (!call.writes.empty()) first = call.writes[0].first;
    if (call.offer.has_reply_chunk) first = std::min(first, call.reply.first);
    details.segment_index = chunk.first + chunk.count - first;
    details.length_needed = static_cast<std::uint32_t>(shortage.bytes - before);
  }
  refuse(index, {CallAnswer::kCantReply, call.xid, "V2-09", why, call.version}, trace::kPeer, now,
         details);
}

void ResponderCore::refuse(std::uint32_t index, const CallVerdict& verdict, std::uint8_t side,
                           Time now, const wire::Header& details) {
  ServedCall& s = served_[index];
  give_blocks(s);
  wire::Header error = details;
  error.xid = verdict.xid;
  error.credit = grant_now();
  error.vers = verdict.version;
  switch (verdict.answer) {
    case CallAnswer::kErrorVersion:
      ++counters_.error_version;
      error.error = wire::RdmaErr::kVers;
      error.vers_low = link_->options.versions.low;
      error.vers_high = link_->options.versions.high;
      break;
    case CallAnswer::kErrorProc:
      ++counters_.error_proc;
      error.error = wire::RdmaErr::kInvalProc;
      break;
    case CallAnswer::kErrorOption:
      ++counters_.error_option;
      error.error = wire::RdmaErr::kInvalOption;
      break;
    case CallAnswer::kCantReply:
      ++counters_.cant_reply;
      error.error = wire::RdmaErr::kCantReply;
      break;
    case CallAnswer::kErrorChunk:
    case CallAnswer::kServe:
    case CallAnswer::kIgnore:
    case CallAnswer::kDone:
    case CallAnswer::kOption:
      ++counters_.error_chunk;
      error.error = wire::RdmaErr::kChunk;
      break;
  }
  if (link_->trace.on()) {
    trace_refused(link_->trace, side, error.vers, error.error, verdict.xid, verdict.rule,
                  verdict.reason, now);
  }
  const char* const name = wire::rdma_err_name(error.vers, static_cast<std::uint32_t>(error.error));
  note_refusal({verdict.xid, name, verdict.reason});
  if (!build_error(*pool_, error, s)) {
    link_->fail("there is no memory for an RDMA_ERROR", trace::kHere, verdict.xid);
  }
  send(index, State::kRefusing, now);
}

// Without memory, the peer still gets its answer.
void ResponderCore::note_refusal(const RefusedCall& refused) {
  try {
    counters_.refusals.add(refused.error, refused.why);
    if (options_.on_refused) options_.on_refused(refused);
  } catch (const std::bad_alloc&) {
    ++counters_.unnoted_refusals;
  }
}

void ResponderCore::send(std::uint32_t index, State state, Time now) {
  served_[index].state = state;
  transfer_begins(now);
  --outstanding_;
  traced_grant_ = grant_now();
  highest_grant_ = std::max(highest_grant_, traced_grant_);
  credits_changed_ = true;
  link_->work.add(*this, index);
}

bool ResponderCore::next_work(std::uint32_t slot, WorkRequest& work) {
  ServedCall& s = served_[slot];
  if (s.state == State::kReading) {
    work.xid = s.call.xid;
    work.request.id = WorkId{WorkKind::kRead, slot, s.generation, s.pulled.reads}.encode();
    const bool last = s.pulled.next_read(s.call, link_->options.max_transfer, work);
    if (link_->options.terms.max_reads == UINT32_MAX) return last;
    // Each slot has one Read in flight, and the number of slots is limited.
    work.request.signaled = true;
    return true;
  }
  if (next_write(slot, work)) return false;
  if (s.has_invalidate && s.state == State::kReplying) {
    work.request.operation = fabric::Operation::kSendInvalidate;
    work.request.invalidate = s.invalidates;
    ++counters_.invalidated;
  }
  work.request.id = WorkId{WorkKind::kReplySend, slot, s.generation}.encode();
  s.replied_at = link_->now;
  work.slices[0] = s.send.slice(s.send_bytes);
  work.slice_count = 1;
  // Its completion also shows that the Writes before it, and all that the peer may read, are done.
  if (s.send_bytes <= link_->copied_send && s.writer.empty() && s.reads == kNoSlot) {
    work.is_copied();
  }
  return true;
}

void ResponderCore::posted(std::uint32_t slot) {
  send_ended(slot, link_->now);
}

bool ResponderCore::next_write(std::uint32_t slot, WorkRequest& work) {
  ServedCall& s = served_[slot];
  if (s.state == State::kReading) return false;
  const std::uint16_t part = s.writer.given();
  if (!s.writer.next(s.call.segments, link_->options.max_transfer, work)) return false;
  work.request.id = WorkId{WorkKind::kWrite, slot, s.generation, part}.encode();
  work.xid = s.call.xid;
  return true;
}

void ResponderCore::completed(const WorkId& id, Time now) {
  if (id.kind == WorkKind::kReplyFence) return reads_ended(id, now);
  ServedCall* const s = served_.find(id.slot, id.generation);
  if (s == nullptr) return;
  if (id.kind == WorkKind::kReplySend) {
    if (s->state != State::kReplying && s->state != State::kRefusing) return;
    return send_ended(id.slot, now);
  }
  if (s->state == State::kReading) {
    if (!s->pulled.all_read(s->call)) {
      progress_ = now;
      return link_->work.add(*this, id.slot);
    }
    transfer_ends(now);
    pull_ends(*s);
    if (link_->trace.on()) {
      trace_reads_ended(link_->trace, s->call, s->pulled, link_->options.max_transfer, id, now);
    }
    const CallVerdict verdict = check_stream(s->pulled.stream, s->call.xid, s->call.version);
    if (verdict.answer == CallAnswer::kServe) {
      deliver(id.slot, now);
      // The peer's limit on Reads has room for another now; the memory is still in use.
      if (link_ != nullptr && link_->options.terms.max_reads != UINT32_MAX) pull(now);
      return;
    }
    refuse(id.slot,
           {CallAnswer::kErrorChunk, s->call.xid, verdict.rule, verdict.reason, s->call.version},
           trace::kPeer, now);
  }
  // There may be memory now.
  pull(now);
}

void ResponderCore::send_ended(std::uint32_t index, Time now) {
  ServedCall& s = served_[index];
  transfer_ends(now);
  if (s.reads != kNoSlot) {
    s.state = State::kAdvertised;
    return;
  }
  if (s.state == State::kReplying) owner_.on_sent(id_of(index));
  release(index);
  // There may be memory now.
  pull(now);
}

void ResponderCore::reads_ended(const WorkId& id, Time now) {
  const std::uint32_t index = done_.fenced(*link_, id.slot, id.generation, id.part);
  if (index == kNoSlot) return;
  ServedCall& s = served_[index];
  s.reads = kNoSlot;
  if (s.state != State::kAdvertised) return;
  owner_.on_sent(id_of(index));
  release(index);
  pull(now);
}

void ResponderCore::release(std::uint32_t index) {
  ServedCall& s = served_[index];
  if (s.handed_up && link_->trace.on()) trace_call_end(link_->trace, s, link_->now);
  s.state = State::kFree;
  give_blocks(s);
  served_.give(index);
  while (!deferred_.empty() && !served_.full()) {
    const Deferred p = deferred_.front();
    deferred_.pop();
    --outstanding_;
    Received message;
    message.block = p.block;
    message.bytes = p.bytes;
    message.at = p.at;
    message.header = wire::decode_header(message.message());
    if (receive(message) == Keep::kNo) pool_->release(p.block);
  }
}

}  // namespace rpcrdma::protocol
