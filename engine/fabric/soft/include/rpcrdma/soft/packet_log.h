// Writes packets as a capture of Ethernet frames (pcapng), as they are on a wire: whoever has no
// right to capture an interface, or no interface at all, sees with any analyzer what went over it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::soft {

struct PacketLogCounters {
  std::uint64_t written = 0;  // packets, in whole blocks
  std::uint64_t lost = 0;     // the file was slower than the packets, or could not be written
  std::string error;          // why nothing more is written; empty while all is well
};

struct PacketLogOptions {
  std::string interface = "soft";                   // its name in the capture
  std::size_t buffer_bytes = std::size_t{4} << 20;  // that may wait for the file
  // By the thread that writes: as soon as nothing more can be written, and when all is. Empty:
  // nobody is told.
  std::function<void(const std::string& error)> failed = {};
  std::function<void(const PacketLogCounters& counters)> ended = {};
};

// The file is written by a thread of its own, since a disk may let a writer wait for seconds. The
// members may be called by one thread at a time.
class PacketLog {
 public:
  // Makes `file` anew, or empties it. Error: kSystem.
  [[nodiscard]] static fabric::Expected<PacketLog> create(const std::string& file,
                                                          const PacketLogOptions& options = {});
  // Writes what waits, and the loss. Of a file that could not take all, that stands in the room of
  // what was written last.
  ~PacketLog();
  PacketLog(PacketLog&&) noexcept;
  PacketLog& operator=(PacketLog&&) noexcept;

  // `datagram`: BTH through ICRC. `time_ns`: since 1970. `ip_id` counts over IPv4. A packet for
  // which there is no room is counted as lost; nothing waits.
  void sent(std::int64_t time_ns, const Path& path, std::uint16_t ip_id, wire::Bytes datagram);
  // The same; path.remote is the sender, from its port path.udp_source_port.
  void received(std::int64_t time_ns, const Path& path, std::uint16_t ip_id, wire::Bytes datagram);

  // Waits until all before it is in the file, or cannot be.
  void flush();
  [[nodiscard]] PacketLogCounters counters() const;

 private:
  class Writer;
  explicit PacketLog(std::unique_ptr<Writer> writer);

  std::unique_ptr<Writer> writer_;
};

}  // namespace rpcrdma::soft
