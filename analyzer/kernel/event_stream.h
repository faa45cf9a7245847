// Writes trace events as the pcapng stream of an endpoint (upper_pdu.h), in large writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/kernel/event_sink.h>
#include <rpcrdma/trace/event.h>

namespace rpcrdma::trace_dat {

class EventStream final : public kernel::EventSink {
 public:
  struct Origin {
    std::string name;              // of the endpoint
    std::string role;              // "Linux 6.1.0-56-amd64"
    std::uint32_t process = 0;     // distinguishes traces of one host
    std::int64_t wall_offset = 0;  // from the times of events to the wall clock
  };
  EventStream(int fd, Origin origin) : fd_(fd), origin_(std::move(origin)) {}

  void event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
             std::span<const std::uint8_t> payload,
             std::span<const std::uint8_t> extra_payload) override;
  void lost(std::uint64_t count) override;
  std::uint32_t new_connection() override { return ++connections_; }

  // Writes the head, if no event has done so, and buffered events.
  void flush();
  // Writes the sums and the end.
  void finish();
  [[nodiscard]] std::uint64_t events() const { return received_; }
  // The reader has gone, or there is no room: nothing more is written.
  [[nodiscard]] bool broken() const { return error_ != 0; }
  [[nodiscard]] int error() const { return error_; }  // errno; 0: all was written

 private:
  static constexpr std::uint32_t kRing = 1;

  void begin(std::int64_t time);
  void put(trace::EventHeader header, std::span<const std::uint8_t> fixed,
           std::span<const std::uint8_t> payload, std::span<const std::uint8_t> extra_payload);
  void put_loss();
  void write();

  int fd_;
  Origin origin_;
  base::PcapngBlocks blocks_;
  std::vector<std::uint8_t> bytes_;  // the event that is being put
  bool begun_ = false;
  int error_ = 0;
  bool loss_changed_ = false;
  std::int64_t first_ = 0, last_ = 0;
  std::uint64_t received_ = 0, lost_ = 0;
  std::uint32_t connections_ = 0;
};

}  // namespace rpcrdma::trace_dat
