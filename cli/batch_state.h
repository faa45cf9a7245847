// What `rpcrdma analyze-many` shows of a batch: progress, damaged files, the summary.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <rpcrdma/batch/folder.h>
#include <rpcrdma/batch/plan.h>
#include <rpcrdma/batch_run/runner.h>

namespace rpcrdma::cli {

// One line on stderr, if it is a terminal; erased at the end.
class BatchProgress {
 public:
  BatchProgress();
  ~BatchProgress();
  BatchProgress(const BatchProgress&) = delete;
  BatchProgress& operator=(const BatchProgress&) = delete;

  // Is it time to show something?
  [[nodiscard]] bool due();
  void show(const std::string& text);

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

struct BatchState {
  std::size_t files = 0;   // that are captures, or should be
  std::size_t others = 0;  // found in directories, and no captures
  std::size_t units = 0;
  std::size_t analyzed = 0;     // units, by this run
  std::size_t done_before = 0;  // units
  std::size_t not_read = 0;     // damaged files
  std::size_t read_in_part = 0;
  std::vector<std::string> failures;  // of units that are not done: why
};

// Writes damaged.txt, or removes it; counts what is in it.
[[nodiscard]] base::Expected<void> write_damaged(const batch::Folder& folder,
                                                 const batch::Plan& plan, BatchState& state);

// Why units are not done: what their processes wrote, what the processes said, how they ended.
[[nodiscard]] std::vector<std::string> reasons(const batch::Folder& folder,
                                               const std::vector<std::size_t>& undone,
                                               const batch_run::Said& said);

// "200 files in 13 units: 13 analyzed, 0 done before"
[[nodiscard]] std::string summary_text(const BatchState& state, const batch::Folder& folder);
// Writes summary.json.
[[nodiscard]] base::Expected<void> write_summary(const batch::Folder& folder,
                                                 const BatchState& state);

}  // namespace rpcrdma::cli
