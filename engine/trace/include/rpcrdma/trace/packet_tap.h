// Where a provider in user space leaves the packets of one thread for those who read them live: a
// ring of its own beside the one of events, so that neither takes the other's room. While nobody
// reads, packets cost a branch that is not taken:
//
//   if (tap->on()) tap->tell(now, block);
//
// A packet is a whole block of a pcapng file, made by who sends it: whoever passes it on need not
// know what is in it. A ring that is full loses it, and counts that; the endpoint never waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <rpcrdma/trace/event.h>
#include <rpcrdma/trace/ring.h>

namespace rpcrdma::trace {

// Of what stands in these rings, and in no stream: a number that no event has. Its tail is the
// block, its time the packet's: since the epoch, ns.
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

  // Made when it is wanted for the first time, `bytes` large, a power of two. It stays.
  [[nodiscard]] Ring& ring(std::size_t bytes) {
    if (!ring_) ring_ = std::make_unique<Ring>(bytes);
    return *ring_;
  }
  // After ring().
  void listen(bool on) { to_.store(on ? ring_.get() : nullptr, std::memory_order_release); }

 private:
  const std::uint32_t number_;
  std::unique_ptr<Ring> ring_;
  std::atomic<Ring*> to_{nullptr};  // null: nobody reads
};

}  // namespace rpcrdma::trace
