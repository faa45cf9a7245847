// Finds the name that a misspelled word means.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace rpcrdma::filter {

// Returns the nearest of `names` if it is near enough to be meant; the first among equals.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> names);

}  // namespace rpcrdma::filter
