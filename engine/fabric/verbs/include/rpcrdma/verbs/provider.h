// The provider over rdma-core: librdmacm for connections, libibverbs for everything else. It
// supports RoCE, InfiniBand and iWARP devices alike, including the kernel's rxe and siw.
//
// Handles for a peer are memory windows of type 2: bound to one connection, and invalidated for
// each RPC by work requests. A device without windows registers the memory for each handle instead;
// then a handle is not bound to its connection, and a peer may not invalidate it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::trace {
class Tracer;
}

namespace rpcrdma::verbs {

// How handles are implemented: by a memory window of type 2 each, or by a registration each.
enum class HandleKind : std::uint8_t {
  kAuto,  // windows, if the device has them and they survive packet loss
  kWindows,
  kRegistrations,
};

struct VerbsOptions {
  fabric::Address address;  // of an interface of the device; it has its own port space, RDMA_PS_TCP
  std::string device;       // the device that the address must belong to; empty: any
  HandleKind handles = HandleKind::kAuto;
  // Receives errors without a connection for port and device changes, and events for registered
  // memory; null: no tracing.
  trace::Tracer* tracer = nullptr;
  std::string root;  // the folder that contains /sys and /dev, for tests
};

// What a provider asked of its device, over its life. The costly steps of a Call: each of them is a
// system call, a doorbell, or an interrupt of some device.
struct WorkCounters {
  std::uint64_t send_posts = 0;     // calls of ibv_post_send(), each with a chain
  std::uint64_t send_requests = 0;  // work requests in them, with those for memory windows
  std::uint64_t signaled = 0;       // of these: with a completion on success
  std::uint64_t binds = 0;          // of these: bind a memory window
  std::uint64_t invalidations = 0;  // of these: invalidate one
  std::uint64_t receive_posts = 0;  // calls of ibv_post_recv(), each with a chain
  std::uint64_t receive_requests = 0;
  std::uint64_t completions = 0;         // polled
  std::uint64_t notifications = 0;       // ibv_req_notify_cq(): before sleeping
  std::uint64_t registrations = 0;       // ibv_reg_mr() for a handle
  std::uint64_t pool_registrations = 0;  // the same for memory that is reused
};

class VerbsProvider : public fabric::Provider {
 public:
  // Returns false in a build without rdma-core.
  [[nodiscard]] static bool available();
  // Error: kSystem, with advice for the user.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<VerbsProvider>> open(
      const VerbsOptions& options);
  // Returns the device that an address of this machine belongs to; empty: none. Error: kSystem if
  // there are devices but querying them fails.
  [[nodiscard]] static fabric::Expected<std::string> device_of(const fabric::Address& address);

  [[nodiscard]] virtual const std::string& device() const = 0;  // "mlx5_0"
  [[nodiscard]] virtual const WorkCounters& counters() const = 0;
};

}  // namespace rpcrdma::verbs
