// Derives limits, queue sizes and the values offered to a peer from a device's abilities. Pure
// functions.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/verbs/provider.h>

namespace rpcrdma::verbs {

// The relevant abilities of a device and its port.
struct Abilities {
  std::uint32_t work_requests = 0;        // of a queue
  std::uint32_t completions = 0;          // of a completion queue that connections share
  std::uint32_t slices = 0;               // of a work request
  std::uint32_t read_slices = 0;          // of a Read; 0: unknown
  std::uint32_t responder_resources = 0;  // of a queue pair
  std::uint32_t initiator_depth = 0;
  std::uint64_t message = 0;  // bytes
  bool iwarp = false;
  bool windows = false;  // memory windows of type 2
  // A send queue that contains window operations may stall forever when earlier packets are
  // retransmitted.
  bool windows_stall = false;
  bool kernel_flags = false;  // a Receive reports Remote Invalidation by the kernel's flag
  bool late_reads = false;    // Reads may complete after work behind them
  // Only work with a completion is copied when it is sent; TCP may send other work later, from
  // memory that has changed meanwhile.
  bool signal_all = false;
  bool invalidates = false;  // supports Send with Invalidate
};
[[nodiscard]] Abilities abilities_of(const ibv_device_attr& device, const ibv_port_attr& port,
                                     bool iwarp);

// Returns whether handles should be windows. If explicitly requested, the device may still have
// none.
[[nodiscard]] bool wants_windows(const Abilities& a, HandleKind handles);

[[nodiscard]] fabric::Limits limits_of(const Abilities& a);

// Access rights for memory that only local work uses: none for a peer, except that on iWARP a Read
// response arrives as a Write by the peer (RFC 5040 section 2.1).
[[nodiscard]] int local_access(const Abilities& a);
[[nodiscard]] int remote_access(fabric::Access access);

struct QueueSizes {
  std::uint32_t send = 0;
  std::uint32_t receive = 0;
};
// A handle takes two places in the send queue: one to bind, one to invalidate.
[[nodiscard]] QueueSizes queue_sizes(const Abilities& a, const fabric::QueueDepths& depths);

// Negotiates a value: not more than either side or the device supports.
[[nodiscard]] std::uint8_t at_most(std::uint32_t own, std::uint32_t peers, std::uint32_t devices);

}  // namespace rpcrdma::verbs
