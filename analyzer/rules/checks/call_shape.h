// What a Call asks of its responder's transport: chunks, segments, bytes. It shows what refused
// Calls have and answered ones have not.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <rpcrdma/model/call.h>

namespace rpcrdma::rules {

struct CallShape {
  enum Measure : std::uint8_t {
    kReadChunks,
    kWriteChunks,
    kReplyChunks,  // 0 or 1
    kSegments,     // of all chunks
    kReadBytes,    // offered by the Read list
    kWriteBytes,   // by the Write list
    kReplyBytes,   // by the Reply chunk
  };
  static constexpr std::size_t kMeasures = 7;
  std::array<std::uint64_t, kMeasures> of{};

  // Room for results in chunks.
  [[nodiscard]] std::uint64_t room() const { return of[kWriteBytes] + of[kReplyBytes]; }
};

[[nodiscard]] CallShape shape_of(const model::Call& call);

// Of many Calls.
struct ShapeRange {
  std::uint64_t calls = 0;
  CallShape least, most;

  void add(const CallShape& shape);
};

// Where each of `refused` has more of something than any of `answered`: "5 Write chunks, where
// answered Calls have 1 at most". Without answered Calls: what the refused ones have. Empty where
// there is no difference.
[[nodiscard]] std::string difference(const ShapeRange& refused, const ShapeRange& answered);

}  // namespace rpcrdma::rules
