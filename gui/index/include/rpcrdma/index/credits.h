// Credits of one direction of a connection over time, at any scale. The cost of showing a window of
// time depends on its columns and not on its messages, and no extreme is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <rpcrdma/index/chunked.h>

namespace rpcrdma::index {

struct CreditEntry {
  std::int64_t time_ns = 0;
  std::uint64_t message = 0;    // ID; 0: reported by an endpoint, without a message
  std::uint32_t requested = 0;  // by the latest Call
  std::uint32_t granted = 0;    // by the latest Reply; 0 before the first
  std::uint32_t in_use = 0;     // Calls in flight
  std::uint32_t waiting = 0;    // Calls that wait for a credit, if an endpoint reports them
  std::uint32_t limit = 0;  // Calls that may be in flight, as its endpoint reports; 0: not known

  // No further Call can be sent: all granted credits are in use, or Calls wait.
  [[nodiscard]] bool exhausted() const {
    return waiting != 0 || (granted != 0 && in_use >= granted);
  }
};

// Extremes in a stretch of time.
struct CreditSpan {
  std::int64_t from_ns = 0, to_ns = 0;
  bool any = false;  // false: nothing is known yet
  std::uint32_t requested_min = 0, requested_max = 0;
  std::uint32_t granted_min = 0, granted_max = 0;
  std::uint32_t in_use_min = 0, in_use_max = 0;
  std::uint32_t waiting_max = 0;
  std::uint32_t limit_min = 0, limit_max = 0;  // where it is known; 0: nowhere
  // At some moment no further Call could be sent: all granted credits were in use, or Calls waited.
  bool exhausted = false;

  void add(const CreditEntry& e);
  void add(const CreditSpan& s);
};

// Blocks of entries in order of time. The first entry of a block is stored in full, and each other
// one as its differences from the one before, in about 4 bytes.
class CreditLog {
 public:
  // Appends in order of time; an entry with an earlier time than the last one gets the last one's
  // time.
  void add(CreditEntry entry);

  // Adds the entries of another log of the same connection.
  void merge(const CreditLog& other);

  [[nodiscard]] std::size_t size() const { return size_; }
  // Reads a block up to the entry. Valid: i < size().
  [[nodiscard]] CreditEntry entry(std::size_t i) const;
  // Valid with size() != 0.
  [[nodiscard]] const CreditEntry& last() const { return last_.entry; }
  // The latest entry at or before a time; size() when there is none.
  [[nodiscard]] std::size_t at(std::int64_t time_ns) const;
  // The message of entry `i`, or of the latest one before it that has a message; 0: none.
  [[nodiscard]] std::uint64_t message_at(std::size_t i) const;
  // Divides [from, to) into `count` columns of equal width; the state at the start of a column
  // counts.
  [[nodiscard]] std::vector<CreditSpan> columns(std::int64_t from_ns, std::int64_t to_ns,
                                                std::size_t count) const;
  [[nodiscard]] std::size_t footprint() const;

 private:
  static constexpr std::size_t kFan = 32;  // entries in a block and its sum, and so on
  static constexpr std::size_t kLevels = 4;

  // An entry, and the latest message up to it.
  struct State {
    CreditEntry entry;
    std::uint64_t message = 0;
  };
  struct Block {
    State first;
    std::unique_ptr<std::uint8_t[]> rest;  // null: open_
  };
  // Reads entries one after the other.
  class Cursor {
   public:
    Cursor(const CreditLog& log, std::size_t i);
    [[nodiscard]] const State& state() const { return state_; }
    // Valid if there is a next entry.
    void next();

   private:
    void go_to_block(std::size_t block);

    const CreditLog& log_;
    std::size_t i_ = 0;
    const std::uint8_t* from_ = nullptr;
    State state_;
  };

  void append(const State& state);
  // Adds entries [first, last) to `span`.
  void sum(std::size_t first, std::size_t last, CreditSpan& span) const;

  std::size_t size_ = 0;
  State last_;
  Chunked<Block, 4> blocks_;
  std::vector<std::uint8_t> open_;  // of the last block, while it is not full
  CreditSpan open_sum_;
  std::size_t packed_bytes_ = 0;  // of all `rest`
  std::vector<CreditSpan> levels_[kLevels];
};

}  // namespace rpcrdma::index
