// Keeps what comes from a live endpoint (endpoints.h) as a hub records it: in a pcapng file, or in
// a ring of files each of which can be read by itself, with sums of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/pcapng/recorder.h>

namespace rpcrdma::trace {

class StreamFile {
 public:
  // `name`: of the interface in the files. `wall_now`: the epoch, ns. Errors: those of
  // base::open_recorder().
  [[nodiscard]] static base::Expected<std::unique_ptr<StreamFile>> open(
      const std::string& path, const base::RingOptions& ring, const std::string& name,
      std::int64_t wall_now);
  ~StreamFile();
  StreamFile(const StreamFile&) = delete;
  StreamFile& operator=(const StreamFile&) = delete;

  // The frames of the stream in their order, from the first on. They may be anybody's: what is no
  // event of an endpoint's stream is an error, after which the file can only be finished. Another
  // error: it cannot be written.
  [[nodiscard]] base::Expected<void> write(const base::Frame& frame);
  // What was written is in the file.
  [[nodiscard]] base::Expected<void> flush();
  [[nodiscard]] base::Expected<void> finish(std::int64_t wall_now);

  [[nodiscard]] const std::string& file() const;  // the newest
  [[nodiscard]] std::uint64_t events() const;     // in all files
  [[nodiscard]] std::uint64_t lost() const;       // by what the endpoint says

 private:
  struct Impl;
  explicit StreamFile(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::trace
