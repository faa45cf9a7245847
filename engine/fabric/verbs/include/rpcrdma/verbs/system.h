// This machine's RDMA devices and modules, as sysfs and /dev show them. Needs neither rdma-core nor
// privileges nor a device.
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
  std::string type;    // "RoCE v2", "IB/RoCE v1"; empty: unknown
  std::string netdev;  // empty: unknown

  // Returns the IP address of a RoCEv2 GID; nothing for any other.
  [[nodiscard]] std::optional<fabric::Address> address() const;
};

struct Port {
  std::uint32_t number = 1;
  std::string state;       // "ACTIVE", "DOWN", "INIT"
  std::string physical;    // "LinkUp", "Disabled"
  std::string link_layer;  // "Ethernet", "InfiniBand"
  std::string rate;        // "100 Gb/sec (4X EDR)"
  std::vector<Gid> gids;   // those that are not zero
};

struct Node {
  std::string path;  // without `root`
  bool exists = false;
  bool usable = false;  // may be opened for reading and writing
};

struct Rnic {
  std::string name;  // "mlx5_0"
  bool iwarp = false;
  std::string firmware;
  Node uverbs;  // /dev/infiniband/uverbs0; its path is empty if ib_uverbs does not know it
  std::vector<Port> ports;
};

struct System {
  bool has_uverbs = false;  // loaded as a module or built into the kernel
  bool has_ucm = false;
  Node rdma_cm;               // /dev/infiniband/rdma_cm
  std::uint64_t memlock = 0;  // limit of locked memory, bytes; UINT64_MAX: none
  bool locks_anyway = false;  // CAP_IPC_LOCK lifts the limit
  std::vector<Rnic> devices;  // sorted by name
};

// `root`: the folder that contains /sys and /dev, for tests.
[[nodiscard]] System look_at_system(const std::string& root = "");

// Returns why no RDMA device can be used here, and the remedy, as one clause; empty: no known
// problem.
[[nodiscard]] std::string missing_requirements(const System& system);

// Returns why memory could not be registered, from errno, and the remedy.
[[nodiscard]] std::string registration_advice(int error, std::uint64_t bytes, const System& system);

// Returns the address of entry `index` in the GID table of `device` ("mlx5_0", or "mlx5_0:2" for
// its second port). Error: kBadArgument.
[[nodiscard]] fabric::Expected<fabric::Address> address_of_gid(const System& system,
                                                               const std::string& device,
                                                               std::uint32_t index);

}  // namespace rpcrdma::verbs
