// One event loop over one provider: a Server, several Clients, or both, served by the thread that
// calls run_once(). For several threads use one provider and one loop per thread.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/memory_pool.h>

namespace rpcrdma::trace {
class Tracer;
}

namespace rpcrdma::service {

// A member of a Loop: a Server, a Client, or an object that needs a timer. `key` is the member's
// number for a connection or listener.
class LoopMember {
 public:
  virtual ~LoopMember() = default;
  virtual void on_event(std::uint32_t /*key*/, fabric::Event& /*event*/, fabric::Time /*now*/) {}
  virtual void on_completion(std::uint32_t /*key*/, const fabric::Completion& /*completion*/,
                             fabric::Time /*now*/) {}
  // Called when all events and completions of this iteration were passed in: post accumulated work.
  virtual void flush(fabric::Time /*now*/) {}
  // Returns when expire() has something to do; fabric::kNever if never.
  [[nodiscard]] virtual fabric::Time deadline() const { return fabric::kNever; }
  virtual void expire(fabric::Time /*now*/) {}
  // Called when the device is gone, and with it every connection.
  virtual void on_provider_lost(fabric::Time /*now*/) {}
};

struct LoopOptions {
  protocol::MemoryPool::Options memory;  // its limit is that of all members together
  // How long the loop polls after the last activity before it sleeps; fabric::kNever: it never
  // sleeps, and uses a whole processor.
  fabric::Time spin = 0;
  // How long it polls before it sleeps while this usually pays off: the next message arrives
  // meanwhile, so that neither end has to be woken. If none arrives, as when both ends share a
  // processor, it is tried ever less often. 0: never.
  fabric::Time short_spin = 50 * fabric::kMicrosecond;
  // Tracer for events of its members' connections; null: no tracing. It outlives the loop, and
  // should also be the provider's.
  trace::Tracer* tracer = nullptr;
  // Replaces CLOCK_MONOTONIC, for a provider in simulated time: the code that advances it calls
  // run_once(0), so that the loop never sleeps. Null: the system's clock. It outlives the loop.
  const fabric::Time* clock = nullptr;
};

struct LoopCounters {
  std::uint64_t turns = 0, sleeps = 0;
  std::uint64_t completions = 0, events = 0;
  std::uint64_t strays = 0;     // completions and events of connections that were dropped before
  std::uint64_t no_memory = 0;  // times that an action was deferred or abandoned for lack of memory
};

class Loop {
 public:
  // The provider outlives the loop, and the loop its members. Error: kSystem.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Loop>> create(
      fabric::Provider& provider, const LoopOptions& options = {});
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // A member ends the connection for which it has no memory; other actions that run out of memory
  // are retried in the next iteration.
  //
  // Delivers events and completions. If there are none, it waits at most `max_wait`, and no longer
  // than until the next deadline. Returns false after stop(). An error means that the provider has
  // failed.
  [[nodiscard]] fabric::Expected<bool> run_once(fabric::Time max_wait = fabric::kNever);
  // Runs until stop().
  [[nodiscard]] fabric::Expected<void> run();
  // Ends run(), and wakes a sleeping run_once(). For any thread and for signal handlers.
  void stop() noexcept;
  // Wakes a sleeping run_once(), which returns true. For any thread and for signal handlers.
  void wake() noexcept;

  // Time of this iteration, by CLOCK_MONOTONIC or the clock of the options. It is read after events
  // and completions have been polled, before they are delivered. With a trace reader it is read
  // again before the members' flush(), so that a trace shows how long the work in between took.
  [[nodiscard]] fabric::Time now() const;
  [[nodiscard]] const fabric::Time& clock() const;  // the same, to be read later
  // The same clock at this moment, for measurements within an iteration.
  [[nodiscard]] static fabric::Time read_clock();
  [[nodiscard]] fabric::Provider& provider();
  [[nodiscard]] protocol::MemoryPool& memory();
  [[nodiscard]] const LoopOptions& options() const;
  [[nodiscard]] trace::Tracer* tracer() const;  // that of the options
  [[nodiscard]] const LoopCounters& counters() const;

  void join(LoopMember& member);
  void leave(LoopMember& member);  // and all its cookies; also from within its own calls
  // A cookie for a connection or a listener of `member`. Its events and completions are delivered
  // to the member with `key` until it is dropped.
  [[nodiscard]] std::uint64_t add_cookie(LoopMember& member, std::uint32_t key);
  void drop_cookie(std::uint64_t cookie);

 private:
  struct Impl;
  explicit Loop(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::service
