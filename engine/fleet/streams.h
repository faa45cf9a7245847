// The two streams of a fleet: their settings, and what they hold.
#pragma once

#include "ended_subscriptions.h"

#include <chrono>
#include <string>

#include <nats/nats.h>

#include <rpcrdma/fleet/bus.h>

namespace rpcrdma::fleet {

// Creates the streams, or checks the settings of those that exist. Errors: one clause.
[[nodiscard]] base::Expected<void> make_streams(jsCtx* js);

struct Replay {
  const char* stream = nullptr;
  std::string subject;
  bool latest = false;        // only the latest message of each subject
  std::int64_t since_ns = 0;  // else those stored since then
};
// Passes on what a stream holds now. `patience`: for each message.
[[nodiscard]] base::Expected<void> replay(jsCtx* js, const Replay& what,
                                          std::chrono::milliseconds patience,
                                          const SubscriptionEnd& end, const Bus::Take& take);

}  // namespace rpcrdma::fleet
