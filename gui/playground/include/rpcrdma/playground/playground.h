// A server and a load of it within this process, over the soft fabric on loopback addresses that
// are theirs alone: something to look at where there is nothing else, whose faults can be chosen
// while it runs. Each of the two has a thread, and a live socket that others attach to as to any
// endpoint's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/playground/faults.h>

namespace rpcrdma::playground {

// What can be changed while it runs.
struct Load {
  double rate = 2000;   // Calls a second; 0: as fast as answers come
  bool paused = false;  // no Calls begin
  // The server stalls: this share of the Calls, 0..1, is SLEEP, for so long.
  double stalls = 0;
  fabric::Time stall = 20 * fabric::kMillisecond;
};

struct PlaygroundOptions {
  // Of RPC-over-RDMA; the server takes both.
  std::uint32_t version = 1;
  std::uint32_t credits = 32;             // granted at most, 1..1024
  std::uint32_t depth = 8;                // Calls outstanding, 1..1024
  std::uint32_t server_threshold = 4096;  // bytes inline to and from the server, and
  std::uint32_t client_threshold = 4096;  // the client: steps of 1 KiB from 1 KiB to 256 KiB
  std::string procedures = "mix";         // as `rpcrdma load --procedure`
  std::string sizes = "64-2k,8k,64k";     // as `rpcrdma load --size`, 1 MiB at most
  std::uint64_t seed = 1;                 // the same seed, the same Calls
  bool forward = true;                    // Calls of the client's
  bool reverse = false;                   // Calls of the server's (RFC 8167), some hundred a second
  Load load;
  Faults faults;
};

inline constexpr std::uint32_t kMostCredits = 1024;
inline constexpr std::uint32_t kMostDepth = 1024;

// Totals since the start; they are some hundredths of a second old.
struct PlaygroundStats {
  bool connected = false;
  std::uint64_t calls = 0;          // answered right
  std::uint64_t errors = 0;         // answered wrong, with an error, or not at all
  std::uint64_t bytes = 0;          // of payload, both ways together, of Calls answered right
  std::uint64_t reverse_calls = 0;  // of the server's, that the client has answered
  std::uint64_t lost = 0;           // connections
  std::uint64_t retransmitted = 0;  // packets, of both ends
  std::uint64_t faults = 0;         // packets that a fault was done to
  std::uint32_t outstanding = 0;    // Calls sent and not ended
  std::uint32_t waiting = 0;        // Calls that wait for a credit, or for a connection
  std::uint32_t granted = 0;        // credits, to each connection
  std::string problem;              // the newest, one clause; empty: none so far
};

// All members may be called from any thread, but not at the same time as stop() or destruction.
class Playground {
 public:
  // Returns at once: the connection comes up by itself, as far as the faults let it. Errors:
  // kBadArgument for options that cannot be; kSystem: no loopback address is free, no thread, no
  // live socket.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Playground>> start(
      const PlaygroundOptions& options);
  ~Playground();  // stops it
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  // In place of those before, in force after a moment. Error: kBadArgument, and nothing changes.
  [[nodiscard]] fabric::Expected<void> set_faults(const Faults& faults);
  [[nodiscard]] fabric::Expected<void> set_load(const Load& load);
  // Credits that the server grants at most, 1..PlaygroundOptions::credits.
  [[nodiscard]] fabric::Expected<void> set_granted(std::uint32_t credits);

  // Paths of the live sockets, for trace::connect_endpoint() and connect_packets(): names may be
  // those of another process's trial, too.
  [[nodiscard]] const std::string& server_endpoint() const;
  [[nodiscard]] const std::string& load_endpoint() const;
  // "127.80.1.1 port 20049"
  [[nodiscard]] const std::string& server_address() const;

  [[nodiscard]] PlaygroundStats stats() const;

  // Ends the connection, threads and sockets. A peer that does not answer, since all its packets
  // are lost, is not waited for longer than a second.
  void stop();

 private:
  struct Impl;
  explicit Playground(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::playground
