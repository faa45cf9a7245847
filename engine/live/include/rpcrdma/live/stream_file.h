// Writes the stream of a live endpoint (endpoints.h) as a hub records it: to a pcapng file, or to a
// ring of files, each of which can be read on its own and has its own sums.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/pcapng/recorder.h>

namespace rpcrdma::trace {

class StreamFile {
 public:
  // `name`: of the interface in the files. `wall_now`: ns since the epoch. Errors: those of
  // base::open_recorder().
  [[nodiscard]] static base::Expected<std::unique_ptr<StreamFile>> open(
      const std::string& path, const base::RingOptions& ring, const std::string& name,
      std::int64_t wall_now);
  ~StreamFile();
  StreamFile(const StreamFile&) = delete;
  StreamFile& operator=(const StreamFile&) = delete;

  // Writes the next frame of the stream, in order from the first. Frames are untrusted. Errors: a
  // frame that is no event of an endpoint's stream, after which the file can only be finished; the
  // file cannot be written.
  [[nodiscard]] base::Expected<void> write(const base::Frame& frame);
  // When it returns, all written frames are in the file.
  [[nodiscard]] base::Expected<void> flush();
  [[nodiscard]] base::Expected<void> finish(std::int64_t wall_now);

  [[nodiscard]] const std::string& file() const;  // the newest
  [[nodiscard]] std::uint64_t events() const;     // in all files
  [[nodiscard]] std::uint64_t lost() const;       // as the endpoint reports it

 private:
  struct Impl;
  explicit StreamFile(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::trace
