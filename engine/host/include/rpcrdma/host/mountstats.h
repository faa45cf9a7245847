// What the NFS client counts for each mount: /proc/PID/mountstats, statvers 1.0 and 1.1. Numbers
// are kept in the kernel's order, which has only ever grown at the end, so an older kernel states
// fewer of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/error.h>

namespace rpcrdma::host {

// A line `xprt:`. With nconnect a mount has several. Mounts of one server share transports, and
// each mount then states the same numbers.
struct MountTransport {
  std::string protocol;  // "rdma", "tcp", "udp", "local"
  // xprt_rdma_print_stats(), xs_tcp_print_stats() and so on define them. Nothing: negative or not a
  // number.
  std::vector<std::optional<std::uint64_t>> numbers;
};

// A line of the per-op statistics: operations, transmissions, timeouts, bytes sent, bytes received,
// then milliseconds queued, until the Reply, and in all; and errors, from Linux 5.3 on.
struct MountOperation {
  std::string name;  // "READ"
  std::array<std::uint64_t, 9> numbers{};
  std::uint8_t count = 0;  // of the numbers that are stated: 8 or 9
};

struct Mount {
  std::string device;      // "server:/export"
  std::string mountpoint;  // unescaped: any bytes
  std::string fstype;      // "nfs", "nfs4"
  std::string statvers;    // "1.1"
  // From `opts:`; empty: not stated.
  std::string protocol;  // proto=
  std::string version;   // vers=
  std::string server;    // addr=
  std::optional<std::uint64_t> age_seconds;
  std::vector<std::uint64_t> events, bytes;  // struct nfs_iostats's order
  std::vector<MountTransport> transports;
  std::vector<MountOperation> operations;  // those that were ever called

  // Mounted with proto=rdma, but not all transports are RDMA.
  [[nodiscard]] bool fell_back() const;
};

struct Mounts {
  std::vector<Mount> mounts;  // NFS only, in the kernel's order
  // Not among them: mounts beyond the bounds, hidden by a later one with the same names, or without
  // valid names; lines and numbers that are not valid, or beyond the bounds.
  std::uint64_t left_out_mounts = 0;
  std::uint64_t left_out_lines = 0;
};

[[nodiscard]] Mounts parse_mountstats(std::string_view text);

// Reads the mounts of the host's first process, PROC/1/mountstats, if this user may, else those of
// this one, PROC/self/mountstats. Error: neither can be read, in one line.
[[nodiscard]] base::Expected<Mounts> read_mountstats(const std::string& proc = "/proc");

}  // namespace rpcrdma::host
