// Tests rates of network trouble: of RDMA devices as sysfs states them, and of a fabric's events.
#include "network.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::top {
namespace {

host::Devices devices(std::vector<host::Counter> hw) {
  host::Devices all;
  host::DevicePort& port = all.ports.emplace_back();
  port.device = "mlx5_0";
  port.port = 1;
  port.hw_counters = std::move(hw);
  return all;
}

std::optional<double> rate(const ShownNetwork& n, NetworkKind kind) {
  return n.per_second[static_cast<std::size_t>(kind)];
}

TEST(Network, RatesOfADevicesCounters) {
  Network network;
  network.devices(devices({{"out_of_sequence", 100}, {"np_cnp_sent", 7}}));
  network.end_second(1);
  network.devices(devices({{"out_of_sequence", 130}, {"np_cnp_sent", 7}}));
  network.end_second(2);
  const auto shown = network.shown({});
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].name, "mlx5_0/1");
  EXPECT_TRUE(shown[0].device);
  EXPECT_EQ(rate(shown[0], NetworkKind::kOutOfSequence), 15);
  EXPECT_EQ(rate(shown[0], NetworkKind::kCnp), 0);
  EXPECT_EQ(rate(shown[0], NetworkKind::kTimeout), std::nullopt);
  EXPECT_EQ(shown[0].total[0], 30U);
  EXPECT_EQ(network.history(), (std::deque<std::uint64_t>{0, 30}));
}

TEST(Network, ADeviceThatIsResetCountsOn) {
  Network network;
  network.devices(devices({{"out_of_sequence", 100}}));
  network.devices(devices({{"out_of_sequence", 110}}));
  network.devices(devices({{"out_of_sequence", 3}}));
  network.devices(devices({{"out_of_sequence", 5}}));
  network.end_second(1);
  EXPECT_EQ(network.shown({})[0].total[0], 12U);
}

TEST(Network, ADeviceThatIsGoneIsNotShown) {
  Network network;
  network.devices(devices({{"out_of_sequence", 100}}));
  EXPECT_EQ(network.shown({}).size(), 1U);
  network.devices({});
  EXPECT_TRUE(network.shown({}).empty());
}

TEST(Network, EventsOfAFabric) {
  Network network;
  std::vector<ShownEndpoint> endpoints(2);
  endpoints[1].name = "server";
  network.has_fabric(1);
  network.end_second(1);
  trace::Fabric event;
  event.kind = trace::FabricKind::kRetransmission;
  event.count = 5;
  network.fabric(1, event);
  event.kind = trace::FabricKind::kNak;
  network.fabric(1, event);
  event.code = 2;  // not for the order of packets
  network.fabric(1, event);
  event.kind = trace::FabricKind::kRnr;
  network.fabric(1, event);
  event.kind = trace::FabricKind::kTimeout;
  network.fabric(1, event);
  network.end_second(1);
  const auto shown = network.shown(endpoints);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].name, "server");
  EXPECT_FALSE(shown[0].device);
  EXPECT_EQ(rate(shown[0], NetworkKind::kResent), 5);
  EXPECT_EQ(rate(shown[0], NetworkKind::kOutOfSequence), 1);
  EXPECT_EQ(rate(shown[0], NetworkKind::kRnr), 1);
  EXPECT_EQ(rate(shown[0], NetworkKind::kTimeout), 1);
  EXPECT_EQ(rate(shown[0], NetworkKind::kEcn), std::nullopt);
}

TEST(Network, TheOneWithMostTroubleIsFirst) {
  Network network;
  std::vector<ShownEndpoint> endpoints(2);
  network.has_fabric(0);
  trace::Fabric event;
  event.kind = trace::FabricKind::kTimeout;
  network.fabric(1, event);
  network.end_second(1);
  endpoints[1].name = "b";
  EXPECT_EQ(network.shown(endpoints)[0].name, "b");
  endpoints[1].ended = true;
  EXPECT_EQ(network.shown(endpoints).size(), 1U);
}

}  // namespace
}  // namespace rpcrdma::top
