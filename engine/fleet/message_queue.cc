#include "message_queue.h"

#include "nats_text.h"

#include <utility>

#include <fmt/core.h>

namespace rpcrdma::fleet {

namespace {

using SharedQueue = std::shared_ptr<MessageQueue>;

void on_message(natsConnection* /*connection*/, natsSubscription* /*subscription*/,
                natsMsg* message, void* closure) {
  (*static_cast<SharedQueue*>(closure))->add(message);
  natsMsg_Destroy(message);
}

// The library has made its last call of on_message().
void on_complete(void* closure) {
  delete static_cast<SharedQueue*>(closure);
}

class NatsSubscription final : public Subscription {
 public:
  NatsSubscription(OwnedSubscription subscription, SharedQueue queue)
      : subscription_(std::move(subscription)), queue_(std::move(queue)) {}

  std::optional<BusMessage> take() override { return queue_->take(); }
  [[nodiscard]] int fd() const override { return queue_->fd(); }
  [[nodiscard]] std::uint64_t dropped() const override { return queue_->dropped(); }

 private:
  OwnedSubscription subscription_;
  SharedQueue queue_;
};

}  // namespace

BusMessage copied(natsMsg* message) {
  BusMessage m;
  m.subject = natsMsg_GetSubject(message);
  m.data.assign(natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message)));
  if (const char* const reply = natsMsg_GetReply(message)) m.reply = reply;
  jsMsgMetaData* meta = nullptr;
  if (m.reply.starts_with("$JS.ACK") && natsMsg_GetMetaData(&meta, message) == NATS_OK) {
    m.stored_ns = meta->Timestamp;
    m.reply.clear();
    jsMsgMetaData_Destroy(meta);
  }
  return m;
}

void MessageQueue::add(natsMsg* message) {
  const auto length = static_cast<std::size_t>(natsMsg_GetDataLength(message));
  const std::lock_guard lock(mutex_);
  if (length > most_bytes_ || messages_.size() >= limits_.messages ||
      bytes_ + length > limits_.bytes) {
    ++dropped_;
    return;
  }
  messages_.push_back(copied(message));
  bytes_ += length;
  wakeup_.notify();
}

std::optional<BusMessage> MessageQueue::take() {
  const std::lock_guard lock(mutex_);
  if (messages_.empty()) {
    wakeup_.clear();
    return std::nullopt;
  }
  BusMessage m = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= m.data.size();
  return m;
}

std::uint64_t MessageQueue::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

base::Expected<std::unique_ptr<Subscription>> subscribe_to(
    natsConnection* connection, const std::string& subject, QueueLimits limits,
    std::size_t most_bytes, const std::shared_ptr<EndedSubscriptions>& ended) {
  auto wakeup = base::Wakeup::create();
  if (!wakeup) return tl::unexpected(wakeup.error());
  auto queue = std::make_shared<MessageQueue>(std::move(*wakeup), limits, most_bytes);
  auto closure = std::make_unique<SharedQueue>(queue);
  natsSubscription* subscription = nullptr;
  const natsStatus status = natsConnection_Subscribe(&subscription, connection, subject.c_str(),
                                                     on_message, closure.get());
  if (status != NATS_OK) return base::fail(fmt::format("{}: {}", subject, status_text(status)));
  OwnedSubscription owned(subscription, SubscriptionEnd{connection, ended});
  natsSubscription_SetOnCompleteCB(subscription, on_complete, closure.release());
  return std::make_unique<NatsSubscription>(std::move(owned), std::move(queue));
}

}  // namespace rpcrdma::fleet
