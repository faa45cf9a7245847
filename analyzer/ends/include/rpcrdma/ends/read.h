// Reads several files, each as one point, and joins what they show.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/ends/ends.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/session/context.h>

namespace rpcrdma::ends {

// Sees the sessions while they read, beside the Collector of each. Files are read one after the
// other; each has an index in the list.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // The observer for the session of a file, before that session is constructed; null: none. It must
  // live until file_ended().
  [[nodiscard]] virtual model::Observer* observer(std::uint32_t file) = 0;
  virtual void session_begins(std::uint32_t file, const session::Context& context) = 0;
  // After the last event, while the session still exists.
  virtual void file_ended(std::uint32_t file) = 0;
};

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
                                             Watcher* watcher = nullptr,
                                             const ReadWatch& watch = {});

}  // namespace rpcrdma::ends
