#include "ended_subscriptions.h"

#include <cstdint>
#include <new>

namespace rpcrdma::fleet {

namespace {

constexpr std::int64_t kRoundTripMs = 1000;

}  // namespace

EndedSubscriptions::~EndedSubscriptions() {
  for (natsSubscription* const s : kept_) natsSubscription_Destroy(s);
}

void EndedSubscriptions::end(natsConnection* connection, natsSubscription* subscription) {
  natsSubscription_Unsubscribe(subscription);
  if (natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED &&
      natsConnection_FlushTimeout(connection, kRoundTripMs) == NATS_OK) {
    natsSubscription_Destroy(subscription);
    return;
  }
  const std::scoped_lock lock(mutex_);
  try {
    kept_.push_back(subscription);
  } catch (const std::bad_alloc&) {
    // Leaks rather than frees what may be in use.
  }
}

}  // namespace rpcrdma::fleet
