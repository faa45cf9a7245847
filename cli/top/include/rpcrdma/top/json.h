// A live view at one moment as JSON, for scripts (docs/json.md).
#pragma once

#include <string>

#include <rpcrdma/top/shown.h>

namespace rpcrdma::top {

// One line, without its end.
[[nodiscard]] std::string to_json(const Shown& shown);

}  // namespace rpcrdma::top
