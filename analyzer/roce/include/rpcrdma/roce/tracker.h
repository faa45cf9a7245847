// From packets to operations. See tracker.cc for how connections are found and loss is told apart.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/roce/listener.h>

namespace rpcrdma::roce {

struct PacketStats {
  std::uint64_t roce = 0;  // packets with a BTH
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t icrc_unchecked = 0;  // cut short by the capture
  std::uint64_t malformed = 0;       // transport headers that do not fit
  std::uint64_t cm = 0;              // CM MADs
  std::uint64_t other_service = 0;   // UD other than CM, UC, RD, XRC, CNP
  std::uint64_t retransmitted = 0;
  std::uint64_t reordered = 0;
  std::uint64_t lost_network = 0;
  std::uint64_t lost_capture = 0;
  std::uint64_t nak = 0;
  std::uint64_t rnr = 0;
  std::uint64_t let_go = 0;  // connections: see kMaxConnections
};

// A capture may name any number of connections. So many are followed. For one more the tracker lets
// go of one that is over, or failing that of the one that was idle longest: it is closed, and what
// comes on it later founds a new connection.
inline constexpr std::size_t kMaxConnections = 8192;

enum class IcrcCheck : std::uint8_t { kGood, kBad, kUnchecked };

// What can be said of a packet without knowing those before it: the larger part of the work on it,
// which any thread can do. `transport` and `meta` are the caller's; prepare() fills in the rest.
struct PreparedPacket {
  capture::TransportPacket transport;
  PacketMeta meta;
  bool decoded = false;  // `roce` holds something
  IcrcCheck icrc = IcrcCheck::kUnchecked;
  std::uint32_t wire_payload = 0;  // payload bytes on the wire, pad bytes not counted
  // For the listener, of a packet that is a whole SEND: comes back in SendMessage::early.
  const void* early = nullptr;
  wire::RocePacket roce;  // points into transport.data
};
void prepare(PreparedPacket& packet);
// All of that but the ICRC.
void decode(PreparedPacket& packet);

class Tracker {
 public:
  // `listener` must outlive the tracker.
  explicit Tracker(Listener& listener);
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Takes one packet that was prepared, in capture order.
  void packet(const PreparedPacket& packet);

  // The capture ended: what is held back is given out and every connection is closed.
  void finish();

  [[nodiscard]] const PacketStats& stats() const;

  // All that there ever were; of those that were let go nothing is known any more.
  [[nodiscard]] std::uint32_t connection_count() const;
  // Null: it was let go.
  [[nodiscard]] const Connection* find(std::uint32_t index) const;
  // One that was let go is empty.
  [[nodiscard]] const Connection& connection(std::uint32_t index) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::roce
