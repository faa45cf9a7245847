// Where outstanding Calls are, and what devices count, while a load runs.
#include "device_watch.h"
#include "joined_for_tests.h"
#include "panels.h"
#include "wait_for_tests.h"
#include "window_for_tests.h"

#include <QDoubleSpinBox>
#include <QSignalSpy>
#include <QSpinBox>
#include <atomic>

#include <gmock/gmock.h>

#include <rpcrdma/sources/playground_panel.h>
#include <rpcrdma/states/call_states.h>

namespace rpcrdma::gui {
namespace {

class CallStatesInTheWindow : public OpenWindow {
 protected:
  ~CallStatesInTheWindow() override {
    if (!window.playground().running()) return;
    const QSignalSpy over(&window.playground(), &PlaygroundPanel::stopped);
    window.playground().stop();
    static_cast<void>(QTest::qWaitFor([&] { return over.count() != 0; }, kBound));
  }
  [[nodiscard]] CallStatesView& view() { return *window.findChild<CallStatesView*>(); }
  // The most Calls at any time in a state; 0: none.
  [[nodiscard]] std::uint32_t most(std::size_t state) {
    std::uint32_t most = 0;
    for (const CallStatesPicture::Bin& bin : view().picture().bins) {
      if (state < bin.calls.size()) most = std::max(most, bin.calls[state]);
    }
    return most;
  }
};

TEST_F(CallStatesInTheWindow, ShowsCallsThatWaitForACredit) {
  // Without a source nothing is claimed.
  window.show_view("states");
  EXPECT_TRUE(view().picture().states.empty());
  if (auto* const depth = window.playground().findChild<QSpinBox*>("depth")) depth->setValue(16);
  window.playground().start();
  ASSERT_TRUE(QTest::qWaitFor([&] { return rows() > 500; }, kBound));
  window.show_view("states");
  const auto credit = static_cast<std::size_t>(states::State::kCredit);
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return view().picture().states.size() == states::kStates; }, kBound));
  QWidget* const row = window.playground().findChild<QWidget*>("granted");
  ASSERT_NE(row, nullptr);
  auto* const field = row->findChild<QDoubleSpinBox*>();
  ASSERT_NE(field, nullptr);
  field->setValue(1);
  EXPECT_TRUE(QTest::qWaitFor([&] { return most(credit) >= 8; }, kBound));
  EXPECT_TRUE(view().picture().states[credit].now.has_value());
  EXPECT_FALSE(view().picture().over);
}

TEST_F(CallStatesInTheWindow, ARecordingShowsItsCourse) {
  window.open(
      {QString::fromStdString(joined::joined_recording(folder.path().toStdString(), true))});
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        return document().store().read(
            [](const index::Content& c) { return c.progress.finished && !c.rows.empty(); });
      },
      kBound));
  window.show_view("states");
  const auto credit = static_cast<std::size_t>(states::State::kCredit);
  // Each Call waits for a credit, one after the other.
  ASSERT_TRUE(QTest::qWaitFor([&] { return most(credit) == 1; }, kBound));
  ASSERT_TRUE(QTest::qWaitFor([&] { return view().picture().over; }, kBound));
  for (const CallStatesPicture::State& state : view().picture().states) {
    EXPECT_EQ(state.now.value_or(0), 0U) << state.name.toStdString();
  }
  EXPECT_EQ(view().picture().states[credit].now, 0U);
  // A part of the time shows a part of the bins.
  const auto all = view().picture().bins.size();
  const TimeRange::Span whole = document().time_range().bounds();
  document().time_range().set({whole.to_ns - whole.length_ns() / 4, whole.to_ns});
  EXPECT_LT(view().picture().bins.size(), all);
}

TEST(CountersOfTheHost, GrowWhileALiveSourceIsShown) {
  Document document;
  DeviceWatch watch(document);
  std::atomic<std::uint64_t> naks{1000};
  watch.set_interval(1);
  watch.set_reader([&] {
    host::Devices all;
    host::DevicePort port;
    port.device = "mlx5_0";
    port.port = 1;
    port.hw_counters = {{"out_of_sequence", naks.fetch_add(5)}};
    all.ports = {port};
    return base::Expected<host::Devices>(all);
  });
  EXPECT_TRUE(watch.counters().samples.empty());
  // A document that is not live has no counters of this moment.
  ASSERT_TRUE(document.open({QString(RPCRDMA_TEST_CAPTURES) + "/linux-nfs41.pcap"}));
  QTest::qWait(20);
  EXPECT_TRUE(watch.counters().samples.empty());
  EXPECT_EQ(naks, 1000U);
}

}  // namespace
}  // namespace rpcrdma::gui
