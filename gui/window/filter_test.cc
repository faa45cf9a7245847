// The filter's box, its bar, and saved filters, in a window.
#include "filter_bar.h"
#include "filter_values.h"
#include "window_for_tests.h"

#include <QLabel>
#include <QToolButton>
#include <QTreeView>
#include <set>

#include <gmock/gmock.h>

namespace rpcrdma::gui {
namespace {

using Chip = FilterBar::Chip;

class Filter : public OpenWindow {
 protected:
  // The words that the box offers, with what stands beside them.
  [[nodiscard]] QStringList offered(int column = 0) {
    QStringList all;
    const QTreeView& popup = *window.filter().popup();
    if (!popup.isVisible()) return all;
    for (int row = 0; row < popup.model()->rowCount(); ++row) {
      all << popup.model()->index(row, column).data().toString();
    }
    return all;
  }
  void type(const QString& text) {
    FilterEdit& edit = window.filter();
    edit.setFocus();
    edit.clear();
    QTest::keyClicks(&edit, text);
  }
  void choose(int row) {
    QTreeView& popup = *window.filter().popup();
    popup.setCurrentIndex(popup.model()->index(row, 0));
    QTest::keyClick(&popup, Qt::Key_Return);
  }
  [[nodiscard]] FilterBar& bar() { return window.filter_bar(); }
  // All rows have one of these texts in a column.
  [[nodiscard]] std::set<QString> column(Column of) {
    std::set<QString> all;
    for (std::uint64_t row = 0; row < rows(); ++row) all.insert(cell(row, of));
    return all;
  }
};

TEST_F(Filter, OffersTheValuesThatTheCaptureHasWithTheirCounts) {
  open("linux-nfs41.pcap");
  type("rpcrdma.kind ");
  ASSERT_TRUE(QTest::qWaitFor([&] { return offered().contains("=="); }, kBound));
  EXPECT_TRUE(offered().contains("matches"));
  type("rpcrdma.kind == ");
  ASSERT_TRUE(QTest::qWaitFor([&] { return offered(1).contains("50 messages"); }, kBound));
  EXPECT_TRUE(offered().mid(0, 2).contains("call"));
  EXPECT_EQ(offered(1).front(), "50 messages");
  type("rpc.status == ");
  ASSERT_TRUE(QTest::qWaitFor([&] { return offered().contains("\"ok\""); }, kBound));
  type("rpcrdma.connection == ");
  ASSERT_TRUE(QTest::qWaitFor([&] { return offered().contains("1"); }, kBound));
  EXPECT_TRUE(offered(2).front().contains("10.77.0.2 QP 17"));
  type("rpcrdma.src == ");
  EXPECT_TRUE(offered().contains("10.77.0.1"));
}

TEST_F(Filter, AFilterIsBuiltFromTheWordsOffered) {
  open("linux-nfs41.pcap");
  type("nfs.op == ");
  ASSERT_TRUE(QTest::qWaitFor([&] { return offered().contains("READ"); }, kBound));
  choose(static_cast<int>(offered().indexOf("READ")));
  EXPECT_EQ(window.filter().text(), "nfs.op == READ");
  EXPECT_EQ(window.filter().error(), "");
  QTest::keyClick(&window.filter(), Qt::Key_Return);
  ASSERT_TRUE(searched());
  EXPECT_GT(rows(), 0U);
}

TEST_F(Filter, AFieldHasItsTypeAndItsPurposeBesideItsName) {
  type("rpcrdma.cred");
  ASSERT_TRUE(QTest::qWaitFor([&] { return !offered().isEmpty(); }, kBound));
  const auto at = offered().indexOf("rpcrdma.credit");
  ASSERT_GE(at, 0);
  EXPECT_EQ(offered(1)[at], "uint32");
  EXPECT_FALSE(offered(2)[at].isEmpty());
}

TEST_F(Filter, AnErrorIsShownBelowTheBoxOnceNothingIsTyped) {
  open("linux-nfs41.pcap");
  FilterEdit& edit = window.filter();
  const QColor plain = edit.palette().color(QPalette::Base);
  type("rpcrdma.credit < banana");
  edit.popup()->hide();
  EXPECT_FALSE(edit.error().isEmpty());
  // Until the pause, neither text nor colour.
  EXPECT_EQ(edit.shown_error(), "");
  EXPECT_EQ(edit.palette().color(QPalette::Base), plain);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !edit.shown_error().isEmpty(); }, kBound));
  const QLabel& label = edit.error_label();
  EXPECT_EQ(label.text(), edit.error());
  EXPECT_TRUE(label.isVisible());
  const int below = edit.mapTo(&window, QPoint(0, edit.height())).y();
  EXPECT_GE(label.y(), below);
  EXPECT_LT(label.y(), below + 10);
  EXPECT_LE(label.geometry().right(), window.width());
  // Typing hides it.
  QTest::keyClick(&edit, Qt::Key_Backspace);
  EXPECT_FALSE(label.isVisible());
  type("rpcrdma.credit < 4");
  edit.popup()->hide();
  EXPECT_EQ(edit.error(), "");
  EXPECT_NE(edit.palette().color(QPalette::Base), plain);
}

