// Turns packets into operations. See tracker.cc for how it finds connections and distinguishes
// kinds of loss.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/roce/connections.h>
#include <rpcrdma/roce/listener.h>

namespace rpcrdma::roce {

enum class IcrcCheck : std::uint8_t {
  kGood,
  kBad,
  kUnchecked,  // not all of the packet was captured
  kOff,        // not verified, by request
};

// Everything that can be decoded from one packet without the packets before it: the larger part of
// the work, which any thread can do. The caller sets `transport` and `meta`; prepare() fills in the
// rest.
struct PreparedPacket {
  PacketMeta meta;
  // Where on its way the packet was captured, as its link layer and TTL show it: distinguishes
  // copies of one packet from repetitions (copies.cc). Set by the caller; 0 if unknown.
  std::uint32_t vantage = 0;
  bool decoded = false;  // `roce` is valid
  IcrcCheck icrc = IcrcCheck::kUnchecked;
  std::uint32_t wire_payload = 0;  // payload bytes on the wire, pad bytes not counted
  // For the listener, if the packet is a whole SEND; returned in SendMessage::predecoded.
  const void* predecoded = nullptr;
  std::uint32_t behind_bth = 0;  // the four bytes there, as they lie in memory
  wire::RocePacket roce;         // points into transport.data
  // Last, because its own last member, the description of tunnels, is not used for most packets.
  capture::TransportPacket transport;
};
// `check_icrc`: whether to verify the ICRC.
void prepare(PreparedPacket& packet, bool check_icrc = true);
// The same for a packet that was put together from IP fragments: its ICRC covers the header of the
// datagram before it was fragmented.
void prepare_reassembled(PreparedPacket& packet, bool check_icrc = true);
// The same without checking the ICRC.
void decode(PreparedPacket& packet);

class Tracker final : public Connections {
 public:
  // `listener` and `numbers` must outlive the tracker. `numbers`: null if no other source finds
  // connections.
  explicit Tracker(Listener& listener, ConnectionNumbers* numbers = nullptr);
  ~Tracker() override;
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Processes one prepared packet; call it in capture order.
  void packet(const PreparedPacket& packet);
  // Announces a jump to a later place in the capture. On connections that are set up and have sent
  // nothing yet, packets missing before their next packet are then no loss.
  void skip();

  // Ends the capture at `end_ns` of its own clock: held packets are processed and every connection
  // is closed.
  void finish(std::int64_t end_ns = INT64_MIN);

  [[nodiscard]] PacketStats stats() const override;
  [[nodiscard]] std::uint32_t connection_count() const override;
  [[nodiscard]] const Connection* find(std::uint32_t index) const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::roce
