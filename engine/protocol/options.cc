#include <algorithm>
#include <utility>

#include <rpcrdma/protocol/options.h>

namespace rpcrdma::protocol {

void OptionRegistry::add(std::uint32_t type, Handler handler) {
  const auto at = std::ranges::find(entries_, type, &Entry::type);
  if (at != entries_.end()) {
    at->handler = std::move(handler);
  } else {
    entries_.push_back({type, std::move(handler)});
  }
}

const OptionRegistry::Handler* OptionRegistry::find(std::uint32_t type) const {
  const auto at = std::ranges::find(entries_, type, &Entry::type);
  return at == entries_.end() ? nullptr : &at->handler;
}

}  // namespace rpcrdma::protocol
