// Decides who may take how much of a memory pool: the pool of a server is divided among the
// addresses of its peers and among their connections, so that no host can take it all. Belongs to
// the thread of the pool; constant time, and nothing is allocated for a Call.
//
// Of the pool's limit:
// - Three quarters serve Calls: blocks for Read chunks, for results, and for the chunks of Replies.
//   For Read chunks, a peer address may hold at most as much as it leaves free: one busy address
//   gets a half, two get a third each, and a late one gets half of what the others have left. A
//   connection may hold half of what its address may. Receives count as held. For results and
//   Replies, which cannot wait, an address may hold up to three times as much as it leaves free.
//   The shares begin to matter when all Calls together hold more than a single one may need, so
//   that a server that is otherwise idle serves every Call within its limits.
// - A sixteenth is set aside in equal parts, one for each connection that the server accepts. A
//   Call that fits into its connection's part needs no share: nobody can keep it waiting, however
//   many hosts attack.
// - Receives of new connections may take the pool up to seven eighths of its limit; an address may
//   hold up to three times as much as it leaves free.
// - The rest is for Sends and for Receives that Calls keep.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/protocol/memory_pool.h>

namespace rpcrdma::protocol {

class MemoryShare;

// The shares of all connections of a server. It outlives them, and the pool outlives it.
class MemoryShares {
 public:
  struct Options {
    std::uint64_t single = 32U << 20;  // bytes that a single Call may need, with its results
    std::uint32_t connections = 256;   // the maximum of connections
  };
  MemoryShares(const MemoryPool& pool, const Options& options) : pool_(pool), options_(options) {}
  MemoryShares(const MemoryShares&) = delete;
  MemoryShares& operator=(const MemoryShares&) = delete;

  // For a change of the maximum. What connections hold already stays theirs.
  void set_connections(std::uint32_t most) { options_.connections = most; }

  // Whether connections of this peer that are not there yet could have Receives of so many bytes.
  [[nodiscard]] bool admits_receives(const fabric::Address& peer, std::uint64_t bytes) const;

  // Bytes of Calls that each connection can always have.
  [[nodiscard]] std::uint64_t reserved_each() const;
  // Bytes that all Calls together may hold by shares, while nothing else is in the pool.
  [[nodiscard]] std::uint64_t most() const { return pool_.limit() - pool_.limit() / 4; }

 private:
  friend class MemoryShare;
  struct Account {
    std::uint64_t held = 0;
    std::uint32_t connections = 0;
  };

  // `held`: by the peer.
  [[nodiscard]] bool receives_fit(std::uint64_t held, std::uint64_t bytes) const;

  const MemoryPool& pool_;
  Options options_;
  std::map<fabric::Address, Account> accounts_;  // of addresses with connections
  std::uint64_t calls_ = 0;                      // held by Calls, without what is set aside
};

// What a Call holds of its connection's share, bytes.
struct MemoryHeld {
  std::uint64_t shared = 0;
  std::uint64_t reserved = 0;
};

// The share of a connection. Everything must have been given back at its end.
class MemoryShare {
 public:
  // Throws std::bad_alloc.
  MemoryShare(MemoryShares& shares, const fabric::Address& peer);
  ~MemoryShare();
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;

  // Takes room for Receives, until the end of the connection. Returns false if there is none.
  [[nodiscard]] bool take_receives(std::uint64_t bytes);
  // Takes room for a block of a Call, which is about to be acquired. Returns false if there is
  // none. For Read chunks, which can wait:
  [[nodiscard]] bool take(std::uint64_t bytes, MemoryHeld& held);
  // For its results and its Reply.
  [[nodiscard]] bool take_at_once(std::uint64_t bytes, MemoryHeld& held);
  // Undoes what was taken since the Call held `before`.
  void give_back_to(const MemoryHeld& before, MemoryHeld& held);
  // Gives back all that a Call holds, which mostly is nothing.
  void give(MemoryHeld& held) {
    if ((held.shared | held.reserved) != 0) give_all(held);
  }

 private:
  [[nodiscard]] bool has_room(std::uint64_t bytes, std::uint64_t times) const;
  [[nodiscard]] bool take(std::uint64_t bytes, std::uint64_t times, MemoryHeld& held);
  void give_all(MemoryHeld& held);

  MemoryShares& shares_;
  // Nodes of a map stay where they are.
  std::map<fabric::Address, MemoryShares::Account>::iterator account_;
  std::uint64_t held_ = 0;      // without what is set aside
  std::uint64_t reserved_ = 0;  // in use of what is set aside
};

}  // namespace rpcrdma::protocol
