// The columns of the matrix: Calls of the program TRANSFER (selftest.x) that travel in a certain
// way because of a connection's inline thresholds, and the bytes that must move each way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <rpcrdma/protocol/message.h>

namespace rpcrdma::selftest {

enum class Shape : std::uint8_t {
  kShort,
  kLongCall,   // a Position Zero Read chunk
  kLongReply,  // a Reply chunk
  kRead,
  kWrite,
  kSeveral,  // Read chunks, Write chunks, some of them unused or not filled
  kOdd,      // lengths that need roundup, in all ways
  kZero,     // empty items, alone and between others
  kThreshold,
  kOver,    // one byte longer
  kOneWay,  // Calls without a Reply, and Calls that count them
};
inline constexpr std::size_t kShapes = 11;
[[nodiscard]] const char* shape_name(Shape shape);  // "short", "long-call", ...
[[nodiscard]] std::optional<Shape> shape_from_name(std::string_view name);

inline constexpr std::uint32_t kMaxItems = 3;

// Lengths in bytes.
struct Transfer {
  bool null = false;  // procedure 0 (NULL), without arguments
  std::uint32_t filler = 0;
  std::vector<std::uint32_t> arguments = {};
  std::uint32_t result_filler = 0;
  std::vector<std::uint32_t> results = {};
  std::vector<std::uint32_t> offered = {};  // room for each result; empty: exactly their lengths

  // How it must travel; `by_read` and `by_write` apply to each item that is not empty.
  bool long_call = false;
  bool by_read = false;
  bool by_write = false;
  bool long_reply = false;

  bool one_way = false;  // ONE_WAY: arguments, and no Reply
  // COUNT: the number of ONE_WAY Calls since the last one.
  std::optional<std::uint32_t> counted = {};

  [[nodiscard]] bool needs_chunks() const { return long_call || by_read || by_write || long_reply; }
  [[nodiscard]] std::uint32_t room(std::size_t result) const {
    return offered.empty() ? results[result] : offered[result];
  }
};

// Inline thresholds of Calls and Replies, in one direction of a connection.
struct InlineTerms {
  std::uint32_t call_threshold = 1024;
  std::uint32_t reply_threshold = 1024;
  std::uint32_t empty_header = 28;  // protocol::empty_header_bytes()
};

// Returns the Calls of a shape, to be sent in rotation.
[[nodiscard]] std::vector<Transfer> transfers_of(Shape shape, const InlineTerms& terms);

// Lengths of RPC messages, unreduced.
[[nodiscard]] std::uint32_t call_bytes(const Transfer& transfer);
[[nodiscard]] std::uint32_t reply_bytes(const Transfer& transfer);
// Returns the length of the longest Reply without the contents of its results.
[[nodiscard]] std::uint32_t max_reply(const Transfer& transfer);
// Returns the bytes that one Call and its Reply move each way.
[[nodiscard]] protocol::MessageBytes expected_bytes(const Transfer& transfer);
// The same of Calls of procedure 0 that a requester makes on its own (RequesterCounters).
[[nodiscard]] protocol::MessageBytes bytes_of_null_calls(std::uint64_t calls);

}  // namespace rpcrdma::selftest
