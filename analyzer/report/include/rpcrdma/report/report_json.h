// Writes a report as JSON (docs/json.md) and reads it back.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// The number increases when a key changes its meaning.
inline constexpr const char* kSchema = "rpcrdma-analysis-2";

// Receives text in pieces, because a capture can have very many connections.
using Write = std::function<void(std::string_view)>;

// Writes one object and a newline. With more than one thread, a second thread formats the second
// half of a long report at the same time; that half is in memory until the first half is written.
void write_json(const Report& report, const Write& write, unsigned threads = 1);

// Reads the text of write_json(). `text` need not be trusted: memory is bounded by its length, and
// nesting uses no stack. The error is a sentence that names the key.
[[nodiscard]] tl::expected<Report, std::string> read_json(std::string_view text);

}  // namespace rpcrdma::report
