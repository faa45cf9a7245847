// A Call with everything that belongs to it until its Reply.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <rpcrdma/model/chunk_data.h>
#include <rpcrdma/model/coverage.h>
#include <rpcrdma/model/file_use.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/roce/connection.h>

namespace rpcrdma::model {

// Refers to a Call that may have ended: its slot is then reused with another generation.
// Generation 0: no Call.
struct CallRef {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};

// One segment of one Call.
struct SegmentRef {
  CallRef call;
  std::uint32_t segment = 0;
};

// Whether another segment of the same handle, in flight at the same time, covers some of the same
// bytes. Then it is uncertain which of them an RDMA operation is for.
enum class Shared : std::uint8_t { kNo, kWithOwnCall, kWithOtherCall };

// A segment that the Call advertised, and the data moved through it.
struct CallSegment {
  ChunkList list = ChunkList::kRead;
  Shared shared = Shared::kNo;
  // For the table of Calls: whether it is found by its offset, and at most how many are older.
  bool indexed = false;
  std::uint8_t depth = 0;
  std::uint32_t chunk = 0;
  std::uint32_t index = 0;     // in its chunk
  std::uint32_t position = 0;  // Read list
  wire::Segment target;
  std::uint64_t base = 0;   // offset of its first byte in the chunk, bytes
  std::uint64_t moved = 0;  // bytes seen, including repeated ones
  Coverage coverage;        // which of its bytes were moved
  SegmentRef older, newer;  // with this handle, for the table of Calls

  // Bytes of the segment that were moved, each counted once.
  [[nodiscard]] std::uint64_t moved_of_it() const {
    return coverage.certain() ? coverage.covered() : std::min<std::uint64_t>(moved, target.length);
  }
};

struct CallChunk {
  ChunkList list = ChunkList::kRead;
  std::uint32_t index = 0;
  std::uint32_t position = 0;  // Read chunks
  std::uint64_t length = 0;    // advertised, bytes
  // Read chunks: the count word in front of the data, if it fits the chunk; it may include roundup.
  std::optional<std::uint32_t> count;
  std::uint64_t moved = 0;  // bytes seen
  bool truncated = false;   // more was moved than the model keeps
  ChunkData data;
};

// Why a Call ended.
enum class Ending : std::uint8_t {
  kReplied,
  kError,       // RDMA_ERROR
  kSuperseded,  // another Call with its XID was sent on the connection
  kClosed,      // the connection or the capture ended first
  kForgotten,   // more Calls were unanswered than the model keeps
};

struct Call {
  Message message;
  // Read, Write, Reply, in the header's order; then the Read chunks of its Reply.
  std::vector<CallChunk> chunks;
  std::vector<CallSegment> segments;
  std::vector<ChunkOperation> operations;  // ended ones, in the order of their ends
  std::uint64_t operations_total = 0;      // more than are kept, if the Call has very many
  std::int64_t first_op_ns = -1;           // first packet of the first operation; -1: none
  std::int64_t last_op_ns = -1;
  // The same of the Reads of its Reply's Read chunks, which come after the Reply.
  std::int64_t first_reply_read_ns = -1;
  std::int64_t last_reply_read_ns = -1;
  // From the end of the Call to its acknowledgement by the receiving adapter, or to that of the
  // messages sent with it; -1: none was requested or seen.
  std::int64_t acknowledged_after_ns = -1;
  // model::losses() of its connection when the Call was seen; kLossesUnknown if the Call was held
  // back behind a gap.
  std::uint64_t losses_before = 0;
  // Digest of the RPC message in its SEND, without the XID; 0: unknown. A resent Call has the same
  // digest.
  std::uint64_t digest = 0;
  // The bytes that its procedure requests, from decode::results_asked().
  std::optional<std::uint64_t> results_asked;
  // Another Call with its XID was in flight when it came: an answer may be for either.
  bool doubled = false;
  bool identified = false;  // the RPC header was seen (at once, or when Position Zero was read)
  bool has_file = false;    // it is of NFS or MOUNT, and `file` is valid
  FileUse file;
  // Its Reply, while the Read chunks of that are being read.
  std::shared_ptr<Message> reply;
  std::uint32_t own_segments = 0;  // the segments behind these are those of the Reply's Read chunks
  std::uint32_t unread_segments = 0;  // as many of these are not read to their ends
  Ending ending = Ending::kClosed;
  std::size_t counted = 0;  // part of its footprint in the total of in-flight Calls

  // Which file it is about; null: it is of another program, or names nothing.
  [[nodiscard]] const FileUse* file_use() const { return has_file && file.any() ? &file : nullptr; }

  // Prepares for reuse: resets everything but keeps the memory of the lists.
  void reset();
  // Memory used, without the data held in its chunks.
  [[nodiscard]] std::size_t footprint() const;
};

// Returns the number of packets of both sides known to be missing in the capture, and of events
// missing in a recording. A conclusion drawn while this number did not change rests on complete
// data.
[[nodiscard]] std::uint64_t losses(const roce::Connection& connection);
inline constexpr std::uint64_t kLossesUnknown = UINT64_MAX;

// Returns whether the capture has only the beginning of a message. An endpoint records only the
// fronts of its messages on purpose, and analysis needs no more: in a recording, only a truncated
// header counts.
[[nodiscard]] bool cut_short(const Message& message, const roce::Connection& connection);

}  // namespace rpcrdma::model
