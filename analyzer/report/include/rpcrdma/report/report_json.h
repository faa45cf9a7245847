// A report as JSON (docs/json.md), and back.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Rises when a key changes its meaning.
inline constexpr const char* kSchema = "rpcrdma-analysis-2";

// In pieces, since a capture may have very many connections.
using Write = std::function<void(std::string_view)>;

// One object and a newline. With more than one thread allowed, the second half of a long one is
// made at the same time as the first, and kept until that is written.
void write_json(const Report& report, const Write& write, unsigned threads = 1);

// What write_json() wrote. Anything may stand in `text`: memory is bounded by its length, and
// nesting costs no stack. The error is a sentence that names the key.
[[nodiscard]] tl::expected<Report, std::string> read_json(std::string_view text);

}  // namespace rpcrdma::report
