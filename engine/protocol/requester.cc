#include "requester_core.h"

namespace rpcrdma::protocol {

const char* call_status_name(CallStatus status) {
  switch (status) {
    case CallStatus::kReplied:
      return "replied";
    case CallStatus::kTimedOut:
      return "timed out";
    case CallStatus::kErrorVersion:
      return "ERR_VERS";
    case CallStatus::kErrorChunk:
      return "ERR_CHUNK";
    case CallStatus::kBadReply:
      return "bad Reply";
    case CallStatus::kCannotSend:
      return "cannot be sent";
    case CallStatus::kClosed:
      return "closed";
    case CallStatus::kCantReply:
      return "CANT_REPLY";
    case CallStatus::kErrorProc:
      return "INVAL_PROC";
    case CallStatus::kErrorOption:
      return "INVAL_OPTION";
    case CallStatus::kSent:
      return "sent";
  }
  return "unknown";
}

Requester::Requester(RequesterOwner& owner, const RequesterOptions& options)
    : impl_(std::make_unique<Impl>(owner, options)) {}
Requester::~Requester() = default;

fabric::Expected<std::uint32_t> Requester::call(const CallSpec& spec, fabric::Time now) {
  return impl_->call(spec, now);
}
fabric::Expected<std::uint32_t> Requester::option(const OptionSpec& spec, fabric::Time now) {
  return impl_->option(spec, now);
}
void Requester::close(fabric::Time now) {
  impl_->close(now);
}
void Requester::refuse(const Versions& spoken, fabric::Time now) {
  impl_->refuse(spoken, now);
}
fabric::Time Requester::deadline() const {
  return impl_->deadline();
}
void Requester::expire(fabric::Time now) {
  impl_->expire(now);
}
bool Requester::idle() const {
  return impl_->idle();
}
std::uint32_t Requester::outstanding() const {
  return impl_->outstanding();
}
std::uint32_t Requester::waiting() const {
  return impl_->waiting();
}
std::uint32_t Requester::granted() const {
  return impl_->granted();
}
std::uint32_t Requester::credit_limit() const {
  return impl_->credit_limit();
}
std::uint32_t Requester::credits_in_use() const {
  return impl_->credits_in_use();
}
const RequesterCounters& Requester::counters() const {
  return impl_->counters();
}

}  // namespace rpcrdma::protocol
