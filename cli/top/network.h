// What goes wrong on the network, over time: counters of this host's RDMA devices, and the packet
// events of endpoints whose fabric is in user space.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/host/device_counters.h>
#include <rpcrdma/top/shown.h>
#include <rpcrdma/trace/event.h>

namespace rpcrdma::top {

class Network {
 public:
  // Ports beyond this are not followed.
  static constexpr std::size_t kMostPorts = 256;

  // The endpoint reports packet events.
  void has_fabric(std::uint32_t endpoint) { (void)fabrics_[endpoint]; }
  void fabric(std::uint32_t endpoint, const trace::Fabric& event);
  // The latest counters of all devices.
  void devices(const host::Devices& devices);
  void end_second(double seconds);

  // `endpoints`: their names. The one with most trouble in the last second first.
  [[nodiscard]] std::vector<ShownNetwork> shown(const std::vector<ShownEndpoint>& endpoints) const;
  // Sums of all kinds and sources in each second, the oldest first.
  [[nodiscard]] const std::deque<std::uint64_t>& history() const { return history_; }

 private:
  using Values = std::array<std::optional<std::uint64_t>, kNetworkKinds>;
  // Counts since the view began.
  struct Counted {
    Values total;
    Values before;  // `total` at the end of the last second
    Values raw;     // of a device: its counters as read last
    std::array<std::optional<double>, kNetworkKinds> per_second{};
    bool gone = false;
  };

  void end_second(Counted& counted, double seconds, std::uint64_t& sum);

  std::map<std::uint32_t, Counted> fabrics_;  // by endpoint
  std::map<std::string, Counted> ports_;      // by name
  std::deque<std::uint64_t> history_;
};

}  // namespace rpcrdma::top
