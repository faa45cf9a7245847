// JSON that programs have printed. To parse it without optimization takes longer than the programs
// run, so this is compiled with it, whatever the tests are compiled with.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;

namespace rpcrdma::e2e {

// Where the text is no JSON: throws nlohmann::json::parse_error.
[[nodiscard]] nlohmann::json parse_json(const std::string& text);
// The same: returns what is_discarded().
[[nodiscard]] nlohmann::json try_parse_json(const std::string& text);

// An object a line; throws as parse_json() does.
[[nodiscard]] std::vector<nlohmann::json> json_lines(const std::string& text);

}  // namespace rpcrdma::e2e
