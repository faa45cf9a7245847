// Several capture files as one source in order of time, each open only as long as it has to be.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

struct MergeLimits {
  // Files that overlap in time are open at once, and no more of them than this: below the usual
  // limit of 1,024 descriptors, with room for what else the program has open.
  std::size_t open = 500;
  // With more files than this the frames do not stay, since every file that was read of late holds
  // memory of its own, of which a process may map 65,530 pieces.
  std::size_t staying = 10000;
};

// What open_files() does for more than one path.
[[nodiscard]] Expected<std::unique_ptr<Source>> merge_files(const std::vector<std::string>& paths,
                                                            const MergeLimits& limits);

}  // namespace rpcrdma::capture
