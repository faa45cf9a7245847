// The Calls view, the waterfall and the pair in the window.
#include "calls_view.h"
#include "joined_for_tests.h"
#include "main_window.h"
#include "message_table.h"
#include "wait_for_tests.h"
#include "waterfall.h"

#include <QDockWidget>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include <gtest/gtest.h>

namespace rpcrdma::gui {
namespace {

using T = joined::JoinedTimes;

class CallsInTheWindow : public ::testing::Test {
 protected:
  CallsInTheWindow()
      : settings(folder.filePath("settings"), QSettings::IniFormat), window(settings) {
    window.show();
  }
  void open(const QStringList& paths) {
    window.open(paths);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          return document().store().read(
              [](const index::Content& c) { return c.progress.finished && !c.rows.empty(); });
        },
        kBound));
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          return document().row_count() ==
                 document().store().read([](const index::Content& c) { return c.rows.size(); });
        },
        kBound));
  }
  [[nodiscard]] Document& document() { return window.document(); }

  QTemporaryDir folder;
  QSettings settings;
  MainWindow window;
};

TEST_F(CallsInTheWindow, TheWaterfallJoinsTheRecordingsOfBothEnds) {
  const std::string to = folder.path().toStdString();
  open({QString::fromStdString(joined::joined_recording(to, true)),
        QString::fromStdString(joined::joined_recording(to, false))});
  // One row a message, although both recordings have it.
  EXPECT_EQ(document().row_count(), 2 * joined::kJoinedCalls);
  window.show_view("waterfall");
  Waterfall& waterfall = window.waterfall();
  document().select_message(5);
  ASSERT_TRUE(QTest::qWaitFor([&] { return waterfall.picture().call == 5; }, kBound));
  std::int64_t waited = -1;
  std::int64_t worked = -1;
  for (const WaterfallBar& bar : waterfall.picture().bars) {
    const std::int64_t ns = bar.to_ns - bar.from_ns;
    if (bar.lane == WaterfallLane::kClient && bar.kind == WaterfallBar::Kind::kWaiting) {
      waited = ns;
    }
    if (bar.lane == WaterfallLane::kServer && bar.kind == WaterfallBar::Kind::kWork) worked = ns;
  }
  EXPECT_EQ(waited, T::kWaitTo - T::kWaitFrom);
  EXPECT_EQ(worked, T::kReplied - T::kRead);
  // By keys to the bar of the Reply, and from there to the message.
  const auto& bars = waterfall.picture().bars;
  waterfall.setFocus();
  QTest::keyClick(&waterfall, Qt::Key_Home);
  for (std::size_t n = 0; n < bars.size(); ++n) {
    ASSERT_TRUE(waterfall.current());
    if (bars[*waterfall.current()].kind == WaterfallBar::Kind::kReply) break;
    QTest::keyClick(&waterfall, Qt::Key_Down);
  }
  EXPECT_TRUE(waterfall.accessibleDescription().contains("Reply"));
  QTest::keyClick(&waterfall, Qt::Key_Return);
  EXPECT_EQ(document().selected(),
            document().store().read([](const index::Content& c) { return c.rows[4].match; }));
}

TEST_F(CallsInTheWindow, EnterInARowShowsTheMessagesOfTheCall) {
  open({QString(RPCRDMA_TEST_CAPTURES) + "/linux-nfs41.pcap"});
  window.show_view("calls");
  CallsView& calls = window.calls();
  ASSERT_TRUE(QTest::qWaitFor([&] { return calls.list().is_complete(); }, kBound));
  QTest::keyClick(&calls.table(), Qt::Key_Down);
  QTest::keyClick(&calls.table(), Qt::Key_Down);
  const std::uint64_t chosen = document().selected();
  ASSERT_NE(chosen, 0U);
  QTest::keyClick(&calls.table(), Qt::Key_Return);
  EXPECT_TRUE(window.messages().isVisible());
  EXPECT_EQ(document().selected(), chosen);
}

TEST_F(CallsInTheWindow, InfoBeginsWithTheSubstance) {
  open({QString(RPCRDMA_TEST_CAPTURES) + "/linux-nfs41.pcap"});
  QStringList reads;
  for (std::uint64_t row = 0; row < document().row_count(); ++row) {
    const QString info = window.messages().text(row, Column::kInfo);
    EXPECT_FALSE(info.startsWith("call") || info.startsWith("reply")) << info.toStdString();
    EXPECT_FALSE(info.contains("0x")) << info.toStdString();
    if (info.startsWith("READ ") && info.contains("RDMA Write")) reads << info;
  }
  EXPECT_FALSE(reads.isEmpty());
}

}  // namespace
}  // namespace rpcrdma::gui
