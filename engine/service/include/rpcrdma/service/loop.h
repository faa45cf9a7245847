// One event loop over one provider: a Server, several Clients, or both, served by the thread that
// calls run_once(). Several threads have a provider and a loop each.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/memory_pool.h>

namespace rpcrdma::trace {
class Tracer;
}

namespace rpcrdma::service {

// Who lives in a Loop: a Server, a Client, or whoever needs a timer. `key` is what the member
// named a connection or listener.
class LoopMember {
 public:
  virtual ~LoopMember() = default;
  virtual void on_event(std::uint32_t /*key*/, fabric::Event& /*event*/, fabric::Time /*now*/) {}
  virtual void on_completion(std::uint32_t /*key*/, const fabric::Completion& /*completion*/,
                             fabric::Time /*now*/) {}
  // All events and completions of this turn were handed in: what has gathered is to be posted.
  virtual void flush(fabric::Time /*now*/) {}
  // When expire() has something to do; fabric::kNever.
  [[nodiscard]] virtual fabric::Time deadline() const { return fabric::kNever; }
  virtual void expire(fabric::Time /*now*/) {}
  // The device is gone, and with it every connection.
  virtual void on_provider_lost(fabric::Time /*now*/) {}
};

struct LoopOptions {
  protocol::MemoryPool::Options memory;  // its limit is that of all members together
  // For so long after something happened the loop polls before it sleeps; fabric::kNever: it never
  // sleeps, and takes a processor.
  fabric::Time spin = 0;
  // Who is told what happens on its members' connections; null: nobody. It outlives the loop, and
  // is best the provider's, too.
  trace::Tracer* tracer = nullptr;
  // In place of CLOCK_MONOTONIC, for a provider in simulated time: whoever moves it on calls
  // run_once(0), so that the loop never sleeps. Null: the system's. It outlives the loop.
  const fabric::Time* clock = nullptr;
};

struct LoopCounters {
  std::uint64_t turns = 0, sleeps = 0;
  std::uint64_t completions = 0, events = 0;
  std::uint64_t strays = 0;     // of connections that were given up since
  std::uint64_t no_memory = 0;  // times that something was put off, or given up, for want of memory
};

class Loop {
 public:
  // The provider outlives it, and it its members. Error: kSystem.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Loop>> create(
      fabric::Provider& provider, const LoopOptions& options = {});
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // A member ends the connection for which it finds no memory; what else runs out of it is tried
  // again in the next turn.
  //
  // Hands out what has happened, and when nothing has, waits for it: at most `max_wait`, and no
  // longer than the next deadline. False after stop(). An error is the end of the provider.
  [[nodiscard]] fabric::Expected<bool> run_once(fabric::Time max_wait = fabric::kNever);
  // Until stop().
  [[nodiscard]] fabric::Expected<void> run();
  // Ends run(), and lets a run_once() that sleeps return. For any thread and for signal handlers.
  void stop() noexcept;
  // Lets a run_once() that sleeps return true. For any thread and for signal handlers.
  void wake() noexcept;

  // CLOCK_MONOTONIC, or the clock of the options, of this turn: read when what has happened is
  // there, before it is handed out. While somebody listens to the tracer it is read again before
  // the members' flush(), so that a trace tells how long what was done in between took.
  [[nodiscard]] fabric::Time now() const;
  [[nodiscard]] const fabric::Time& clock() const;  // the same, to be read later
  // The same clock at this moment, for who measures within a turn.
  [[nodiscard]] static fabric::Time read_clock();
  [[nodiscard]] fabric::Provider& provider();
  [[nodiscard]] protocol::MemoryPool& memory();
  [[nodiscard]] const LoopOptions& options() const;
  [[nodiscard]] trace::Tracer* tracer() const;  // that of the options
  [[nodiscard]] const LoopCounters& counters() const;

  void join(LoopMember& member);
  void leave(LoopMember& member);  // and all its cookies; also from within its own calls
  // A cookie for a connection or a listener of `member`, whose events and completions come to it
  // with `key` until it is dropped.
  [[nodiscard]] std::uint64_t add_cookie(LoopMember& member, std::uint32_t key);
  void drop_cookie(std::uint64_t cookie);

 private:
  struct Impl;
  explicit Loop(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::service
