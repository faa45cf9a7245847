// From events to what packets give: an endpoint's own words drive the same listener, so that Calls,
// chunks, credits and rules are judged alike, whoever saw them. See reader.cc.
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
  std::uint64_t unplaced = 0;   // of connections that nobody told of, or that were over
  // Of streams that are not followed: another one goes on with their endpoint, or there are too
  // many.
  std::uint64_t passed_over = 0;
  // By what the endpoints say, as far as they have said it: emitted = received + lost, and more is
  // missing where the recording itself is not whole.
  std::uint64_t endpoints = 0;
  std::uint64_t emitted = 0;
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  std::uint64_t missing = 0;
  // Endpoints whose stream ends behind its last sums: it was cut off, and what came next, up to a
  // second of it, may be missing unnoticed. Known when the recording has ended.
  std::uint64_t open_ends = 0;
  // Types (trace::type_bit()) that whoever kept a recording left out of it, of any of them.
  std::uint64_t left_out = 0;

  [[nodiscard]] bool any() const { return events + unknown + malformed + passed_over != 0; }
};

// State is kept for connections, of which no more than roce::kMaxConnections are followed, and for
// the RDMA operations that are outstanding on them.
class Reader final : public roce::Connections {
 public:
  // All must outlive the reader.
  Reader(roce::Listener& listener, roce::ConnectionNumbers& numbers,
         std::vector<Observer*> observers = {});
  ~Reader() override;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // The data of a frame of link type kUpperPdu, in the order of the recording; those for other
  // dissectors are passed over. `stream`: tells apart what comes from several files or interfaces.
  void frame(std::span<const std::uint8_t> data, const roce::PacketMeta& meta,
             std::uint64_t stream = 0);

  // The recording ended: what is outstanding is given out and every connection is closed.
  void finish();

  [[nodiscard]] ReaderStats reader_stats() const;

  // Retransmissions and refusals that endpoints told of, and connections that were let go.
  [[nodiscard]] roce::PacketStats stats() const override;
  [[nodiscard]] std::uint32_t connection_count() const override;
  [[nodiscard]] const roce::Connection* find(std::uint32_t index) const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::trace_reader
