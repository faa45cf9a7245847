// The latency of each Call of a load, for programs that compute from them: a line of nanoseconds
// for each Call with a correct answer.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include <tl/expected.hpp>

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
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::mutex mutex_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace rpcrdma::cli
