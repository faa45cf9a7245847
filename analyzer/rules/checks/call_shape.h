// The shape of a Call: its chunks, segments and bytes. It shows how refused Calls differ from
// answered ones.
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
    kReadBytes,    // of the Read list
    kWriteBytes,   // of the Write list
    kReplyBytes,   // of the Reply chunk
  };
  static constexpr std::size_t kMeasures = 7;
  std::array<std::uint64_t, kMeasures> of{};

  // Returns the room for results in chunks, in bytes.
  [[nodiscard]] std::uint64_t room() const { return of[kWriteBytes] + of[kReplyBytes]; }
};

[[nodiscard]] CallShape shape_of(const model::Call& call);

// The minimum and maximum over many Calls.
struct ShapeRange {
  std::uint64_t calls = 0;
  CallShape least, most;

  void add(const CallShape& shape);
};

// Describes what each of `refused` has more of than any of `answered`: "each has 5 Write chunks,
// while answered Calls have at most 1". Without answered Calls, describes the refused ones. Empty
// if there is no difference.
[[nodiscard]] std::string difference(const ShapeRange& refused, const ShapeRange& answered);

}  // namespace rpcrdma::rules
