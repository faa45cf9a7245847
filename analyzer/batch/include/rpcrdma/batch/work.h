// Analyzes units.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/batch/folder.h>
#include <rpcrdma/batch/plan.h>
#include <rpcrdma/batch/shard.h>
#include <rpcrdma/report/analysis.h>

namespace rpcrdma::batch {

struct DamagedFile {
  std::string path;
  std::string reason;
  bool read = false;  // up to the damage
};

struct UnitResult {
  report::Report report;
  std::vector<DamagedFile> damaged;
};

// Creates the options of one analysis, from Plan::settings.
using MakeOptions = std::function<report::AnalysisOptions()>;

// Reads the unit's files as one capture. Files that cannot be read are left out. Error: the rest
// cannot be read either. `threads`: 0 means as many as there are processors.
[[nodiscard]] base::Expected<UnitResult> analyze_unit(const Plan& plan, const Unit& unit,
                                                      const MakeOptions& options, unsigned threads);

// What a process did with its share.
struct Worked {
  std::size_t analyzed = 0;
  std::size_t done_before = 0;  // of its own share
  std::size_t failed = 0;
};

// Analyzes the units of a share that are not done, and then those of other shares that no process
// has claimed. Writes why a unit failed into Folder::unit_failed(). Error: no result can be
// written, as on a full disk.
[[nodiscard]] base::Expected<Worked> work(const Folder& folder, const Plan& plan, Shard shard,
                                          const MakeOptions& options, unsigned threads);

}  // namespace rpcrdma::batch
