// Finds the files of a batch: named files, lists of files, directories and globs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>

namespace rpcrdma::batch {

struct Input {
  std::string path;  // as named, or below the directory as named
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  bool found = false;  // in a directory: it may be no capture at all
};

// Each word names a capture file, a directory (searched with all below it, except for `without`), a
// glob, or a list of such words with one a line: "@FILE", "@-" for standard input, or a text file
// whose first line names something that exists. The result is in the order of the words; what a
// directory or a glob yields is sorted. A file that is named twice comes once. Errors: a word or a
// line of a list names nothing; a directory cannot be read.
[[nodiscard]] base::Expected<std::vector<Input>> find_inputs(const std::vector<std::string>& words,
                                                             const std::string& without);

// Whether a name is one that capture files have: "x.pcap", "ring.pcapng3", "x.cap.zst".
[[nodiscard]] bool is_capture_name(const std::string& path);

}  // namespace rpcrdma::batch
