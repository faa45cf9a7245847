// The page over a document: what it shows, and where its parts lead.
#include "overview_page.h"

#include "cards.h"
#include "overview_for_tests.h"

#include <QHeaderView>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include <gmock/gmock.h>

namespace rpcrdma::gui {
namespace {

constexpr int kBound = 30'000;

class Page : public ::testing::Test {
 protected:
  Page() {
    page.resize(900, 700);
    page.show();
  }
  void open(const char* name) {
    ASSERT_TRUE(document.open({QString::fromStdString(testing::capture(name))}));
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return document.report() != nullptr && !page.model().sentence.isEmpty() && over(); },
        kBound));
  }
  [[nodiscard]] bool over() {
    return document.store().read([](const index::Content& c) { return c.progress.finished; });
  }
  [[nodiscard]] FindingWidget* card(const QString& rule) {
    for (FindingWidget* const one : page.cards()) {
      if (one->card().rule == rule) return one;
    }
    return nullptr;
  }

  Document document;
  OverviewPage page{document};
};

TEST_F(Page, ACardLeadsToItsEvidenceAndToItsMessagesOnly) {
  open("rules/FC-02.pcap");
  QSignalSpy views(&page, &OverviewPage::view_wanted);
  QSignalSpy filters(&page, &OverviewPage::filter_wanted);
  FindingWidget* const one = card("FC-02");
  ASSERT_NE(one, nullptr);
  QTest::mouseClick(&one->evidence(), Qt::LeftButton);
  EXPECT_NE(document.selected(), 0u);
  const bool on_it = document.store().read([&](const index::Content& c) {
    const auto [from, to] = c.kinds_of.equal_range(document.selected());
    return std::any_of(from, to, [&](const auto& k) {
      return std::string("FC-02") == c.kinds[k.second].rule->name;
    });
  });
  EXPECT_TRUE(on_it);
  ASSERT_EQ(views.size(), 1);
  EXPECT_EQ(views[0][0].toString(), "messages");
  QTest::mouseClick(&one->only(), Qt::LeftButton);
  ASSERT_EQ(filters.size(), 1);
  EXPECT_EQ(filters[0][0].toString(), "rpcrdma.finding == \"FC-02\"");
  EXPECT_TRUE(document.set_filter(filters[0][0].toString()));
}

TEST_F(Page, AdviceStaysOpenWhenThePageIsDrawnAgain) {
  open("rules/FC-02.pcap");
  FindingWidget* const one = card("FC-02");
  ASSERT_NE(one, nullptr);
  EXPECT_FALSE(one->is_expanded());
  QTest::mouseClick(&one->advice_button(), Qt::LeftButton);
  document.set_time_format(TimeFormat::kAbsolute);
  EXPECT_TRUE(card("FC-02")->is_expanded());
  open("rules/FC-01.pcap");
  for (const FindingWidget* const other : page.cards()) EXPECT_FALSE(other->is_expanded());
}

TEST_F(Page, TimesHaveTheFormatOfTheDocument) {
  open("linux-nfs41.pcap");
  ASSERT_GT(page.slowest().rowCount(), 0);
  EXPECT_TRUE(page.slowest().item(0, 2)->text().endsWith(" s"));
  document.set_time_format(TimeFormat::kAbsolute);
  EXPECT_EQ(page.slowest().item(0, 2)->text().count(':'), 2);
}

TEST_F(Page, AClickOnASlowCallSelectsIt) {
  open("linux-nfs41.pcap");
  ASSERT_GT(page.slowest().rowCount(), 0);
  Q_EMIT page.slowest().row_chosen(0);
  const std::uint64_t frame = document.store().read([&](const index::Content& c) {
    return document.selected() == 0 ? 0 : c.rows[document.selected() - 1].frame;
  });
  EXPECT_EQ(frame, page.model().slowest.at(0).frame);
}

TEST_F(Page, AConnectionIsSelectedAndFiltered) {
  open("linux-nfs41.pcap");
  ASSERT_EQ(page.connections().rowCount(), 1);
  QSignalSpy filters(&page, &OverviewPage::filter_wanted);
  Q_EMIT page.connections().row_chosen(0);
  EXPECT_EQ(document.connection(), 0u);
  Q_EMIT page.connections().row_activated(0);
  ASSERT_EQ(filters.size(), 1);
  EXPECT_EQ(filters[0][0].toString(), "rpcrdma.connection == 1");
}

TEST_F(Page, AHiddenPageIsNotComputed) {
  page.hide();
  QSignalSpy updates(&page, &OverviewPage::updated);
  ASSERT_TRUE(document.open({QString::fromStdString(testing::capture("linux-nfs41.pcap"))}));
  ASSERT_TRUE(QTest::qWaitFor([&] { return document.report() != nullptr && over(); }, kBound));
  QCoreApplication::processEvents();
  EXPECT_EQ(updates.size(), 0);
  page.show();
  EXPECT_TRUE(QTest::qWaitFor([&] { return updates.size() > 0; }, kBound));
}

// Nothing is cut off at the side, however narrow the page is.
TEST_F(Page, FitsItsWidth) {
  open("rules/RETX-STORM.pcap");
  for (const int width : {560, 900, 1400}) {
    page.resize(width, 500);
    QCoreApplication::processEvents();
    EXPECT_LE(page.scroll().widget()->width(), page.scroll().viewport()->width()) << width;
  }
}

}  // namespace
}  // namespace rpcrdma::gui
