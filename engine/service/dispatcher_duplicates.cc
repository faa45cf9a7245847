// How a dispatcher treats Calls of procedures that are not idempotent, and Calls without a Reply.
// Neither costs other Calls anything: specials_ is empty then.
#include "dispatcher_state.h"

#include <algorithm>
#include <new>
#include <utility>

namespace rpcrdma::service {

using protocol::Piece;
using trace::DuplicateFate;
using State = DuplicateEntry::State;

bool DispatcherState::is_first(const protocol::IncomingCall& incoming, const wire::RpcCall& call,
                               bool one_way) {
  const auto cache = duplicates_.lock();
  if (cache == nullptr) return true;
  if (!one_way) specials_.reserve(specials_.size() + 1);  // nothing fails once there is an entry
  DuplicateKey key{peer_, incoming.xid, call.prog, call.vers, call.proc};
  sum_up(incoming, key);
  bool is_new = false;
  const auto entry = cache->find_or_add(key, is_new);
  if (entry == nullptr) {
    trace_duplicate(key, DuplicateFate::kUnprotected);
    return true;
  }
  if (is_new) {
    if (one_way) {
      special(incoming.id)->entry = entry;
    } else {
      specials_.push_back({incoming.id, entry, false});
    }
    return true;
  }
  if (one_way) {
    (void)take_special(incoming.id);
    ++cache->counters.dropped;
    ++counters_.duplicates_dropped;
    trace_duplicate(key, DuplicateFate::kDropped);
    drop(incoming.id);
    return false;
  }
  if (entry->state != State::kExecuting) {
    replay(incoming, *entry);
    return false;
  }
  ++cache->counters.waited;
  trace_duplicate(key, DuplicateFate::kWaits);
  // The client waits on its latest connection; an earlier duplicate would only take a slot.
  if (const auto before = std::exchange(entry->waiter, weak_from_this()).lock()) {
    ++cache->counters.dropped;
    before->drop_duplicate(std::exchange(entry->waiter_id, incoming.id));
  }
  entry->waiter_id = incoming.id;
  return false;
}

void DispatcherState::replay(const protocol::IncomingCall& incoming, DuplicateEntry& entry) {
  const auto cache = duplicates_.lock();
  if (cache != nullptr) {
    cache->touch(entry);
    ++cache->counters.replayed;
  }
  trace_duplicate(entry.key, DuplicateFate::kReplayed);
  send_kept(incoming.id, entry);
}

void DispatcherState::answer_waiter(DuplicateEntry& entry) {
  const auto waiter = std::exchange(entry.waiter, {}).lock();
  if (waiter == nullptr) return;
  if (const auto cache = waiter->duplicates_.lock()) ++cache->counters.replayed;
  waiter->trace_duplicate(entry.key, DuplicateFate::kReplayed);
  waiter->send_kept(entry.waiter_id, entry);
  if (waiter->answered_later_) waiter->answered_later_();
}

void DispatcherState::send_kept(std::uint64_t id, const DuplicateEntry& entry) {
  if (entry.state == State::kNotKept) {
    ++counters_.system_err;
    wire::RpcReply lost;
    lost.accept = wire::AcceptStat::kSystemErr;
    return (void)answer(id, lost);
  }
  std::array<Piece, protocol::kMaxPieces> pieces;
  if (send(id, entry.message(pieces))) ++counters_.replayed;
}

void DispatcherState::drop_duplicate(std::uint64_t id) {
  ++counters_.duplicates_dropped;
  drop(id);
  if (answered_later_) answered_later_();
}

void DispatcherState::drop(std::uint64_t id) {
  if (drop_) drop_(id, *clock_);
  end(id);
}

void DispatcherState::trace_duplicate(const DuplicateKey& key, DuplicateFate fate) const {
  if (!trace_.on()) return;
  trace::Duplicate event;
  event.xid = key.xid;
  event.program = key.program;
  event.version = key.version;
  event.procedure = key.procedure;
  event.fate = fate;
  trace_.emit(*clock_, event);
}

DispatcherState::Special* DispatcherState::special(std::uint64_t id) {
  const auto at = std::ranges::find(specials_, id, &Special::id);
  return at == specials_.end() ? nullptr : &*at;
}

std::optional<DispatcherState::Special> DispatcherState::take_special(std::uint64_t id) {
  Special* const found = special(id);
  if (found == nullptr) return std::nullopt;
  std::optional<Special> taken(std::move(*found));
  *found = std::move(specials_.back());
  specials_.pop_back();
  return taken;
}

void DispatcherState::keep(const Special& special, std::span<const Piece> message) noexcept {
  if (special.entry == nullptr) return;
  if (const auto cache = duplicates_.lock()) {
    special.one_way ? cache->keep_nothing(*special.entry) : cache->keep(*special.entry, message);
  }
  special.entry->give_blocks();
}

}  // namespace rpcrdma::service
