// Merges several capture files into one source in time order. Each file is open only while needed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

struct MergeLimits {
  // The most files that may be open at once, as files that overlap in time are. It is below the
  // usual limit of 1,024 descriptors and leaves room for the program's other descriptors.
  std::size_t open = 500;
  // With more files than this, frames do not stay readable: every recently read file holds memory
  // of its own, and a process may map only 65,530 areas.
  std::size_t staying = 10000;
};

// Implements open_files() for more than one path.
[[nodiscard]] Expected<std::unique_ptr<Source>> merge_files(
    const std::vector<std::string>& paths, const MergeLimits& limits,
    const std::vector<FileClock>& clocks = {});

}  // namespace rpcrdma::capture
