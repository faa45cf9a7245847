// Whether a server's NFS version 3 over RPC-over-RDMA works, step by step: NULL, attributes, a
// folder by a Reply chunk, and a file that is made, written by Read chunks and inline in sizes on
// both sides of each threshold, committed, read back by Write chunks, compared, and removed.
//
// What it made on the server it removes, also when a step fails or it is interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/service/client.h>
#include <rpcrdma/service/nfs3.h>

namespace rpcrdma::nfs_probe {

struct Plan {
  service::ClientOptions client;  // one connection
  service::nfs3::Handle folder;   // the export's
  // Bytes of WRITE and READ; empty: those of default_sizes(), of 1 MiB at most.
  std::vector<std::uint32_t> sizes;
  fabric::Time timeout = 0;             // of each Call
  fabric::Time whole = fabric::kNever;  // of all together: after that nothing more is begun
  std::string file;                     // the name of what is made in the folder
  // Asked before each step; true: nothing more is begun.
  std::function<bool()> interrupted;
};

struct Step {
  std::string name;    // "WRITE 4097"
  bool good = false;   //
  std::string detail;  // what was seen, or what is wrong: a clause
  fabric::Time took = 0;
};

// What the server showed of itself.
struct Server {
  service::ConnectionInfo connection;
  std::uint32_t granted = 0;      // credits, the last time
  std::uint32_t read_most = 0;    // bytes of a READ, by FSINFO; 0: not known
  std::uint32_t write_most = 0;   // of a WRITE
  std::uint64_t replies = 0;      // that came
  std::uint64_t invalidated = 0;  // of these by Send With Invalidate
};

struct Verdict {
  bool good = false;         // all steps were made, and were good
  bool interrupted = false;  //
  bool left_behind = false;  // the file may still be there
  Server server;
};

// `step`: is told each as it ends. Error: there was never a connection, or the provider is gone.
[[nodiscard]] fabric::Expected<Verdict> probe(service::Loop& loop, const Plan& plan,
                                              const std::function<void(const Step&)>& step);

// Those around which something changes: roundup, the largest data that goes inline in a Call and in
// a Reply, pages, what the server takes at once. `call`, `reply`: bytes of a message without data;
// `most`: bytes that the server takes.
[[nodiscard]] std::vector<std::uint32_t> default_sizes(const service::Thresholds& thresholds,
                                                       std::uint32_t call, std::uint32_t reply,
                                                       std::uint32_t most);

}  // namespace rpcrdma::nfs_probe
