#include "time_range.h"

#include <QSignalSpy>

#include <gtest/gtest.h>

namespace rpcrdma::gui {
namespace {

using Span = TimeRange::Span;

TEST(TimeRange, ShowsAllUntilTheUserChooses) {
  TimeRange time;
  const QSignalSpy changed(&time, &TimeRange::changed), grew(&time, &TimeRange::bounds_changed);
  time.set_bounds({100, 200});
  EXPECT_EQ(time.range(), std::nullopt);
  EXPECT_EQ(time.shown(), (Span{100, 200}));
  time.set_bounds({100, 300});
  EXPECT_EQ(time.shown(), (Span{100, 300}));
  EXPECT_EQ(changed.count(), 0);
  EXPECT_EQ(grew.count(), 2);
}

TEST(TimeRange, KeepsTheRangeWhileTheDocumentGrows) {
  TimeRange time;
  time.set_bounds({100, 200});
  time.set({180, 150});
  EXPECT_EQ(time.shown(), (Span{150, 180}));
  time.set_bounds({100, 300});
  EXPECT_EQ(time.shown(), (Span{150, 180}));
}

TEST(TimeRange, StaysInsideTheDocument) {
  TimeRange time;
  time.set_bounds({100, 200});
  time.set({50, 120});
  EXPECT_EQ(time.shown(), (Span{100, 120}));
  time.set({50, 500});
  EXPECT_EQ(time.range(), std::nullopt);
}

TEST(TimeRange, UndoesAndRedoes) {
  TimeRange time;
  time.set_bounds({0, 1000});
  time.set({100, 200});
  time.set({120, 130});
  time.show_all();
  time.undo();
  EXPECT_EQ(time.shown(), (Span{120, 130}));
  time.undo();
  time.undo();
  EXPECT_EQ(time.range(), std::nullopt);
  EXPECT_FALSE(time.can_undo());
  time.redo();
  EXPECT_EQ(time.shown(), (Span{100, 200}));
  time.set({1, 2});
  EXPECT_FALSE(time.can_redo());
}

TEST(TimeRange, AnotherDocumentForgetsIt) {
  TimeRange time;
  time.set_bounds({0, 1000});
  time.set({100, 200});
  const QSignalSpy changed(&time, &TimeRange::changed);
  time.clear();
  EXPECT_EQ(changed.count(), 1);
  EXPECT_EQ(time.range(), std::nullopt);
  EXPECT_FALSE(time.can_undo());
}

}  // namespace
}  // namespace rpcrdma::gui
