// A reader of the live socket. It is written to as fast as it reads. If it does not read, its queue
// fills, without an effect on others.
#pragma once

#include "reader_queue.h"
#include "sink.h"

#include <atomic>

#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::trace {

class LiveReader final : public Sink {
 public:
  // `fd`: connected, non-blocking. `interface`: its name in the stream. `lost`: counts the events
  // that this reader does not get; must outlive it.
  LiveReader(base::FileDescriptor fd, std::string interface, std::size_t most_bytes,
             std::atomic<std::uint64_t>& lost, Content content = Content::kEvents);

  void begin(std::span<const std::uint8_t> endpoint, std::int64_t wall_offset) override;
  void take(const EventBatch& batch) override;
  void emit_sums(std::int64_t now) override;
  void end(std::int64_t now) override;
  [[nodiscard]] bool over() const override { return gone_; }

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Returns whether there are bytes that it has not read yet.
  [[nodiscard]] bool waits() const { return !gone_ && !queue_.waiting().empty(); }
  // Stops sending to it.
  void give_up() override { gone_ = true; }
  // Called when it has read, or has disconnected (`hung_up`).
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
