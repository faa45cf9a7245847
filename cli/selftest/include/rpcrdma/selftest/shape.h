// The columns of the matrix: Calls of the program TRANSFER (selftest.x) that a connection's inline
// thresholds make travel in a certain way, and the bytes that have to go each way.
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
  kSeveral,  // Read chunks, Write chunks, some of them not used or not filled
  kOdd,      // lengths that need roundup, by all ways
  kZero,     // items of no bytes, by themselves and between others
  kThreshold,
  kOver,  // a byte more than that
};
inline constexpr std::size_t kShapes = 10;
[[nodiscard]] const char* shape_name(Shape shape);  // "short", "long-call", ...
[[nodiscard]] std::optional<Shape> shape_from_name(std::string_view name);

inline constexpr std::uint32_t kMaxItems = 3;

// Lengths in bytes.
struct Transfer {
  bool null = false;  // procedure 0, without arguments
  std::uint32_t filler = 0;
  std::vector<std::uint32_t> arguments = {};
  std::uint32_t result_filler = 0;
  std::vector<std::uint32_t> results = {};
  std::vector<std::uint32_t> offered = {};  // room for each of them; none: as long as they are

  // How it is to travel; `by_read` and `by_write` are of each item that has bytes.
  bool long_call = false;
  bool by_read = false;
  bool by_write = false;
  bool long_reply = false;

  [[nodiscard]] bool needs_chunks() const { return long_call || by_read || by_write || long_reply; }
  [[nodiscard]] std::uint32_t room(std::size_t result) const {
    return offered.empty() ? results[result] : offered[result];
  }
};

// Of Calls and of their Replies, in one direction of a connection.
struct InlineTerms {
  std::uint32_t call_threshold = 1024;
  std::uint32_t reply_threshold = 1024;
  std::uint32_t empty_header = 28;  // protocol::empty_header_bytes()
};

// The Calls of a shape; to be made in turns.
[[nodiscard]] std::vector<Transfer> transfers_of(Shape shape, const InlineTerms& terms);

// RPC messages, unreduced.
[[nodiscard]] std::uint32_t call_bytes(const Transfer& transfer);
[[nodiscard]] std::uint32_t reply_bytes(const Transfer& transfer);
// The longest Reply without the contents of its results.
[[nodiscard]] std::uint32_t max_reply(const Transfer& transfer);
// What one Call and its Reply move each way.
[[nodiscard]] protocol::MessageBytes expected_bytes(const Transfer& transfer);

}  // namespace rpcrdma::selftest
