// The completion queues of a provider: few, each for many connections, so that one poll finds what
// has happened on any of them, and none can overrun: a connection has its share of one's places.
#pragma once

#include <cstdint>
#include <deque>

#include <infiniband/verbs.h>

#include <rpcrdma/fabric/error.h>

namespace rpcrdma::verbs {

class CompletionQueues {
 public:
  // `most`: completions of one queue that the device allows.
  CompletionQueues(ibv_context* context, ibv_comp_channel* channel, std::uint32_t most)
      : context_(context), channel_(channel), most_(most) {}
  ~CompletionQueues();  // no queue pair is left
  CompletionQueues(const CompletionQueues&) = delete;
  CompletionQueues& operator=(const CompletionQueues&) = delete;

  struct Share {
    ibv_cq* queue = nullptr;
    std::uint32_t index = 0;
    std::uint32_t places = 0;
  };
  [[nodiscard]] fabric::Expected<Share> take(std::uint32_t places);
  void give(const Share& share);

  // Hands out what has completed, at most so many times a batch of each queue. True: there was any.
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

  // The channel is readable with the next completion of each; what came before has to be polled
  // afterwards.
  void arm();
  // Takes what the channel tells.
  void drain_channel();

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
  const std::uint32_t most_;
  std::deque<Queue> queues_;  // they do not move
  ibv_wc batch_[kBatch];
};

}  // namespace rpcrdma::verbs
