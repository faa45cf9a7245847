// A Call and all that belongs to it until its Reply.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/model/chunk_data.h>
#include <rpcrdma/model/coverage.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/roce/connection.h>

namespace rpcrdma::model {

// A Call that may be over: its slot is used again then, with another generation. 0: no Call.
struct CallRef {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};

// One segment of one Call.
struct SegmentRef {
  CallRef call;
  std::uint32_t segment = 0;
};

// Does another outstanding segment of the same handle cover some of the same bytes? Then it is not
// certain which of them an RDMA operation is for.
enum class Shared : std::uint8_t { kNo, kWithOwnCall, kWithOtherCall };

// A segment that the Call offered, with what was moved through it.
struct CallSegment {
  ChunkList list = ChunkList::kRead;
  Shared shared = Shared::kNo;
  std::uint32_t chunk = 0;
  std::uint32_t index = 0;     // in its chunk
  std::uint32_t position = 0;  // Read list
  wire::Segment target;
  std::uint64_t base = 0;   // of its first byte in the chunk, bytes
  std::uint64_t moved = 0;  // bytes seen, those that were moved again too
  Coverage coverage;        // which of them
  SegmentRef older, newer;  // with this handle, for the table of Calls

  // Bytes of it that were moved, each counted once.
  [[nodiscard]] std::uint64_t moved_of_it() const {
    return coverage.certain() ? coverage.covered() : std::min<std::uint64_t>(moved, target.length);
  }
};

struct CallChunk {
  ChunkList list = ChunkList::kRead;
  std::uint32_t index = 0;
  std::uint32_t position = 0;  // Read chunks
  std::uint64_t length = 0;    // offered, bytes
  // Read chunks: the count in front of the data, where it fits the chunk; it may count roundup
  // besides.
  std::optional<std::uint32_t> count;
  std::uint64_t moved = 0;  // seen, bytes
  bool truncated = false;   // more was moved than the model keeps
  ChunkData data;
};

// Why a Call is over.
enum class Ending : std::uint8_t {
  kReplied,
  kError,       // RDMA_ERROR
  kSuperseded,  // another Call with its XID came on the connection
  kClosed,      // the connection or the capture ended first
  kForgotten,   // more Calls were unanswered than the model keeps
};

struct Call {
  Message message;
  std::vector<CallChunk> chunks;  // Read, Write, Reply, in the header's order
  std::vector<CallSegment> segments;
  std::vector<ChunkOperation> operations;  // ended ones, in the order of their ends
  std::uint64_t operations_total = 0;      // more than are kept, for a Call of very many
  std::int64_t first_op_ns = -1;           // first packet of the first operation; -1: none
  std::int64_t last_op_ns = -1;
  // From its end until the acknowledgement of the adapter that it went to, or of those that came
  // with it; -1: none was asked for, or seen.
  std::int64_t acknowledged_after_ns = -1;
  // What its connection had missed in the capture when it was seen: see model::losses();
  // kLossesUnknown where it was held back behind a gap.
  std::uint64_t losses_before = 0;
  // Of the RPC message in its SEND, all but the XID; 0: not known. The same Call sent again has it
  // too.
  std::uint64_t digest = 0;
  // What its procedure asks for, as decode::results_asked() has it.
  std::optional<std::uint64_t> results_asked;
  // Another Call with its XID was outstanding when it came: an answer may be for either.
  bool doubled = false;
  bool identified = false;  // the RPC header was seen (at once, or when Position Zero was read)
  Ending ending = Ending::kClosed;
  std::size_t counted = 0;  // of its footprint, in what all outstanding Calls take together

  // For use again: as made new, but with the memory of its lists.
  void reset();
  // Of memory that it takes, without what its chunks hold.
  [[nodiscard]] std::size_t footprint() const;
};

// Packets of the connection that the capture is known to miss, of both sides, and events that a
// recording lacks. What was concluded while this number did not change rests on whole data.
[[nodiscard]] std::uint64_t losses(const roce::Connection& connection);
inline constexpr std::uint64_t kLossesUnknown = UINT64_MAX;

// The capture has only the beginning of a message. An endpoint tells the fronts of its messages on
// purpose, which is all that anything needs of them: there only a header that is longer counts.
[[nodiscard]] bool cut_short(const Message& message, const roce::Connection& connection);

}  // namespace rpcrdma::model
