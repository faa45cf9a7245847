// Describes a recording in lines of text.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/report/recording.h>

namespace rpcrdma::report {

// `text` contains untrusted text that is not escaped.
struct RecordingLine {
  const char* name;  // "events", "error", ...
  std::string text;
};
// Returns the lines; the first one compares emitted, received and lost events.
[[nodiscard]] std::vector<RecordingLine> recording_lines(const Recording& r);

}  // namespace rpcrdma::report
