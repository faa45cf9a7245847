// What every command that reads a capture does alike.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/command_line/command.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/session/pipeline.h>
#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::cli {

// The argument FILE..., one or more, of every command that reads captures.
command_line::Option& add_files(command_line::Command& command, std::vector<std::string>& paths);

// Opens the files as one capture in order of time, "-" being standard input; on failure one line on
// stderr and null.
[[nodiscard]] std::unique_ptr<capture::Source> open_input(const std::vector<std::string>& paths);

// Runs the pipeline over the source with progress shown, on at most `jobs` threads (0: as many as
// there are cores); false after an error, told on stderr. Warns of files that are cut short or
// damaged.
[[nodiscard]] bool run_pipeline(session::Pipeline& pipeline, capture::Source& source,
                                const std::vector<std::string>& paths, unsigned jobs);

// The option -j of every command that reads a capture.
void add_jobs(command_line::Command& command, unsigned& jobs);

// The option --v2-dialect of every command that reads messages; nothing: auto.
void add_dialect(command_line::Command& command, std::optional<wire::Dialect>& dialect);

// The option --profile of every command that measures by the rules.
void add_profile(command_line::Command& command, rules::Profile& profile);

// "rpcrdma: ..." on stderr, in one line: what acts on a terminal is escaped.
void complain(const std::string& text);

}  // namespace rpcrdma::cli
