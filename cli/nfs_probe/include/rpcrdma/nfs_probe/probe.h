// Tests NFS version 3 over RPC-over-RDMA step by step: NULL, attributes, a directory by a Reply
// chunk, and a file that is created, written by Read chunks and inline in sizes on both sides of
// each threshold, committed, read back by Write chunks, compared, and removed.
//
// Removes what it created on the server, also when a step fails, memory runs out or it is
// interrupted, and reports what it could not remove.
#pragma once

#include <atomic>
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
  service::nfs3::Handle folder;   // the exported directory
  // Bytes of WRITE and READ; empty: those of default_sizes(), at most 1 MiB.
  std::vector<std::uint32_t> sizes;
  fabric::Time timeout = 0;  // of each Call
  // Of connecting and all steps together, whose Calls end by then. Removing the file has `timeout`
  // of its own afterwards.
  fabric::Time whole = fabric::kNever;
  std::string file;  // name of the file to create in the directory
  // Set while the file may exist on the server, for a caller that has to report it when the program
  // ends at once; may be null.
  std::atomic<bool>* may_exist = nullptr;
  // Called before each step; true: no further step starts.
  std::function<bool()> interrupted;
};

struct Step {
  std::string name;    // "WRITE 4097"
  bool good = false;   //
  std::string detail;  // what was seen, or what is wrong: a clause
  fabric::Time took = 0;
};

// Properties of the server that the probe has seen.
struct Server {
  service::ConnectionInfo connection;
  std::uint32_t granted = 0;      // credits, latest grant
  std::uint32_t read_most = 0;    // maximum bytes of a READ, from FSINFO; 0: unknown
  std::uint32_t write_most = 0;   // maximum bytes of a WRITE
  std::uint64_t replies = 0;      // Replies received
  std::uint64_t invalidated = 0;  // those by Send With Invalidate
};

struct Verdict {
  bool good = false;         // all steps ran and succeeded
  bool interrupted = false;  //
  bool left_behind = false;  // the file may still exist
  Server server;
};

// `step`: called as each step ends; if it throws, the step has failed. Fails if there was never a
// connection or the provider fails.
[[nodiscard]] fabric::Expected<Verdict> probe(service::Loop& loop, const Plan& plan,
                                              const std::function<void(const Step&)>& step);

// Returns sizes on both sides of each limit: roundup, the largest data that fits inline in a Call
// and in a Reply, pages, the server's maximum. `call`, `reply`: bytes of a message without data;
// `most`: the server's maximum.
[[nodiscard]] std::vector<std::uint32_t> default_sizes(const service::Thresholds& thresholds,
                                                       std::uint32_t call, std::uint32_t reply,
                                                       std::uint32_t most);

}  // namespace rpcrdma::nfs_probe
