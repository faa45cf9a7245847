// One range of time in all views: the brush of the strip and the zoom of the charts change it, and
// every view follows. All views write times alike.
#include "events_model.h"
#include "events_view.h"
#include "main_window.h"
#include "message_table.h"
#include "panels.h"
#include "support/trace_builder.h"
#include "time_strip.h"
#include "wait_for_tests.h"

#include <QCheckBox>
#include <QDockWidget>
#include <QFile>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>

#include <gtest/gtest.h>

#include <rpcrdma/views/latency_parts.h>

namespace rpcrdma::gui {
namespace {

class TimeRangeViews : public ::testing::Test {
 protected:
  TimeRangeViews() : settings(folder.filePath("settings"), QSettings::IniFormat), window(settings) {
    window.resize(1280, 800);
    window.show();
    window.activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(&window, kBound));
  }

  void open(const QString& path) {
    window.open({path});
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          return document().store().read(
              [](const index::Content& c) { return c.progress.finished; });
        },
        kBound));
    // What has been read is shown.
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          return document().store().read([&](const index::Content& c) {
            return c.last_ns == range().bounds().to_ns && c.rows.size() == document().row_count();
          });
        },
        kBound));
  }
  void open_nfs() { open(QString(RPCRDMA_TEST_CAPTURES) + "/linux-nfs3.pcap"); }

  [[nodiscard]] Document& document() { return window.document(); }
  [[nodiscard]] TimeRange& range() { return document().time_range(); }
  [[nodiscard]] TimeStrip& strip() { return window.strip(); }
  [[nodiscard]] std::int64_t time_of(std::uint64_t row) {
    const std::uint64_t id = document().message_at(row);
    return document().store().read(
        [id](const index::Content& c) { return c.rows[id - 1].time_ns; });
  }
  void drag(QWidget& widget, QPoint from, QPoint to) {
    QTest::mousePress(&widget, Qt::LeftButton, {}, from);
    QTest::mouseMove(&widget, (from + to) / 2);
    QTest::mouseMove(&widget, to);
    QTest::mouseRelease(&widget, Qt::LeftButton, {}, to);
  }
  // Brushes from one share of the strip's width to another.
  void brush(double from, double to) {
    const TimeScale s = strip().scale();
    const int y = strip().height() / 2;
    drag(strip(), {s.left + static_cast<int>(s.width * from), y},
         {s.left + static_cast<int>(s.width * to), y});
  }

  QTemporaryDir folder;
  QSettings settings;
  MainWindow window;
};

TEST_F(TimeRangeViews, ABrushChangesAllViews) {
  open_nfs();
  window.show_view("credits");
  window.show_view("latency");
  CreditChart& credits = *window.findChild<CreditChart*>();
  LatencyView& latency = *window.findChild<LatencyView*>();
  const auto calls_of = [&latency] {
    quint64 calls = 0;
    for (int row = 0; row < latency.table().rowCount(); ++row) {
      calls += latency.table().item(row, 1)->text().toULongLong();
    }
    return calls;
  };
  const std::uint64_t all_rows = document().row_count();
  const quint64 all_calls =
      document().store().read([](const index::Content& c) { return c.calls_over; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return calls_of() == all_calls; }, kBound));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !credits.drawn(0).empty(); }, kBound));
  ASSERT_FALSE(range().range());
  brush(0.5, 1);
  ASSERT_TRUE(range().range());
  const TimeRange::Span chosen = *range().range();
  EXPECT_GT(chosen.from_ns, range().bounds().from_ns);
  // The table.
  EXPECT_LT(document().row_count(), all_rows);
  ASSERT_GT(document().row_count(), 0U);
  EXPECT_TRUE(chosen.has(time_of(0)));
  EXPECT_TRUE(chosen.has(time_of(document().row_count() - 1)));
  // The credit chart.
  EXPECT_EQ(credits.window(), std::pair(chosen.from_ns, chosen.to_ns));
  // The latency, counted again.
  quint64 calls = 0;
  document().store().read([&](const index::Content& c) {
    for (std::uint64_t id = 1; id <= c.rows.size(); ++id) {
      const index::MessageRow& row = c.rows[id - 1];
      calls += row.kind == model::Kind::kCall && chosen.has(row.time_ns) ? 1 : 0;
    }
  });
  ASSERT_LT(calls, all_calls);
  EXPECT_TRUE(QTest::qWaitFor([&] { return calls_of() == calls; }, kBound)) << calls_of();
  EXPECT_TRUE(latency.parts().lines().front().contains("whole time"));
  // The strip says how long it is.
  EXPECT_TRUE(strip().range_text().contains(" of ")) << strip().range_text().toStdString();
  EXPECT_TRUE(strip().accessibleDescription().contains(strip().range_text()));
  // Back, and forth.
  QTest::keyClick(&window, Qt::Key_Left, Qt::AltModifier);
  EXPECT_FALSE(range().range());
  EXPECT_EQ(document().row_count(), all_rows);
  EXPECT_TRUE(QTest::qWaitFor([&] { return calls_of() == all_calls; }, kBound));
  QTest::keyClick(&window, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(range().range(), chosen);
}

