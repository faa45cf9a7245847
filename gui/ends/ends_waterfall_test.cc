// Rows of Calls and their bars, compared with the times that they come from.
#include "ends_waterfall.h"

#include "ends_for_tests.h"
#include "ends_words.h"

#include <QApplication>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <set>

#include <gmock/gmock.h>

#include <rpcrdma/views/palettes.h>

namespace rpcrdma::gui {
namespace {

using ends::Side;
using ends::Stage;
using made::made_call;
using made::made_ends;

constexpr auto kExecute = static_cast<std::size_t>(Stage::kExecute);

class TheWaterfallOfBothEnds : public ::testing::Test {
 protected:
  explicit TheWaterfallOfBothEnds(std::uint32_t calls = 1000)
      : all(std::make_shared<const ends::Ends>(made_ends(calls))) {
    view.resize(1100, 500);
    show(EndsOrder::kSlowestFirst, {});
    view.show();
  }
  void show(EndsOrder order, const EndsFilter& filter) {
    view.set_rows(all, rows_of(*all, order, filter));
  }
  [[nodiscard]] const ends::EndsCall& call(std::size_t row) const {
    return calls_of(*all)[view.rows()[row]];
  }

  SharedEnds all;
  EndsWaterfall view;
};

TEST_F(TheWaterfallOfBothEnds, OrdersAndFiltersItsRows) {
  ASSERT_EQ(view.rows().size(), 1000U);
  EXPECT_EQ(call(0).xid, 994U);  // the slowest that waits for the server
  for (std::size_t row = 1; row < view.rows().size(); ++row) {
    ASSERT_GE(call(row - 1).end_ns - call(row - 1).begin_ns, call(row).end_ns - call(row).begin_ns);
  }
  show(EndsOrder::kOldestFirst, {});
  EXPECT_EQ(call(0).xid, 1U);
  show(EndsOrder::kNewestFirst, {});
  EXPECT_EQ(call(0).xid, 1000U);
  show(EndsOrder::kFastestFirst, {});
  EXPECT_EQ(call(0).end_ns - call(0).begin_ns, 20'000 * 10 + 50'000);
  show(EndsOrder::kBySide, {});
  EXPECT_EQ(call(0).side, Side::kNetwork);
  EXPECT_EQ(call(100).side, Side::kServer);
  EXPECT_EQ(call(200).side, Side::kNone);
  show(EndsOrder::kSlowestFirst, {Side::kServer, "NFS v3 READ"});
  ASSERT_FALSE(view.rows().empty());
  for (std::size_t row = 0; row < view.rows().size(); ++row) {
    ASSERT_EQ(call(row).side, Side::kServer);
    ASSERT_EQ(call(row).name, "NFS v3 READ");
  }
}

TEST_F(TheWaterfallOfBothEnds, DrawsEachStageToScale) {
  const ends::EndsCall& slowest = call(0);
  const QRect execute = view.rect_of(0, kExecute);
  const QRect there = view.rect_of(0, static_cast<std::size_t>(Stage::kNetworkThere));
  ASSERT_FALSE(execute.isEmpty());
  ASSERT_FALSE(there.isEmpty());
  EXPECT_LT(there.right(), execute.left() + 3);
  // The slowest Call spans the bars.
  const double scale = static_cast<double>(execute.width()) / 20e6;
  const QRect wake = view.rect_of(0, static_cast<std::size_t>(Stage::kWake));
  EXPECT_NEAR(wake.left() - execute.left(),
              static_cast<double>(slowest.began_ns[10] - slowest.began_ns[6]) * scale, 4);
  // Another one shares the scale, unless each has its own.
  const std::size_t last = 5;
  EXPECT_NEAR(view.rect_of(last, kExecute).width(), execute.width(), 3);
  view.set_scale(EndsWaterfall::Scale::kEach);
  show(EndsOrder::kFastestFirst, {});
  EXPECT_GT(view.rect_of(0, kExecute).width(), 50);
}

TEST_F(TheWaterfallOfBothEnds, ByTheClockLaterCallsAreFurtherRight) {
  show(EndsOrder::kOldestFirst, {});
  view.set_scale(EndsWaterfall::Scale::kClock);
  EXPECT_LT(view.rect_of(3, kExecute).left(), view.rect_of(13, kExecute).left());
}

TEST_F(TheWaterfallOfBothEnds, ZoomsAndPans) {
  const int before = view.rect_of(0, kExecute).left();
  QTest::keyClick(&view, Qt::Key_Plus);
  EXPECT_DOUBLE_EQ(view.zoom(), 2);
  EXPECT_GT(view.horizontalScrollBar()->maximum(), 0);
  EXPECT_GT(view.rect_of(0, kExecute).left(), before);
  view.horizontalScrollBar()->setValue(view.horizontalScrollBar()->maximum());
  EXPECT_TRUE(view.rect_of(0, static_cast<std::size_t>(Stage::kSlot)).isEmpty());
  QTest::keyClick(&view, Qt::Key_0);
  EXPECT_EQ(view.horizontalScrollBar()->maximum(), 0);
}

TEST_F(TheWaterfallOfBothEnds, TheKeyboardGoesThroughCallsAndTheirStages) {
  const QSignalSpy selected(&view, &EndsWaterfall::call_selected);
  QTest::keyClick(&view, Qt::Key_Down);
  EXPECT_EQ(view.current(), view.rows()[0]);
  QTest::keyClick(&view, Qt::Key_Down);
  EXPECT_EQ(view.current(), view.rows()[1]);
  ASSERT_EQ(selected.count(), 2);
  EXPECT_EQ(selected.last().front().toUInt(), view.rows()[1]);
  QTest::keyClick(&view, Qt::Key_Right);
  EXPECT_EQ(view.current_stage(), 0U);
  EXPECT_THAT(view.accessibleDescription().toStdString(), ::testing::HasSubstr("slot"));
  for (int i = 0; i < 20; ++i) QTest::keyClick(&view, Qt::Key_Right);
  EXPECT_EQ(view.current_stage(), ends::kStages - 1);
  for (int i = 0; i < 20; ++i) QTest::keyClick(&view, Qt::Key_Left);
  EXPECT_FALSE(view.current_stage());
  QTest::keyClick(&view, Qt::Key_End);
  EXPECT_EQ(view.current(), view.rows().back());
  EXPECT_FALSE(view.rect_of(view.rows().size() - 1).isEmpty());  // it is in sight
  const QSignalSpy opened(&view, &EndsWaterfall::call_activated);
  QTest::keyClick(&view, Qt::Key_Return);
  EXPECT_EQ(opened.count(), 1);
}

TEST_F(TheWaterfallOfBothEnds, ATooltipNamesTheStageAndItsTime) {
  const QString text = view.text_at(view.rect_of(0, kExecute).center());
  EXPECT_THAT(text.toStdString(), ::testing::HasSubstr("executing (server): 20 ms"));
  EXPECT_THAT(
      view.text_at({view.rect_of(0).left() + 20, view.rect_of(0).center().y()}).toStdString(),
      ::testing::HasSubstr("Side: server"));
}

TEST_F(TheWaterfallOfBothEnds, TimeThatNoSourceShowsIsHatchedAndNamed) {
  auto made = std::make_shared<ends::Ends>();
  made->calls = {made_call(7, 0, 10'000, 10'000, 900'000)};
  all = made;
  show(EndsOrder::kSlowestFirst, {});
  view.set_scale(EndsWaterfall::Scale::kEach);
  const QRect execute = view.rect_of(0, kExecute);
  const QRect write = view.rect_of(0, static_cast<std::size_t>(Stage::kWrite));
  ASSERT_GT(write.left() - execute.right(), 100);
  const QRect gap(execute.right() + 5, execute.top(), write.left() - execute.right() - 10,
                  execute.height());
  EXPECT_THAT(view.text_at(gap.center()).toStdString(), ::testing::HasSubstr("not known"));
  for (const QPalette& palette : {light_palette(), dark_palette()}) {
    view.setPalette(palette);
    const QImage image = view.viewport()->grab().toImage();
    std::set<QRgb> colours;
    for (int x = gap.left(); x < gap.right(); ++x) {
      colours.insert(image.pixel(x, gap.center().y()));
    }
    EXPECT_GE(colours.size(), 2U);  // lines and what is between them
    EXPECT_EQ(QColor(image.pixel(execute.center())), stage_colour(palette, Stage::kExecute));
  }
}

TEST_F(TheWaterfallOfBothEnds, AStageWithoutAPlaceIsInNoBar) {
  auto made = std::make_shared<ends::Ends>();
  ends::EndsCall call = made_call(7, 0, 10'000, 10'000);
  call.began_ns[kExecute] = ends::kUnknownNs;
  call.took_ns[static_cast<std::size_t>(Stage::kSlot)] = ends::kUnknownNs;
  call.took_ns[static_cast<std::size_t>(Stage::kRead)] = 0;
  made->calls = {call};
  all = made;
  show(EndsOrder::kSlowestFirst, {});
  EXPECT_TRUE(view.rect_of(0, kExecute).isEmpty());
  EXPECT_TRUE(view.rect_of(0, static_cast<std::size_t>(Stage::kSlot)).isEmpty());
  EXPECT_TRUE(view.rect_of(0, static_cast<std::size_t>(Stage::kRead)).isEmpty());
  EXPECT_THAT(call_text(call).toStdString(), ::testing::HasSubstr("slot (client): not known"));
}

class ManyCalls : public TheWaterfallOfBothEnds {
 protected:
  ManyCalls() : TheWaterfallOfBothEnds(50'000) {}
};

TEST_F(ManyCalls, OnlyThoseInSightArePainted) {
  ASSERT_EQ(view.rows().size(), 50'000U);
  const int most = view.viewport()->height() / view.rect_of(0).height() + 1;
  for (const double part : {0.0, 0.3, 0.999, 1.0}) {
    QScrollBar& bar = *view.verticalScrollBar();
    bar.setValue(static_cast<int>(part * bar.maximum()));
    static_cast<void>(view.grab());
    EXPECT_GT(view.rows_painted(), 5);
    EXPECT_LE(view.rows_painted(), most);
  }
  EXPECT_TRUE(view.go_to(view.rows()[49'000]));
  EXPECT_FALSE(view.rect_of(49'000).isEmpty());
}

}  // namespace
}  // namespace rpcrdma::gui
