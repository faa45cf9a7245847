#include "views_for_tests.h"

#include <gmock/gmock.h>

#include <rpcrdma/views/device_counters_view.h>

namespace rpcrdma::gui {
namespace {

TEST(CountersOfDevices, DrawsThoseThatGrowAndNamesThoseThatAreNotCounted) {
  DeviceCounters counters;
  counters.devices = "mlx5_0 port 1";
  counters.counters = {{"packets out of sequence"}, {"RNR NAKs"}, {"CNPs sent"}};
  for (std::int64_t i = 0; i < 5; ++i) {
    counters.samples.push_back(
        {i * 1'000'000'000,
         (i + 1) * 1'000'000'000,
         {static_cast<std::uint64_t>(10 * i), std::uint64_t{0}, std::nullopt}});
  }
  DeviceCountersView view;
  view.set_notation({[](std::int64_t ns) { return QString::number(ns / 1'000'000'000); }, 0, "s"});
  view.set_counters(counters);
  show(view, 800, 260);
  EXPECT_EQ(view.lines(), QStringList{"packets out of sequence"});
  EXPECT_THAT(view.totals().toStdString(),
              ::testing::HasSubstr("mlx5_0 port 1: 100 packets out of sequence, 0 RNR NAKs"));
  EXPECT_THAT(view.totals().toStdString(),
              ::testing::HasSubstr("Not counted by these devices: CNPs sent"));
  EXPECT_TRUE(svg_of(view).texts.join(' ').contains("Events per second"));
}

TEST(CountersOfDevices, SaysWhyThereIsNothing) {
  DeviceCountersView view;
  EXPECT_THAT(view.totals().toStdString(), ::testing::HasSubstr("once a second"));
  DeviceCounters none;
  none.problem = "This host has no RDMA device";
  view.set_counters(none);
  show(view, 500, 200);
  EXPECT_TRUE(view.lines().isEmpty());
  EXPECT_EQ(view.totals(), "This host has no RDMA device");
}

}  // namespace
}  // namespace rpcrdma::gui
