// A file of lines that is read while it grows. If it cannot grow, as on a full disk, it ends with a
// whole line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::base {

class LineFile {
 public:
  // Replaces the contents of the file; it may be a pipe. Errors, also those of write() and
  // finish(): "PATH: REASON".
  [[nodiscard]] static Expected<LineFile> create(std::string path);

  // Writes whole lines at once. Do not write after an error.
  [[nodiscard]] Expected<void> write(std::string_view lines);
  // Closes the file, at which some file systems report what they could not write.
  [[nodiscard]] Expected<void> finish();

 private:
  LineFile(std::string path, FileDescriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  FileDescriptor fd_;
  std::uint64_t whole_ = 0;  // bytes of whole lines
};

}  // namespace rpcrdma::base
