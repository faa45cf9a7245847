#include "json.h"

#include <sstream>

template class nlohmann::basic_json<>;

namespace rpcrdma::e2e {

nlohmann::json parse_json(const std::string& text) {
  return nlohmann::json::parse(text);
}

nlohmann::json try_parse_json(const std::string& text) {
  return nlohmann::json::parse(text, nullptr, false);
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> objects;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) objects.push_back(nlohmann::json::parse(line));
  return objects;
}

}  // namespace rpcrdma::e2e
