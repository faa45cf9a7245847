// A network in simulated time, and adapters in it that can be watched and tampered with.
#pragma once

#include "support/sim_host.h"

#include <functional>
#include <vector>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/soft/sim_network.h>

namespace rpcrdma::hostile {

using Bytes = std::vector<std::uint8_t>;

// What one adapter sends and receives, as a capture of Ethernet frames.
class Tap {
 public:
  Tap();
  void packet(const soft::Path& path, wire::Bytes packet, bool outgoing, fabric::Time now);
  // The file.
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

  // Of each packet, before it is taken or after it was made; empty: nothing.
  std::function<void(Bytes& packet)> change_incoming;
  std::function<void(soft::OutPacket& packet)> change_outgoing;
  // So many RDMA READ requests are kept back and then come at once; 0: they come as they come.
  std::size_t gather_reads = 0;

 private:
  fabric::Limits limits_;
  Tap* tap_;
  std::vector<std::pair<soft::Path, Bytes>> gathered_;
};

// Time passes as things happen, and everybody has a turn in between.
class Network {
 public:
  Network() { net.run_for(fabric::kSecond); }

  // False: it did not come so in a simulated quarter of an hour.
  [[nodiscard]] bool until(const std::function<bool()>& condition);
  void run_for(fabric::Time time);

  soft::SimNetwork net{1};
  fabric::Time clock = fabric::kSecond;  // as of the network
  std::vector<std::function<void()>> turns;

 private:
  void step();

  fabric::Time idle_ = 0;
};

}  // namespace rpcrdma::hostile
