// Converts a trace of the kernel's tracepoints to the pcapng stream of trace events.
#pragma once

#include <string>

#include <rpcrdma/base/error.h>

namespace rpcrdma::trace_dat {

// Reads a trace.dat, or lines of text, from `input` and writes the stream to `output`. `name`: of
// the file, for the endpoint. Returns a remark for people, or an empty text. Errors: why the rest
// cannot be read; the events before it were written.
[[nodiscard]] base::Expected<std::string> convert(int input, int output, const std::string& name);

}  // namespace rpcrdma::trace_dat
