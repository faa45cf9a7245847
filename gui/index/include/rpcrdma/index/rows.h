// The rows of millions of messages, half as large as MessageRow: 64 bytes, one cache line. Times
// and frames are distances from the first row of a block, the other half of a Call is a distance
// from its row, and numbers have the bits that they need in ordinary captures. A row with a value
// that does not fit is kept as it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rpcrdma/index/chunked.h>
#include <rpcrdma/index/row.h>

namespace rpcrdma::index {

class Rows {
 public:
  [[nodiscard]] std::size_t size() const { return packed_.size(); }
  [[nodiscard]] bool empty() const { return packed_.empty(); }
  // Members that the caller does not use cost nothing.
  [[nodiscard]] MessageRow operator[](std::size_t i) const {
    const Packed& p = packed_[i];
    return p.wide != 0 ? wide_[p.moved] : unpack(p, i);
  }

  void push_back(const MessageRow& row);
  // Replaces row `i`.
  void set(std::size_t i, const MessageRow& row);

  // Memory in use, bytes.
  [[nodiscard]] std::size_t footprint() const {
    return packed_.footprint() + bases_.footprint() + wide_.footprint();
  }

 private:
  static constexpr std::size_t kBlock = 64;  // rows with a common base
  static constexpr unsigned kTimeBits = 40, kFrameBits = 24;
  // Distances can be negative: half of the range is added to them.
  static constexpr std::uint64_t kTimeBias = std::uint64_t{1} << (kTimeBits - 1);
  static constexpr std::uint64_t kFrameBias = std::uint64_t{1} << (kFrameBits - 1);
  static constexpr std::uint32_t kNoLatency = UINT32_MAX;
  static constexpr unsigned kNoWorst = 3;

  struct Base {
    std::uint64_t time = 0, frame = 0;
  };
  // Which two of the three lists have their bytes stored; the third has none.
  enum Lists : std::uint8_t { kReadAndWrite, kReadAndReply, kWriteAndReply };

  struct Packed {
    std::uint64_t time : kTimeBits;
    std::uint64_t frame : kFrameBits;
    std::uint64_t connection : 24;
    std::uint64_t length : 24;
    std::uint64_t read_segments : 8;
    std::uint64_t write_chunks : 8;
    std::int32_t match;  // distance; 0: none
    std::uint32_t latency;
    std::uint32_t xid;
    std::uint32_t detail_or_handle;
    std::uint32_t bytes_one, bytes_two;
    std::uint32_t moved;  // with `wide`, the place in wide_
    std::uint16_t credit, requested, granted, in_use;
    std::uint16_t procedure;
    std::uint16_t flags;
    std::uint16_t first_frame;
    std::uint16_t outcome : 10;
    std::uint16_t version : 4;
    std::uint16_t lists : 2;
    std::uint32_t operations : 12;
    std::uint32_t proc : 4;
    std::uint32_t error : 5;
    std::uint32_t kind : 4;
    std::uint32_t sender : 1;
    std::uint32_t caller : 1;
    std::uint32_t dialect : 2;
    std::uint32_t worst : 2;
    std::uint32_t wide : 1;
  };
  static_assert(sizeof(Packed) == 64);

  // Returns false for a row that does not fit.
  [[nodiscard]] bool pack(const MessageRow& row, std::size_t i, Packed& to) const;
  [[nodiscard]] MessageRow unpack(const Packed& p, std::size_t i) const {
    const Base& base = bases_[i / kBlock];
    MessageRow row;
    row.time_ns = static_cast<std::int64_t>(base.time + p.time - kTimeBias);
    row.frame = base.frame + p.frame - kFrameBias;
    row.latency_ns = p.latency == kNoLatency ? -1 : std::int64_t{p.latency};
    if (p.match != 0) {
      row.match = static_cast<std::uint64_t>(static_cast<std::int64_t>(i) + 1 + p.match);
    }
    row.moved = p.moved;
    row.first_frame = p.first_frame;
    row.connection = static_cast<std::uint32_t>(p.connection);
    row.xid = p.xid;
    row.version = p.version;
    row.credit = p.credit;
    row.proc = p.proc;
    row.requested = p.requested;
    row.granted = p.granted;
    row.in_use = p.in_use;
    row.length = static_cast<std::uint32_t>(p.length);
    row.read_bytes = p.lists == kWriteAndReply ? 0 : p.bytes_one;
    row.write_bytes = p.lists == kReadAndWrite    ? p.bytes_two
                      : p.lists == kWriteAndReply ? p.bytes_one
                                                  : 0;
    row.reply_bytes = p.lists == kReadAndWrite ? 0 : p.bytes_two;
    row.read_segments = static_cast<std::uint32_t>(p.read_segments);
    row.write_chunks = static_cast<std::uint32_t>(p.write_chunks);
    row.operations = p.operations;
    row.procedure = p.procedure;
    row.outcome = p.outcome;
    row.flags = p.flags;
    row.error = static_cast<std::uint8_t>(p.error);
    row.kind = static_cast<model::Kind>(p.kind);
    row.sender = static_cast<std::uint8_t>(p.sender);
    row.caller = static_cast<std::uint8_t>(p.caller);
    row.dialect = static_cast<wire::Dialect>(p.dialect);
    row.worst =
        p.worst == kNoWorst ? MessageRow::kNothingFound : static_cast<std::uint8_t>(p.worst);
    (row.kind == model::Kind::kCall ? row.detail : row.handle) = p.detail_or_handle;
    return row;
  }

  Chunked<Packed> packed_;
  Chunked<Base> bases_;  // by block
  Chunked<MessageRow, 64> wide_;
};

}  // namespace rpcrdma::index
