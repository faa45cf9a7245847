#include "responder_core.h"

namespace rpcrdma::protocol {

Responder::Responder(ResponderOwner& owner, const ResponderOptions& options)
    : impl_(std::make_unique<Impl>(owner, options)) {}
Responder::~Responder() = default;

fabric::Expected<void> Responder::reply(std::uint64_t id, std::span<const Piece> message,
                                        fabric::Time now) {
  return impl_->reply(id, message, now);
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
