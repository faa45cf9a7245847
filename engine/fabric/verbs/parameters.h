// What is made of a device's abilities: limits for those who use it, sizes of queues, what is
// offered to a peer. Plain numbers in and out.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/verbs/provider.h>

namespace rpcrdma::verbs {

// Of a device and the port in use, what matters here.
struct Abilities {
  std::uint32_t work_requests = 0;        // of a queue
  std::uint32_t completions = 0;          // of a completion queue
  std::uint32_t slices = 0;               // of a work request
  std::uint32_t read_slices = 0;          // of a Read; 0: not told
  std::uint32_t responder_resources = 0;  // of a queue pair
  std::uint32_t initiator_depth = 0;
  std::uint64_t message = 0;  // bytes
  bool iwarp = false;
  bool windows = false;  // memory windows of type 2
  // A send queue with windows' work in it may stop for good when packets before that are sent
  // again.
  bool windows_stall = false;
  bool kernel_flags = false;  // a Receive that invalidated a handle says so by the kernel's flag
  bool invalidates = false;   // Send with Invalidate
};
[[nodiscard]] Abilities abilities_of(const ibv_device_attr& device, const ibv_port_attr& port,
                                     bool iwarp);

// Whether handles are to be windows; asked for, they need not be there.
[[nodiscard]] bool wants_windows(const Abilities& a, HandleKind handles);

[[nodiscard]] fabric::Limits limits_of(const Abilities& a);

// Rights of memory that only local work uses: none for a peer, except that iWARP lets a Read's
// response in as a Write of the peer's (RFC 5040 section 2.1).
[[nodiscard]] int local_access(const Abilities& a);
[[nodiscard]] int remote_access(fabric::Access access);

struct QueueSizes {
  std::uint32_t send = 0;
  std::uint32_t receive = 0;
};
// A handle takes two places in the send queue: to be bound, and to be invalidated.
[[nodiscard]] QueueSizes queue_sizes(const Abilities& a, const fabric::QueueDepths& depths);

// What is agreed: not more than either side or the device can.
[[nodiscard]] std::uint8_t at_most(std::uint32_t own, std::uint32_t peers, std::uint32_t devices);

}  // namespace rpcrdma::verbs