TEST_F(TimeRangeViews, TheBrushIsMovedAndItsEdgesAreDragged) {
  open_nfs();
  brush(0.2, 0.4);
  ASSERT_TRUE(range().range());
  const std::int64_t wide = range().range()->length_ns();
  // Its middle.
  brush(0.3, 0.6);
  ASSERT_TRUE(range().range());
  EXPECT_EQ(range().range()->length_ns(), wide);
  const TimeRange::Span moved = *range().range();
  // Its end.
  const TimeScale s = strip().scale();
  const int y = strip().height() / 2;
  drag(strip(), {s.x_of(moved.to_ns), y}, {s.left + s.width * 9 / 10, y});
  EXPECT_EQ(range().range()->from_ns, moved.from_ns);
  EXPECT_GT(range().range()->to_ns, moved.to_ns);
  // Beside it, a new one begins.
  brush(0.1, 0.05);
  EXPECT_LT(range().range()->to_ns, moved.from_ns);
  QTest::mouseDClick(&strip(), Qt::LeftButton, {}, {s.left + s.width / 2, y});
  EXPECT_FALSE(range().range());
}

TEST_F(TimeRangeViews, KeysMoveTheBrush) {
  open_nfs();
  strip().setFocus();
  ASSERT_TRUE(strip().hasFocus());
  QTest::keyClick(&strip(), Qt::Key_Plus);
  ASSERT_TRUE(range().range());
  const TimeRange::Span half = *range().range();
  EXPECT_NEAR(static_cast<double>(half.length_ns()),
              static_cast<double>(range().bounds().length_ns()) / 2, 1e4);
  QTest::keyClick(&strip(), Qt::Key_Right);
  EXPECT_GT(range().range()->from_ns, half.from_ns);
  EXPECT_EQ(range().range()->length_ns(), half.length_ns());
  QTest::keyClick(&strip(), Qt::Key_Left);
  QTest::keyClick(&strip(), Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_LT(range().range()->to_ns, half.to_ns);
  EXPECT_EQ(range().range()->from_ns, half.from_ns);
  QTest::keyClick(&strip(), Qt::Key_Left, Qt::ControlModifier);
  EXPECT_LT(range().range()->from_ns, half.from_ns);
  QTest::keyClick(&strip(), Qt::Key_Escape);
  EXPECT_FALSE(range().range());
}

TEST_F(TimeRangeViews, TheCreditChartChangesTheRangeOfAll) {
  open_nfs();
  window.show_view("credits");
  CreditChart& credits = *window.findChild<CreditChart*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !credits.drawn(0).empty(); }, kBound));
  credits.setFocus();
  QTest::keyClick(&credits, Qt::Key_Plus);
  ASSERT_TRUE(range().range());
  EXPECT_EQ(credits.window(), std::pair(range().range()->from_ns, range().range()->to_ns));
  QTest::keyClick(&credits, Qt::Key_Backspace);
  EXPECT_FALSE(range().range());
  EXPECT_EQ(credits.window().first, range().bounds().from_ns);
}

