// The provider over rdma-core: librdmacm for connections, libibverbs for everything else, so that
// RoCE, InfiniBand and iWARP devices are alike, and the kernel's rxe and siw among them.
//
// Handles that are given to a peer are memory windows of type 2: bound to one connection, and
// invalidated for each RPC by work requests. A device that has none registers the memory anew for
// each; then a handle is not bound to its connection, and a peer may not invalidate it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::trace {
class Tracer;
}

namespace rpcrdma::verbs {

// What a handle is made of: a memory window of type 2, or a registration of its own.
enum class HandleKind : std::uint8_t {
  kAuto,  // windows, if the device has them and goes on with them when packets are lost
  kWindows,
  kRegistrations,
};

struct VerbsOptions {
  fabric::Address address;  // of an interface of the device; its own port space is RDMA_PS_TCP
  std::string device;       // that the address has to belong to; empty: whichever it is
  HandleKind handles = HandleKind::kAuto;
  // Is told of ports and devices that change, as errors of no connection, and of memory that is
  // registered; null: nobody.
  trace::Tracer* tracer = nullptr;
};

class VerbsProvider : public fabric::Provider {
 public:
  // False in a build without rdma-core.
  [[nodiscard]] static bool available();
  // Error: kSystem, with what can be done about it.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<VerbsProvider>> open(
      const VerbsOptions& options);
  // The device that an address of this machine belongs to; empty: none. Error: kSystem, there are
  // devices but they cannot be asked.
  [[nodiscard]] static fabric::Expected<std::string> device_of(const fabric::Address& address);

  [[nodiscard]] virtual const std::string& device() const = 0;  // "mlx5_0"
};

}  // namespace rpcrdma::verbs
