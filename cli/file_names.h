// Names of output files after the files of a capture. Names in a capture are hostile: the results
// hold only letters, digits, '.', '-' and '_', are short, and do not begin with '.' or '-'.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <rpcrdma/model/file_use.h>

namespace rpcrdma::cli {

class FileNames {
 public:
  // "dir_big", or "fh-1a2b3c4d" for a file whose name is not known. Another file with the same
  // result gets the hash of its handle, too: "dir_big-5e6f7081".
  [[nodiscard]] std::string of(const model::FileUse& use);

 private:
  static constexpr std::size_t kMaxBytes = 100;
  static constexpr std::size_t kMaxNames = 65536;

  using File = std::pair<std::uint64_t, std::uint32_t>;  // server and handle
  std::map<std::string, File> owners_;
};

}  // namespace rpcrdma::cli
