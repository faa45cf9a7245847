#include "confined_input.h"

#include "input.h"

#include <rpcrdma/base/confinement.h>
#include <rpcrdma/capture/helpers.h>

namespace rpcrdma::cli {

void confine_opening() {
  base::confine({.processes = base::Processes::kStart, .files = false, .read = {}, .written = {}});
}

void confine_reading(const std::vector<std::string>& paths,
                     const std::vector<std::string>& outputs) {
  base::confine(
      {.processes = base::Processes::kNone, .files = true, .read = paths, .written = outputs});
}

std::unique_ptr<capture::Source> open_confined_input(const std::vector<std::string>& paths,
                                                     const std::vector<std::string>& outputs) {
  // The first bytes of a file are decoded while it is opened.
  confine_opening();
  auto source = open_input(paths);
  if (source == nullptr) return nullptr;
  if (!capture::runs_helpers()) {
    confine_reading(paths, outputs);
  } else if (paths.size() == 1) {
    base::confine(
        {.processes = base::Processes::kEnd, .files = true, .read = paths, .written = outputs});
  }
  // Several files are opened again when their turn comes, and some of them need a helper.
  return source;
}

}  // namespace rpcrdma::cli
