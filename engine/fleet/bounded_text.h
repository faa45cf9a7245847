// Text for the bus: valid UTF-8 of bounded length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace rpcrdma::fleet {

[[nodiscard]] inline std::string bounded_text(std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  const bool ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return std::string(text);
  // The JSON library replaces what is no UTF-8, by three bytes for each.
  using nlohmann::json;
  const std::string quoted =
      json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
  auto valid = json::parse(quoted).get<std::string>();
  if (valid.size() > most) {
    std::size_t end = most;
    while (end != 0 && (static_cast<unsigned char>(valid[end]) & 0xC0U) == 0x80U) --end;
    valid.resize(end);
  }
  return valid;
}

}  // namespace rpcrdma::fleet
