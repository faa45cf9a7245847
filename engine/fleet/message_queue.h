// The messages of a subscription: filled by a thread of libnats, taken by another.
#pragma once

#include "ended_subscriptions.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include <nats/nats.h>

#include <rpcrdma/base/wakeup.h>
#include <rpcrdma/fleet/bus.h>

namespace rpcrdma::fleet {

class MessageQueue {
 public:
  MessageQueue(base::Wakeup wakeup, QueueLimits limits, std::size_t most_bytes)
      : wakeup_(std::move(wakeup)), limits_(limits), most_bytes_(most_bytes) {}

  void add(natsMsg* message);
  [[nodiscard]] std::optional<BusMessage> take();
  [[nodiscard]] int fd() const { return wakeup_.fd(); }
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  base::Wakeup wakeup_;
  const QueueLimits limits_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::deque<BusMessage> messages_;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
};

// Error: the bus is disconnected for good, or the subject is not valid.
[[nodiscard]] base::Expected<std::unique_ptr<Subscription>> subscribe_to(
    natsConnection* connection, const std::string& subject, QueueLimits limits,
    std::size_t most_bytes, const std::shared_ptr<EndedSubscriptions>& ended);

// Copies a message of libnats; `stored_ns` is that of its stream, if it is from one.
[[nodiscard]] BusMessage copied(natsMsg* message);

}  // namespace rpcrdma::fleet
