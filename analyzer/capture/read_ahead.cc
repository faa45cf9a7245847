#include "read_ahead.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include <rpcrdma/base/thread.h>

namespace rpcrdma::capture {
namespace {

// A smaller stream is not worth a thread.
constexpr std::uint64_t kReadHere = std::uint64_t{1} << 20;

// Many compressed files may be open at once. More threads than this would not run at the same time
// anyway; the other streams are read without one.
constexpr int kMostThreads = 16;
std::atomic<int> threads_in_use{0};

}  // namespace

ReadAhead::~ReadAhead() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  writable_.notify_one();
  thread_.join();
  --threads_in_use;
}

Expected<std::size_t> ReadAhead::read_here(std::span<std::uint8_t> out) {
  auto got = source_->read(out);
  stored_ = source_->stored();
  if (!got) return got;
  read_here_ += *got;
  if (*got == 0) {
    damage_ = source_->damage();
    cut_short_ = source_->cut_short();
  }
  return got;
}

void ReadAhead::start() {
  thread_state_ = Thread::kNone;
  if (threads_in_use >= kMostThreads) return;
  for (Block& block : blocks_)
    block.bytes.resize(kBlockBytes);  // may throw: nothing is counted yet
  if (threads_in_use++ < kMostThreads) {
    auto thread = base::start_thread([this] { work(); });
    if (thread) {
      thread_ = std::move(*thread);
      thread_state_ = Thread::kRuns;
      return;
    }
  }
  --threads_in_use;
}

Expected<std::size_t> ReadAhead::read(std::span<std::uint8_t> out) {
  if (thread_state_ == Thread::kNotYet && read_here_ >= kReadHere) start();
  if (thread_state_ != Thread::kRuns) return read_here(out);
  std::unique_lock lock(mutex_);
  readable_.wait(lock, [&] { return emptied_ != filled_ || ended_; });
  if (emptied_ == filled_) {
    if (no_memory_) throw std::bad_alloc();
    if (!error_.message.empty()) return tl::unexpected(error_);
    damage_ = source_->damage();
    cut_short_ = source_->cut_short();
    stored_ = source_->stored();
    return std::size_t{0};
  }
  Block& block = blocks_[emptied_ % kBlocks];
  lock.unlock();
  const std::size_t n = std::min(out.size(), block.size - position_);
  std::memcpy(out.data(), block.bytes.data() + position_, n);
  position_ += n;
  if (position_ != block.size) return n;
  position_ = 0;
  stored_ = block.stored;
  lock.lock();
  ++emptied_;
  // A thread that wakes up for each block would sleep after each block.
  const bool wake = filled_ - emptied_ == kBlocks / 2;
  lock.unlock();
  if (wake) writable_.notify_one();
  return n;
}

// Returns whether more blocks may follow.
bool ReadAhead::fill(Block& block) {
  block.size = 0;
  while (block.size != kBlockBytes) {
    const auto got = source_->read(std::span(block.bytes).subspan(block.size));
    if (!got) error_ = got.error();
    if (!got || *got == 0) return false;
    block.size += *got;
    block.stored = source_->stored();
  }
  return true;
}

void ReadAhead::work() noexcept {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !ended_) {
    Block& block = blocks_[filled_ % kBlocks];
    lock.unlock();
    bool more = false;
    bool no_memory = false;
    try {
      more = fill(block);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
    lock.lock();
    no_memory_ = no_memory;
    ended_ = !more;
    if (block.size != 0) ++filled_;
    readable_.notify_one();
    if (filled_ - emptied_ != kBlocks) continue;
    writable_.wait(lock, [&] { return stopping_ || filled_ - emptied_ <= kBlocks / 2; });
  }
}

}  // namespace rpcrdma::capture
