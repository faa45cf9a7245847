// Suggests a similar name: "did you mean ...?"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <rpcrdma/filter/nearest.h>

namespace rpcrdma::filter {

// Number of insertions, deletions, substitutions and swaps of neighbours that turn one into the
// other, ignoring case.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// ", did you mean NAME?" or nothing.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     std::span<const std::string_view> names);

[[nodiscard]] std::string lower(std::string_view text);  // ASCII
[[nodiscard]] bool equal_names(std::string_view a, std::string_view b);

}  // namespace rpcrdma::filter
