// Requests to be posted to a connection's send queue, in order. A source provides its requests one
// by one as there is room, so the queue holds one entry per Call, however many segments it has.
#pragma once

#include "fixed_ring.h"

#include <array>
#include <cstdint>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/trace/connection_tracer.h>

namespace rpcrdma::protocol {

// Operations of a message in a row that are not signaled. Only the completion of a later one makes
// room for them in the send queue.
inline constexpr std::uint32_t kUnsignaledRun = 32;

struct WorkRequest {
  fabric::SendRequest request;  // without `local`
  std::array<fabric::Slice, fabric::kMaxSlices> slices;
  std::uint32_t slice_count = 0;
  std::uint32_t xid = 0;  // kRead, kWrite: of the Call that it serves
  bool copied = false;    // its memory is free when it is posted

  // The source learns that by posted(), instead of by a completion.
  void is_copied() {
    request.signaled = false;
    copied = true;
  }
};

class WorkSource {
 public:
  virtual ~WorkSource() = default;
  // Fills in the next request of a slot; returns true for the last. `work` is in its initial state.
  [[nodiscard]] virtual bool next_work(std::uint32_t slot, WorkRequest& work) = 0;
  // Fills in the next request if it is an RDMA Write that does not depend on other slots' requests;
  // false: it is none.
  [[nodiscard]] virtual bool next_write(std::uint32_t /*slot*/, WorkRequest& /*work*/) {
    return false;
  }
  // The slot's copied request was posted; it was its last.
  virtual void posted(std::uint32_t /*slot*/) {}
};

class WorkQueue {
 public:
  // `slots`: of all sources together; each is in the queue at most once.
  explicit WorkQueue(std::size_t slots) : waiting_(slots) {}

  void add(WorkSource& source, std::uint32_t slot) { waiting_.push({&source, slot}); }
  // For a slot with one request: returns whether it is here and was not posted.
  [[nodiscard]] bool holds(const WorkSource& source, std::uint32_t slot) const;
  // Removes it; returns false if it is not here.
  [[nodiscard]] bool cancel(const WorkSource& source, std::uint32_t slot);
  // Posts until nothing is left, or there is no room. Error: other than kNoRoom.
  [[nodiscard]] fabric::Expected<void> post(fabric::Connection& connection,
                                            const trace::ConnectionTracer& trace, fabric::Time now);
  void clear();

 private:
  struct Job {
    WorkSource* source = nullptr;
    std::uint32_t slot = 0;

    [[nodiscard]] bool is(const WorkSource& s, std::uint32_t n) const {
      return source == &s && slot == n;
    }
  };
  static constexpr std::size_t kBatch = 16;
  // Bytes of Writes that may go before the Send of the first Reply: a batch of packets.
  static constexpr std::uint64_t kWriteBytes = 64U << 10;
  static constexpr std::size_t kNowhere = SIZE_MAX;

  // Usually a Reply is Writes and a Send. The Writes of several are posted first, then their Sends:
  // a fabric in software joins packets of equal size.
  void fill();
  void fill_writes();
  [[nodiscard]] WorkRequest& fresh();
  void refer(std::size_t i);  // requests_[i] to batch_[i]
  void report_copied(std::size_t begin, std::size_t end);
  // Finds a slot's only request.
  [[nodiscard]] std::size_t place_in_batch(const WorkSource& source, std::uint32_t slot) const;
  [[nodiscard]] std::size_t place_waiting(const WorkSource& source, std::uint32_t slot) const;

  FixedRing<Job> waiting_;
  std::size_t written_ = 0;  // jobs at its front whose Writes went before the others' requests
  // The first requests of the queue; [first_, last_) have found no room yet.
  std::array<WorkRequest, kBatch> batch_;
  std::array<Job, kBatch> jobs_;  // source and slot of each request
  std::array<fabric::SendRequest, kBatch> requests_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
};

}  // namespace rpcrdma::protocol
