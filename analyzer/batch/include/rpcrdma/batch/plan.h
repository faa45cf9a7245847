// The plan of a batch: its files and units, written once before the first unit is analyzed. All
// processes that work on the batch read it; none changes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/batch/inputs.h>
#include <rpcrdma/batch/settings.h>
#include <rpcrdma/batch/units.h>

namespace rpcrdma::batch {

inline constexpr const char* kPlanSchema = "rpcrdma-batch-1";

struct PlannedFile {
  std::string path;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::string unreadable;  // why it is in no unit; empty: it is in one
};

struct Plan {
  Settings settings;
  std::string folder;  // the working directory, to which relative paths refer
  std::vector<PlannedFile> files;
  std::vector<PlannedFile> others;  // found in directories, and no captures
  std::vector<Unit> units;
};

// Scans the files on so many threads. `tick`: called now and then, on the calling thread, with the
// number of files that have been scanned.
[[nodiscard]] Plan make_plan(const std::vector<Input>& inputs, const Settings& settings,
                             const std::string& folder, unsigned threads,
                             const std::function<void(std::size_t)>& tick);

// What differs from the files of a plan, as a part of a sentence: "2 files are new, 1 has changed";
// empty: nothing.
[[nodiscard]] std::string changes_since(const Plan& plan, const std::vector<Input>& inputs,
                                        const std::string& folder);

[[nodiscard]] std::string write_plan(const Plan& plan);
// `text` need not be trusted. The error is a part of a sentence.
[[nodiscard]] base::Expected<Plan> read_plan(std::string_view text);

}  // namespace rpcrdma::batch
