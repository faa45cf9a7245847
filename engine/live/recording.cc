#include "recording.h"

#include "clock.h"
#include "signal_masked_thread.h"

#include <chrono>
#include <new>

namespace rpcrdma::trace {
namespace {

// The thread is woken when this many bytes wait, and polls at this interval.
constexpr std::size_t kWakeBytes = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kLook{250};

constexpr const char* kOutOfMemory = "out of memory";

}  // namespace

Recording::Recording(std::unique_ptr<RecordedFile> file, std::size_t most_bytes,
                     std::function<void(const std::string& error)> failed,
                     std::function<void(const std::string& file)> losing)
    : file_(std::move(file)),
      failed_(std::move(failed)),
      losing_(std::move(losing)),
      queue_(most_bytes) {
  counters_.file = file_->file();
  thread_ = start_signal_masked_thread([this] { run_or_give_up(); });
}

Recording::~Recording() {
  finish();
}

void Recording::begin(std::span<const std::uint8_t> endpoint, std::int64_t wall_offset) {
  const std::lock_guard lock(mutex_);
  queue_.begin(endpoint, wall_offset);
}

void Recording::take(const EventBatch& batch) {
  bool wake = false;
  std::string losing;  // the name of the file
  {
    const std::lock_guard lock(mutex_);
    const std::size_t before = queue_.waiting().size();
    const std::uint64_t lost = queue_.add(batch);
    if (lost != 0 && counters_.not_taken == 0) losing = counters_.file;
    counters_.not_taken += lost;
    wake = before < kWakeBytes && queue_.waiting().size() >= kWakeBytes;
  }
  if (wake) wake_.notify_one();
  if (losing_ && !losing.empty()) losing_(losing);
}

bool Recording::has_room() const {
  const std::lock_guard lock(mutex_);
  return queue_.has_room();
}

void Recording::emit_sums(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  queue_.emit_sums(now);
}

void Recording::end(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  queue_.emit_sums(now, true);
}

void Recording::give_up() {
  const std::lock_guard lock(mutex_);
  out_of_memory_ = true;
  wake_.notify_one();
}

bool Recording::over() const {
  const std::lock_guard lock(mutex_);
  return stop_ || out_of_memory_ || !counters_.error.empty();
}

void Recording::finish() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

RecordCounters Recording::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

// No exception may leave the thread.
void Recording::run_or_give_up() noexcept {
  try {
    run();
    return;
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    out_of_memory_ = true;
    counters_.error = kOutOfMemory;
  }
  try {
    if (failed_) failed_(kOutOfMemory);
  } catch (const std::bad_alloc&) {
    // The counters have the error.
  }
}

void Recording::run() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last && counters_.error.empty();) {
    wake_.wait_for(lock, kLook, [this] {
      return stop_ || out_of_memory_ || queue_.waiting().size() >= kWakeBytes;
    });
    last = stop_ || out_of_memory_;
    write(lock, last);
  }
  if (out_of_memory_ && counters_.error.empty()) counters_.error = kOutOfMemory;
  const std::string error = counters_.error;
  lock.unlock();
  if (failed_ && !error.empty()) failed_(error);
}

base::Expected<void> Recording::write_waiting(bool last) {
  try {
    auto written = file_->write(writing_);
    // Finish the file even after a write error, so that its statistics count what is missing.
    if (!last && written) return written;
    auto finished = file_->finish(base::wall_clock_ns());
    return written ? finished : written;
  } catch (const std::bad_alloc&) {
    return base::fail(kOutOfMemory);
  }
}

void Recording::write(std::unique_lock<std::mutex>& lock, bool last) {
  writing_.clear();
  queue_.swap(writing_);
  lock.unlock();
  const auto written = write_waiting(last);
  lock.lock();
  counters_.file = file_->file();
  counters_.events = file_->events();
  counters_.lost = file_->lost();
  if (!written) counters_.error = written.error().message;
}

}  // namespace rpcrdma::trace
