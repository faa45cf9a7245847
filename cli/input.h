// What every command that reads a capture does alike.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/pipeline.h>

namespace rpcrdma::cli {

// Opens `path`, "-" being standard input; on failure one line on stderr and null.
[[nodiscard]] std::unique_ptr<capture::Source> open_input(const std::string& path);

// Runs the pipeline over the source with progress shown, on at most `jobs` threads (0: as many as
// there are cores); false after an error, told on stderr. Warns of a file that is cut short or
// damaged.
[[nodiscard]] bool run_pipeline(report::Pipeline& pipeline, capture::Source& source,
                                const std::string& path, unsigned jobs);

// The option -j of every command that reads a capture.
void add_jobs(CLI::App& app, unsigned& jobs);

// "rpcrdma: ..." on stderr.
void complain(const std::string& text);

}  // namespace rpcrdma::cli
