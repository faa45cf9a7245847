// The files that NFS Calls were about: how often, how much and how long.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::report {

inline constexpr std::size_t kMaxFiles = 4096;    // a file whose latencies differ much has 16 KiB
inline constexpr std::size_t kMaxFileSizes = 16;  // different lengths of requests

struct FileKey {
  std::string server;        // its address
  std::uint32_t handle = 0;  // decode::handle_hash() of the file handle
  friend auto operator<=>(const FileKey&, const FileKey&) = default;
};

struct FileStats {
  std::string name;  // the last path that was known, escaped; empty: none was
  // The handle of the directory that `name` is relative to; nothing: it is absolute, or not known.
  std::optional<std::uint32_t> below;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t other = 0;      // Calls that neither read nor write data
  std::uint64_t errors = 0;     // RDMA_ERRORs, failed RPCs, and results with an error status
  std::uint64_t unmatched = 0;  // Calls without an answer
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  // READs and WRITEs that were compared with earlier ones, and those of them that begin where one
  // ends, or end where one begins.
  std::uint64_t compared = 0;
  std::uint64_t sequential = 0;
  std::map<std::uint64_t, std::uint64_t> sizes;  // READs and WRITEs by the bytes asked for
  std::uint64_t other_sizes = 0;                 // further ones
  base::CompactHistogram latency;                // from Call to Reply
  std::int64_t first_ns = 0;                     // of its first Call, and of its last
  std::int64_t last_ns = 0;

  [[nodiscard]] std::uint64_t calls() const { return reads + writes + other; }
  [[nodiscard]] std::uint64_t bytes() const { return read_bytes + written_bytes; }
  void note_size(std::uint64_t bytes, std::uint64_t count = 1);
  void add(const FileStats& later);
};

// Calls about files beyond kMaxFiles.
struct OtherFiles {
  std::uint64_t calls = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
};

struct Files {
  // A filter may leave a file without Calls: it only names the directory of others.
  std::map<FileKey, FileStats> list;
  OtherFiles others;

  [[nodiscard]] std::size_t with_calls() const;
  [[nodiscard]] bool empty() const { return with_calls() == 0 && others.calls == 0; }
  // Adds those of a later capture.
  void add(const Files& later);
  // Completes relative names by the names of their directories.
  void complete_names();
};

// "sequential", "random" or "mixed"; "" if too few READs and WRITEs show it.
[[nodiscard]] const char* pattern_of(const FileStats& file);
// The length that most READs and WRITEs ask for, bytes; 0: there are none.
[[nodiscard]] std::uint64_t typical_size(const FileStats& file);

// The files that took the most time, and those that moved the most bytes; at most `most` of each.
using FileEntry = std::map<FileKey, FileStats>::value_type;
[[nodiscard]] std::vector<const FileEntry*> busiest_files(const Files& files, std::size_t most);
// "dir/big", or "fh:1a2b3c4d" if the name is not known.
[[nodiscard]] std::string file_name(const FileEntry& file);

}  // namespace rpcrdma::report
