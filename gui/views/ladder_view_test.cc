#include "views_for_tests.h"

#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include <rpcrdma/views/ladder_view.h>

namespace rpcrdma::gui {
namespace {

std::vector<LadderItem> items(quint64 first, std::size_t count) {
  std::vector<LadderItem> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].message = first + i;
    all[i].frame = 1000 + first + i;
    all[i].from_ns = all[i].to_ns = static_cast<std::int64_t>(1000 * (first + i));
    all[i].side = static_cast<int>(i % 2);
    all[i].label = QString("message %1").arg(first + i);
  }
  return all;
}

void click(LadderView& view, std::size_t item) {
  QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.rect_of(item).center());
}

TEST(LadderView, AClickShowsTheMessageOrTheFrameOfWhatIsNone) {
  LadderView view;
  show(view, 600, 400);
  auto all = items(1, 5);
  all[2].message = 0;
  view.set_items(all, 0);
  const QSignalSpy message(&view, &LadderView::message_selected);
  const QSignalSpy frame(&view, &LadderView::frame_selected);
  click(view, 1);
  click(view, 2);
  ASSERT_EQ(message.size(), 1);
  EXPECT_EQ(message[0][0].toULongLong(), 2U);
  ASSERT_EQ(frame.size(), 1);
  EXPECT_EQ(frame[0][0].toULongLong(), 1003U);
}

TEST(LadderView, KeysGoUpAndDownAndToTheEnds) {
  LadderView view;
  show(view, 600, 200);
  view.set_items(items(1, 100), 0);
  const QSignalSpy message(&view, &LadderView::message_selected);
  const std::pair<Qt::Key, quint64> steps[] = {{Qt::Key_Down, 2},   {Qt::Key_Down, 3},
                                               {Qt::Key_Up, 2},     {Qt::Key_End, 100},
                                               {Qt::Key_Down, 100}, {Qt::Key_Home, 1}};
  for (const auto& [key, id] : steps) {
    QTest::keyClick(&view, key);
    ASSERT_FALSE(message.isEmpty());
    EXPECT_EQ(message.back()[0].toULongLong(), id);
    EXPECT_TRUE(view.viewport()->rect().contains(view.rect_of(static_cast<std::size_t>(id - 1))));
  }
}

TEST(LadderView, TheSelectedMessageStaysWhereItIsWhenItemsChange) {
  LadderView view;
  show(view, 600, 400);
  view.set_items(items(100, 200), 0);
  view.set_selected(200);
  const QRect before = view.rect_of(100);
  ASSERT_TRUE(view.viewport()->rect().contains(before));
  view.set_items(items(50, 300), 0);
  EXPECT_EQ(view.rect_of(150), before);
}

TEST(LadderView, AnEndThatIsScrolledToIsReported) {
  LadderView view;
  show(view, 600, 400);
  const QSignalSpy wanted(&view, &LadderView::more_wanted);
  view.set_items(items(1, 200), 0);
  view.set_selected(100);
  EXPECT_EQ(wanted.size(), 0);
  view.verticalScrollBar()->setValue(view.verticalScrollBar()->maximum());
  ASSERT_EQ(wanted.size(), 1);
  EXPECT_FALSE(wanted[0][0].toBool());
  view.verticalScrollBar()->setValue(0);
  ASSERT_EQ(wanted.size(), 2);
  EXPECT_TRUE(wanted[1][0].toBool());
}

TEST(LadderView, OfAMillionItemsOnlyTheRowsInSightArePainted) {
  LadderView view;
  show(view, 600, 400);
  view.set_peers("10.0.0.1", "10.0.0.2");
  view.set_items(items(1, 1'000'000), 0);
  view.verticalScrollBar()->setValue(654'321);
  const SvgText drawn = svg_of(view);
  EXPECT_TRUE(drawn.texts.contains("message 654322")) << drawn.texts.join('\n').toStdString();
  // Each row paints a label and a time; the heads come on top.
  const int rows = 400 / view.rect_of(0).height() + 2;
  EXPECT_LE(drawn.texts.size(), rows * 2 + 2);
}

TEST(LadderView, ToScaleDistancesShowTheTimeAndLongOnesAreFolded) {
  LadderView view;
  show(view, 350, 600);
  auto all = items(1, 6);
  const std::int64_t times[] = {0, 1000, 2000, 5000, 1'000'000, 1'001'000};
  for (std::size_t i = 0; i < all.size(); ++i) all[i].from_ns = all[i].to_ns = times[i];
  view.set_items(all, 0);
  const int row = view.rect_of(0).height();
  EXPECT_EQ(view.rect_of(4).top() - view.rect_of(3).top(), row);
  QTest::keyClick(&view, Qt::Key_T);
  ASSERT_TRUE(view.is_to_scale());
  // The usual distance, 1000 ns, is half a row.
  EXPECT_EQ(view.rect_of(1).top() - view.rect_of(0).bottom() - 1, row / 2);
  EXPECT_EQ(view.rect_of(3).top() - view.rect_of(2).bottom() - 1, row * 3 / 2);
  EXPECT_TRUE(view.is_folded(4));
  EXPECT_FALSE(view.is_folded(3));
  EXPECT_EQ(view.rect_of(4).top() - view.rect_of(3).bottom() - 1, row);
  EXPECT_TRUE(svg_of(view).texts.contains("995 us"));
  const QSignalSpy message(&view, &LadderView::message_selected);
  click(view, 4);
  ASSERT_EQ(message.size(), 1);
  EXPECT_EQ(message[0][0].toULongLong(), 5U);
}

}  // namespace
}  // namespace rpcrdma::gui
