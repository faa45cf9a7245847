// Where packets pass on their way out or in, and meet the faults that a plan declares: the injector
// and the packets that it keeps back, for whoever carries packets.
#pragma once

#include <cstdint>
#include <utility>

#include <rpcrdma/soft/delayed_packets.h>
#include <rpcrdma/soft/fault_injector.h>

namespace rpcrdma::soft {

class FaultGate {
 public:
  explicit FaultGate(FaultPlan plan, const FaultLimits& limits = {},
                     std::size_t max_delayed_bytes = 4 << 20)
      : limits_(limits), injector_(std::move(plan), limits), delayed_(max_delayed_bytes) {}

  [[nodiscard]] bool active() const { return injector_.active(); }

  // Calls `go(direction, path, datagram)` for each packet that goes on now: none, this one, which
  // may be changed in place, twice, and after it any that waited for it. `go` must not come back
  // here. Before that, `done(verdict)` if a fault is done to it.
  template <typename Go, typename Done>
  void offer(FaultDirection direction, const Path& path, wire::MutableBytes datagram,
             fabric::Time now, Go&& go, Done&& done) {
    const FaultVerdict verdict = injector_.ask(direction, path, datagram, now);
    if (verdict.action != FaultAction::kPass) done(verdict);
    switch (verdict.action) {
      case FaultAction::kDrop:
        return;
      case FaultAction::kDelay:
        if (!delayed_.delay(direction, path, datagram, verdict.until)) ++overflows_;
        return;
      case FaultAction::kReorder:
        if (!delayed_.hold(direction, path, datagram, verdict.until, verdict.stream,
                           verdict.hold)) {
          ++overflows_;
        }
        return;
      case FaultAction::kCorrupt:
        datagram[verdict.byte] ^= static_cast<std::uint8_t>(1U << verdict.bit);
        break;
      case FaultAction::kDuplicate:
        go(direction, path, wire::Bytes(datagram));
        break;
      case FaultAction::kPass:
        break;
    }
    go(direction, path, wire::Bytes(datagram));
    delayed_.passed(verdict.stream, now);
    expire(now, go);
  }

  template <typename Go>
  void offer(FaultDirection direction, const Path& path, wire::MutableBytes datagram,
             fabric::Time now, Go&& go) {
    offer(direction, path, datagram, now, go, [](const FaultVerdict&) {});
  }

  // Another plan in place of this one, which begins to count anew. What the old one has kept back
  // goes on at once: nothing would make it due in its turn any more.
  template <typename Go>
  void change(FaultPlan plan, Go&& go) {
    injector_ = FaultInjector(std::move(plan), limits_);
    expire(fabric::kNever - 1, go);
  }

  // When a delayed packet is due; kNever.
  [[nodiscard]] fabric::Time deadline() const { return delayed_.deadline(); }
  template <typename Go>
  void expire(fabric::Time now, Go&& go) {
    while (const DelayedPacket* packet = delayed_.take(now)) {
      go(packet->direction, packet->path, wire::Bytes(packet->datagram));
    }
  }

  [[nodiscard]] const FaultInjector& injector() const { return injector_; }
  // Packets that were to be kept back, and lost because too many were already.
  [[nodiscard]] std::uint64_t overflows() const { return overflows_; }

 private:
  FaultLimits limits_;
  FaultInjector injector_;
  DelayedPackets delayed_;
  std::uint64_t overflows_ = 0;
};

}  // namespace rpcrdma::soft
