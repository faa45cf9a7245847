// Dispatches completions to the Receives, the requester and the responder of a connection, and
// posts their work in batches.
#include "link.h"
#include "receive_queue.h"
#include "requester_core.h"
#include "responder_core.h"
#include "trace_hooks.h"
#include "work_id.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/protocol/channel.h>

namespace rpcrdma::protocol {

using fabric::Errc;
using fabric::Expected;
using fabric::Time;

namespace {

// Receives in addition to those for Calls and Replies: one for an RDMA_ERROR that answers nothing,
// and one for a message that the peer sends while a Receive is being posted again.
constexpr std::uint32_t kSpareReceives = 2;
// All Writes of a Reply, or all Reads of a Call, and more. They are unsignaled, so their places in
// the send queue become free only with the completion of a later request.
constexpr std::uint32_t kUnsignaled = 2 * kMaxSegments;
// For a typical Call: a Read or Write chunk, and a Reply chunk.
constexpr std::uint32_t kHandlesOfCall = 4;
// For a typical Reply that is read.
constexpr std::uint32_t kHandlesOfReply = 2;

// Returns whether a message is a Reply, on a connection with both roles (RFC 8167 section 5). A
// message of version 2 states its direction, and an RDMA_MSG contains it. An RDMA_NOMSG is a Call
// if its stream must be read, and a Reply if it was written. An undecided message with the XID of a
// waiting Call counts as its Reply.
bool is_reply(const Received& message, const RequesterCore& requester) {
  const auto prefix = wire::decode_prefix(message.message());
  if (!prefix) return false;
  if (prefix->proc == static_cast<std::uint32_t>(wire::Proc::kError)) return true;
  if (message.header && message.header->vers == kVersionTwo) {
    return message.header->direction == wire::MsgType::kReply;
  }
  if (is_inline(message, wire::MsgType::kReply)) return true;
  if (is_inline(message, wire::MsgType::kCall)) return false;
  if (message.header && message.header->proc == wire::Proc::kDone) return false;
  if (message.header && message.header->proc == wire::Proc::kNomsg) {
    if (message.header->reply) return message.header->reads.empty();
    if (!message.header->reads.empty() && !requester.reads_replies()) return false;
  }
  return requester.expects(prefix->xid);
}

std::uint32_t longest_message(const ChannelOptions& options) {
  const bool two = options.versions.contains(kVersionTwo);
  return std::max(options.terms.inline_receive, two ? options.terms.inline_receive_2 : 0);
}

}  // namespace

struct Channel::Impl {
  Impl(MemoryPool& pool, const ChannelOptions& options, RequesterCore* q, ResponderCore* s)
      : requester(q),
        responder(s),
        link(pool, options,
             (q != nullptr ? q->max_in_flight() : max_in_flight(options.later_credits)) +
                 (s != nullptr ? s->max_served() : 0)),
        receives(pool, receive_count(), least_receives(), longest_message(options)),
        receive_bytes(longest_message(options)) {
    link.follows = q == nullptr;
    const std::uint32_t own = q != nullptr ? q->own_credits() : options.later_credits;
    if (s != nullptr && s->replies_by_reads()) {
      link.reply_handles = kMaxSegments + kHandlesOfReply * s->done_limit();
    }
    if (own != 0) link.handles = std::max<std::uint32_t>(kMaxSegments, kHandlesOfCall * own);
  }

  [[nodiscard]] std::uint32_t credits() const {
    return (requester != nullptr ? requester->own_credits() : link.options.later_credits) +
           (responder != nullptr ? responder->own_credits() : 0);
  }

  // Receives that must be posted before anything that the peer may answer.
  [[nodiscard]] std::uint32_t least_receives() const {
    return credits() + kSpareReceives +
           (responder != nullptr ? responder->receives() - responder->own_credits() : 0);
  }

  // With few credits, many spare Receives would multiply the memory.
  [[nodiscard]] std::uint32_t receive_count() const {
    constexpr std::uint32_t kLeast = 4;
    constexpr std::uint32_t kShare = 4;
    const std::uint32_t at_once =
        std::min(link.options.receives_at_once, std::max(credits() / kShare, kLeast));
    return least_receives() + at_once - 1;
  }

  void end() {
    if (!begun || ended) return;
    ended = true;
    link.down = true;
    link.work.clear();
    receives.drain();
    if (requester != nullptr) requester->detach(link.now);
    if (responder != nullptr) responder->detach();
  }

  void completed(const fabric::Completion& completion, Time now);
  void receive(std::uint32_t slot, const fabric::Completion& completion, Time now);
  [[nodiscard]] Keep deliver(const Received& message);
  void flush(Time now);

