// Helpers for chunk lists that several groups of checks share, and reusable memory for them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/call.h>

namespace rpcrdma::rules {

// Consecutive Read segments with one Position.
struct ReadChunk {
  std::uint32_t position = 0;
  std::uint32_t last_length = 0;  // length of its last segment, bytes
  std::uint32_t segments = 0;
  std::uint64_t length = 0;  // bytes
};

struct Scratch {
  static constexpr std::size_t kItems = 64;
  std::vector<ReadChunk> reads;
  std::vector<ReadChunk> sorted;  // by Position, without Position Zero
  std::vector<decode::Removed> removed;
  std::vector<std::uint64_t> offered, returned;          // bytes of each Write chunk
  std::vector<std::pair<wire::Segment, bool>> segments;  // of a Call; true: written to
  std::array<decode::TakenItem, kItems> taken;
  std::array<decode::DdpItem, kItems> items;
};

// Joins the segments of a Read list to chunks, in the order of the list.
void join_read_chunks(std::span<const wire::ReadSegment> list, std::vector<ReadChunk>& chunks);

// Returns whether the list has a Position Zero Read chunk, which contains the RPC message itself.
[[nodiscard]] bool has_position_zero(std::span<const wire::ReadSegment> list);

[[nodiscard]] std::uint64_t total_length(std::span<const wire::Segment> segments);
// Returns the first segment with data after one that is not full, as an index; SIZE_MAX: the
// chunk has no gap. `returned` has as many segments as `offered`.
[[nodiscard]] std::size_t segment_after_gap(std::span<const wire::Segment> offered,
                                            std::span<const wire::Segment> returned);
// Computes the length of each Write chunk.
void total_lengths(const model::Message& m, std::vector<std::uint64_t>& lengths);

// "1 segment", "2 segments".
[[nodiscard]] std::string counted(std::size_t n, const char* what);

// Returns whether RPCSEC_GSS wraps arguments and results, or may: they cannot be checked then.
[[nodiscard]] bool may_be_wrapped(const model::RpcInfo& call);

using model::procedure_of;

}  // namespace rpcrdma::rules
