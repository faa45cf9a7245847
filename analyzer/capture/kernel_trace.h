// Recognizes traces of the kernel's tracepoints, which a helper program converts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rpcrdma::capture {

inline constexpr std::string_view kTraceProgram = "rpcrdma-trace-dat";

// Begins as trace.dat does, the file of trace-cmd.
[[nodiscard]] bool is_trace_dat(std::span<const std::uint8_t> start);

// Begins like the text that trace-cmd report, trace_pipe or the file `trace` print: a line of a
// record, or the lines before the first.
[[nodiscard]] bool is_trace_text(std::span<const std::uint8_t> start);

}  // namespace rpcrdma::capture
