// The page of both ends in the window.
#include "ends_for_tests.h"
#include "ends_page.h"
#include "joined_for_tests.h"
#include "main_window.h"
#include "message_table.h"
#include "window_for_tests.h"

#include <QTabWidget>

#include <gtest/gtest.h>

namespace rpcrdma::gui {
namespace {

class BothEndsInTheWindow : public OpenWindow {
 protected:
  void open_both() {
    window.ends().reading().set_reader([](const std::vector<std::string>&, EndsReading::Watch&) {
      return base::Expected<ends::Ends>(
          made::made_ends(joined::kJoinedCalls, joined::kJoinedFirstXid));
    });
    const std::string to = folder.path().toStdString();
    window.open({QString::fromStdString(joined::joined_recording(to, true)),
                 QString::fromStdString(joined::joined_recording(to, false))});
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          return document().store().read(
              [](const index::Content& c) { return c.progress.finished && !c.rows.empty(); });
        },
        kBound));
    ASSERT_TRUE(searched());
  }
  [[nodiscard]] bool has_tab() {
    return window.workspaces().isTabVisible(window.workspaces().indexOf(&window.ends()));
  }
};

TEST_F(BothEndsInTheWindow, TheTabIsThereForSeveralFiles) {
  EXPECT_FALSE(has_tab());
  open("linux-nfs41.pcap");
  EXPECT_FALSE(has_tab());
  window.show_view("both-ends");
  EXPECT_NE(window.workspaces().currentWidget(), &window.ends());
  EXPECT_FALSE(window.message().isEmpty());
  open_both();
  EXPECT_TRUE(has_tab());
  // It reads once it is in sight.
  EXPECT_EQ(window.ends().shown(), nullptr);
  window.show_view("both-ends");
  EXPECT_EQ(window.workspaces().currentWidget(), &window.ends());
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return window.ends().shown() != nullptr && window.ends().is_settled(); }, kBound));
  window.close_document();
  EXPECT_FALSE(has_tab());
  EXPECT_EQ(window.ends().shown(), nullptr);
}

TEST_F(BothEndsInTheWindow, ARowLeadsToItsMessage) {
  open_both();
  window.show_view("both-ends");
  EndsPage& page = window.ends();
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return page.shown() != nullptr && page.is_settled(); }, kBound));
  QTest::keyClick(&page.waterfall(), Qt::Key_Home);
  QTest::keyClick(&page.waterfall(), Qt::Key_End);
  const std::uint64_t selected = document().selected();
  ASSERT_NE(selected, 0U);
  QTest::keyClick(&page.waterfall(), Qt::Key_Return);
  EXPECT_NE(window.workspaces().currentWidget(), &page);
  EXPECT_EQ(document().selected(), selected);
}

}  // namespace
}  // namespace rpcrdma::gui
