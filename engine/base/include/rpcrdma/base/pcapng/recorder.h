// Writes frames to pcapng files (draft-ietf-opsawg-pcapng) with nanoseconds: one file, or a ring of
// files of which the oldest are deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/frame.h>

namespace rpcrdma::base {

struct RingOptions {
  // A new file is begun before the frame that would make the file larger than this, or that is so
  // much later than the file's first. 0: no such limit.
  std::uint64_t file_bytes = 0;
  std::int64_t file_ns = 0;
  std::uint32_t files = 0;  // so many are kept, the oldest deleted; 0: all are kept

  [[nodiscard]] bool on() const { return file_bytes != 0 || file_ns != 0; }
};

struct RecordOptions {
  // With a ring, "a/b.pcapng" stands for a/b_00001_20260131235959.pcapng and so on: number and
  // local time of the file's beginning, as dumpcap names them. "-": standard output, which has no
  // ring.
  std::string path;
  RingOptions ring;
  Interface interface;
  // How many frames the kernel and the interface have dropped so far; asked at the end of each
  // file, whose statistics block tells those that were dropped while it was written. May be empty.
  std::function<std::uint64_t()> dropped = {};
  // Frames that a ring's file needs to be understood by itself: put at its end when another one
  // follows, and at the beginning of that one. They do not make it full. May be empty.
  using Put = std::function<void(const Frame&)>;
  std::function<void(const Put&)> at_end = {};
  std::function<void(const Put&)> at_begin = {};
};

// Whole blocks are given to the kernel when 256 KiB have gathered, when a frame is a second later
// than the oldest that waits, and by flush(). So what a killed program leaves lacks the last second
// at most, and ends with a whole block unless the kernel was just writing.
class Recorder {
 public:
  virtual ~Recorder() = default;

  // The frame's own time decides whether a new file begins; its bytes are taken after `at_begin`.
  // Errors name the file.
  [[nodiscard]] virtual Expected<void> write(const Frame& frame) = 0;

  // No frame came for a while: what waits is written.
  [[nodiscard]] virtual Expected<void> flush() = 0;

  // Ends the file with its statistics; nothing is to be written afterwards. `now_ns` as in frames.
  [[nodiscard]] virtual Expected<void> finish(std::int64_t now_ns) = 0;

  [[nodiscard]] virtual const std::string& file() const = 0;  // the newest one's path
  // That the kernel has taken whole, into all files, those that were put among them.
  [[nodiscard]] virtual std::uint64_t frames() const = 0;
};

// Begins the first file, which replaces one of the same name; only the user may read it. `now_ns`:
// the time that a ring's file is named after.
[[nodiscard]] Expected<std::unique_ptr<Recorder>> open_recorder(RecordOptions options,
                                                                std::int64_t now_ns);

}  // namespace rpcrdma::base
