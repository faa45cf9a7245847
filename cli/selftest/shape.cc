// Defines the Calls of each shape, and computes the bytes that each must move inline and in chunks.
#include <algorithm>
#include <array>

#include <rpcrdma/selftest/shape.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::selftest {

namespace {

constexpr std::array<const char*, kShapes> kNames{"short",     "long-call", "long-reply", "read",
                                                  "write",     "several",   "odd",        "zero",
                                                  "threshold", "over",      "one-way"};

// RPC headers with AUTH_NONE.
constexpr std::uint32_t kCallHeader = 40;
constexpr std::uint32_t kReplyHeader = 24;
constexpr std::uint32_t kCountResultBytes = 8;

std::uint32_t padded(std::uint32_t bytes) {
  return static_cast<std::uint32_t>(wire::xdr_padded(bytes));
}

std::uint32_t with_counts(const std::vector<std::uint32_t>& items) {
  std::uint32_t bytes = 4;
  for (const std::uint32_t length : items) bytes += 4 + padded(length);
  return bytes;
}

std::uint32_t contents(const std::vector<std::uint32_t>& items) {
  std::uint32_t bytes = 0;
  for (const std::uint32_t length : items) bytes += padded(length);
  return bytes;
}

std::uint32_t sum(const std::vector<std::uint32_t>& items) {
  std::uint32_t bytes = 0;
  for (const std::uint32_t length : items) bytes += length;
  return bytes;
}

// Exceeds any threshold used here, and needs several segments.
constexpr std::uint32_t kLong = 20'000;
constexpr std::uint32_t kLonger = 100'000;
constexpr std::uint32_t kMany = 170'000;

std::vector<Transfer> of_short() {
  return {{.null = true},
          {.filler = 4, .result_filler = 8},
          {.filler = 100, .arguments = {16}, .result_filler = 200, .results = {32}},
          {.arguments = {8, 12, 16}, .results = {16, 12, 8}}};
}

std::vector<Transfer> of_long_calls() {
  std::vector<Transfer> all;
  for (const std::uint32_t length : {kLong, kLong + 4, kLonger}) {
    all.push_back({.filler = length, .result_filler = 40, .long_call = true});
  }
  // Items that are too short for chunks of their own are part of it.
  all.push_back({.filler = kLong, .arguments = {8, 4}, .results = {12}, .long_call = true});
  return all;
}

std::vector<Transfer> of_long_replies() {
  std::vector<Transfer> all;
  for (const std::uint32_t length : {kLong, kLong + 4, kLonger}) {
    all.push_back({.filler = 40, .result_filler = length, .long_reply = true});
  }
  all.push_back({.filler = kLong, .result_filler = kLong, .long_call = true, .long_reply = true});
  return all;
}

std::vector<Transfer> of_reads() {
  std::vector<Transfer> all;
  for (const std::uint32_t length : {kLong, kLong + 4, kLonger}) {
    all.push_back({.filler = 64, .arguments = {length}, .result_filler = 4, .by_read = true});
  }
  return all;
}

std::vector<Transfer> of_writes() {
  std::vector<Transfer> all;
  for (const std::uint32_t length : {kLong, kLong + 4, kLonger}) {
    all.push_back({.filler = 4, .result_filler = 64, .results = {length}, .by_write = true});
  }
  // The result is shorter than the memory offered for it.
  all.push_back({.results = {kLong}, .offered = {kLonger}, .by_write = true});
  return all;
}

std::vector<Transfer> of_several() {
  return {{.filler = 12, .arguments = {kLong, kLonger, kLong + 8}, .by_read = true},
          // As many segments as fit into the header of a Call that has 1024 bytes.
          {.arguments = {kMany, kMany, kMany}, .by_read = true},
          {.results = {kMany, kMany, kMany}, .by_write = true},
          {.result_filler = 12, .results = {kLonger, kLong, kLong + 8}, .by_write = true},
          {.arguments = {kLong, kLong + 4},
           .results = {kLong, kLong + 4},
           .by_read = true,
           .by_write = true},
          // One is not used, and its neighbours are not filled.
          {.results = {kLong, 0, 4}, .offered = {kLong + 40, kLong, kLong}, .by_write = true},
          // Long messages that also have chunks.
          {.arguments = {kLong, kLong},
           .result_filler = kLong,
           .results = {kLong},
           .by_read = true,
           .by_write = true,
           .long_reply = true},
          {.filler = kLong,
           .result_filler = kLong,
           .results = {kLonger, kLong},
           .long_call = true,
           .by_write = true,
           .long_reply = true}};
}

std::vector<Transfer> of_odd() {
  std::vector<Transfer> all;
  for (std::uint32_t odd = 1; odd < 4; ++odd) {
    all.push_back({.filler = odd, .arguments = {odd}, .result_filler = 4 + odd, .results = {odd}});
    all.push_back({.filler = 4 + odd,
                   .arguments = {kLong + odd, kLong - odd},
                   .result_filler = odd,
                   .results = {kLong - odd, kLong + odd},
                   .by_read = true,
                   .by_write = true});
    all.push_back({.filler = kLong + odd,
                   .arguments = {odd},
                   .result_filler = kLong + odd,
                   .long_call = true,
                   .long_reply = true});
  }
  return all;
}

std::vector<Transfer> of_zero() {
  return {{.filler = 0},
          {.arguments = {0}, .results = {0}},
          {.arguments = {0, 0, 0}, .results = {0, 0, 0}},
          {.arguments = {0, kLong, 0}, .by_read = true},
          {.arguments = {kLong, 0, kLong},
           .results = {kLong, 0, kLong},
           .by_read = true,
           .by_write = true},
          // A Write chunk without segments, and one that receives no data.
          {.results = {0, kLong}, .offered = {0, kLong}, .by_write = true},
          {.results = {0, kLong}, .offered = {kLong, kLong}, .by_write = true},
          {.filler = kLong, .arguments = {0, 0}, .results = {0}, .long_call = true}};
}

// An item that is DDP-eligible, but stays inline in a message of exactly the threshold's length.
constexpr std::uint32_t kSmallItem = 64;

// Builds messages of exactly the threshold: by the filler on one side, on the other, on both; and
// with an item.
std::vector<Transfer> at_threshold(const InlineTerms& terms) {
  const std::uint32_t call = terms.call_threshold - terms.empty_header - call_bytes({});
  const std::uint32_t reply = terms.reply_threshold - terms.empty_header - reply_bytes({});
  constexpr std::uint32_t kItem = 4 + kSmallItem;
  return {{.filler = call},
          {.result_filler = reply},
          {.filler = call, .result_filler = reply},
          {.filler = call - kItem, .arguments = {kSmallItem}},
          {.result_filler = reply - kItem, .results = {kSmallItem}}};
}

// Adds a byte of filler to messages that have any: those with an item then move it by a chunk, the
// others become long.
std::vector<Transfer> over_threshold(const InlineTerms& terms) {
  std::vector<Transfer> all = at_threshold(terms);
  for (Transfer& t : all) {
    t.by_read = !t.arguments.empty();
    t.by_write = !t.results.empty();
    t.long_call = t.filler != 0 && !t.by_read;
    t.long_reply = t.result_filler != 0 && !t.by_write;
    if (t.filler != 0) ++t.filler;
    if (t.result_filler != 0) ++t.result_filler;
  }
  return all;
}

// Each COUNT follows its ONE_WAY Calls on the same connection, which keeps their order.
std::vector<Transfer> of_one_way() {
  return {{.filler = 0, .one_way = true},
          {.filler = 101, .one_way = true},
          {.counted = 2},
          {.null = true},
          {.arguments = {16, 3}, .one_way = true},
          {.filler = 40, .one_way = true},
          {.filler = 4, .arguments = {200}, .one_way = true},
          {.counted = 3}};
}

}  // namespace

