// Decodes the RPC header of each Call, decodes its credential, finds its procedure, and encodes the
// Reply header.
#include "dispatcher_state.h"

#include <algorithm>
#include <new>

namespace rpcrdma::service {

using fabric::Expected;

namespace {

constexpr std::uint32_t kRpcVersion = 2;

// auth_stat, RFC 5531 section 9.
constexpr std::uint32_t kAuthBadCred = 1;
constexpr std::uint32_t kAuthRejectedCred = 2;
constexpr std::uint32_t kAuthBadVerf = 3;

// Start of an accepted Reply with results: XID (filled in later), REPLY, MSG_ACCEPTED, AUTH_NONE
// without a body, SUCCESS.
constexpr std::array<std::uint8_t, 24> kSuccess{0, 0, 0, 0, 0, 0, 0, 1};

wire::RpcReply accepted(wire::AcceptStat stat) {
  wire::RpcReply reply;
  reply.accept = stat;
  return reply;
}

wire::RpcReply denied(wire::RejectStat stat) {
  wire::RpcReply reply;
  reply.stat = wire::ReplyStat::kDenied;
  reply.reject = stat;
  return reply;
}

}  // namespace

DispatcherCounters& DispatcherCounters::operator+=(const DispatcherCounters& o) {
  calls += o.calls;
  success += o.success;
  prog_unavail += o.prog_unavail;
  prog_mismatch += o.prog_mismatch;
  proc_unavail += o.proc_unavail;
  garbage_args += o.garbage_args;
  system_err += o.system_err;
  rpc_mismatch += o.rpc_mismatch;
  auth_error += o.auth_error;
  not_calls += o.not_calls;
  reply_refused += o.reply_refused;
  deferred += o.deferred;
  cancelled += o.cancelled;
  replayed += o.replayed;
  duplicates_dropped += o.duplicates_dropped;
  one_way += o.one_way;
  return *this;
}

DispatcherState::DispatcherState(std::span<Program* const> programs, const fabric::Address& peer,
                                 protocol::MemoryPool& memory, const fabric::Time& clock,
                                 std::shared_ptr<DuplicateCache::Impl> duplicates)
    : programs_(programs.begin(), programs.end()),
      peer_(peer),
      memory_(&memory),
      clock_(&clock),
      duplicates_(duplicates),
      keeps_(duplicates != nullptr) {}

void DispatcherState::orphan() {
  reply_to_ = nullptr;
  answered_later_ = nullptr;
  bind_ = nullptr;
  configure_ = nullptr;
  drop_ = nullptr;
  for (std::size_t n = 0; n < slots_.size(); ++n) {
    Slot& slot = slots_[n];
    // Its Reply is still kept when it comes, and may lie in these blocks.
    const Special* const kept = slot.token ? special(ids_[n]) : nullptr;
    if (kept != nullptr && kept->entry != nullptr && !duplicates_.expired()) {
      kept->entry->pool = memory_;
      kept->entry->blocks = slot.blocks;
      std::fill(kept->entry->blocks.begin() + slot.block_count, kept->entry->blocks.end(),
                protocol::Block());
      slot.block_count = 0;
    }
    for (std::uint32_t i = 0; i < slot.block_count; ++i) memory_->release(slot.blocks[i]);
    slot.block_count = 0;
    if (share_ != nullptr) share_->give(slot.held);
    slot.ended = true;
  }
  memory_ = nullptr;
  share_ = nullptr;
}

void DispatcherState::on_call(const protocol::IncomingCall& incoming) {
  ++counters_.calls;
  try {
    serve(incoming);
  } catch (const std::bad_alloc&) {
    // No effect if it was already answered, or ended with its connection.
    (void)fail(incoming.id, CallError::kSystemError);
  }
}

void DispatcherState::serve(const protocol::IncomingCall& incoming) {
  const auto rpc = wire::decode_rpc(incoming.stream);
  if (!rpc || rpc->type != wire::MsgType::kCall) {
    ++counters_.not_calls;
    ++counters_.garbage_args;
    (void)answer(incoming.id, accepted(wire::AcceptStat::kGarbageArgs));
    return;
  }
  dispatch(incoming, rpc->call, rpc->length);
}

bool DispatcherState::check_credential(const wire::RpcCall& call, Credential& credential,
                                       std::uint32_t& auth_stat) const {
  credential.flavor = static_cast<wire::AuthFlavor>(call.cred.flavor);
  if (credential.flavor == wire::AuthFlavor::kSys) {
    const auto sys = wire::decode_auth_sys(call.cred.body);
    if (!sys) {
      auth_stat = kAuthBadCred;
      return false;
    }
    credential.sys = *sys;
  } else if (credential.flavor != wire::AuthFlavor::kNone) {
    auth_stat = kAuthRejectedCred;
    return false;
  }
  auth_stat = kAuthBadVerf;
  return call.verf.flavor == static_cast<std::uint32_t>(wire::AuthFlavor::kNone);
}

void DispatcherState::dispatch(const protocol::IncomingCall& incoming, const wire::RpcCall& call,
                               std::uint32_t header_bytes) {
  if (call.rpcvers != kRpcVersion) {
    ++counters_.rpc_mismatch;
    wire::RpcReply reply = denied(wire::RejectStat::kRpcMismatch);
    reply.low = reply.high = kRpcVersion;
    (void)answer(incoming.id, reply);
    return;
  }
  Credential credential;
  std::uint32_t auth_stat = 0;
  if (!check_credential(call, credential, auth_stat)) {
    ++counters_.auth_error;
    wire::RpcReply reply = denied(wire::RejectStat::kAuthError);
    reply.auth_stat = auth_stat;
    (void)answer(incoming.id, reply);
    return;
  }

  Program* program = nullptr;
  std::uint32_t low = UINT32_MAX, high = 0;
  for (Program* const p : programs_) {
    if (p->number() != call.prog) continue;
    low = std::min(low, p->version());
    high = std::max(high, p->version());
    if (p->version() == call.vers) program = p;
  }
  if (program == nullptr) {
    const bool known = low <= high;
    ++(known ? counters_.prog_mismatch : counters_.prog_unavail);
    wire::RpcReply reply =
        accepted(known ? wire::AcceptStat::kProgMismatch : wire::AcceptStat::kProgUnavail);
    reply.low = low;
    reply.high = high;
    (void)answer(incoming.id, reply);
    return;
  }
  const Procedure* procedure = program->find(call.proc);
  if (procedure == nullptr) {
    (void)fail(incoming.id, CallError::kProcUnavail);
    return;
  }
  if (procedure->one_way) specials_.push_back({incoming.id, nullptr, true});
  // No binding makes the RPC header DDP-eligible.
  protocol::StreamReader arguments(incoming.stream, incoming.items, incoming.padding);
  if (incoming.items.size() > procedure->binding.arguments ||
      (!incoming.items.empty() && incoming.items.front().position < header_bytes)) {
    (void)fail(incoming.id, CallError::kGarbageArgs);
    return;
  }
  (void)arguments.opaque_fixed(header_bytes);
  if (!procedure->idempotent && keeps_ && !is_first(incoming, call, procedure->one_way)) return;

  Call handled(*this, arguments, incoming.items, peer_, incoming.offer);
  handled.credential_ = credential;
  handled.id_ = incoming.id;
  handled.xid_ = incoming.xid;
  handled.now_ = *clock_;
  handled.received_ = incoming.received;
  handled.pulled_ = incoming.pulled;
  procedure->handler(handled);
  if (!handled.ended_) (void)handled.fail(CallError::kSystemError);
  // The handler may have answered a Call that it had deferred.
  const std::size_t slot = slots_.empty() ? 0 : find(incoming.id);
  if (slot < slots_.size() && slots_[slot].token) {
    slots_[slot].program = program;
    slots_[slot].procedure = procedure;
    slots_[slot].received = incoming.received;
  } else {
    program->count(*procedure, since(incoming.received));
  }
}

Expected<void> DispatcherState::reply(std::uint64_t id, std::span<const protocol::Piece> results) {
  if (results.size() > kMaxResultPieces) {
    (void)fail(id, CallError::kSystemError);
    return fabric::fail(fabric::Errc::kBadArgument, "too many pieces of results");
  }
  std::array<protocol::Piece, protocol::kMaxPieces> message;
  message[0].bytes = kSuccess;
  std::copy(results.begin(), results.end(), message.begin() + 1);
  auto sent = send(id, std::span(message).first(results.size() + 1));
  if (sent) ++counters_.success;
  return sent;
}

Expected<void> DispatcherState::fail(std::uint64_t id, CallError error) {
  switch (error) {
    case CallError::kGarbageArgs:
      ++counters_.garbage_args;
      return answer(id, accepted(wire::AcceptStat::kGarbageArgs));
    case CallError::kProcUnavail:
      ++counters_.proc_unavail;
      return answer(id, accepted(wire::AcceptStat::kProcUnavail));
    case CallError::kSystemError:
      break;
  }
  ++counters_.system_err;
  return answer(id, accepted(wire::AcceptStat::kSystemErr));
}

Expected<void> DispatcherState::answer(std::uint64_t id, const wire::RpcReply& reply) {
  std::array<std::uint8_t, kReplyHeaderBytes> header;
  // Without a verifier's body every header fits.
  const std::size_t length = wire::encode_rpc(reply, header).value_or(0);
  const protocol::Piece piece{wire::Bytes(header).first(length), nullptr, false};
  return send(id, {&piece, 1});
}

Expected<void> DispatcherState::send(std::uint64_t id, std::span<const protocol::Piece> message) {
  std::optional<Special> kept;
  if (!specials_.empty()) kept = take_special(id);
  if (kept) {
    // Before it is sent, since the client may find that it does not fit, and send the Call again.
    keep(*kept, message);
    if (kept->one_way) {
      ++counters_.one_way;
      drop(id);
      return {};
    }
  }
  Expected<void> sent = fabric::fail(fabric::Errc::kNotConnected);
  if (reply_to_) {
    sent = reply_to_(id, message, *clock_);
    if (!sent) {
      if (sent.error().code == fabric::Errc::kNoRoom) ++counters_.reply_refused;
      end(id);
    }
  }
  if (kept && kept->entry != nullptr) answer_waiter(*kept->entry);
  return sent;
}

void DispatcherState::on_cancelled(std::uint64_t id) {
  ++counters_.cancelled;
  end(id);
}

void DispatcherState::end(std::uint64_t id) {
  const std::size_t slot = find(id);
  if (slot == slots_.size()) return;
  slots_[slot].ended = true;
  if (!slots_[slot].token) remove(slot);
}

Expected<void> DispatcherState::bind(std::shared_ptr<ReverseClient> client) {
  if (!bind_) {
    return fabric::fail(fabric::Errc::kBadArgument, "reverse Calls are not supported here");
  }
  return bind_(std::move(client));
}

Expected<wire::RdmaConfigReply> DispatcherState::configure(const wire::RdmaConfigRequest& request) {
  if (!configure_) {
    return fabric::fail(fabric::Errc::kBadArgument, "the connection cannot be configured");
  }
  return configure_(request);
}

Expected<protocol::Block> DispatcherState::acquire(std::uint64_t id, std::uint32_t bytes) {
  if (memory_ == nullptr) return fabric::fail(fabric::Errc::kNotConnected);
  const std::size_t slot = find_or_add(id);
  if (slots_[slot].block_count == slots_[slot].blocks.size()) {
    return fabric::fail(fabric::Errc::kNoRoom, "too many blocks for one Call");
  }
  Slot& s = slots_[slot];
  const protocol::MemoryHeld before = s.held;
  if (share_ != nullptr &&
      !share_->take_at_once(protocol::MemoryPool::block_bytes(bytes), s.held)) {
    return fabric::fail(fabric::Errc::kNoRoom, "the connection's share of the memory is used up");
  }
  auto block = memory_->acquire(bytes);
  if (block) {
    s.blocks[s.block_count++] = *block;
  } else if (share_ != nullptr) {
    share_->give_back_to(before, s.held);
  }
  return block;
}

std::shared_ptr<DispatcherState> DispatcherState::defer(std::uint64_t id) {
  ++counters_.deferred;
  slots_[find_or_add(id)].token = true;
  return shared_from_this();
}

bool DispatcherState::waiting(std::uint64_t id) const {
  const std::size_t slot = find(id);
  return slot != slots_.size() && slots_[slot].token && !slots_[slot].ended;
}

Expected<void> DispatcherState::reply_deferred(std::uint64_t id,
                                               std::span<const protocol::Piece> results) {
  if (!waiting(id) && special(id) == nullptr) return fabric::fail(fabric::Errc::kNotConnected);
  count_deferred(id);
  auto sent = reply(id, results);
  if (answered_later_) answered_later_();
  return sent;
}

Expected<void> DispatcherState::fail_deferred(std::uint64_t id, CallError error) {
  if (!waiting(id) && special(id) == nullptr) return fabric::fail(fabric::Errc::kNotConnected);
  count_deferred(id);
  auto sent = fail(id, error);
  if (answered_later_) answered_later_();
  return sent;
}

fabric::Time DispatcherState::since(fabric::Time received) const {
  return (read_clock_ != nullptr ? std::max(read_clock_(), *clock_) : *clock_) - received;
}

void DispatcherState::count_deferred(std::uint64_t id) {
  // Without a responder the Call has no Reply; its program and the clock may have ended with it.
  if (!reply_to_) return;
  const std::size_t slot = find(id);
  if (slot == slots_.size() || slots_[slot].procedure == nullptr) return;
  slots_[slot].program->count(*slots_[slot].procedure, since(slots_[slot].received));
}

void DispatcherState::drop_token(std::uint64_t id) {
  const std::size_t slot = find(id);
  if (slot == slots_.size()) return;
  slots_[slot].token = false;
  if (slots_[slot].ended) remove(slot);
}

std::size_t DispatcherState::find(std::uint64_t id) const {
  return static_cast<std::size_t>(std::find(ids_.begin(), ids_.end(), id) - ids_.begin());
}

std::size_t DispatcherState::find_or_add(std::uint64_t id) {
  const std::size_t slot = find(id);
  if (slot == slots_.size()) {
    slots_.emplace_back();
    try {
      ids_.push_back(id);
    } catch (const std::bad_alloc&) {
      slots_.pop_back();
      throw;
    }
  }
  return slot;
}

void DispatcherState::remove(std::size_t slot) {
  Slot& s = slots_[slot];
  if (memory_ != nullptr) {
    for (std::uint32_t i = 0; i < s.block_count; ++i) memory_->release(s.blocks[i]);
  }
  if (share_ != nullptr) share_->give(s.held);
  ids_[slot] = ids_.back();
  slots_[slot] = slots_.back();
  ids_.pop_back();
  slots_.pop_back();
}

const fabric::Memory* Call::memory_of(wire::Bytes argument) const {
  for (const protocol::Placed& item : items_) {
    if (item.bytes.data() == argument.data()) return item.memory;
  }
  return nullptr;
}

Expected<protocol::Block> Call::acquire(std::uint32_t bytes) {
  if (ended_) return fabric::fail(fabric::Errc::kNotConnected);
  return state_.acquire(id_, bytes);
}

Expected<void> Call::bind(std::shared_ptr<ReverseClient> client) {
  return state_.bind(std::move(client));
}

Expected<wire::RdmaConfigReply> Call::configure(const wire::RdmaConfigRequest& request) {
  return state_.configure(request);
}

Expected<void> Call::reply(std::span<const protocol::Piece> results) {
  if (ended_) return fabric::fail(fabric::Errc::kNotConnected);
  ended_ = true;
  return state_.reply(id_, results);
}

Expected<void> Call::fail(CallError error) {
  if (ended_) return fabric::fail(fabric::Errc::kNotConnected);
  ended_ = true;
  return state_.fail(id_, error);
}

Deferred Call::defer() {
  if (ended_) return {};
  ended_ = true;
  return {state_.defer(id_), id_};
}

Deferred::Deferred(Deferred&& other) noexcept : state_(std::move(other.state_)), id_(other.id_) {}

Deferred& Deferred::operator=(Deferred&& other) noexcept {
  if (this != &other) {
    drop();
    state_ = std::move(other.state_);
    id_ = other.id_;
  }
  return *this;
}

Deferred::~Deferred() {
  drop();
}

bool Deferred::waiting() const {
  return state_ != nullptr && state_->waiting(id_);
}

Expected<void> Deferred::reply(std::span<const protocol::Piece> results) {
  if (state_ == nullptr) return fabric::fail(fabric::Errc::kNotConnected);
  auto sent = state_->reply_deferred(id_, results);
  std::exchange(state_, nullptr)->drop_token(id_);
  return sent;
}

Expected<void> Deferred::fail(CallError error) {
  if (state_ == nullptr) return fabric::fail(fabric::Errc::kNotConnected);
  auto sent = state_->fail_deferred(id_, error);
  std::exchange(state_, nullptr)->drop_token(id_);
  return sent;
}

void Deferred::drop() {
  if (state_ != nullptr) (void)fail(CallError::kSystemError);
}

Dispatcher::Dispatcher(std::span<Program* const> programs, const fabric::Address& peer,
                       protocol::MemoryPool& memory, const fabric::Time& clock,
                       DuplicateCache* duplicates)
    : state_(std::make_shared<DispatcherState>(programs, peer, memory, clock,
                                               DispatcherState::impl_of(duplicates))) {}
Dispatcher::~Dispatcher() {
  state_->orphan();
}

void Dispatcher::attach(ReplyTo reply_to, std::function<void()> answered_later, Bind bind,
                        Configure configure, Drop drop) {
  state_->attach(std::move(reply_to), std::move(answered_later), std::move(bind),
                 std::move(configure), std::move(drop));
}
void Dispatcher::trace(const trace::ConnectionTracer& tracer) {
  state_->trace(tracer);
}
void Dispatcher::measure_by(fabric::Time (*read_clock)()) {
  state_->measure_by(read_clock);
}
void Dispatcher::limit_by(protocol::MemoryShare& share) {
  state_->limit_by(share);
}
void Dispatcher::on_call(const protocol::IncomingCall& call) {
  state_->on_call(call);
}
void Dispatcher::on_sent(std::uint64_t id) {
  state_->on_sent(id);
}
void Dispatcher::on_cancelled(std::uint64_t id) {
  state_->on_cancelled(id);
}
const DispatcherCounters& Dispatcher::counters() const {
  return state_->counters();
}

}  // namespace rpcrdma::service
