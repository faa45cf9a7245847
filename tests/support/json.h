// Parses JSON output of programs. Unoptimized parsing takes longer than the programs run, so this
// file is always compiled with optimization.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;

namespace rpcrdma::e2e {

// If the text is not JSON, throws nlohmann::json::parse_error.
[[nodiscard]] nlohmann::json parse_json(const std::string& text);
// The same, but returns a value that is_discarded().
[[nodiscard]] nlohmann::json try_parse_json(const std::string& text);

// Parses one object per line; throws as parse_json() does.
[[nodiscard]] std::vector<nlohmann::json> json_lines(const std::string& text);

}  // namespace rpcrdma::e2e
