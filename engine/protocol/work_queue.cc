#include "work_queue.h"

namespace rpcrdma::protocol {

void WorkQueue::fill() {
  first_ = 0;
  for (last_ = 0; last_ < kBatch && !waiting_.empty(); ++last_) {
    WorkRequest& work = batch_[last_];
    work.request = {};
    work.slice_count = 0;
    const Job job = waiting_.front();
    if (job.source->next_work(job.slot, work)) waiting_.pop();
    requests_[last_] = work.request;
    requests_[last_].local = std::span(work.slices).first(work.slice_count);
  }
}

fabric::Expected<void> WorkQueue::post(fabric::Connection& connection) {
  for (;;) {
    if (first_ == last_) fill();
    if (first_ == last_) return {};
    const auto posted = connection.post_send(std::span(requests_).first(last_).subspan(first_));
    if (!posted && posted.error().code == fabric::Errc::kNoRoom) return {};
    if (!posted) return tl::unexpected(posted.error());
    first_ += *posted;
    if (first_ != last_) return {};
  }
}

void WorkQueue::clear() {
  waiting_.clear();
  first_ = last_ = 0;
}

}  // namespace rpcrdma::protocol
