#include "completion_queues.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

namespace rpcrdma::verbs {

namespace {

// Acknowledging takes a lock, so it is done for many events at once.
constexpr unsigned kAcknowledgeAt = 64;

}  // namespace

CompletionQueues::~CompletionQueues() {
  for (Queue& q : queues_) {
    if (q.unacknowledged != 0) ::ibv_ack_cq_events(q.queue, q.unacknowledged);
    (void)::ibv_destroy_cq(q.queue);
  }
}

fabric::Expected<CompletionQueues::Share> CompletionQueues::take(std::uint32_t places) {
  const auto found = std::find_if(queues_.begin(), queues_.end(),
                                  [&](const Queue& q) { return q.places - q.taken >= places; });
  if (found != queues_.end()) {
    found->taken += places;
    return Share{found->queue, static_cast<std::uint32_t>(found - queues_.begin()), places};
  }
  const std::uint32_t size = std::max(places, usual_);
  Queue fresh;
  fresh.queue = ::ibv_create_cq(context_, static_cast<int>(size), nullptr, channel_, 0);
  if (fresh.queue == nullptr) {
    return fabric::fail(fabric::Errc::kSystem, fmt::format("a completion queue of {} places: {}",
                                                           size, std::strerror(errno)));
  }
  fresh.places = size;
  fresh.taken = places;
  queues_.push_back(fresh);
  return Share{fresh.queue, static_cast<std::uint32_t>(queues_.size() - 1), places};
}

void CompletionQueues::give(const Share& share) {
  if (share.queue != nullptr) queues_[share.index].taken -= share.places;
}

std::uint32_t CompletionQueues::arm() {
  const std::uint32_t before = armed_;
  for (Queue& q : queues_) {
    if (q.armed || ::ibv_req_notify_cq(q.queue, 0) != 0) continue;
    q.armed = true;
    ++armed_;
  }
  return armed_ - before;
}

bool CompletionQueues::take_events() {
  bool any = false;
  ibv_cq* news = nullptr;
  void* context = nullptr;
  while (armed_ != 0 && ::ibv_get_cq_event(channel_, &news, &context) == 0) {
    any = true;
    for (Queue& q : queues_) {
      if (q.queue != news) continue;
      q.armed = false;
      --armed_;
      if (++q.unacknowledged < kAcknowledgeAt) continue;
      ::ibv_ack_cq_events(q.queue, q.unacknowledged);
      q.unacknowledged = 0;
    }
  }
  return any;
}

}  // namespace rpcrdma::verbs
