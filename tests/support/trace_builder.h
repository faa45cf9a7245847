// Handmade recordings, and the events that an endpoint would record for the traffic that a tracker
// sees.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/roce/listener.h>
#include <rpcrdma/trace/event.h>

namespace rpcrdma::trace_reader::testing {

using Bytes = std::vector<std::uint8_t>;

[[nodiscard]] inline Bytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

// trace::Credits as endpoints wrote it before it had a limit: `granted` held that of own Calls.
struct CreditsWithoutLimit {
  static constexpr trace::EventType kType = trace::EventType::kCredits;
  std::uint8_t side = 0;
  std::array<std::uint8_t, 3> reserved{};
  std::uint32_t requested = 0, granted = 0, in_use = 0, waiting = 0, in_use_most = 0;
};
static_assert(sizeof(CreditsWithoutLimit) == 24);

// Events in sequence, a microsecond apart unless the test says otherwise, as one thread of an
// endpoint emits them.
class TraceBuilder {
 public:
  struct Frame {
    std::int64_t time_ns = 0;
    Bytes data;
  };

  std::uint32_t ring = 1;
  std::int64_t now = 1'000'000'000;               // CLOCK_MONOTONIC
  std::int64_t step = 1000;                       // from one event to the next
  std::int64_t wall = 1'800'000'000'000'000'000;  // CLOCK_REALTIME, less `now`

  // The first event of a stream; sums restart.
  TraceBuilder& begin(std::string_view name = "test", std::string_view role = "client",
                      std::uint32_t process = 42,
                      trace::EventSource source = trace::EventSource::kEndpoint);

  template <typename Event>
  TraceBuilder& emit(std::uint32_t connection, const Event& event,
                     std::span<const std::uint8_t> payload = {},
                     std::span<const std::uint8_t> extra_payload = {}) {
    if (lost_reported_ != lost_) emit_loss();
    ++emitted_;
    put(connection, event, payload, extra_payload);
    return *this;
  }

  // Repeats an event with its header, at its original time.
  TraceBuilder& repeat(const trace::EventHeader& header, std::span<const std::uint8_t> event) {
    now = header.time;
    ++emitted_;
    return raw(event);
  }

  // Loses this many events; a Loss event reports them before the next one.
  TraceBuilder& lose(std::uint64_t events) {
    emitted_ += events;
    lost_ += events;
    return *this;
  }
  TraceBuilder& emit_loss();
  // Ends the stream as a complete one ends.
  TraceBuilder& end() { return emit_loss(); }

  // Any bytes in place of an event.
  TraceBuilder& raw(std::span<const std::uint8_t> event);

  [[nodiscard]] std::vector<Frame>& frames() { return frames_; }
  // The whole recording as a file.
  [[nodiscard]] Bytes pcapng() const;
  // Calls f(data, meta) for each frame, numbered from 1.
  template <typename Function>
  void for_each(Function&& f) const {
    std::uint64_t number = 0;
    for (const Frame& frame : frames_) {
      f(std::span<const std::uint8_t>(frame.data), roce::PacketMeta{++number, frame.time_ns});
    }
  }

 private:
  template <typename Event>
  void put(std::uint32_t connection, const Event& event, std::span<const std::uint8_t> payload,
           std::span<const std::uint8_t> extra_payload) {
    trace::EventHeader header;
    header.type = static_cast<std::uint16_t>(Event::kType);
    header.fixed = sizeof(Event);
    header.payload = static_cast<std::uint32_t>(payload.size() + extra_payload.size());
    header.connection = connection;
    header.ring = ring;
    header.time = now;
    Bytes bytes(trace::event_bytes(header));
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, &event, sizeof event);
    auto at = bytes.begin() + sizeof header + sizeof event;
    at = std::copy(payload.begin(), payload.end(), at);
    std::copy(extra_payload.begin(), extra_payload.end(), at);
    raw(bytes);
  }

  std::vector<Frame> frames_;
  std::uint64_t emitted_ = 0, lost_ = 0, lost_reported_ = 0;
};

// A connection between 192.0.2.1 and 192.0.2.2, set up to port 20049 by the first, which records
// it; both sides announced 4096 bytes and Remote Invalidation in their private data.
[[nodiscard]] trace::Connection plain_connection();
[[nodiscard]] Bytes plain_private_data();
inline void emit_plain_connection(TraceBuilder& trace, std::uint32_t connection,
                                  const trace::Connection& recorded = plain_connection()) {
  const Bytes data = plain_private_data();
  trace::Connection event = recorded;
  event.sent_private_data = static_cast<std::uint16_t>(data.size());
  trace.emit(connection, event, data, data);
}

// A tracker's listener that writes the events that the endpoint on one side of each connection
// would record. On an RNIC it does not see its peer's RDMA operations.
class EventSource final : public roce::Listener {
 public:
  struct Options {
    std::uint8_t side = 0;  // of the connections: 0 is the active side
    bool sees_peer_operations = true;
    // kKernelTracepoints: the events that Linux's tracepoints lead to, which have fields only. The
    // credit values of this side's own messages are unknown.
    trace::EventSource source = trace::EventSource::kEndpoint;
    std::uint32_t process = 42;
    std::int64_t clock_ns = 0;  // how far its clock is ahead of the capture's
    double clock_rate = 1;      // and how much faster it runs
  };
  EventSource(TraceBuilder& to, const Options& options) : to_(to), options_(options) {
    to_.step = 0;
  }

  void on_open(const roce::Connection& connection) override;
  void on_close(const roce::Connection& connection) override;
  void on_send(const roce::Connection& connection, const roce::SendMessage& send) override;
  void on_operation(const roce::Connection& connection, roce::Operation& op) override;
  void on_data(const roce::OperationData& event) override;
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op) override;
  void on_acknowledge(const roce::Acknowledgement& event) override;
  void on_retransmission(const roce::Retransmission& event) override;

 private:
  [[nodiscard]] bool fields_only() const {
    return options_.source == trace::EventSource::kKernelTracepoints;
  }
  void send_fields(const roce::Connection& connection, const roce::SendMessage& send);
  [[nodiscard]] std::uint8_t recorded(int side) const { return side == options_.side ? 0 : 1; }
  [[nodiscard]] bool hidden(const roce::Operation& op) const {
    return !options_.sees_peer_operations && op.initiator != options_.side;
  }
  // A tracker may hold packets back, but an endpoint's clock does not step back. The stream begins
  // with the event emitted first.
  void at(std::int64_t time_ns) {
    if (!begun_) first_ns_ = time_ns;
    const auto drift = static_cast<std::int64_t>(static_cast<double>(time_ns - first_ns_) *
                                                 (options_.clock_rate - 1));
    const std::int64_t now = time_ns + options_.clock_ns + drift - to_.wall;
    to_.now = begun_ ? std::max(to_.now, now) : now;
    if (!begun_) to_.begin("test", "client", options_.process, options_.source);
    begun_ = true;
  }

  TraceBuilder& to_;
  Options options_;
  bool begun_ = false;
  std::int64_t first_ns_ = 0;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Bytes> data_;  // of operations in progress
};

// The events that an endpoint would record for a capture file's traffic.
[[nodiscard]] TraceBuilder events_of_capture(std::span<const std::uint8_t> file,
                                             const EventSource::Options& options);

}  // namespace rpcrdma::trace_reader::testing
