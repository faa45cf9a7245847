// Passes the events of a kernel source on to a Tracer, and knows which connections are open.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>

#include <rpcrdma/kernel/event_sink.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::kernel_endpoint {

// Sees each event before the Tracer does.
using Watcher =
    std::function<void(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
                       std::span<const std::uint8_t> payload)>;

class TracerSink final : public kernel::EventSink {
 public:
  explicit TracerSink(trace::Tracer& tracer) : tracer_(tracer) {}

  void watch(Watcher watcher) { watcher_ = std::move(watcher); }

  void event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
             std::span<const std::uint8_t> payload,
             std::span<const std::uint8_t> extra_payload) override;
  void lost(std::uint64_t count) override;
  [[nodiscard]] std::uint32_t new_connection() override { return tracer_.new_connection(); }

  // Emits the end of every open connection, with this reason.
  void close_all(std::int64_t now, const std::string& reason);

  [[nodiscard]] std::uint64_t events() const { return events_; }
  // For any thread.
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  // Connections beyond this number are not closed at the end.
  static constexpr std::size_t kMostConnections = std::size_t{1} << 16;

  trace::Tracer& tracer_;
  Watcher watcher_;
  std::set<std::uint32_t> open_;
  std::uint64_t events_ = 0;
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace rpcrdma::kernel_endpoint