TEST_F(Filter, ChipsSwitchPartsOfTheFilterAndCombine) {
  open("linux-nfs41.pcap");
  const std::uint64_t all = rows();
  EXPECT_FALSE(bar().chip(Chip::kNfs).isChecked());
  bar().chip(Chip::kFindings).trigger();
  ASSERT_TRUE(searched());
  const std::uint64_t found = rows();
  EXPECT_GT(found, 0U);
  EXPECT_LT(found, all);
  for (std::uint64_t row = 0; row < rows(); ++row) EXPECT_NE(cell(row, Column::kFinding), "");
  bar().chip(Chip::kSlow).trigger();
  ASSERT_TRUE(searched());
  EXPECT_TRUE(window.filter().text().startsWith("rpcrdma.finding && rpcrdma.latency >= "))
      << window.filter().text().toStdString();
  EXPECT_LT(rows(), found);
  EXPECT_TRUE(bar().chip(Chip::kSlow).isChecked());
  EXPECT_TRUE(bar().chip(Chip::kSlow).text().contains(" or more"));
  bar().chip(Chip::kFindings).trigger();
  ASSERT_TRUE(searched());
  EXPECT_FALSE(bar().chip(Chip::kFindings).isChecked());
  EXPECT_TRUE(document().filter().startsWith("rpcrdma.latency >= "));
  EXPECT_GT(rows(), 0U);
  bar().chip(Chip::kSlow).trigger();
  EXPECT_EQ(document().filter(), "");
  EXPECT_EQ(rows(), all);
}

TEST_F(Filter, AFilterThatIsTypedSwitchesItsChips) {
  open("linux-nfs41.pcap");
  window.use_filter("nfs.op == READ && rpcrdma.connection == 1");
  EXPECT_TRUE(bar().chip(Chip::kConnection).isChecked());
  EXPECT_TRUE(bar().chip(Chip::kConnection).text().contains("Connection 1"));
  bar().chip(Chip::kConnection).trigger();
  EXPECT_EQ(document().filter(), "nfs.op == READ");
}

TEST_F(Filter, OnlyTheCallOfTheSelectedMessage) {
  open("linux-nfs41.pcap");
  window.messages().go_to(40);
  const QString xid = cell(40, Column::kXid);
  bar().chip(Chip::kCall).trigger();
  ASSERT_TRUE(searched());
  EXPECT_EQ(rows(), 2U);
  EXPECT_THAT(column(Column::kXid), ::testing::ElementsAre(xid));
  EXPECT_TRUE(bar().chip(Chip::kConnection).isChecked());
}

TEST_F(Filter, ErrorsAreRepliesThatFailed) {
  open("linux-deleg.pcap");
  bar().chip(Chip::kErrors).trigger();
  ASSERT_TRUE(searched());
  ASSERT_GT(rows(), 0U);
  const auto statuses = column(Column::kStatus);
  EXPECT_FALSE(statuses.contains("ok"));
  EXPECT_TRUE(statuses.contains("NFS4ERR_NOENT"));
}

TEST_F(Filter, TheRangeOfTimeIsAChip) {
  open("linux-nfs41.pcap");
  EXPECT_FALSE(bar().range().isVisible());
  const auto bounds = document().time_range().bounds();
  document().time_range().set({bounds.from_ns, bounds.from_ns + bounds.length_ns() / 2});
  ASSERT_TRUE(bar().range().isVisible());
  EXPECT_TRUE(bar().range().text().contains(document().time_text(bounds.from_ns)));
  const std::uint64_t some = rows();
  bar().range().trigger();
  EXPECT_FALSE(bar().range().isVisible());
  EXPECT_GT(rows(), some);
}

TEST_F(Filter, ASavedFilterIsAButtonInTheNextWindowToo) {
  open("linux-nfs41.pcap");
  window.use_filter("nfs.op == READ");
  QTest::keyClick(&window, Qt::Key_D, Qt::ControlModifier);
  answer("Reads & co");
  ASSERT_EQ(bar().saved().size(), 1U);
  EXPECT_EQ(bar().saved()[0]->text(), "Reads && co");
  window.use_filter({});
  MainWindow next(settings);
  ASSERT_EQ(next.filter_bar().saved().size(), 1U);
  next.saved_filters().rename("Reads & co", "reads");
  next.saved_filters().save("replies", "rpcrdma.kind == reply");
  ASSERT_EQ(next.filter_bar().saved().size(), 2U);
  next.filter_bar().saved()[1]->trigger();
  EXPECT_EQ(next.filter().text(), "rpcrdma.kind == reply");
  next.saved_filters().remove("replies");
  MainWindow third(settings);
  ASSERT_EQ(third.saved_filters().all().size(), 1U);
  EXPECT_EQ(third.saved_filters().all()[0].name, "reads");
}

TEST_F(Filter, ChipsNeverOverlap) {
  open("linux-nfs41.pcap");
  for (int i = 0; i < 30; ++i) {
    window.saved_filters().save(QString("a saved filter, number %1").arg(i), "nfs.op == READ");
  }
  window.resize(1280, 800);
  QCoreApplication::processEvents();
  QList<QRect> places;
  for (const QToolButton* const button : bar().findChildren<QToolButton*>()) {
    if (!button->isVisible()) continue;
    EXPECT_TRUE(bar().rect().contains(button->geometry())) << button->text().toStdString();
    for (const QRect& other : places) EXPECT_FALSE(other.intersects(button->geometry()));
    places << button->geometry();
  }
  EXPECT_GT(places.size(), 6);
  // The rest is in a menu.
  const auto* const more = bar().findChild<QToolButton*>("qt_toolbar_ext_button");
  ASSERT_NE(more, nullptr);
  EXPECT_TRUE(more->isVisible());
}

}  // namespace
}  // namespace rpcrdma::gui
