// The commands: each adds itself to the parser and gives the function that runs it.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace rpcrdma::cli {

// Exit status of every command.
inline constexpr int kOk = 0;
// analyze: findings of severity error; header: malformed; load: a Call failed, a limit was passed,
// or data was wrong; ping, call: no answer, or one that refuses; nfs-probe: a step failed;
// selftest: a cell failed
inline constexpr int kFindings = 1;
// Input that cannot be read, a server that cannot be reached, or bad arguments.
inline constexpr int kUnreadable = 2;

using Run = std::function<int()>;

[[nodiscard]] Run add_decode(CLI::App& app);
[[nodiscard]] Run add_capture(CLI::App& app);
[[nodiscard]] Run add_analyze(CLI::App& app);
[[nodiscard]] Run add_ls(CLI::App& app);
[[nodiscard]] Run add_attach(CLI::App& app);
[[nodiscard]] Run add_top(CLI::App& app);
[[nodiscard]] Run add_merge(CLI::App& app);
[[nodiscard]] Run add_export(CLI::App& app);
[[nodiscard]] Run add_extract(CLI::App& app);
[[nodiscard]] Run add_completion(CLI::App& app);
[[nodiscard]] Run add_man(CLI::App& app);
[[nodiscard]] Run add_fields(CLI::App& app);
[[nodiscard]] Run add_header(CLI::App& app);
[[nodiscard]] Run add_rules(CLI::App& app);
[[nodiscard]] Run add_serve(CLI::App& app);
[[nodiscard]] Run add_ping(CLI::App& app);
[[nodiscard]] Run add_call(CLI::App& app);
[[nodiscard]] Run add_load(CLI::App& app);
[[nodiscard]] Run add_nfs_probe(CLI::App& app);
[[nodiscard]] Run add_selftest(CLI::App& app);
[[nodiscard]] Run add_doctor(CLI::App& app);

}  // namespace rpcrdma::cli
