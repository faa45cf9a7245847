// Reads several files, each as one point, and joins what they show.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/ends/ends.h>

namespace rpcrdma::ends {

// How another thread follows a reading; null: it does not.
struct ReadWatch {
  const std::atomic<bool>* cancelled = nullptr;      // once set, read_ends() returns an error soon
  std::atomic<std::uint64_t>* bytes_read = nullptr;  // of all files, as stored
};

// Each file is read by a session of its own. Files that only continue one another, as those of a
// ring, are one source. Errors: a file cannot be opened or read. A single source, or sources
// without a common connection, are no error: see any().
[[nodiscard]] base::Expected<Ends> read_ends(const std::vector<std::string>& files,
                                             const EndsOptions& options = {},
                                             const ReadWatch& watch = {});

}  // namespace rpcrdma::ends
