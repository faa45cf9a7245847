// What this machine has for RDMA, as sysfs and /dev tell it: found without rdma-core, without
// rights, and also where there is none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/fabric/address.h>

namespace rpcrdma::verbs {

struct Gid {
  std::uint32_t index = 0;
  std::array<std::uint8_t, 16> bytes{};
  std::string type;    // "RoCE v2", "IB/RoCE v1"; empty: not told
  std::string netdev;  // empty: not told

  // The IP address that a GID of RoCEv2 stands for; nothing for any other.
  [[nodiscard]] std::optional<fabric::Address> address() const;
};

struct Port {
  std::uint32_t number = 1;
  std::string state;       // "ACTIVE", "DOWN", "INIT"
  std::string physical;    // "LinkUp", "Disabled"
  std::string link_layer;  // "Ethernet", "InfiniBand"
  std::string rate;        // "100 Gb/sec (4X EDR)"
  std::vector<Gid> gids;   // those that are set
};

struct Node {
  std::string path;  // as it is without `root`
  bool exists = false;
  bool usable = false;  // may be opened to read and write
};

struct Rnic {
  std::string name;  // "mlx5_0"
  bool iwarp = false;
  std::string firmware;
  Node uverbs;  // /dev/infiniband/uverbs0; its path is empty where ib_uverbs does not know it
  std::vector<Port> ports;
};

struct System {
  bool has_uverbs = false;  // modules, or what is built into the kernel
  bool has_ucm = false;
  Node rdma_cm;               // /dev/infiniband/rdma_cm
  std::uint64_t memlock = 0;  // bytes that may be locked; UINT64_MAX: no limit
  bool locks_anyway = false;  // CAP_IPC_LOCK
  std::vector<Rnic> devices;  // by name
};

// `root`: what stands before /sys and /dev, for tests.
[[nodiscard]] System look_at_system(const std::string& root = "");

// Why no RDMA device can be used here and what to do, as one clause; empty: nothing is known to
// stand in the way.
[[nodiscard]] std::string what_lacks(const System& system);

// Why memory could not be registered, from errno, and what to do.
[[nodiscard]] std::string registration_advice(int error, std::uint64_t bytes, const System& system);

// The address that entry `index` of the GID table of `device` ("mlx5_0", or "mlx5_0:2" for its
// second port) stands for. Error: kBadArgument.
[[nodiscard]] fabric::Expected<fabric::Address> address_of_gid(const System& system,
                                                               const std::string& device,
                                                               std::uint32_t index);

}  // namespace rpcrdma::verbs
