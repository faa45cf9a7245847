// A source that another thread follows: it counts the bytes that were read, and ends when that
// thread no longer wants the result.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::ends {

class WatchedSource final : public capture::Source {
 public:
  // Both may be null.
  WatchedSource(std::unique_ptr<capture::Source> source, const std::atomic<bool>* cancelled,
                std::atomic<std::uint64_t>* bytes_read)
      : source_(std::move(source)), cancelled_(cancelled), bytes_read_(bytes_read) {}
  capture::Expected<bool> next(capture::Frame& frame) override {
    if (++frames_ % kFramesBetween == 0) {
      if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) return false;
      count();
    }
    auto more = source_->next(frame);
    if (!more || !*more) count();
    return more;
  }
  [[nodiscard]] bool frames_stay() const override { return source_->frames_stay(); }
  [[nodiscard]] const capture::SourceStats& stats() const override { return source_->stats(); }

 private:
  static constexpr std::uint64_t kFramesBetween = 256;

  void count() {
    if (bytes_read_ == nullptr) return;
    const std::uint64_t now = source_->stats().bytes_read;
    if (now > counted_) bytes_read_->fetch_add(now - counted_, std::memory_order_relaxed);
    counted_ = now;
  }

  std::unique_ptr<capture::Source> source_;
  const std::atomic<bool>* cancelled_;
  std::atomic<std::uint64_t>* bytes_read_;
  std::uint64_t frames_ = 0, counted_ = 0;
};

}  // namespace rpcrdma::ends
