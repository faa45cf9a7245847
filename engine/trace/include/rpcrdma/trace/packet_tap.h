// The ring to which a user-space provider copies the packets of one thread for live readers. It is
// separate from the ring of events, so that neither uses the other's space. Without a reader, a
// packet costs one branch that is not taken:
//
//   if (tap->on()) tap->emit(now, block);
//
// A packet is a complete block of a pcapng file, built by the provider, so that code that forwards
// it need not know its contents. A full ring drops the packet and counts it; the endpoint never
// waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <rpcrdma/trace/event.h>
#include <rpcrdma/trace/ring.h>

namespace rpcrdma::trace {

// Type of packets in these rings. No event has this number, and no stream contains it. Its payload
// is the block, its time the packet's, in ns since the epoch.
inline constexpr std::uint16_t kPacketBlock = 0xffff;

class PacketTap {
 public:
  // `number`: in the headers, that of the Tracer.
  explicit PacketTap(std::uint32_t number) : number_(number) {}

  [[nodiscard]] std::uint32_t number() const { return number_; }

  // ----- the thread that sends and receives

  [[nodiscard]] bool on() const { return to_.load(std::memory_order_acquire) != nullptr; }
  void emit(std::int64_t time, std::span<const std::uint8_t> block) {
    Ring* const to = to_.load(std::memory_order_acquire);
    if (to == nullptr) return;
    EventHeader header;
    header.type = kPacketBlock;
    header.payload = static_cast<std::uint32_t>(block.size());
    header.ring = number_;
    header.time = time;
    to->write(header, {}, block);
  }

  // ----- the reader's thread

  // Returns the ring, which the first call creates with `bytes` bytes, a power of two. It lives as
  // long as the tap.
  [[nodiscard]] Ring& ring(std::size_t bytes) {
    if (!ring_) ring_ = std::make_unique<Ring>(bytes);
    return *ring_;
  }
  // Call ring() first.
  void listen(bool on) { to_.store(on ? ring_.get() : nullptr, std::memory_order_release); }

 private:
  const std::uint32_t number_;
  std::unique_ptr<Ring> ring_;
  std::atomic<Ring*> to_{nullptr};  // null: no reader
};

}  // namespace rpcrdma::trace