TEST_F(TimeRangeViews, TheStripShowsActivityFindingsAndCredits) {
  open(QString(RPCRDMA_TEST_CAPTURES) + "/linux-nfs41.pcap");
  ASSERT_TRUE(QTest::qWaitFor([&] { return strip().data().most_in_flight != 0; }, kBound));
  const StripData& data = strip().data();
  std::uint64_t calls = 0;
  for (const StripData::Bin& bin : data.bins) calls += bin.calls;
  EXPECT_EQ(calls, 50U);
  EXPECT_EQ(data.most_in_flight, 3U);
  EXPECT_EQ(data.most_allowed, 64U);
  ASSERT_FALSE(data.marks.empty());
  // A click at a finding selects its message.
  const StripData::Mark mark = data.marks.back();
  ASSERT_NE(mark.message, 0U);
  QTest::mouseClick(&strip(), Qt::LeftButton, {}, {strip().scale().x_of(mark.ns), 6});
  EXPECT_NE(document().selected(), 0U);
  const QString values = strip().values_at(mark.ns);
  EXPECT_TRUE(values.startsWith("at " + document().time_text(mark.ns)));
  EXPECT_TRUE(values.contains("findings: ")) << values.toStdString();
}

TEST_F(TimeRangeViews, AllViewsWriteTimesAlike) {
  open_nfs();
  window.show_view("credits");
  CreditChart& credits = *window.findChild<CreditChart*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !credits.drawn(0).empty(); }, kBound));
  for (const TimeTick& tick : credits.time_labels()) {
    // Zeros at the end are left out, and the unit follows.
    EXPECT_EQ(tick.text.left(tick.text.indexOf(' ')).toDouble(),
              document().time_text(tick.ns).toDouble());
  }
  document().set_time_format(TimeFormat::kAbsolute);
  ASSERT_FALSE(credits.time_labels().empty());
  for (const TimeTick& tick : credits.time_labels()) {
    EXPECT_TRUE(document().time_text(tick.ns).startsWith(tick.text)) << tick.text.toStdString();
  }
  EXPECT_TRUE(strip().values_at(time_of(0)).contains(document().time_text(time_of(0))));
}

TEST_F(TimeRangeViews, EventsAreFilteredAndRegistrationsCounted) {
  trace_reader::testing::TraceBuilder trace;
  trace.begin();
  trace_reader::testing::emit_plain_connection(trace, 7);
  for (int i = 0; i < 5; ++i) trace.emit(0, trace::Registration{});
  trace.emit(7, trace::Error{}, trace_reader::testing::bytes_of("out of memory"));
  const auto bytes = trace.end().pcapng();
  const QString path = folder.filePath("recording.pcapng");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<qint64>(bytes.size()));
  file.close();
  EventsView& view = *window.findChild<EventsView*>();
  EXPECT_TRUE(view.sentence().startsWith("No events"));
  open(path);
  ASSERT_TRUE(QTest::qWaitFor([&] { return view.model().total() >= 8; }, kBound))
      << view.model().total();
  EXPECT_EQ(view.model().registrations(), 5U);
  EXPECT_EQ(view.sentence(), QString());
  const auto kinds = [&view] {
    QStringList all;
    for (int row = 0; row < view.model().rowCount(); ++row) {
      all << view.model().index(row, EventsModel::kKindColumn).data().toString();
    }
    return all;
  };
  EXPECT_FALSE(kinds().contains("registration"));
  EXPECT_TRUE(kinds().contains("error"));
  window.show_view("events");
  QTest::keyClicks(&view.filter(), "MEMORY");
  EXPECT_EQ(kinds(), QStringList({"error"}));
  view.filter().clear();
  auto& box = *view.findChild<QCheckBox*>();
  EXPECT_TRUE(box.text().contains("5"));
  box.setChecked(true);
  EXPECT_EQ(kinds().count("registration"), 5);
  QTest::keyClicks(&view.filter(), "nothing like that");
  EXPECT_TRUE(view.sentence().startsWith("None of "));
}

}  // namespace
}  // namespace rpcrdma::gui
