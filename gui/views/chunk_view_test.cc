#include "views_for_tests.h"

#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include <rpcrdma/views/chunk_view.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {
namespace {

using Chunk = ChunkPicture::Chunk;
using Operation = ChunkPicture::Operation;
using Segment = ChunkPicture::Segment;

Operation operation(std::uint64_t offset, std::uint64_t bytes, std::uint64_t frame) {
  Operation o;
  o.offset = offset;
  o.length = o.bytes = bytes;
  o.first_frame = o.last_frame = frame;
  return o;
}

ChunkPicture writes() {
  Segment first;
  first.handle = 0x1234;
  first.length = 16384;
  first.moved = 12288;
  first.operations = {operation(0, 4096, 11), operation(4096, 4096, 12),
                      operation(12288, 4096, 13)};
  Segment second = first;
  second.handle = 0x5678;
  second.operations = {operation(0, 4096, 21)};
  second.moved = 4096;
  Chunk chunk;
  chunk.list = ChunkPicture::List::kWrite;
  chunk.segments = {first, second};
  return {"READ", {chunk}};
}

TEST(ChunkView, AClickOnAnOperationShowsItsFrame) {
  ChunkView view;
  show(view, 800, 300);
  view.set_picture(writes());
  const QSignalSpy recorded(&view, &ChunkView::frame_selected);
  QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.rect_of(0, 0, 1).center());
  QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.rect_of(0, 1, 0).center());
  ASSERT_EQ(recorded.size(), 2);
  EXPECT_EQ(recorded[0][0].toULongLong(), 12U);
  EXPECT_EQ(recorded[1][0].toULongLong(), 21U);
}

TEST(ChunkView, KeysWalkTheOperationsOfAllSegments) {
  ChunkView view;
  show(view, 800, 300);
  view.set_picture(writes());
  const QSignalSpy recorded(&view, &ChunkView::frame_selected);
  for (int i = 0; i < 5; ++i) QTest::keyClick(&view, Qt::Key_Right);
  QTest::keyClick(&view, Qt::Key_Left);
  std::vector<quint64> frames;
  for (const auto& arguments : recorded) frames.push_back(arguments[0].toULongLong());
  EXPECT_EQ(frames, (std::vector<quint64>{11, 12, 13, 21, 21, 13}));
}

TEST(ChunkView, BytesThatNobodyMovedAreGaps) {
  using Gaps = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  const ChunkPicture picture = writes();
  EXPECT_EQ(ChunkView::gaps(picture.chunks[0].segments[0]), (Gaps{{8192, 12288}}));
  EXPECT_EQ(ChunkView::gaps(picture.chunks[0].segments[1]), (Gaps{{4096, 16384}}));
  Segment over;
  over.length = 100;
  over.operations = {operation(0, 80, 1), operation(40, 60, 2)};
  EXPECT_EQ(ChunkView::gaps(over), Gaps{});
}

TEST(ChunkView, AnOperationBeyondItsSegmentStaysWithinTheBar) {
  ChunkPicture picture = writes();
  picture.chunks[0].segments[0].operations = {operation(UINT64_MAX - 10, 4096, 1)};
  ChunkView view;
  show(view, 800, 300);
  view.set_picture(picture);
  EXPECT_TRUE(view.viewport()->rect().contains(view.rect_of(0, 0, 0)));
  const auto gaps = ChunkView::gaps(picture.chunks[0].segments[0]);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].second, 16384U);
}

TEST(ChunkView, AToolTipShowsTheOperationAndItsSegment) {
  ChunkPicture picture = writes();
  picture.chunks[0].segments[1].offset = 0x7f0012340000;
  picture.chunks[0].segments[1].operations[0].sent_again = true;
  ChunkView view;
  show(view, 800, 300);
  view.set_picture(picture);
  const QPoint at = view.rect_of(0, 1, 0).center();
  const QString text = view.text_at(at);
  EXPECT_TRUE(text.contains("RDMA Write of 4096 B")) << text.toStdString();
  EXPECT_TRUE(text.contains("retransmitted")) << text.toStdString();
  EXPECT_TRUE(text.contains("offset 0x00007f0012340000")) << text.toStdString();
  // The handle next to the bar.
  EXPECT_TRUE(view.text_at({1, at.y()}).startsWith("Handle 0x00005678"));
  EXPECT_EQ(view.text_at({1, 1}), QString());
}

TEST(ChunkView, WordsShowWhatWasMovedByWhat) {
  ChunkView view;
  show(view, 900, 300);
  view.set_picture(writes());
  const QString words = svg_of(view).texts.join('\n');
  EXPECT_TRUE(words.contains("Write chunk 0")) << words.toStdString();
  EXPECT_TRUE(words.contains("32 KiB in 2 segments")) << words.toStdString();
  EXPECT_TRUE(words.contains("16 KiB moved in 4 RDMA Writes")) << words.toStdString();
  EXPECT_TRUE(words.contains("0x00001234")) << words.toStdString();
}

}  // namespace
}  // namespace rpcrdma::gui
