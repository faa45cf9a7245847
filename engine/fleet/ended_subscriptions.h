// Frees subscriptions of libnats once its reading thread cannot use them any longer. Before 3.9,
// that thread finds a subscription, releases the lock and only then takes the subscription's own:
// one that is freed at that moment is used after free.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <nats/nats.h>

namespace rpcrdma::fleet {

class EndedSubscriptions {
 public:
  EndedSubscriptions() = default;
  ~EndedSubscriptions();
  EndedSubscriptions(const EndedSubscriptions&) = delete;
  EndedSubscriptions& operator=(const EndedSubscriptions&) = delete;

  // Unsubscribes, and frees the subscription: at once after a round trip, whose answer the reading
  // thread handles after every message before it; otherwise with *this, after the connection.
  void end(natsConnection* connection, natsSubscription* subscription);

 private:
  std::mutex mutex_;
  std::vector<natsSubscription*> kept_;
};

// Ends its subscription.
struct SubscriptionEnd {
  natsConnection* connection = nullptr;
  std::shared_ptr<EndedSubscriptions> ended;
  void operator()(natsSubscription* subscription) const { ended->end(connection, subscription); }
};
using OwnedSubscription = std::unique_ptr<natsSubscription, SubscriptionEnd>;

}  // namespace rpcrdma::fleet
