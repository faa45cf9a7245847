// Applies the faults of a plan to outgoing and incoming packets: combines the injector with the
// delayed packets, for the provider and the simulated network.
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

  // Calls `go(direction, path, datagram)` for each packet that continues now: none, this one
  // (possibly changed in place) once or twice, and then any packets that waited for it. Before
  // that, calls `done(verdict)` if a fault applies. `go` must not call back into this object.
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

  // Replaces the plan; the new one starts counting from zero. Packets that the old plan delayed
  // continue at once, since nothing would release them later.
  template <typename Go>
  void change(FaultPlan plan, Go&& go) {
    injector_ = FaultInjector(std::move(plan), limits_);
    expire(fabric::kNever - 1, go);
  }

  // The time when a delayed packet is due, or kNever.
  [[nodiscard]] fabric::Time deadline() const { return delayed_.deadline(); }
  template <typename Go>
  void expire(fabric::Time now, Go&& go) {
    while (const DelayedPacket* packet = delayed_.take(now)) {
      go(packet->direction, packet->path, wire::Bytes(packet->datagram));
    }
  }

  [[nodiscard]] const FaultInjector& injector() const { return injector_; }
  // Packets that were to be delayed, and were lost because too many already were.
  [[nodiscard]] std::uint64_t overflows() const { return overflows_; }

 private:
  FaultLimits limits_;
  FaultInjector injector_;
  DelayedPackets delayed_;
  std::uint64_t overflows_ = 0;
};

}  // namespace rpcrdma::soft
