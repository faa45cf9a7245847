// Entries of the duplicate request cache: look-up, bounds, and the Replies they keep.
#include "checksum.h"
#include "duplicate_entry.h"

#include <algorithm>
#include <new>
#include <random>
#include <utility>

#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::service {

using protocol::Piece;

namespace {

// Of an entry without its Reply: the entry, its place in the table and in the order.
constexpr std::uint64_t kEntryBytes = sizeof(DuplicateEntry) + sizeof(DuplicateKey) + 128;
constexpr std::size_t kXidBytes = 4;
// One Reply is kept if it takes at most this part of the cache, so that it cannot evict all others.
constexpr std::uint64_t kReplyPart = 4;

std::uint64_t mix(std::uint64_t v) {
  v = (v ^ (v >> 30U)) * 0xbf58476d1ce4e5b9;
  v = (v ^ (v >> 27U)) * 0x94d049bb133111eb;
  return v ^ (v >> 31U);
}

wire::Bytes roundup_of(std::size_t bytes) {
  static constexpr std::array<std::uint8_t, 3> kZeros{};
  return wire::Bytes(kZeros).first((4 - bytes % 4) % 4);
}

}  // namespace

void sum_up(const protocol::IncomingCall& call, DuplicateKey& key) {
  Checksum sum;
  wire::Bytes rest = call.stream.subspan(std::min(call.stream.size(), kXidBytes));
  std::uint64_t place = call.stream.size() - rest.size();  // in the unreduced message
  const auto add = [&](wire::Bytes bytes) {
    sum.add(bytes);
    place += bytes.size();
  };
  for (const protocol::Placed& item : call.items) {
    // An item that lies beyond the stream makes the arguments garbage, wherever it counts here.
    const std::uint64_t before = item.position > place ? item.position - place : 0;
    const auto front = static_cast<std::size_t>(std::min<std::uint64_t>(before, rest.size()));
    add(rest.first(front));
    rest = rest.subspan(front);
    add(item.bytes);
    add(roundup_of(item.bytes.size()));
  }
  add(rest);
  key.bytes = place;
  key.checksum = sum.value();
}

DuplicateCacheCounters& DuplicateCacheCounters::operator+=(const DuplicateCacheCounters& o) {
  calls += o.calls;
  replayed += o.replayed;
  waited += o.waited;
  dropped += o.dropped;
  evicted += o.evicted;
  expired += o.expired;
  not_kept += o.not_kept;
  unprotected += o.unprotected;
  entries += o.entries;
  bytes += o.bytes;
  return *this;
}

std::span<const Piece> DuplicateEntry::message(
    std::array<Piece, protocol::kMaxPieces>& pieces) const {
  wire::Bytes rest = reply;
  for (std::uint32_t i = 0; i < part_count; ++i) {
    pieces[i] = {rest.first(parts[i].bytes), nullptr, parts[i].ddp};
    rest = rest.subspan(parts[i].bytes);
  }
  return std::span(pieces).first(part_count);
}

void DuplicateEntry::give_blocks() {
  for (protocol::Block& block : blocks) {
    if (block) pool->release(block);
    block = {};
  }
}

// The seed keeps a peer from choosing XIDs that collide.
DuplicateCache::Impl::Impl(const DuplicateCacheOptions& o, const fabric::Time& c)
    : options(o), clock(c), entries(0, Hash{std::uint64_t{std::random_device()()} << 32U}) {}

std::size_t DuplicateCache::Impl::Hash::operator()(const DuplicateKey& key) const {
  std::uint64_t h = seed;
  std::uint64_t address = 0;
  for (const std::uint8_t byte : key.peer.bytes) {
    address = address << 8U | byte;
    if (address >> 56U != 0) h = mix(h ^ std::exchange(address, 0));
  }
  h = mix(h ^ address);
  h = mix(h ^ (std::uint64_t{key.xid} << 32U | key.checksum));
  return mix(h ^ (std::uint64_t{key.procedure} << 32U | key.program));
}

std::shared_ptr<DuplicateEntry> DuplicateCache::Impl::find_or_add(const DuplicateKey& key,
                                                                  bool& is_new) {
  expire();
  const auto found = entries.find(key);
  is_new = found == entries.end();
  if (!is_new) return found->second;
  if (!make_room(1, kEntryBytes)) {
    ++counters.unprotected;
    return nullptr;
  }
  auto entry = std::make_shared<DuplicateEntry>();
  entry->key = key;
  executing.push_front(entry.get());
  entry->in_order = executing.begin();
  try {
    entries.emplace(key, entry);
  } catch (const std::bad_alloc&) {
    executing.pop_front();
    throw;
  }
  ++counters.calls;
  ++counters.entries;
  entry->charged = kEntryBytes;
  counters.bytes += kEntryBytes;
  return entry;
}

void DuplicateCache::Impl::keep(DuplicateEntry& entry, std::span<const Piece> reply) noexcept {
  std::size_t bytes = 0;
  for (const Piece& p : reply) bytes += p.bytes.size();
  try {
    if (bytes <= options.bytes / kReplyPart && make_room(0, bytes)) {
      entry.reply.reserve(bytes);
      for (const Piece& p : reply) {
        entry.reply.insert(entry.reply.end(), p.bytes.begin(), p.bytes.end());
        entry.parts[entry.part_count++] = {static_cast<std::uint32_t>(p.bytes.size()), p.ddp};
      }
      entry.charged += bytes;
      counters.bytes += bytes;
      return finish(entry, DuplicateEntry::State::kKept);
    }
  } catch (const std::bad_alloc&) {
    // As if it were too long.
  }
  ++counters.not_kept;
  finish(entry, DuplicateEntry::State::kNotKept);
}

void DuplicateCache::Impl::keep_nothing(DuplicateEntry& entry) noexcept {
  finish(entry, DuplicateEntry::State::kNoReply);
}

void DuplicateCache::Impl::finish(DuplicateEntry& entry, DuplicateEntry::State state) noexcept {
  entry.state = state;
  entry.used = clock;
  order.splice(order.end(), executing, entry.in_order);
}

void DuplicateCache::Impl::touch(DuplicateEntry& entry) {
  entry.used = clock;
  order.splice(order.end(), order, entry.in_order);
}

void DuplicateCache::Impl::expire() {
  while (!order.empty() && clock - order.front()->used >= options.lifetime) {
    ++counters.expired;
    erase(*order.front());
  }
}

bool DuplicateCache::Impl::make_room(std::uint32_t more, std::uint64_t bytes) {
  const auto fits = [&] {
    return counters.entries + more <= options.entries && counters.bytes + bytes <= options.bytes;
  };
  // Nothing is evicted for what does not fit anyway.
  if (bytes > options.bytes) return false;
  while (!fits() && !order.empty()) {
    ++counters.evicted;
    erase(*order.front());
  }
  return fits();
}

void DuplicateCache::Impl::erase(DuplicateEntry& entry) {
  --counters.entries;
  counters.bytes -= entry.charged;
  order.erase(entry.in_order);
  entries.erase(DuplicateKey(entry.key));
}

DuplicateCache::DuplicateCache(const DuplicateCacheOptions& options, const fabric::Time& clock)
    : impl_(std::make_shared<Impl>(options, clock)) {}

DuplicateCache::~DuplicateCache() {
  for (const auto& [key, entry] : impl_->entries) entry->give_blocks();
}

const DuplicateCacheCounters& DuplicateCache::counters() const {
  return impl_->counters;
}

}  // namespace rpcrdma::service
