// Records frames to pcapng files (draft-ietf-opsawg-pcapng) with nanosecond timestamps: one file,
// or a ring of files whose oldest are deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/frame.h>

namespace rpcrdma::base {

struct RingOptions {
  // A new file starts before a frame that would exceed this size, or that is at least this much
  // later than the file's first frame. 0: no limit.
  std::uint64_t file_bytes = 0;
  std::int64_t file_ns = 0;
  std::uint32_t files = 0;  // files to keep, deleting the oldest; 0: all

  [[nodiscard]] bool on() const { return file_bytes != 0 || file_ns != 0; }
};

struct RecordOptions {
  // With a ring, "a/b.pcapng" becomes a/b_00001_20260131235959.pcapng and so on: number and local
  // time of the file's start, as in dumpcap. "-": standard output, which cannot be a ring.
  std::string path;
  RingOptions ring;
  Interface interface;
  // Returns how many frames the kernel and the interface have dropped so far. Called at the end of
  // each file, whose statistics block counts the drops during that file. May be empty.
  std::function<std::uint64_t()> dropped = {};
  // Writes the frames that each file of a ring needs to be understood on its own: at the end of a
  // file that has a successor, and at the beginning of the successor. They do not count toward the
  // file's limits. May be empty.
  using Put = std::function<void(const Frame&)>;
  std::function<void(const Put&)> at_end = {};
  std::function<void(const Put&)> at_begin = {};
};

// Writes whole blocks when 256 KiB are buffered, when a frame is a second later than the oldest
// buffered one, and on flush(). A killed program therefore loses at most the last second, and the
// file ends with a whole block unless the program was killed during a write.
class Recorder {
 public:
  virtual ~Recorder() = default;

  // The frame's own time decides whether a new file starts. The frame's bytes are read after
  // `at_begin` was called. Errors name the file.
  [[nodiscard]] virtual Expected<void> write(const Frame& frame) = 0;

  // Writes buffered frames. Call it when no frame has arrived for a while.
  [[nodiscard]] virtual Expected<void> flush() = 0;

  // Ends the file with its statistics; do not write afterwards. `now_ns` as in frames.
  [[nodiscard]] virtual Expected<void> finish(std::int64_t now_ns) = 0;

  [[nodiscard]] virtual const std::string& file() const = 0;  // path of the newest file
  // Frames written to all files, including those written by `at_end` and `at_begin`.
  [[nodiscard]] virtual std::uint64_t frames() const = 0;
};

// Creates the first file, replacing one of the same name. Only its owner may read it. `now_ns`: the
// time in the name of a ring's file.
[[nodiscard]] Expected<std::unique_ptr<Recorder>> open_recorder(RecordOptions options,
                                                                std::int64_t now_ns);

}  // namespace rpcrdma::base
