// The list of Calls and its view, on captures.
#include "calls_view.h"

#include <QScrollBar>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include <gtest/gtest.h>

namespace rpcrdma::gui {
namespace {

constexpr int kCallsBound = 20'000;  // ms

QString capture(const char* name) {
  return QString(RPCRDMA_TEST_CAPTURES) + "/" + name;
}

class Calls : public ::testing::Test {
 protected:
  void open(const char* name) {
    view.resize(900, 400);
    view.show();
    ASSERT_TRUE(document.open({capture(name)}));
    ASSERT_TRUE(QTest::qWaitFor([&] { return finished(); }, kCallsBound));
    ASSERT_TRUE(wait_for_list());
  }
  [[nodiscard]] bool finished() {
    bool over = false;
    std::uint64_t all = 0;
    document.store().read([&](const index::Content& c) {
      over = c.progress.finished;
      all = c.rows.size();
    });
    return over && document.row_count() == all;
  }
  [[nodiscard]] bool wait_for_list() {
    return QTest::qWaitFor([&] { return view.list().is_complete(); }, kCallsBound);
  }
  [[nodiscard]] index::MessageRow row(std::uint64_t id) {
    return document.store().read([id](const index::Content& c) { return c.rows[id - 1]; });
  }
  [[nodiscard]] QString text(int at, CallColumn column) {
    return view.model().index(at, static_cast<int>(column)).data().toString();
  }
  void sort(CallColumn by, Qt::SortOrder order) {
    view.table().sortByColumn(static_cast<int>(by), order);
    ASSERT_TRUE(wait_for_list());
  }

  Document document;
  CallsView view{document};
};

TEST_F(Calls, EachCallHasOneRow) {
  open("linux-nfs41.pcap");
  std::vector<std::uint64_t> calls;
  document.store().read([&](const index::Content& c) {
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      if (c.rows[i].kind == model::Kind::kCall) calls.push_back(i + 1);
    }
  });
  ASSERT_EQ(view.list().size(), calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(view.list().at(i), calls[i]);
  EXPECT_EQ(text(0, CallColumn::kStatus), "ok");
  EXPECT_EQ(text(0, CallColumn::kCall), "NULL");
}

TEST_F(Calls, TheSlowestIsTheFirst) {
  open("linux-nfs41.pcap");
  sort(CallColumn::kLatency, Qt::DescendingOrder);
  ASSERT_GT(view.list().size(), 10U);
  for (std::size_t i = 1; i < view.list().size(); ++i) {
    EXPECT_GE(row(view.list().at(i - 1)).latency_ns, row(view.list().at(i)).latency_ns);
    EXPECT_EQ(view.list().place_of(view.list().at(i)), i);
  }
  sort(CallColumn::kLatency, Qt::AscendingOrder);
  EXPECT_LT(row(view.list().at(0)).latency_ns, row(view.list().at(10)).latency_ns);
}

TEST_F(Calls, AFilterThatMatchesRepliesLeavesTheirCalls) {
  open("linux-nfs41.pcap");
  const std::size_t all = view.list().size();
  ASSERT_TRUE(document.set_filter("rpcrdma.kind == \"reply\" && rpcrdma.moved > 0"));
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        const auto s = document.searched();
        return s.finished && s.done == s.total && view.list().is_complete();
      },
      kCallsBound));
  ASSERT_GT(view.list().size(), 0U);
  EXPECT_LT(view.list().size(), all);
  EXPECT_EQ(view.list().size(), document.row_count());
  for (std::size_t i = 0; i < view.list().size(); ++i) {
    EXPECT_GT(row(view.list().at(i)).moved, 0U);
    EXPECT_EQ(row(view.list().at(i)).kind, model::Kind::kCall);
  }
}

TEST_F(Calls, ARowSelectsItsMessageAndEnterGoesThere) {
  open("linux-nfs41.pcap");
  const QSignalSpy wanted(&view, &CallsView::messages_wanted);
  view.table().setFocus();
  QTest::keyClick(&view.table(), Qt::Key_Down);
  QTest::keyClick(&view.table(), Qt::Key_Down);
  const auto place = static_cast<std::size_t>(view.table().currentIndex().row());
  EXPECT_EQ(document.selected(), view.list().at(place));
  QTest::keyClick(&view.table(), Qt::Key_Return);
  EXPECT_EQ(wanted.size(), 1);
  // A Reply that is selected elsewhere is in the row of its Call.
  const std::uint64_t call = view.list().at(7);
  document.select_message(row(call).match);
  EXPECT_EQ(view.table().currentIndex().row(), 7);
}

TEST_F(Calls, UnansweredCallsSaySo) {
  open("cases/hung-32-calls-90s.pcap");
  std::size_t unanswered = 0;
  for (int i = 0; i < view.model().rowCount(); ++i) {
    if (view.model().call(i).fate == CallFate::kUnanswered) {
      ++unanswered;
      EXPECT_EQ(text(i, CallColumn::kStatus), "no Reply");
      EXPECT_EQ(text(i, CallColumn::kLatency), "");
    }
  }
  EXPECT_GT(unanswered, 0U);
}

}  // namespace
}  // namespace rpcrdma::gui