const char* shape_name(Shape shape) {
  const auto i = static_cast<std::size_t>(shape);
  return i < kNames.size() ? kNames[i] : "?";
}

std::optional<Shape> shape_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<Shape>(i);
  }
  return std::nullopt;
}

std::vector<Transfer> transfers_of(Shape shape, const InlineTerms& terms) {
  switch (shape) {
    case Shape::kShort:
      return of_short();
    case Shape::kLongCall:
      return of_long_calls();
    case Shape::kLongReply:
      return of_long_replies();
    case Shape::kRead:
      return of_reads();
    case Shape::kWrite:
      return of_writes();
    case Shape::kSeveral:
      return of_several();
    case Shape::kOdd:
      return of_odd();
    case Shape::kZero:
      return of_zero();
    case Shape::kThreshold:
      return at_threshold(terms);
    case Shape::kOver:
      return over_threshold(terms);
    case Shape::kOneWay:
      return of_one_way();
  }
  return {};
}

std::uint32_t call_bytes(const Transfer& t) {
  if (t.null || t.counted) return kCallHeader;
  const auto lengths = static_cast<std::uint32_t>(4 * t.results.size());
  return kCallHeader + 16 + lengths + padded(t.filler) + with_counts(t.arguments) + 4;
}

std::uint32_t reply_bytes(const Transfer& t) {
  if (t.one_way) return 0;
  if (t.null) return kReplyHeader;
  if (t.counted) return kReplyHeader + kCountResultBytes;
  return kReplyHeader + 8 + padded(t.result_filler) + with_counts(t.results) + 4;
}

std::uint32_t max_reply(const Transfer& t) {
  return reply_bytes(t) - contents(t.results);
}

protocol::MessageBytes expected_bytes(const Transfer& t) {
  protocol::MessageBytes bytes;
  if (t.long_call) {
    bytes.long_calls = call_bytes(t);
  } else {
    bytes.inline_calls = call_bytes(t) - (t.by_read ? contents(t.arguments) : 0);
    bytes.read_chunks = t.by_read ? sum(t.arguments) : 0;
  }
  const std::uint32_t reply = reply_bytes(t) - (t.by_write ? contents(t.results) : 0);
  (t.long_reply ? bytes.reply_chunks : bytes.inline_replies) = reply;
  bytes.write_chunks = t.by_write ? sum(t.results) : 0;
  return bytes;
}

protocol::MessageBytes bytes_of_null_calls(std::uint64_t calls) {
  protocol::MessageBytes bytes;
  bytes.inline_calls = calls * kCallHeader;
  bytes.inline_replies = calls * kReplyHeader;
  return bytes;
}

}  // namespace rpcrdma::selftest
