// What endpoints told, in words.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/report/recording.h>

namespace rpcrdma::report {

// Of unknown origin, in part: not escaped.
struct RecordingLine {
  const char* name;  // "events", "error", ...
  std::string text;
};
// Whether all that was told is here stands first.
[[nodiscard]] std::vector<RecordingLine> recording_lines(const Recording& r);

}  // namespace rpcrdma::report
