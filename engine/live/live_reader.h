// One who reads the live socket. It is written to as far as it reads; when it does not, its outlet
// fills, and nobody else notices.
#pragma once

#include "reader_queue.h"
#include "sink.h"

#include <atomic>

#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::trace {

class LiveReader final : public Sink {
 public:
  // `fd`: connected, non-blocking. `interface`: its name in the stream. `lost`: what it does not
  // get is added to it, which outlives it.
  LiveReader(base::FileDescriptor fd, std::string interface, std::size_t most_bytes,
             std::atomic<std::uint64_t>& lost, Content content = Content::kEvents);

  void begin(std::span<const std::uint8_t> endpoint, std::int64_t wall_offset) override;
  void take(const EventBatch& batch) override;
  void emit_sums(std::int64_t now) override;
  void end(std::int64_t now) override;
  [[nodiscard]] bool over() const override { return gone_; }

  [[nodiscard]] int fd() const { return fd_.get(); }
  // There is something that it has not read yet.
  [[nodiscard]] bool waits() const { return !gone_ && !queue_.waiting().empty(); }
  // It gets no more.
  void give_up() override { gone_ = true; }
  // It has read, or has gone (`hung_up`).
  void on_poll(bool hung_up, std::int64_t now);

 private:
  void send();

  base::FileDescriptor fd_;
  const std::string interface_;
  const Content content_;
  std::atomic<std::uint64_t>& lost_;
  ReaderQueue queue_;
  bool gone_ = false;
};

}  // namespace rpcrdma::trace
