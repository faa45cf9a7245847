// Sums of the joined Calls, the slowest of them, and the verdict.
#pragma once

#include <vector>

#include <rpcrdma/ends/ends.h>

namespace rpcrdma::ends {

// `calls`: those that are judged. Fills procedures, slowest and sides.
void add_sums(const std::vector<EndsCall>& calls, const EndsOptions& options, Ends& ends);

// `judged`: Calls whose side was decided, the fast ones included.
void add_verdict(const std::vector<EndsCall>& calls, const EndsOptions& options, Ends& ends);

// From how long on Calls of this name are slow.
[[nodiscard]] std::int64_t slow_limit(const EndsOptions& options, const std::string& name);

// "12.3 ms"
[[nodiscard]] std::string duration_text(std::int64_t ns);

}  // namespace rpcrdma::ends
