#include "network.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/core.h>

namespace rpcrdma::top {

namespace {

using host::Signal;

constexpr std::size_t index_of(NetworkKind kind) {
  return static_cast<std::size_t>(kind);
}

// Drivers count the two sides of an event apart, or only one of them.
std::optional<std::uint64_t> sum_of(const host::DevicePort& port,
                                    std::initializer_list<Signal> signals) {
  std::optional<std::uint64_t> sum;
  for (const Signal signal : signals) {
    if (const auto value = host::value_of(port, signal)) sum = sum.value_or(0) + *value;
  }
  return sum;
}

std::optional<std::uint64_t> value_of(const host::DevicePort& port, NetworkKind kind) {
  switch (kind) {
    case NetworkKind::kOutOfSequence:
      return sum_of(port, {Signal::kOutOfSequence});
    case NetworkKind::kRnr:
      return sum_of(port, {Signal::kRnrNaks, Signal::kMissingReceive});
    case NetworkKind::kTimeout:
      return sum_of(port, {Signal::kAckTimeouts});
    case NetworkKind::kCnp:
      return sum_of(port, {Signal::kCnpSent, Signal::kCnpHandled});
    case NetworkKind::kEcn:
      return sum_of(port, {Signal::kEcnMarked});
    case NetworkKind::kResent:
      break;
  }
  return std::nullopt;
}

constexpr std::array kOfFabric{NetworkKind::kOutOfSequence, NetworkKind::kRnr,
                               NetworkKind::kTimeout, NetworkKind::kResent};

double trouble_of(const ShownNetwork& n) {
  double sum = 0;
  for (const auto& rate : n.per_second) sum += rate.value_or(0);
  return sum;
}

}  // namespace

const char* network_label(NetworkKind kind) {
  constexpr std::array<const char*, kNetworkKinds> kLabels{"out of seq", "RNR", "timeouts",
                                                           "resent",     "CNP", "ECN"};
  return kLabels[index_of(kind)];
}

const char* network_key(NetworkKind kind) {
  constexpr std::array<const char*, kNetworkKinds> kKeys{"out_of_sequence", "rnr", "ack_timeouts",
                                                         "resent",          "cnp", "ecn_marked"};
  return kKeys[index_of(kind)];
}

void Network::fabric(std::uint32_t endpoint, const trace::Fabric& event) {
  constexpr std::uint8_t kPsnSequenceError = 0;
  Counted& c = fabrics_[endpoint];
  const auto count = [&](NetworkKind kind, std::uint64_t n) {
    std::optional<std::uint64_t>& total = c.total[index_of(kind)];
    total = total.value_or(0) + n;
  };
  switch (event.kind) {
    case trace::FabricKind::kRetransmission:
      return count(NetworkKind::kResent, event.count);
    case trace::FabricKind::kNak:
      // Other NAKs end the connection.
      if (event.code == kPsnSequenceError) count(NetworkKind::kOutOfSequence, 1);
      return;
    case trace::FabricKind::kRnr:
      return count(NetworkKind::kRnr, 1);
    case trace::FabricKind::kTimeout:
      return count(NetworkKind::kTimeout, 1);
  }
}

void Network::devices(const host::Devices& devices) {
  for (auto& [name, counted] : ports_) counted.gone = true;
  for (const host::DevicePort& port : devices.ports) {
    Values now;
    bool any = false;
    for (std::size_t i = 0; i < kNetworkKinds; ++i) {
      now[i] = value_of(port, static_cast<NetworkKind>(i));
      any |= now[i].has_value();
    }
    if (!any) continue;
    std::string name = port.port == 0 ? port.device : fmt::format("{}/{}", port.device, port.port);
    const auto known = ports_.find(name);
    if (known == ports_.end()) {
      if (ports_.size() >= kMostPorts) continue;
      Counted& c = ports_[std::move(name)];
      c.raw = now;
      for (std::size_t i = 0; i < kNetworkKinds; ++i) {
        if (now[i]) c.total[i] = 0;
      }
      c.before = c.total;
      continue;
    }
    Counted& c = known->second;
    c.gone = false;
    for (std::size_t i = 0; i < kNetworkKinds; ++i) {
      // A device that was reset begins at zero.
      if (!now[i]) {
        c.total[i].reset();
      } else if (!c.raw[i] || *now[i] < *c.raw[i]) {
        c.total[i] = c.total[i].value_or(0);
      } else {
        c.total[i] = c.total[i].value_or(0) + (*now[i] - *c.raw[i]);
      }
    }
    c.raw = now;
  }
  std::erase_if(ports_, [](const auto& one) { return one.second.gone; });
}

void Network::end_second(Counted& counted, double seconds, std::uint64_t& sum) {
  for (std::size_t i = 0; i < kNetworkKinds; ++i) {
    counted.per_second[i].reset();
    if (!counted.total[i]) continue;
    const std::uint64_t grown =
        *counted.total[i] - std::min(*counted.total[i], counted.before[i].value_or(0));
    counted.per_second[i] = static_cast<double>(grown) / seconds;
    sum += grown;
  }
  counted.before = counted.total;
}

void Network::end_second(double seconds) {
  std::uint64_t sum = 0;
  for (auto& [endpoint, counted] : fabrics_) {
    for (const NetworkKind kind : kOfFabric) {
      std::optional<std::uint64_t>& total = counted.total[index_of(kind)];
      if (!total) total = 0;
    }
    end_second(counted, seconds, sum);
  }
  for (auto& [name, counted] : ports_) end_second(counted, seconds, sum);
  history_.push_back(sum);
  if (history_.size() > kHistory) history_.pop_front();
}

std::vector<ShownNetwork> Network::shown(const std::vector<ShownEndpoint>& endpoints) const {
  std::vector<ShownNetwork> all;
  const auto add = [&](const std::string& name, bool device, const Counted& c) {
    all.push_back({name, device, c.per_second, c.total});
  };
  for (const auto& [name, counted] : ports_) add(name, true, counted);
  for (const auto& [endpoint, counted] : fabrics_) {
    if (endpoint < endpoints.size() && !endpoints[endpoint].ended)
      add(endpoints[endpoint].name, false, counted);
  }
  std::ranges::stable_sort(all, [](const ShownNetwork& a, const ShownNetwork& b) {
    return trouble_of(a) > trouble_of(b);
  });
  return all;
}

}  // namespace rpcrdma::top
