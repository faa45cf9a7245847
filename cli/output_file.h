// Output files that commands write as a whole.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/whole_file.h>

namespace rpcrdma::cli {

using base::Write;

// Passes `produce` a function that writes to a base::WholeFile. Returns false, and reports it, when
// not all could be written.
[[nodiscard]] bool write_file(const std::string& path,
                              const std::function<void(const Write&)>& produce);

// Returns whether `output` is one of the `inputs`, which would be truncated before it is read.
[[nodiscard]] bool is_input(const std::string& output, const std::vector<std::string>& inputs);

// Writes to standard output, and keeps the reason of the first failure: a later flush may succeed.
void write_stdout(std::string_view text);
// Writes what is buffered; keeps the reason of the first failure, too.
void flush_stdout();
// The errno of that failure; 0: none, or not known.
[[nodiscard]] int stdout_error();

// Returns a function that writes to standard output, which gets a larger buffer. Call it before
// anything else is written there.
[[nodiscard]] Write buffered_stdout();

}  // namespace rpcrdma::cli
