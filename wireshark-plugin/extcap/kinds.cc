#include "kinds.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rpcrdma::extcap {

tl::expected<std::uint64_t, std::string> left_out_by(std::string_view wanted) {
  std::uint64_t left_out = 0;
  for (const Kind& kind : kKinds) left_out |= kind.types;
  while (!wanted.empty()) {
    const std::string_view name = wanted.substr(0, wanted.find(','));
    wanted.remove_prefix(std::min(wanted.size(), name.size() + 1));
    const auto* const kind =
        std::ranges::find_if(kKinds, [&](const Kind& k) { return k.name == name; });
    if (kind == kKinds.end()) {
      std::array<std::string_view, kKinds.size()> names;
      std::ranges::transform(kKinds, names.begin(), &Kind::name);
      return tl::unexpected(fmt::format("--events {}: not a kind of event; known kinds: {}", name,
                                        fmt::join(names, ", ")));
    }
    left_out &= ~kind->types;
  }
  return left_out;
}

}  // namespace rpcrdma::extcap
