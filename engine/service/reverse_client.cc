#include <utility>

#include <rpcrdma/service/reverse_client.h>

namespace rpcrdma::service {

ReverseClient::ReverseClient(ReverseObserver& observer, const protocol::RequesterOptions& options,
                             const fabric::Time& clock)
    : owner_(observer), clock_(clock), requester_(owner_, options), credits_(options.credits) {}

fabric::Expected<std::uint32_t> ReverseClient::call(const protocol::CallSpec& spec) {
  auto made = requester_.call(spec, clock_);
  if (made && wake_) wake_();
  return made;
}

void ReverseClient::close() {
  requester_.close(clock_);
  if (wake_) wake_();
}

bool ReverseClient::bound() const {
  return static_cast<bool>(wake_);
}

fabric::Time ReverseClient::deadline() const {
  return bound() ? fabric::kNever : requester_.deadline();
}

void ReverseClient::expire(fabric::Time now) {
  if (!bound()) requester_.expire(now);
}

void ReverseBinding::bind(ReverseClient& client, std::function<void()> wake) {
  client.wake_ = std::move(wake);
}

void ReverseBinding::unbind(ReverseClient& client) {
  client.wake_ = nullptr;
  client.owner_.observer.on_unbound();
}

protocol::Requester& ReverseBinding::requester(ReverseClient& client) {
  return client.requester_;
}

std::uint32_t ReverseBinding::credits(const ReverseClient& client) {
  return client.credits_;
}

}  // namespace rpcrdma::service
