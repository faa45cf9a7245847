// What every command that reads a capture does alike.
#pragma once

#include <memory>
#include <string>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/pipeline.h>

namespace rpcrdma::cli {

// Opens `path`, "-" being standard input; on failure one line on stderr and null.
[[nodiscard]] std::unique_ptr<capture::Source> open_input(const std::string& path);

// Runs the pipeline over the source with progress shown; false after an error, told on stderr. Warns
// of a file that is cut short or damaged.
[[nodiscard]] bool run_pipeline(report::Pipeline& pipeline, capture::Source& source,
                                const std::string& path);

// "rpcrdma: ..." on stderr.
void complain(const std::string& text);

}  // namespace rpcrdma::cli
