// What the duplicate request cache knows of one Call, and how dispatchers use it.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/service/duplicate_cache.h>

namespace rpcrdma::service {

class DispatcherState;

struct DuplicateKey {
  fabric::Address peer;
  std::uint32_t xid = 0, program = 0, version = 0, procedure = 0;
  std::uint64_t bytes = 0;  // of the RPC message
  std::uint32_t checksum = 0;

  friend bool operator==(const DuplicateKey&, const DuplicateKey&) = default;
};

// Fills in `bytes` and `checksum`. A Call that is sent again can be reduced in another way, so they
// are those of the unreduced message. Padding (RDMA_MSGP) cannot be found without the program's
// knowledge, and counts as content.
void sum_up(const protocol::IncomingCall& call, DuplicateKey& key);

struct DuplicateEntry {
  enum class State : std::uint8_t {
    kExecuting,
    kKept,     // with its Reply
    kNotKept,  // executed, and its Reply was too long to keep
    kNoReply,  // executed, and has none
  };
  struct Part {
    std::uint32_t bytes = 0;
    bool ddp = false;
  };

  DuplicateKey key;
  State state = State::kExecuting;
  std::vector<std::uint8_t> reply;  // without roundup of DDP-eligible items
  std::array<Part, protocol::kMaxPieces> parts;
  std::uint32_t part_count = 0;
  // kExecuting: the latest duplicate, which gets the Reply as well.
  std::weak_ptr<DispatcherState> waiter;
  std::uint64_t waiter_id = 0;
  // kExecuting: blocks of a deferred Call whose connection has ended; its handler fills them still.
  std::array<protocol::Block, protocol::kMaxResults> blocks;
  protocol::MemoryPool* pool = nullptr;  // of the blocks

  std::uint64_t charged = 0;                      // bytes of the cache
  fabric::Time used = 0;                          // not kExecuting: answered last
  std::list<DuplicateEntry*>::iterator in_order;  // not kExecuting

  // The Reply as pieces of `reply`.
  [[nodiscard]] std::span<const protocol::Piece> message(
      std::array<protocol::Piece, protocol::kMaxPieces>& pieces) const;
  void give_blocks();
};

struct DuplicateCache::Impl {
  Impl(const DuplicateCacheOptions& o, const fabric::Time& c);

  // Returns the entry of this Call, a new one if `is_new`; null: there is no room for a new one.
  [[nodiscard]] std::shared_ptr<DuplicateEntry> find_or_add(const DuplicateKey& key, bool& is_new);
  // Ends kExecuting.
  void keep(DuplicateEntry& entry, std::span<const protocol::Piece> reply) noexcept;
  void keep_nothing(DuplicateEntry& entry) noexcept;
  // A Reply was sent again.
  void touch(DuplicateEntry& entry);

  const DuplicateCacheOptions options;
  const fabric::Time& clock;
  DuplicateCacheCounters counters;

 private:
  struct Hash {
    std::uint64_t seed;
    std::size_t operator()(const DuplicateKey& key) const;
  };

  void expire();
  [[nodiscard]] bool make_room(std::uint32_t entries, std::uint64_t bytes);
  void erase(DuplicateEntry& entry);
  void finish(DuplicateEntry& entry, DuplicateEntry::State state) noexcept;

 public:
  std::unordered_map<DuplicateKey, std::shared_ptr<DuplicateEntry>, Hash> entries;

 private:
  std::list<DuplicateEntry*> order;      // not kExecuting; the least recently used first
  std::list<DuplicateEntry*> executing;  // their places in `order`, so that keeping needs no memory
};

}  // namespace rpcrdma::service
