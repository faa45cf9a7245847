// The page in front of a document: it reads, cancels, sorts, and shares the selection.
#include "ends_page.h"

#include "ends_for_tests.h"
#include "joined_for_tests.h"
#include "wait_for_tests.h"

#include <QComboBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <thread>

#include <gmock/gmock.h>

namespace rpcrdma::gui {
namespace {

using made::made_ends;

class ThePageOfBothEnds : public ::testing::Test {
 protected:
  ThePageOfBothEnds() : page(document) {
    page.resize(1000, 700);
    show_made(made_ends(joined::kJoinedCalls, joined::kJoinedFirstXid));
    page.show();
  }
  void show_made(ends::Ends all) {
    page.reading().set_reader(
        [all = std::move(all)](const std::vector<std::string>&, EndsReading::Watch&) {
          return base::Expected<ends::Ends>(all);
        });
  }
  bool open() {
    const std::string to = folder.path().toStdString();
    return document.open({QString::fromStdString(joined::joined_recording(to, true)),
                          QString::fromStdString(joined::joined_recording(to, false))});
  }
  bool settled() {
    return QTest::qWaitFor([&] { return page.shown() != nullptr && page.is_settled(); }, kBound);
  }

  QTemporaryDir folder;
  Document document;
  EndsPage page;
};

TEST_F(ThePageOfBothEnds, ShowsVerdictClocksStagesAndCalls) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(settled());
  EXPECT_THAT(page.verdict().toStdString(), ::testing::StartsWith("The server:"));
  EXPECT_THAT(page.facts().toStdString(),
              ::testing::HasSubstr("client.dat: its clock is the reference, 8 of 8 Calls joined"));
  EXPECT_THAT(
      page.facts().toStdString(),
      ::testing::HasSubstr(
          "server.dat: clock -1.000 s, drift 12.0 ppm, wrong by at most 1.5 us, 8 of 8 Calls"));
  EXPECT_EQ(page.problem(), QString());
  const QAbstractItemModel& model = *page.table().model();
  ASSERT_EQ(model.rowCount(), 2);
  const auto cell = [&](int row, int column) {
    return model.index(row, column).data().toString().toStdString();
  };
  // Most time first.
  EXPECT_EQ(cell(0, EndsTable::kProcedure), "NFS v3 WRITE");
  EXPECT_EQ(cell(0, EndsTable::kSide), "server 20 %");
  EXPECT_EQ(cell(1, EndsTable::kSide), "network 33 %");
  EXPECT_EQ(cell(0, EndsTable::kFirstStage + static_cast<int>(ends::Stage::kExecute)), "50 us");
  EXPECT_EQ(page.waterfall().rows().size(), joined::kJoinedCalls);
}

TEST_F(ThePageOfBothEnds, SharesTheSelectionWithTheDocument) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(settled());
  page.order().setCurrentIndex(page.order().findData(static_cast<int>(EndsOrder::kOldestFirst)));
  ASSERT_TRUE(settled());
  EndsWaterfall& calls = page.waterfall();
  QTest::keyClick(&calls, Qt::Key_Home);
  QTest::keyClick(&calls, Qt::Key_Down);
  ASSERT_EQ(calls.current(), 1U);
  const std::uint64_t selected = document.selected();
  ASSERT_NE(selected, 0U);
  const auto xid_of = [&](std::uint64_t id) {
    return document.store().read([id](const index::Content& c) { return c.rows[id - 1].xid; });
  };
  EXPECT_EQ(xid_of(selected), joined::kJoinedFirstXid + 1);
  // A Reply leads to the row of its Call.
  const std::uint64_t all =
      document.store().read([](const index::Content& c) { return c.rows.size(); });
  for (std::uint64_t id = 1; id <= all; ++id) {
    document.select_message(id);
    ASSERT_EQ(calls.current(), xid_of(id) - joined::kJoinedFirstXid) << id;
  }
  const QSignalSpy wanted(&page, &EndsPage::messages_wanted);
  QTest::keyClick(&calls, Qt::Key_Return);
  EXPECT_EQ(wanted.count(), 1);
}

TEST_F(ThePageOfBothEnds, FiltersBySideAndProcedure) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(settled());
  page.side().setCurrentIndex(page.side().findData(static_cast<int>(ends::Side::kServer)));
  ASSERT_TRUE(settled());
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.waterfall().rows().size() == 1; }, kBound));
  EXPECT_EQ(page.waterfall().rows().front(), 3U);
  page.side().setCurrentIndex(0);
  page.procedure().setCurrentIndex(page.procedure().findData(QByteArray("NFS v3 READ")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.waterfall().rows().size() == 3; }, kBound));
}

TEST_F(ThePageOfBothEnds, ReadingIsShownAndCanBeStopped) {
  std::atomic<bool> began{false};
  std::atomic<bool> ended{false};
  page.reading().set_reader([&](const std::vector<std::string>&, EndsReading::Watch& watch) {
    watch.bytes_read = 1;
    began = true;
    while (!watch.cancelled) std::this_thread::yield();
    ended = true;
    return base::Expected<ends::Ends>(base::fail("cancelled"));
  });
  ASSERT_TRUE(open());
  // The interface runs meanwhile.
  ASSERT_TRUE(QTest::qWaitFor([&] { return began && page.cancel().isVisible(); }, kBound));
  page.cancel().click();
  EXPECT_FALSE(page.cancel().isVisible());
  EXPECT_THAT(page.problem().toStdString(), ::testing::HasSubstr("stopped"));
  EXPECT_TRUE(QTest::qWaitFor([&] { return ended.load(); }, kBound));
  EXPECT_EQ(page.shown(), nullptr);
  show_made(made_ends(joined::kJoinedCalls, joined::kJoinedFirstXid));
  page.again().click();
  EXPECT_TRUE(settled());
  EXPECT_EQ(page.problem(), QString());
}

TEST_F(ThePageOfBothEnds, SaysWhyItShowsNothing) {
  EXPECT_THAT(page.problem().toStdString(), ::testing::HasSubstr("both ends"));
  EXPECT_FALSE(page.is_offered());
  ends::Ends none;
  none.notes = {"client.dat and other.dat share no connection"};
  show_made(none);
  ASSERT_TRUE(open());
  EXPECT_TRUE(page.is_offered());
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.shown() != nullptr; }, kBound));
  EXPECT_THAT(page.problem().toStdString(), ::testing::HasSubstr("same connection"));
  EXPECT_THAT(page.facts().toStdString(), ::testing::HasSubstr("share no connection"));
  EXPECT_TRUE(page.waterfall().rows().empty());
  page.reading().set_reader([](const std::vector<std::string>&, EndsReading::Watch&) {
    return base::Expected<ends::Ends>(base::fail("client.dat: not a capture"));
  });
  document.close();
  ASSERT_TRUE(open());
  EXPECT_TRUE(QTest::qWaitFor([&] { return page.problem().contains("not a capture"); }, kBound));
}

// Text of files is no HTML, and stays in its line.
TEST_F(ThePageOfBothEnds, ShowsForeignTextAsItIs) {
  ends::Ends all = made_ends(3);
  all.verdict = "<b>x</b>\nsecond";
  all.sources[0].file = "<img src=x>\u202e.dat";
  show_made(all);
  ASSERT_TRUE(open());
  ASSERT_TRUE(settled());
  EXPECT_EQ(page.verdict().count('\n'), 0);
  EXPECT_TRUE(page.verdict().startsWith("<b>x</b>"));
  EXPECT_FALSE(page.facts().contains(QChar(0x202e)));
}

}  // namespace
}  // namespace rpcrdma::gui
