// A server and a load within this process, over the soft fabric on loopback addresses of their own.
// It provides traffic to look at without any other machine, and its faults can be changed while it
// runs. Each side has a thread, and a live socket to attach to, as any endpoint has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/playground/faults.h>

namespace rpcrdma::playground {

// Settings that can be changed while it runs.
struct Load {
  double rate = 2000;   // Calls per second; 0: as fast as Replies arrive
  bool paused = false;  // no new Calls
  // The server stalls this share (0..1) of the Calls, with procedure SLEEP, for this time.
  double stalls = 0;
  fabric::Time stall = 20 * fabric::kMillisecond;
};

struct PlaygroundOptions {
  // Version of RPC-over-RDMA; the server accepts both.
  std::uint32_t version = 1;
  std::uint32_t credits = 32;             // maximum grant, 1..1024
  std::uint32_t depth = 8;                // Calls in flight, 1..1024
  std::uint32_t server_threshold = 4096;  // bytes sent inline to and from the server, and
  std::uint32_t client_threshold = 4096;  // the client: 1 KiB to 256 KiB, in steps of 1 KiB
  std::string procedures = "mix";         // as `rpcrdma load --procedure`
  std::string sizes = "64-2k,8k,64k";     // as `rpcrdma load --size`, 1 MiB at most
  std::uint64_t seed = 1;                 // the same seed generates the same Calls
  bool forward = true;                    // Calls of the client
  bool reverse = false;  // Calls of the server (RFC 8167), some hundreds per second
  Load load;
  Faults faults;
};

inline constexpr std::uint32_t kMostCredits = 1024;
inline constexpr std::uint32_t kMostDepth = 1024;

// Totals since the start; they lag by some hundredths of a second.
struct PlaygroundStats {
  bool connected = false;
  std::uint64_t calls = 0;          // Calls with a correct Reply
  std::uint64_t errors = 0;         // Calls with a wrong Reply, an error, or no Reply
  std::uint64_t bytes = 0;          // payload of correct Calls, both directions together
  std::uint64_t reverse_calls = 0;  // Calls of the server that the client has answered
  std::uint64_t lost = 0;           // connections lost
  std::uint64_t retransmitted = 0;  // packets, of both ends
  std::uint64_t faults = 0;         // packets that a fault affected
  std::uint32_t outstanding = 0;    // Calls in flight
  std::uint32_t waiting = 0;        // Calls that wait for a credit, or for a connection
  std::uint32_t granted = 0;        // credits granted to each connection
  std::string problem;              // the latest problem, one clause; empty: none so far
};

// Thread-safe, except that no call may overlap with stop() or destruction.
class Playground {
 public:
  // Returns at once: the connection is set up in the background, if the faults permit. Errors:
  // kBadArgument: an option is out of range; kSystem: no free loopback address, no thread, or no
  // live socket.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Playground>> start(
      const PlaygroundOptions& options);
  ~Playground();  // stops it
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  // Replaces the faults, effective after a moment. Error: kBadArgument, and nothing changes.
  [[nodiscard]] fabric::Expected<void> set_faults(const Faults& faults);
  [[nodiscard]] fabric::Expected<void> set_load(const Load& load);
  // Sets the maximum number of credits that the server grants, 1..PlaygroundOptions::credits.
  [[nodiscard]] fabric::Expected<void> set_granted(std::uint32_t credits);

  // Paths of the live sockets, for trace::connect_endpoint() and connect_packets(). Names are not
  // enough: another process's playground can have the same ones.
  [[nodiscard]] const std::string& server_endpoint() const;
  [[nodiscard]] const std::string& load_endpoint() const;
  // "127.80.1.1 port 20049"
  [[nodiscard]] const std::string& server_address() const;

  [[nodiscard]] PlaygroundStats stats() const;

  // Ends the connection, threads and sockets. Waits at most a second for a peer that does not
  // answer because all its packets are lost.
  void stop();

 private:
  struct Impl;
  explicit Playground(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::playground
