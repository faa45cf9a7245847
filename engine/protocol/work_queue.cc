#include "work_queue.h"

#include "trace_hooks.h"

namespace rpcrdma::protocol {

WorkRequest& WorkQueue::fresh() {
  WorkRequest& work = batch_[last_];
  work.request = {};
  work.slice_count = 0;
  work.copied = false;
  return work;
}

void WorkQueue::fill() {
  first_ = last_ = 0;
  while (last_ < kBatch && !waiting_.empty()) {
    if (written_ == 0) fill_writes();
    if (last_ == kBatch) return;
    const Job job = waiting_.front();
    if (job.source->next_work(job.slot, fresh())) {
      waiting_.pop();
      if (written_ > 0) --written_;
    }
    jobs_[last_] = job;
    refer(last_++);
  }
}

void WorkQueue::fill_writes() {
  std::uint64_t bytes = 0;
  while (last_ < kBatch && written_ < waiting_.size() && bytes < kWriteBytes) {
    const Job job = waiting_[written_];
    WorkRequest& work = fresh();
    if (!job.source->next_write(job.slot, work)) {
      ++written_;
      continue;
    }
    for (std::size_t i = 0; i < work.slice_count; ++i) bytes += work.slices[i].length;
    jobs_[last_] = job;
    refer(last_++);
  }
}

void WorkQueue::refer(std::size_t i) {
  requests_[i] = batch_[i].request;
  requests_[i].local = std::span(batch_[i].slices).first(batch_[i].slice_count);
}

std::size_t WorkQueue::place_in_batch(const WorkSource& source, std::uint32_t slot) const {
  for (std::size_t i = first_; i < last_; ++i) {
    if (jobs_[i].is(source, slot)) return i;
  }
  return kNowhere;
}

std::size_t WorkQueue::place_waiting(const WorkSource& source, std::uint32_t slot) const {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].is(source, slot)) return i;
  }
  return kNowhere;
}

bool WorkQueue::holds(const WorkSource& source, std::uint32_t slot) const {
  return place_in_batch(source, slot) != kNowhere || place_waiting(source, slot) != kNowhere;
}

bool WorkQueue::cancel(const WorkSource& source, std::uint32_t slot) {
  if (const std::size_t at = place_waiting(source, slot); at != kNowhere) {
    waiting_.remove(at);
    if (at < written_) --written_;
    return true;
  }
  std::size_t at = place_in_batch(source, slot);
  if (at == kNowhere) return false;
  for (--last_; at < last_; ++at) {
    batch_[at] = batch_[at + 1];
    jobs_[at] = jobs_[at + 1];
    refer(at);
  }
  return true;
}

fabric::Expected<void> WorkQueue::post(fabric::Connection& connection,
                                       const trace::ConnectionTracer& trace, fabric::Time now) {
  for (;;) {
    if (first_ == last_) fill();
    if (first_ == last_) return {};
    const auto posted = connection.post_send(std::span(requests_).first(last_).subspan(first_));
    if (!posted && posted.error().code == fabric::Errc::kNoRoom) return {};
    if (!posted) return tl::unexpected(posted.error());
    if (trace.on()) trace_posted(trace, std::span(batch_).subspan(first_, *posted), now);
    const std::size_t begin = first_;
    first_ += *posted;
    report_copied(begin, first_);
    if (first_ != last_) return {};
  }
}

// Sources may add and cancel requests meanwhile, but only behind those that were posted.
void WorkQueue::report_copied(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (batch_[i].copied) jobs_[i].source->posted(jobs_[i].slot);
  }
}

void WorkQueue::clear() {
  waiting_.clear();
  written_ = 0;
  first_ = last_ = 0;
}

}  // namespace rpcrdma::protocol
