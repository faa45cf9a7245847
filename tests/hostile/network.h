// A simulated network with simulated time; adapters in it can be watched and manipulated.
#pragma once

#include "support/sim_host.h"

#include <functional>
#include <vector>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/soft/sim_network.h>

namespace rpcrdma::hostile {

using Bytes = std::vector<std::uint8_t>;

// Writes the packets of one adapter, in both directions, to a capture of Ethernet frames.
class Tap {
 public:
  Tap();
  void packet(const soft::Path& path, wire::Bytes packet, bool outgoing, fabric::Time now);
  // The capture file.
  [[nodiscard]] const Bytes& pcapng() const { return file_.bytes(); }

 private:
  base::PcapngBlocks file_;
};

class Host : public protocol::testing::SimHost {
 public:
  Host(soft::SimNetwork& net, const soft::AdapterOptions& options, std::uint64_t seed,
       Tap* tap = nullptr);

  const fabric::Limits& limits() const override { return limits_; }
  void receive(const soft::Path& path, wire::Bytes packet, fabric::Time now) override;
  bool transmit(soft::OutPacket& packet, fabric::Time now) override;

  // Called for each packet, before it is received or after it was built; empty: not called.
  std::function<void(Bytes& packet)> change_incoming;
  std::function<void(soft::OutPacket& packet)> change_outgoing;
  // Holds back this many RDMA READ requests and then delivers them together; 0: delivers each at
  // once.
  std::size_t gather_reads = 0;

 private:
  fabric::Limits limits_;
  Tap* tap_;
  std::vector<std::pair<soft::Path, Bytes>> gathered_;
};

// Advances time from event to event, and drives all participants in between.
class Network {
 public:
  Network() { net.run_for(fabric::kSecond); }

  // Returns false if it takes more than a simulated quarter of an hour.
  [[nodiscard]] bool until(const std::function<bool()>& condition);
  void run_for(fabric::Time time);

  soft::SimNetwork net{1};
  fabric::Time clock = fabric::kSecond;  // the network's time
  std::vector<std::function<void()>> turns;

 private:
  void step();

  fabric::Time idle_ = 0;
};

}  // namespace rpcrdma::hostile
