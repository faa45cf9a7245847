// Writes packets to a capture of Ethernet frames (pcapng), as they would be on a wire. Users
// without the privilege to capture, or without any interface, can inspect them with any analyzer.
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
  std::string error;          // why writing has stopped; empty: no error
};

struct PacketLogOptions {
  std::string interface = "soft";                   // its name in the capture
  std::size_t buffer_bytes = std::size_t{4} << 20;  // that may wait for the file
  // Called for the first packet that is lost because the file is slower, by the thread that logs:
  // the writing thread may hang in a write.
  std::function<void()> losing = {};
  // Called by the writing thread: `failed` as soon as writing has stopped, `ended` when all is
  // written. All three may be empty.
  std::function<void(const std::string& error)> failed = {};
  std::function<void(const PacketLogCounters& counters)> ended = {};
};

// A separate thread writes the file, since a disk may block a writer for seconds. Not thread-safe.
class PacketLog {
 public:
  // Creates or truncates `file`. Error: kSystem.
  [[nodiscard]] static fabric::Expected<PacketLog> create(const std::string& file,
                                                          const PacketLogOptions& options = {});
  // Writes all buffered packets and the loss counts. If the file is full, the counts replace what
  // was written last.
  ~PacketLog();
  PacketLog(PacketLog&&) noexcept;
  PacketLog& operator=(PacketLog&&) noexcept;

  // `datagram`: BTH through ICRC. `time_ns`: since 1970. `ip_id` matters over IPv4 only. Never
  // blocks: a packet without room is counted as lost.
  void sent(std::int64_t time_ns, const Path& path, std::uint16_t ip_id, wire::Bytes datagram);
  // The same; path.remote is the sender, from its port path.udp_source_port.
  void received(std::int64_t time_ns, const Path& path, std::uint16_t ip_id, wire::Bytes datagram);

  // Waits until all earlier packets are in the file, or writing has failed.
  void flush();
  [[nodiscard]] PacketLogCounters counters() const;

 private:
  class Writer;
  explicit PacketLog(std::unique_ptr<Writer> writer);

  std::unique_ptr<Writer> writer_;
};

}  // namespace rpcrdma::soft