  // If memory runs out while serving a connection's peer or owner, that connection fails and no
  // other is affected.
  template <typename Function>
  void or_fail(Function&& function) {
    try {
      function();
    } catch (const std::bad_alloc&) {
      link.fail_out_of_memory();
    }
  }

  RequesterCore* requester;
  ResponderCore* responder;
  Link link;
  ReceiveQueue receives;
  const std::uint32_t receive_bytes;  // per Receive
  std::unique_ptr<fabric::Connection> connection;
  bool begun = false;
  bool ended = false;
  Time heard = 0;
};

void Channel::Impl::receive(std::uint32_t slot, const fabric::Completion& completion, Time now) {
  const Block* const block = receives.complete(slot);
  if (block == nullptr || link.down) return;
  if (link.trace.on()) {
    // With immediate data, the bytes may have been written to other memory than the Receive's.
    const std::uint32_t there =
        completion.has_immediate ? 0 : std::min(completion.bytes, receive_bytes);
    trace_received(link.trace, completion, {block->data, there}, now);
  }
  if (!link.failure.empty()) return;
  if (completion.has_immediate || completion.bytes > receive_bytes) {
    return link.fail("a message with immediate data, or longer than its Receive", trace::kPeer);
  }
  Received message;
  message.block = *block;
  message.bytes = completion.bytes;
  message.at = now;
  message.has_invalidated = completion.has_invalidated;
  message.invalidated = completion.invalidated;
  message.header = wire::decode_header(message.message());
  link.peer_raises |= message.header && message.header->vers == kVersionTwo &&
                      completion.bytes > kVersionTwoThreshold;
  if (deliver(message) == Keep::kNo) return receives.again(slot);
  if (const auto fresh = receives.again_fresh(slot); !fresh) {
    link.fail("there is no memory for a Receive", trace::kHere);
  }
}

Keep Channel::Impl::deliver(const Received& message) {
  if (requester != nullptr && (responder == nullptr || is_reply(message, *requester))) {
    return requester->receive(message);
  }
  if (message.has_invalidated) {
    link.fail("a Call invalidated a handle", trace::kPeer,
              message.header ? message.header->xid : 0);
    return Keep::kNo;
  }
  return responder != nullptr ? responder->receive(message) : Keep::kNo;
}

Channel::Channel(MemoryPool& pool, const ChannelOptions& options, Requester* requester,
                 Responder* responder)
    : impl_(std::make_unique<Impl>(pool, options,
                                   requester != nullptr ? requester->impl_.get() : nullptr,
                                   responder != nullptr ? responder->impl_.get() : nullptr)) {}

Channel::~Channel() {
  impl_->connection.reset();
  impl_->end();
}

fabric::QueueDepths Channel::depths() const {
  const Impl& i = *impl_;
  fabric::QueueDepths depths;
  depths.receive = i.receives.count();
  depths.send = kUnsignaled + 2 * i.credits() + kLeastEnded;
  depths.handles = i.link.handles + i.link.reply_handles;
  return depths;
}

std::uint64_t Channel::receive_bytes() const {
  return impl_->receives.count() * MemoryPool::block_bytes(impl_->receive_bytes);
}

Expected<void> Channel::begin(std::unique_ptr<fabric::Connection> connection) {
  Impl& i = *impl_;
  if (auto filled = i.receives.fill(); !filled) return filled;
  if (auto posted = i.receives.post(*connection); !posted) {
    connection.reset();
    i.receives.drain();
    return tl::unexpected(posted.error());
  }
  i.connection = std::move(connection);
  i.link.connection = i.connection.get();
  i.begun = true;
  if (i.requester != nullptr) i.requester->attach(i.link);
  if (i.responder != nullptr) i.responder->attach(i.link);
  return {};
}

fabric::Connection& Channel::connection() {
  return *impl_->connection;
}

void Channel::agree(const Terms& terms) {
  impl_->link.options.terms = terms;
}

void Channel::established(Time now) {
  Impl& i = *impl_;
  i.link.now = i.heard = now;
  i.link.established = true;
  i.link.copied_send = i.connection->copied_send();
  if (i.link.trace.on())
    trace_receives(i.link.trace, i.receives.posted(), i.receives.posted(), now);
  if (i.requester != nullptr) i.or_fail([&] { i.requester->established(now); });
}

void Channel::attach(Requester& requester, Time now) {
  Impl& i = *impl_;
  i.link.now = now;
  i.requester = requester.impl_.get();
  i.requester->attach(i.link);
  i.or_fail([&] { i.requester->established(now); });
}

void Channel::detach_requester(Time now) {
  if (impl_->requester == nullptr) return;
  impl_->link.now = now;
  std::exchange(impl_->requester, nullptr)->detach(now);
}

bool Channel::has_requester() const {
  return impl_->requester != nullptr;
}

std::uint32_t Channel::version() const {
  return impl_->link.version;
}

bool Channel::lacks_version_two() const {
  return impl_->link.tried_two != fabric::kNever && !impl_->link.has_two;
}

std::optional<Versions> Channel::refused() const {
  return impl_->link.refused;
}

void Channel::completed(const fabric::Completion& completion, Time now) {
  Impl& i = *impl_;
  i.link.now = now;
  if (!i.begun || i.ended) return;
  i.or_fail([&] { i.completed(completion, now); });
}

void Channel::Impl::completed(const fabric::Completion& completion, Time now) {
  const WorkId id = WorkId::decode(completion.id);
  if (completion.status == fabric::Status::kFlushed) {
    link.down = true;  // which the fabric is about to report
    return;
  }
  if (completion.status != fabric::Status::kSuccess) {
    if (link.trace.on()) trace_failed(link.trace, completion, now);
    const bool silent = completion.status == fabric::Status::kRetriesExceeded;
    const std::string what =
        id.kind != WorkKind::kProbe
            ? fmt::format("{} failed", fabric::operation_name(completion.operation))
        : silent ? "the peer does not answer"
                 : "the probe failed";
    return link.fail(fmt::format("{}: {}", what, fabric::status_name(completion.status)),
                     side_of_failure(completion.status));
  }
  heard = now;
  switch (id.kind) {
    case WorkKind::kReceive:
      return receive(id.slot, completion, now);
    case WorkKind::kCallSend:
    case WorkKind::kFence:
    case WorkKind::kReplyRead:
    case WorkKind::kDoneSend:
      if (requester != nullptr) requester->completed(id, now);
      return;
    case WorkKind::kRead:
    case WorkKind::kReplySend:
    case WorkKind::kReplyFence:
      if (responder != nullptr) responder->completed(id, now);
      return;
    case WorkKind::kAdvertise:
    case WorkKind::kWrite:
    case WorkKind::kProbe:
      return;
  }
}

void Channel::peer_closes() {
  impl_->link.peer_closed = true;
}

void Channel::disconnected(Time now) {
  impl_->link.now = now;
  impl_->end();
}

void Channel::close(Time now) {
  impl_->link.now = now;
  impl_->connection.reset();
  impl_->end();
}

Time Channel::heard() const {
  return impl_->heard;
}

void Channel::probe(Time now) {
  Link& link = impl_->link;
  link.now = now;
  if (!link.open()) return;
  WorkRequest nothing;
  nothing.request.id = WorkId{WorkKind::kProbe}.encode();
  nothing.request.operation = fabric::Operation::kWrite;
  // Without room for it, many other requests are in flight, which probe the peer just as well.
  if (!impl_->connection->post_send({&nothing.request, 1})) return;
  if (link.trace.on()) trace_posted(link.trace, {&nothing, 1}, now);
}

void Channel::flush(Time now) {
  Impl& i = *impl_;
  i.link.now = now;
  if (!i.begun || i.ended || i.link.down || !i.link.failure.empty()) return;
  i.or_fail([&] { i.flush(now); });
}

void Channel::Impl::flush(Time now) {
  // Before anything that the peer may answer.
  const Expected<std::uint32_t> fresh = receives.post(*connection);
  if (fresh && *fresh != 0 && link.trace.on()) {
    trace_receives(link.trace, *fresh, receives.posted(), now);
  }
  Expected<void> posted = fresh.map([](std::uint32_t) {});
  if (posted && link.open()) {
    if (requester != nullptr) requester->flush(now);
    if (responder != nullptr) responder->flush();
    posted = link.work.post(*connection, link.trace, now);
  }
  if (posted) return;
  if (posted.error().code == Errc::kNotConnected) {
    link.down = true;  // which the fabric is about to report
  } else {
    link.fail(fmt::format("work could not be posted: {}", posted.error().message), trace::kHere);
  }
}

Time Channel::deadline() const {
  return std::min(impl_->requester != nullptr ? impl_->requester->deadline() : fabric::kNever,
                  impl_->responder != nullptr ? impl_->responder->deadline() : fabric::kNever);
}

void Channel::expire(Time now) {
  impl_->link.now = now;
  impl_->or_fail([&] {
    if (impl_->requester != nullptr) impl_->requester->expire(now);
    if (impl_->responder != nullptr) impl_->responder->expire(now);
  });
}

const std::string& Channel::failure() const {
  return impl_->link.failure;
}

}  // namespace rpcrdma::protocol
