#include "views_for_tests.h"

#include <QApplication>
#include <QClipboard>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include <rpcrdma/views/byte_view.h>
#include <rpcrdma/views/picture.h>

namespace rpcrdma::gui {
namespace {

QByteArray counting(qsizetype size) {
  QByteArray bytes(size, '\0');
  for (qsizetype i = 0; i < size; ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

void click(ByteView& view, std::size_t offset) {
  QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.rect_of(offset).center());
}

TEST(ByteView, AClickShowsTheSmallestFieldThatHoldsTheByte) {
  ByteView view;
  show(view, 900, 300);
  view.set_bytes(counting(64));
  view.set_fields({{0, 28, 1}, {4, 4, 2}, {28, 36, 3}});
  const QSignalSpy recorded(&view, &ByteView::field_selected);
  click(view, 5);
  click(view, 3);
  click(view, 63);
  ASSERT_EQ(recorded.size(), 3);
  EXPECT_EQ(recorded[0][0].toInt(), 2);
  EXPECT_EQ(recorded[1][0].toInt(), 1);
  EXPECT_EQ(recorded[2][0].toInt(), 3);
}

TEST(ByteView, AByteOfNoFieldSaysNothing) {
  ByteView view;
  show(view, 900, 300);
  view.set_bytes(counting(64));
  view.set_fields({{0, 4, 1}});
  const QSignalSpy recorded(&view, &ByteView::field_selected);
  click(view, 40);
  EXPECT_EQ(recorded.size(), 0);
}

TEST(ByteView, KeysMoveTheCursorAndStayWithinTheBytes) {
  ByteView view;
  show(view, 900, 300);
  view.set_bytes(counting(40));
  view.set_fields({{0, 16, 1}, {16, 16, 2}, {32, 7, 3}, {39, 1, 4}});
  ASSERT_EQ(view.bytes_per_line(), 16);
  const QSignalSpy recorded(&view, &ByteView::field_selected);
  const std::pair<Qt::Key, int> steps[] = {
      {Qt::Key_Left, 1}, {Qt::Key_Down, 2}, {Qt::Key_End, 4},  {Qt::Key_Right, 4},
      {Qt::Key_Left, 3}, {Qt::Key_Up, 2},   {Qt::Key_Home, 1}, {Qt::Key_PageDown, 4}};
  for (const auto& [key, id] : steps) {
    QTest::keyClick(&view, key);
    ASSERT_FALSE(recorded.isEmpty());
    EXPECT_EQ(recorded.back()[0].toInt(), id) << key;
  }
}

TEST(ByteView, MarkedBytesComeIntoSightAndAreCopied) {
  ByteView view;
  show(view, 900, 200);
  view.set_bytes(counting(65536));
  view.set_marked(0x8041, 3);
  EXPECT_TRUE(view.viewport()->rect().contains(view.rect_of(0x8041)));
  QTest::keySequence(&view, QKeySequence(QKeySequence::Copy));
  EXPECT_EQ(QApplication::clipboard()->text(), "41 42 43");
  EXPECT_EQ(view.copy(ByteView::CopyAs::kText), "ABC");
  EXPECT_EQ(view.copy(ByteView::CopyAs::kArray), "{0x41, 0x42, 0x43}");
}

TEST(ByteView, WhatIsMarkedBeyondTheEndIsCut) {
  ByteView view;
  view.set_bytes(counting(10));
  view.set_marked(8, SIZE_MAX);
  EXPECT_EQ(view.marked(), std::pair(std::size_t{8}, std::size_t{2}));
  view.set_marked(SIZE_MAX, 4);
  EXPECT_EQ(view.marked().second, 0U);
}

TEST(ByteView, ANarrowOneHasFewerBytesInALine) {
  ByteView view;
  view.set_bytes(counting(100));
  view.show();
  view.resize(view.fontMetrics().horizontalAdvance('0') * 50, 300);
  EXPECT_EQ(view.bytes_per_line(), 8);
  view.show();
  view.resize(view.fontMetrics().horizontalAdvance('0') * 100, 300);
  EXPECT_EQ(view.bytes_per_line(), 16);
}

TEST(ByteView, OfAHundredMebibytesOnlyTheLinesInSightArePainted) {
  ByteView view;
  show(view, 900, 200);
  view.set_bytes(QByteArray(100 << 20, 'x'));
  const QSignalSpy moved(view.verticalScrollBar(), &QScrollBar::valueChanged);
  QTest::keyClick(&view, Qt::Key_End);
  EXPECT_GT(view.verticalScrollBar()->value(), 6'000'000);
  EXPECT_TRUE(view.viewport()->rect().contains(view.rect_of((100 << 20) - 1)));
  const SvgText drawn = svg_of(view);
  // Each line paints an offset, and digits and a character for each byte.
  const int lines = 200 / view.fontMetrics().height() + 1;
  EXPECT_LE(drawn.texts.size(), lines * 33);
  EXPECT_TRUE(drawn.texts.contains("063ffff0")) << drawn.texts.mid(0, 40).join(' ').toStdString();
}

}  // namespace
}  // namespace rpcrdma::gui
