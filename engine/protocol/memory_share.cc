#include <algorithm>
#include <bit>

#include <rpcrdma/protocol/memory_share.h>

namespace rpcrdma::protocol {
namespace {

constexpr std::uint64_t kReservedPart = 16;  // of the pool, for all connections together
constexpr std::uint64_t kReceivesKeep = 8;   // the part of the pool that no Receives may take
// For what cannot wait: how many times as much as it leaves free an address may hold.
constexpr std::uint64_t kTimesAtOnce = 3;

// Bytes that are free below `most`.
std::uint64_t below(std::uint64_t most, std::uint64_t used) {
  return most - std::min(most, used);
}

}  // namespace

// Blocks are powers of two, and so is their room.
std::uint64_t MemoryShares::reserved_each() const {
  const std::uint64_t each = pool_.limit() / kReservedPart / std::max(options_.connections, 1U);
  return std::bit_floor(each);
}

MemoryShare::MemoryShare(MemoryShares& shares, const fabric::Address& peer)
    : shares_(shares), account_(shares.accounts_.try_emplace(peer).first) {
  ++account_->second.connections;
}

MemoryShare::~MemoryShare() {
  account_->second.held -= held_;
  if (--account_->second.connections == 0) shares_.accounts_.erase(account_);
}

bool MemoryShares::receives_fit(std::uint64_t held, std::uint64_t bytes) const {
  const std::uint64_t limit = pool_.limit();
  const std::uint64_t free = below(limit - limit / kReceivesKeep, pool_.in_use());
  return bytes <= free && held + bytes <= kTimesAtOnce * (free - bytes);
}

bool MemoryShares::admits_receives(const fabric::Address& peer, std::uint64_t bytes) const {
  const auto account = accounts_.find(peer);
  return receives_fit(account == accounts_.end() ? 0 : account->second.held, bytes);
}

bool MemoryShare::take_receives(std::uint64_t bytes) {
  if (!shares_.receives_fit(account_->second.held, bytes)) return false;
  account_->second.held += bytes;
  held_ += bytes;
  return true;
}

// An address may hold at most `times` as much as it leaves free: held + bytes <= times * (free -
// bytes). That is times / (times + 1) of what others do not hold, and a connection's is half.
bool MemoryShare::has_room(std::uint64_t bytes, std::uint64_t times) const {
  const std::uint64_t free = below(shares_.most(), shares_.pool_.in_use());
  if (bytes > free) return false;
  if (shares_.calls_ + bytes <= shares_.options_.single) return true;
  const std::uint64_t held = account_->second.held;
  return held + bytes <= times * (free - bytes) &&
         2 * (times + 1) * (held_ + bytes) <= times * (free + held);
}

bool MemoryShare::take(std::uint64_t bytes, MemoryHeld& held) {
  return take(bytes, 1, held);
}

bool MemoryShare::take_at_once(std::uint64_t bytes, MemoryHeld& held) {
  return take(bytes, kTimesAtOnce, held);
}

bool MemoryShare::take(std::uint64_t bytes, std::uint64_t times, MemoryHeld& held) {
  if (has_room(bytes, times)) {
    shares_.calls_ += bytes;
    account_->second.held += bytes;
    held_ += bytes;
    held.shared += bytes;
    return true;
  }
  if (reserved_ + bytes > shares_.reserved_each()) return false;
  reserved_ += bytes;
  held.reserved += bytes;
  return true;
}

void MemoryShare::give_back_to(const MemoryHeld& before, MemoryHeld& held) {
  MemoryHeld since{held.shared - before.shared, held.reserved - before.reserved};
  held = before;
  give(since);
}

void MemoryShare::give_all(MemoryHeld& held) {
  shares_.calls_ -= held.shared;
  account_->second.held -= held.shared;
  held_ -= held.shared;
  reserved_ -= held.reserved;
  held = {};
}

}  // namespace rpcrdma::protocol
