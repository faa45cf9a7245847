// One side of a comparison: a capture, a report, or a range of time of the open document.
#pragma once

#include <QString>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/report/report.h>

namespace rpcrdma::gui {

struct CompareInput {
  QString name = {};                    // for people
  std::vector<std::string> paths = {};  // captures, read as one; or one report of analyze --json
  // Only Calls and Replies in this time, since 1970; both ends are inside.
  struct Range {
    std::int64_t from_ns = 0, to_ns = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::optional<Range> range = std::nullopt;
  bool check_icrc = true;

  [[nodiscard]] bool empty() const { return paths.empty(); }
};

// The display filter that a range stands for.
[[nodiscard]] std::string filter_of(const CompareInput::Range& range);

// Analyzes it as `rpcrdma analyze` does. Blocks; returns an error soon after `cancelled` is set.
// Errors: one line that names the file.
[[nodiscard]] tl::expected<report::Report, std::string> analyze(const CompareInput& input,
                                                                const std::atomic<bool>& cancelled);

}  // namespace rpcrdma::gui
