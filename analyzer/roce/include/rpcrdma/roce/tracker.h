// From packets to operations. See tracker.cc for how connections are found and loss is told apart.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/roce/connections.h>
#include <rpcrdma/roce/listener.h>

namespace rpcrdma::roce {

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
  const void* predecoded = nullptr;
  wire::RocePacket roce;  // points into transport.data
};
void prepare(PreparedPacket& packet);
// All of that but the ICRC.
void decode(PreparedPacket& packet);

class Tracker final : public Connections {
 public:
  // Both must outlive the tracker. `numbers`: null where there are no other connections.
  explicit Tracker(Listener& listener, ConnectionNumbers* numbers = nullptr);
  ~Tracker() override;
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Takes one packet that was prepared, in capture order.
  void packet(const PreparedPacket& packet);

  // Of connections that are set up and have sent nothing yet, what comes next is from later in the
  // capture: that packets before it are not there is no loss.
  void skip();

  // The capture ended, at `end_ns` by its own clock: what is held back is given out and every
  // connection is closed.
  void finish(std::int64_t end_ns = INT64_MIN);

  [[nodiscard]] PacketStats stats() const override;
  [[nodiscard]] std::uint32_t connection_count() const override;
  [[nodiscard]] const Connection* find(std::uint32_t index) const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::roce
