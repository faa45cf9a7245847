// Turns trace events into the same calls of a listener as packets, so that Calls, chunks, credits
// and rules are handled alike for both. See reader.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <rpcrdma/roce/connections.h>
#include <rpcrdma/roce/listener.h>
#include <rpcrdma/trace_reader/event.h>

namespace rpcrdma::trace_reader {

struct ReaderStats {
  std::uint64_t events = 0;     // whole ones, of known types
  std::uint64_t unknown = 0;    // of types that are newer than this reader: skipped
  std::uint64_t malformed = 0;  // frames without a whole event in them
  std::uint64_t unplaced = 0;   // of unknown connections, or of connections that were over
  // Events of streams that are not followed: another stream continues their endpoint, or there are
  // too many.
  std::uint64_t passed_over = 0;
  // Sums reported by the endpoints so far: emitted = received + lost; the rest is missing because
  // the recording itself is incomplete.
  std::uint64_t endpoints = 0;
  std::uint64_t emitted = 0;
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  std::uint64_t missing = 0;
  // Endpoints whose stream ends after its last sums: a truncated recording. Up to a second of later
  // events may be missing unnoticed. Known once the recording has ended.
  std::uint64_t open_ends = 0;
  // Types (trace::type_bit()) that were excluded from any of the recordings.
  std::uint64_t left_out = 0;

  [[nodiscard]] bool any() const { return events + unknown + malformed + passed_over != 0; }
};

// Keeps state for connections, at most roce::kMaxConnections of them, and for their RDMA operations
// in flight.
class Reader final : public roce::Connections {
 public:
  // All arguments must outlive the reader.
  Reader(roce::Listener& listener, roce::ConnectionNumbers& numbers,
         std::vector<Observer*> observers = {});
  ~Reader() override;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Processes the data of a frame of link type kUpperPdu, in the order of the recording; frames for
  // other dissectors are ignored. `stream` identifies the file and interface.
  void frame(std::span<const std::uint8_t> data, const roce::PacketMeta& meta,
             std::uint64_t stream = 0);

  // The recording has ended: ends the operations in flight and closes every connection.
  void finish();

  [[nodiscard]] ReaderStats reader_stats() const;

  // Retransmissions and refusals that endpoints recorded, and connections that were evicted.
  [[nodiscard]] roce::PacketStats stats() const override;
  [[nodiscard]] std::uint32_t connection_count() const override;
  [[nodiscard]] const roce::Connection* find(std::uint32_t index) const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::trace_reader
