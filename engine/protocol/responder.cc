#include "responder_core.h"

#include <algorithm>
#include <cstring>

namespace rpcrdma::protocol {

void Refusals::add(const char* error, std::string_view why, std::uint64_t count) {
  constexpr std::size_t kMost = 32;
  const auto same = [&](const Reason& r) {
    return r.why == why && std::strcmp(r.error, error) == 0;
  };
  auto at = std::ranges::find_if(reasons_, same);
  if (at == reasons_.end() && reasons_.size() >= kMost) {
    at = reasons_.end() - 1;
    at->error = "RDMA_ERROR";
    at->why = "other reasons";
  } else if (at == reasons_.end()) {
    at = reasons_.insert(at, {error, std::string(why), 0});
  }
  at->count += count;
}

Refusals& Refusals::operator+=(const Refusals& other) {
  for (const Reason& r : other.reasons_) add(r.error, r.why, r.count);
  return *this;
}

Responder::Responder(ResponderOwner& owner, const ResponderOptions& options)
    : impl_(std::make_unique<Impl>(owner, options)) {}
Responder::~Responder() = default;

fabric::Expected<void> Responder::reply(std::uint64_t id, std::span<const Piece> message,
                                        fabric::Time now) {
  return impl_->reply(id, message, now);
}
void Responder::drop(std::uint64_t id, fabric::Time now) {
  impl_->drop(id, now);
}
void Responder::grant(std::uint32_t credits) {
  impl_->grant(credits);
}
std::uint32_t Responder::outstanding() const {
  return impl_->outstanding();
}
const ResponderCounters& Responder::counters() const {
  return impl_->counters();
}

}  // namespace rpcrdma::protocol
