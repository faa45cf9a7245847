// Reads the Read chunks of Replies and reports completion to the responder by RDMA_DONE (RFC 5666
// sections 3.5, 3.8).
#pragma once

#include "fixed_ring.h"
#include "link.h"
#include "pulled_chunks.h"
#include "received.h"
#include "slots.h"
#include "work_id.h"

#include <rpcrdma/protocol/memory_pool.h>

namespace rpcrdma::protocol {

struct ReplyPull {
  std::uint32_t generation = 0;
  bool used = false;
  std::uint32_t in_flight = kNoSlot;  // the in-flight Call of the Reply
  std::uint32_t xid = 0;
  CheckedReads message;
  PulledChunks pulled;
  Block done;  // RDMA_DONE
  bool reading = false;
  bool finished = false;  // RDMA_DONE has arrived
};

class ReplyPulls : public WorkSource {
 public:
  // `limit`: Replies at a time.
  explicit ReplyPulls(std::uint32_t limit) : pulls_(limit), waiting_(limit) {}

  // Starts to read the Reply's Read chunks, at most `most` bytes. Its Receive must not change until
  // they are complete. `written`: bytes of its results in Write chunks, with roundup. `credits`:
  // the credit request of its RDMA_DONE. Returns the slot, or why the Reply is invalid.
  [[nodiscard]] tl::expected<std::uint32_t, const char*> begin(Link& link, const Received& reply,
                                                               std::uint64_t most,
                                                               std::uint64_t written,
                                                               std::uint32_t in_flight,
                                                               std::uint32_t credits);
  enum class Step : std::uint8_t {
    kOn,
    kRead,  // everything was read, and RDMA_DONE is to be sent
    kDone,  // and was received
  };
  // A Read, or the Send of RDMA_DONE, has succeeded.
  [[nodiscard]] Step completed(Link& link, const WorkId& id);
  [[nodiscard]] ReplyPull& operator[](std::uint32_t slot) { return pulls_[slot]; }
  void give(std::uint32_t slot, MemoryPool& pool);
  // Called when nothing is read any more.
  void clear(MemoryPool& pool);

  [[nodiscard]] bool next_work(std::uint32_t slot, WorkRequest& work) override;

 private:
  void read(Link& link, std::uint32_t slot);

  Slots<ReplyPull> pulls_;
  FixedRing<std::uint32_t> waiting_;  // for Reads of others to end
  std::uint32_t reading_ = 0;
  std::uint32_t max_transfer_ = 0;  // bytes of one Read
  bool one_by_one_ = false;         // the peer limits how many are in flight
};

}  // namespace rpcrdma::protocol
