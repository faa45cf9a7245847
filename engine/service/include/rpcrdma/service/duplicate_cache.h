// The duplicate request cache: a Call whose procedure is not idempotent is executed once, however
// often its client sends it. A client sends a Call again when its connection was lost (RFC 8167
// section 5.4), or when its Reply did not fit into the chunks that it offered (version 2,
// RDMA2_ERR_CANT_REPLY with rdma_processed TRUE). The cache keeps each Reply as an RPC message with
// its DDP-eligible items apart, so that it is reduced again, into the chunks of the Call that it
// answers.
//
// Two messages are the same Call if they come from the same address, over whatever connection, and
// XID, program, version, procedure, length and a checksum of the RPC message agree. The checksum
// covers everything after the XID: credential and arguments, with the content of Read chunks in
// their places. A part of the arguments is not enough: Calls that write different data to the same
// place differ only at their end.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::service {

struct DuplicateCacheOptions {
  std::uint32_t entries = 8192;     // Calls, executed or being executed; 0: no cache
  std::uint64_t bytes = 16U << 20;  // of their Replies, and of the entries themselves
  // How long a Reply is kept after it was sent last. XIDs recur: an old entry could be mistaken for
  // another Call with the same content.
  fabric::Time lifetime = 120 * fabric::kSecond;
};

struct DuplicateCacheCounters {
  std::uint64_t calls = 0;     // executed with an entry
  std::uint64_t replayed = 0;  // duplicates answered with a kept Reply
  std::uint64_t waited = 0;    // duplicates that came before the Reply, and waited for it
  std::uint64_t dropped = 0;   // duplicates that get no answer: a later one waits in their place,
                               // or the procedure has no Reply
  std::uint64_t evicted = 0;   // entries that made room for others before their time
  std::uint64_t expired = 0;   // entries whose time was over
  std::uint64_t not_kept = 0;  // Replies over a quarter of `bytes`; duplicates get SYSTEM_ERR
  std::uint64_t unprotected = 0;  // executed without an entry: all were of Calls being executed
  // Now.
  std::uint32_t entries = 0;
  std::uint64_t bytes = 0;

  DuplicateCacheCounters& operator+=(const DuplicateCacheCounters& other);
};

// One for all connections of a server. Entries of Calls that are being executed are never evicted;
// the others are, the least recently used first.
class DuplicateCache {
 public:
  // `clock` outlives it, and Deferred tokens may outlive it.
  DuplicateCache(const DuplicateCacheOptions& options, const fabric::Time& clock);
  ~DuplicateCache();
  DuplicateCache(const DuplicateCache&) = delete;
  DuplicateCache& operator=(const DuplicateCache&) = delete;

  [[nodiscard]] const DuplicateCacheCounters& counters() const;

 private:
  friend class DispatcherState;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace rpcrdma::service
