// Shared by all commands that read a capture.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/command_line/command.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/session/pipeline.h>
#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::cli {

// The argument FILE..., one or more, of every command that reads captures.
command_line::Option& add_files(command_line::Command& command, std::vector<std::string>& paths);

// The option --vxlan-port of every command that reads or captures packets.
void add_vxlan_ports(command_line::Command& command);

// Opens the files as one capture merged by time, "-" being standard input; on failure prints a line
// on stderr and returns null.
[[nodiscard]] std::unique_ptr<capture::Source> open_input(const std::vector<std::string>& paths);

// Runs the pipeline over the source and shows progress, on at most `jobs` threads (0: as many as
// there are cores). Returns false after an error, which is reported on stderr. Warns of truncated
// or damaged files.
[[nodiscard]] bool run_pipeline(session::Pipeline& pipeline, capture::Source& source,
                                const std::vector<std::string>& paths, unsigned jobs);

// The option -j of every command that reads a capture.
void add_jobs(command_line::Command& command, unsigned& jobs);

// The option --v2-dialect of every command that reads messages; nothing: auto.
void add_dialect(command_line::Command& command, std::optional<wire::Dialect>& dialect);

// The option --no-icrc of every command that reads packets.
void add_icrc(command_line::Command& command, bool& no_icrc);

// The option --profile of every command that checks rules.
void add_profile(command_line::Command& command, rules::Profile& profile);

// Prints "rpcrdma: ..." on stderr in one line; escapes control characters. Thread-safe.
void complain(const std::string& text);
// The same for what is no fault, such as how much was recorded.
void inform(const std::string& text);
// Makes both pass their lines on instead, escaped; empty: no longer.
using TakeLine = std::function<void(std::string_view text, bool is_fault)>;
void complain_to(TakeLine take);

// While it exists, keeps what this thread complains about, for a caller that reports it in another
// way. Only one can exist at a time in a thread.
class HeldComplaints {
 public:
  HeldComplaints();
  // Prints what was not taken.
  ~HeldComplaints();
  HeldComplaints(const HeldComplaints&) = delete;
  HeldComplaints& operator=(const HeldComplaints&) = delete;

  // The latest complaint, without the name of the command at its begin; that of `unknown` if there
  // is none.
  [[nodiscard]] std::string take_last(std::string_view command, std::string_view unknown);

 private:
  friend void complain(const std::string& text);

  std::vector<std::string> lines_;
};

}  // namespace rpcrdma::cli
