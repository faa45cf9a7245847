// The completion queues of a provider. A few queues serve all connections, so that one poll finds
// completions of any of them. No queue can overrun: each connection reserves its share of a queue's
// places.
#pragma once

#include <cstdint>
#include <deque>

#include <infiniband/verbs.h>

#include <rpcrdma/fabric/error.h>

namespace rpcrdma::verbs {

class CompletionQueues {
 public:
  // `usual`: places of a queue, unless one connection needs more.
  CompletionQueues(ibv_context* context, ibv_comp_channel* channel, std::uint32_t usual)
      : context_(context), channel_(channel), usual_(usual) {}
  ~CompletionQueues();  // destroy the queue pairs first
  CompletionQueues(const CompletionQueues&) = delete;
  CompletionQueues& operator=(const CompletionQueues&) = delete;

  struct Share {
    ibv_cq* queue = nullptr;
    std::uint32_t index = 0;
    std::uint32_t places = 0;
  };
  [[nodiscard]] fabric::Expected<Share> take(std::uint32_t places);
  void give(const Share& share);

  // Calls `function` for each completion, polling at most `batches` batches of each queue. Returns
  // whether there was any.
  template <typename Function>
  bool poll(int batches, Function&& function) {
    bool any = false;
    for (Queue& q : queues_) {
      for (int i = 0; i < batches; ++i) {
        const int n = ::ibv_poll_cq(q.queue, kBatch, batch_);
        for (int c = 0; c < n; ++c) function(batch_[c]);
        any = any || n > 0;
        if (n < kBatch) break;
      }
    }
    return any;
  }

  // Makes the channel readable with the next completion of each queue. Completions from before must
  // be polled afterwards.
  // Returns how many queues had to be armed.
  std::uint32_t arm();
  // Reads and acknowledges the channel's events; returns whether there was any. Takes a system call
  // for each armed queue at most.
  bool take_events();

 private:
  static constexpr int kBatch = 64;
  struct Queue {
    ibv_cq* queue = nullptr;
    std::uint32_t places = 0, taken = 0;
    bool armed = false;
    unsigned unacknowledged = 0;  // events
  };

  ibv_context* const context_;
  ibv_comp_channel* const channel_;
  const std::uint32_t usual_;
  std::uint32_t armed_ = 0;   // queues, each of which has one event at most
  std::deque<Queue> queues_;  // a deque, since elements must not move
  ibv_wc batch_[kBatch];
};

}  // namespace rpcrdma::verbs
