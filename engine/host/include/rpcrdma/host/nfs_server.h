// What the NFS server of this host counts: svcrdma, and nfsd.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/host/device_counters.h>

namespace rpcrdma::host {

// Files of PROC/sys/sunrpc/svc_rdma, ordered by name: counters rdma_stat_*, and settings. Since
// Linux 5.13 only rdma_stat_read, _recv, _write and _sq_starve count; the others stay 0.
struct Svcrdma {
  std::vector<Counter> numbers;
  std::uint64_t left_out = 0;
};
// Error: svcrdma is not loaded, or the folder cannot be read, in one line.
[[nodiscard]] base::Expected<Svcrdma> read_svcrdma(const std::string& proc = "/proc");

// A line `proc2`, `proc3`, `proc4`, `proc4ops` of PROC/net/rpc/nfsd: Calls by procedure, from 0.
struct NfsdProcedures {
  std::string line;
  std::vector<std::uint64_t> calls;
};
// Lines of PROC/net/rpc/nfsd by their position; a number that is not stated is absent.
struct Nfsd {
  std::vector<std::uint64_t> reply_cache;  // rc: hits, misses, not cached
  std::vector<std::uint64_t> handles;      // fh: stale, and others that stay 0
  std::vector<std::uint64_t> io;           // io: bytes read and written
  std::vector<std::uint64_t> threads;      // th: threads, times that all were busy
  std::vector<std::uint64_t> net;          // net: packets, by UDP, by TCP; TCP connections
  std::vector<std::uint64_t> rpc;  // rpc: Calls, bad ones; of format, authentication, client
  std::optional<std::uint64_t> write_delegation_getattrs;  // wdeleg_getattr
  std::vector<NfsdProcedures> procedures;
  std::uint64_t left_out = 0;  // lines and numbers that are not valid
};
// Error: nfsd is not loaded, or the file cannot be read, in one line.
[[nodiscard]] base::Expected<Nfsd> read_nfsd(const std::string& proc = "/proc");

}  // namespace rpcrdma::host
