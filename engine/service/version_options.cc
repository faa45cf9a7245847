#include <algorithm>

#include <rpcrdma/service/version_options.h>

namespace rpcrdma::service {

fabric::Expected<void> check(const VersionOptions& options) {
  const protocol::Versions& v = options.versions;
  if (v.low < protocol::kVersionOne || v.high > protocol::kVersionTwo || v.low > v.high) {
    return fabric::fail(fabric::Errc::kBadArgument, "versions are 1, 2, or 1 to 2");
  }
  if (options.negotiation_timeout <= 0) {
    return fabric::fail(fabric::Errc::kBadArgument, "the negotiation timeout is 0");
  }
  return {};
}

protocol::Terms terms_of(const VersionOptions& options, const Thresholds& agreed) {
  protocol::Terms terms;
  terms.inline_send = agreed.send;
  terms.inline_receive = agreed.receive;
  terms.remote_invalidation = agreed.remote_invalidation;
  if (options.private_data_for_two) {
    terms.inline_send_2 = std::max(terms.inline_send_2, agreed.send);
    terms.inline_receive_2 = std::max(terms.inline_receive_2, agreed.receive);
  }
  return terms;
}

}  // namespace rpcrdma::service
