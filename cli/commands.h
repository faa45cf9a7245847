// The commands. Each function adds its command to the parser and returns the function that runs it.
#pragma once

#include <functional>

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::cli {

// Exit status of every command.
inline constexpr int kOk = 0;
// analyze, merge: findings of severity error, or of that of --fail-on; compare: a limit was
// exceeded; extract: an incomplete file; header: malformed; load: a Call failed, a limit was
// exceeded, or data was wrong; ping, call: no answer, or a refusal; nfs-probe: a step failed;
// selftest: a cell failed
inline constexpr int kFindings = 1;
// Input that cannot be read, a server that cannot be reached, or invalid arguments.
inline constexpr int kUnreadable = 2;

using Run = std::function<int()>;

[[nodiscard]] Run add_decode(command_line::Command& command);
[[nodiscard]] Run add_capture(command_line::Command& command);
[[nodiscard]] Run add_analyze(command_line::Command& command);
[[nodiscard]] Run add_analyze_many(command_line::Command& command);
[[nodiscard]] Run add_ls(command_line::Command& command);
[[nodiscard]] Run add_attach(command_line::Command& command);
[[nodiscard]] Run add_kernel(command_line::Command& command);
[[nodiscard]] Run add_top(command_line::Command& command);
[[nodiscard]] Run add_compare(command_line::Command& command);
[[nodiscard]] Run add_merge(command_line::Command& command);
[[nodiscard]] Run add_export(command_line::Command& command);
[[nodiscard]] Run add_extract(command_line::Command& command);
[[nodiscard]] Run add_completion(command_line::Command& command);
[[nodiscard]] Run add_man(command_line::Command& command);
[[nodiscard]] Run add_fields(command_line::Command& command);
[[nodiscard]] Run add_header(command_line::Command& command);
[[nodiscard]] Run add_rules(command_line::Command& command);
[[nodiscard]] Run add_serve(command_line::Command& command);
[[nodiscard]] Run add_ping(command_line::Command& command);
[[nodiscard]] Run add_call(command_line::Command& command);
[[nodiscard]] Run add_load(command_line::Command& command);
[[nodiscard]] Run add_nfs_probe(command_line::Command& command);
[[nodiscard]] Run add_selftest(command_line::Command& command);
[[nodiscard]] Run add_doctor(command_line::Command& command);
[[nodiscard]] Run add_agent(command_line::Command& command);
[[nodiscard]] Run add_exporter(command_line::Command& command);
[[nodiscard]] Run add_fleet(command_line::Command& command);

}  // namespace rpcrdma::cli
