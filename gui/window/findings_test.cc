// What the window says about problems, and where it leads: the list of findings, its title, the
// status bar, and what is selected after a file was opened.
#include "findings_view.h"
#include "main_window.h"
#include "message_table.h"
#include "problem_line.h"
#include "wait_for_tests.h"

#include <QDockWidget>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>

#include <gmock/gmock.h>

namespace rpcrdma::gui {
namespace {

class Findings : public ::testing::Test {
 protected:
  Findings() : settings(folder.filePath("settings"), QSettings::IniFormat), window(settings) {
    window.show();
    window.activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(&window, kBound));
  }

  [[nodiscard]] Document& document() { return window.document(); }
  // Waits until the file has been read and something is selected.
  void open(const char* name) {
    bool over = false;
    const auto done =
        QObject::connect(&document(), &Document::finished, &window, [&over] { over = true; });
    window.open({QString(RPCRDMA_TEST_CAPTURES) + "/" + name});
    ASSERT_TRUE(QTest::qWaitFor([&] { return over; }, kBound)) << window.message().toStdString();
    QObject::disconnect(done);
  }
  [[nodiscard]] ProblemLine& problem() { return *window.findChild<ProblemLine*>(); }
  [[nodiscard]] QString rule_of_selected() {
    return document().store().read([&](const index::Content& c) {
      const auto it = c.kinds_of.find(document().selected());
      return it == c.kinds_of.end() ? QString() : QString(c.kinds[it->second].rule->name);
    });
  }

  QTemporaryDir folder;
  QSettings settings;
  MainWindow window;
};

TEST_F(Findings, TheWorstOneIsSelectedAfterAFileWasOpened) {
  open("rules/FC-02.pcap");
  EXPECT_EQ(rule_of_selected(), "FC-02");
  EXPECT_TRUE(problem().isVisible());
  EXPECT_TRUE(problem().text().startsWith("1 error: ")) << problem().text().toStdString();
  EXPECT_EQ(window.dock("findings")->windowTitle(), "Findings: 1 error");
  EXPECT_FALSE(window.workspaces().tabIcon(0).isNull());
}

TEST_F(Findings, WithoutAProblemTheFirstMessageIsSelectedAndNothingIsAlarming) {
  open("linux-nfs41.pcap");
  EXPECT_EQ(document().selected(), 1u);
  EXPECT_FALSE(problem().isVisible());
  EXPECT_TRUE(window.dock("findings")->windowTitle().contains("note"));
  EXPECT_TRUE(window.workspaces().tabIcon(0).isNull());
}

TEST_F(Findings, TheUsersSelectionStays) {
  const auto choose = QObject::connect(&document(), &Document::rows_changed, &window, [this] {
    if (document().selected() == 0) document().select_message(2);
  });
  open("rules/FC-02.pcap");
  QObject::disconnect(choose);
  EXPECT_EQ(document().selected(), 2u);
}

TEST_F(Findings, TheProblemLineShowsTheWorst) {
  open("cases/hung-32-calls-90s.pcap");
  // A diagnosis says what is wrong; the rule about unanswered Calls counts its symptoms.
  EXPECT_TRUE(problem().text().contains("The responder is silent"));
  window.dock("findings")->hide();
  QTest::mouseClick(&problem(), Qt::LeftButton);
  EXPECT_FALSE(window.dock("findings")->isHidden());
  ASSERT_NE(window.findings().tree().currentItem(), nullptr);
  EXPECT_EQ(window.findings().tree().currentItem()->text(0), "STALL");
}

TEST_F(Findings, TheTextIsThatOfTheWorstFromTheStart) {
  open("cases/hung-32-calls-90s.pcap");
  FindingsView& view = window.findings();
  EXPECT_FALSE(view.shown_text().contains("No findings"));
  EXPECT_TRUE(view.shown_text().contains("STALL") || view.shown_text().contains("HDR-10"))
      << view.shown_text().toStdString();
  // Warnings come before notes, and the diagnosis before the rule.
  EXPECT_EQ(view.tree().topLevelItem(0)->text(0), "warning");
  EXPECT_EQ(view.tree().topLevelItem(0)->child(0)->text(0), "STALL");
}

TEST_F(Findings, AGroupHasASummaryOfItsOwn) {
  open("cases/hung-32-calls-90s.pcap");
  FindingsView& view = window.findings();
  view.tree().setCurrentItem(view.tree().topLevelItem(0));
  const QString text = view.shown_text();
  EXPECT_TRUE(text.contains("33 times")) << text.toStdString();
  EXPECT_TRUE(text.contains("STALL") && text.contains("HDR-10"));
  EXPECT_FALSE(text.contains("What to do"));
}

TEST_F(Findings, OnceIsNotOneTimes) {
  open("rules/FC-02.pcap");
  EXPECT_TRUE(window.findings().shown_text().contains("once"));
  EXPECT_FALSE(window.findings().shown_text().contains("1 times"));
}

TEST_F(Findings, TheKeyStartsWithTheWorstWhenNoneIsChosen) {
  open("cases/hung-32-calls-90s.pcap");
  FindingsView& view = window.findings();
  ASSERT_TRUE(view.select_worst());
  const QString worst = view.tree().currentItem()->text(0);
  view.tree().setCurrentItem(nullptr);
  QTest::keyClick(&window, Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_NE(view.tree().currentItem(), nullptr);
  EXPECT_EQ(view.tree().currentItem()->text(0), worst);
}

TEST_F(Findings, StepsAreCounted) {
  open("cases/hung-32-calls-90s.pcap");
  FindingsView& view = window.findings();
  const auto found = view.tree().findItems("HDR-10", Qt::MatchExactly | Qt::MatchRecursive);
  ASSERT_FALSE(found.isEmpty());
  view.tree().setCurrentItem(found.front());
  EXPECT_EQ(view.step_text(), "- of 32");
  view.jump(1);
  view.jump(1);
  view.jump(1);
  EXPECT_EQ(view.step_text(), "3 of 32");
  view.jump(-1);
  EXPECT_EQ(view.step_text(), "2 of 32");
}

TEST_F(Findings, TimesHaveTheFormatOfTheDocument) {
  open("rules/FC-02.pcap");
  QTreeWidget& tree = window.findings().tree();
  const auto since = [&] {
    return tree.findItems("FC-02", Qt::MatchExactly | Qt::MatchRecursive).at(0)->text(2);
  };
  EXPECT_FALSE(since().isEmpty());
  EXPECT_FALSE(since().contains(':'));
  document().set_time_format(TimeFormat::kAbsolute);
  EXPECT_EQ(since().count(':'), 2);
}

}  // namespace
}  // namespace rpcrdma::gui
