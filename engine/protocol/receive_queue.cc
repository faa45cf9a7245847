#include "receive_queue.h"

#include "work_id.h"

namespace rpcrdma::protocol {

fabric::Expected<void> ReceiveQueue::fill() {
  for (std::uint32_t i = 0; i < count(); ++i) {
    const auto block = pool_.acquire(bytes_);
    if (!block) {
      drain();
      return tl::unexpected(block.error());
    }
    slots_[i].block = *block;
    idle_.push(i);
  }
  return {};
}

void ReceiveQueue::drain() {
  for (Slot& s : slots_) {
    if (s.block) pool_.release(s.block);
    s = {};
  }
  idle_.clear();
  posted_ = 0;
}

fabric::Expected<std::uint32_t> ReceiveQueue::post(fabric::Connection& connection) {
  if (posted_ >= least_) return 0;
  const std::uint32_t before = posted_;
  while (!idle_.empty()) {
    std::size_t n = 0;
    for (; n < kBatch && !idle_.empty(); ++n, idle_.pop()) {
      Slot& s = slots_[idle_.front()];
      s.posted = true;
      slices_[n] = s.block.slice(bytes_);
      requests_[n] = {WorkId{WorkKind::kReceive, idle_.front(), 0}.encode(), {&slices_[n], 1}};
    }
    for (std::size_t done = 0; done < n;) {
      const auto posted = connection.post_receive(std::span(requests_).first(n).subspan(done));
      if (!posted) return tl::unexpected(posted.error());
      done += *posted;
      posted_ += static_cast<std::uint32_t>(*posted);
    }
  }
  return posted_ - before;
}

const Block* ReceiveQueue::complete(std::uint32_t slot) {
  if (slot >= slots_.size() || !slots_[slot].posted) return nullptr;
  slots_[slot].posted = false;
  --posted_;
  return &slots_[slot].block;
}

void ReceiveQueue::again(std::uint32_t slot) {
  idle_.push(slot);
}

fabric::Expected<void> ReceiveQueue::again_fresh(std::uint32_t slot) {
  slots_[slot].block = {};
  const auto block = pool_.acquire(bytes_);
  if (!block) return tl::unexpected(block.error());
  slots_[slot].block = *block;
  idle_.push(slot);
  return {};
}

}  // namespace rpcrdma::protocol
