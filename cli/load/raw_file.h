// The latency of each Call of a load, for programs that compute from them: a line of nanoseconds
// for each Call with a correct answer.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <tl/expected.hpp>

#include <rpcrdma/base/line_file.h>
#include <rpcrdma/fabric/time.h>

namespace rpcrdma::cli {

class RawFile {
 public:
  // Error: one clause for display.
  [[nodiscard]] static tl::expected<std::unique_ptr<RawFile>, std::string> open(
      const std::string& path);

  // Thread-safe.
  void add(fabric::Time latency);
  // Writes what is buffered. Error: not all could be written.
  [[nodiscard]] tl::expected<void, std::string> finish();

 private:
  explicit RawFile(base::LineFile file) : file_(std::move(file)) {}
  void flush();

  std::mutex mutex_;
  base::LineFile file_;
  std::string lines_;  // not yet written
  base::Expected<void> written_;
};

}  // namespace rpcrdma::cli
