// First contact: from the start page to every source, with mouse and keys, and the help.
#include "start_page.h"

#include "detail_view.h"
#include "export.h"
#include "filter_edit.h"
#include "help_window.h"
#include "main_window.h"
#include "recent_files.h"
#include "row_button.h"
#include "samples.h"
#include "state_badge.h"
#include "wait_for_tests.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QStyleHints>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <gmock/gmock.h>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/live/hub.h>
#include <rpcrdma/playground/playground.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/sources/playground_panel.h>
#include <rpcrdma/sources/presets.h>

namespace rpcrdma::gui {
namespace {

class StartPageTest : public ::testing::Test {
 protected:
  StartPageTest() : settings_(folder_.filePath("settings"), QSettings::IniFormat) {
    qputenv("XDG_RUNTIME_DIR", folder_.path().toUtf8());
    make();
  }
  ~StartPageTest() override {
    window_.reset();
    qunsetenv("XDG_RUNTIME_DIR");
  }

  // Another start of the program.
  void make() {
    window_.reset();
    window_ = std::make_unique<MainWindow>(settings_);
    window_->resize(1280, 800);
    window_->show();
    window_->activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(window_.get(), kBound));
  }

  template <typename Condition>
  static bool until(Condition condition) {
    return QTest::qWaitFor(condition, kBound);
  }
  // Copies a capture, since the tests remove it again.
  QString copy_of(const char* name) {
    const QString to = folder_.filePath(QFileInfo(name).fileName());
    EXPECT_TRUE(QFile::copy(QString(RPCRDMA_TEST_CAPTURES) + "/" + name, to));
    return to;
  }
  [[nodiscard]] Document& document() { return window_->document(); }
  [[nodiscard]] StartPage& page() { return window_->start(); }
  [[nodiscard]] std::vector<RowButton*> rows(const char* list) {
    return page().findChild<RowList*>(list)->rows();
  }
  [[nodiscard]] RowButton* row(const char* list, const QString& beginning) {
    for (RowButton* const r : rows(list)) {
      if (r->shown().title.startsWith(beginning)) return r;
    }
    return nullptr;
  }
  [[nodiscard]] bool read_to_end() {
    return until([&] {
      return !document().is_empty() &&
             document().store().read([](const index::Content& c) { return c.progress.finished; });
    });
  }
  [[nodiscard]] std::string title() const { return window_->windowTitle().toStdString(); }
  [[nodiscard]] QAction* action(const QString& keys) {
    for (QAction* const a : window_->findChildren<QAction*>()) {
      if (a->shortcut() == QKeySequence(keys)) return a;
    }
    return nullptr;
  }
  // Saves pictures, light and dark, to the folder that RPCRDMA_TEST_PICTURES names.
  void picture(QWidget& widget, const QString& name) {
    const QString to = qEnvironmentVariable("RPCRDMA_TEST_PICTURES");
    if (to.isEmpty()) return;
    const QPalette light = QApplication::palette();
    QPalette dark(QColor(45, 45, 48), QColor(35, 35, 38));
    dark.setColor(QPalette::Base, QColor(28, 28, 30));
    dark.setColor(QPalette::Highlight, QColor(60, 110, 180));
    for (const QSize size : {QSize(1280, 800), QSize(1920, 1080)}) {
      if (&widget == window_.get()) widget.resize(size);
      for (const bool is_dark : {false, true}) {
        QApplication::setPalette(is_dark ? dark : light);
        QTest::qWait(50);
        widget.grab().save(QString("%1/%2-%3%4.png")
                               .arg(to, name)
                               .arg(widget.width())
                               .arg(is_dark ? "-dark" : ""));
      }
    }
    QApplication::setPalette(light);
    if (&widget == window_.get()) widget.resize(1280, 800);
  }

  QTemporaryDir folder_;
  QSettings settings_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(StartPageTest, FilesOfBeforeAreListedWithWhatWasFoundInThem) {
  const QString healthy = copy_of("linux-nfs41.pcap");
  const QString hung = copy_of("times/stopped-server.pcap");
  for (const QString& path : {healthy, hung}) {
    window_->open({path});
    ASSERT_TRUE(read_to_end());
    ASSERT_TRUE(until([&] { return RecentFiles(settings_).facts(path).has_value(); }));
  }
  make();
  EXPECT_TRUE(page().isVisible());
  ASSERT_EQ(rows("recent").size(), 2U);
  RowButton* first = rows("recent")[0];
  EXPECT_EQ(first->shown().title, "stopped-server.pcap");
  EXPECT_EQ(first->shown().value, "warnings");
  EXPECT_EQ(first->shown().sign, FileSign::kWarning);
  EXPECT_TRUE(until([&] { return rows("recent")[0]->shown().detail.contains("KiB"); }));
  EXPECT_THAT(first->accessibleName().toStdString(), ::testing::HasSubstr("warnings"));
  EXPECT_NE(rows("recent")[1]->shown().sign, FileSign::kWarning);
  picture(*window_, "start-recent");
  // By key.
  first->setFocus();
  QTest::keyClick(first, Qt::Key_Return);
  ASSERT_TRUE(read_to_end());
  EXPECT_EQ(title(), "stopped-server.pcap - rpcrdma-gui");
}

TEST_F(StartPageTest, AFileThatIsMissingIsSaidAndRemoved) {
  const QString path = copy_of("linux-nfs41.pcap");
  RecentFiles(settings_).add({path, folder_.filePath("other.pcap")});
  QFile::remove(path);
  make();
  ASSERT_EQ(rows("recent").size(), 2U);
  ASSERT_TRUE(until([&] { return rows("recent")[1]->shown().value == "missing"; }));
  EXPECT_TRUE(rows("recent")[1]->shown().faint);
  rows("recent")[1]->setFocus();
  QTest::keyClick(rows("recent")[1], Qt::Key_Delete);
  EXPECT_EQ(rows("recent").size(), 1U);
  EXPECT_FALSE(RecentFiles(settings_).paths().contains(path));
}

TEST_F(StartPageTest, AFileIsNotHealthyBeforeItWasRead) {
  RecentFiles recent(settings_);
  recent.add({"/some/where.pcap"});
  EXPECT_EQ(sign_of(recent.facts("/some/where.pcap")), FileSign::kUnknown);
  FileFacts facts;
  facts.messages = 10;
  EXPECT_EQ(sign_of(facts), FileSign::kUnknown);  // no finding, and no verdict
  facts.verdict = "not judged";
  EXPECT_EQ(sign_of(facts), FileSign::kUnknown);
  facts.verdict = "healthy";
  EXPECT_EQ(sign_of(facts), FileSign::kHealthy);
  EXPECT_EQ(word_of(facts), "healthy");
  facts.worst = 0;
  EXPECT_EQ(sign_of(facts), FileSign::kError);
  EXPECT_EQ(word_of(facts), "errors");
}

TEST_F(StartPageTest, EverySampleShowsWhatItPromises) {
  const std::vector<Sample> all = samples();
  ASSERT_EQ(all.size(), 5U);
  ASSERT_EQ(rows("samples").size(), 5U);
  const std::pair<const char*, const char*> promised[] = {{"hung", "STALL"},
                                                          {"loss", "RETX-STORM"},
                                                          {"few", "CREDIT-STARVED"},
                                                          {"refused", "CALL-REFUSED"},
                                                          {"nfs", ""}};
  for (const auto& [file, rule] : promised) {
    const char* const wanted = rule;
    window_->close_document();
    for (RowButton* const r : rows("samples")) {
      if (r->shown().key.contains(QString("/") + file)) r->click();
    }
    ASSERT_TRUE(read_to_end()) << file;
    document().store().read([&](const index::Content& c) {
      std::vector<std::string> found;
      for (const index::FoundKind& k : c.kinds) {
        if (k.severity != rules::Severity::kNote) found.emplace_back(k.rule->name);
      }
      if (*wanted == '\0') {
        EXPECT_TRUE(found.empty());
      } else {
        EXPECT_THAT(found, ::testing::Contains(std::string(wanted)));
      }
      return 0;
    });
  }
}

TEST_F(StartPageTest, ARunningEndpointIsAttachedToByAClick) {
  EXPECT_NE(row("endpoints", "kernel"), nullptr);  // before any endpoint runs
  auto hub = trace::Hub::start({.name = "some-server", .role = "a test's server"}).value();
  ASSERT_TRUE(hub->open_socket());
  ASSERT_TRUE(until([&] { return row("endpoints", "some-server") != nullptr; }));
  picture(*window_, "start-endpoint");
  QTest::mouseClick(row("endpoints", "some-server"), Qt::LeftButton);
  ASSERT_TRUE(until([&] { return !document().is_empty(); }));
  EXPECT_TRUE(document().is_live());
  EXPECT_TRUE(until([&] { return title() == "some-server - LIVE - rpcrdma-gui"; })) << title();
  const auto& state = *window_->findChild<StateBadge*>();
  EXPECT_EQ(state.state(), StateBadge::State::kLive);
  EXPECT_TRUE(state.isVisible());
  hub.reset();
  EXPECT_TRUE(until([&] {
    return state.state() == StateBadge::State::kBroken || state.state() == StateBadge::State::kOver;
  }));
}

TEST_F(StartPageTest, TwoEndpointsAreAttachedToTogether) {
  const auto one = trace::Hub::start({.name = "one", .role = "client"}).value();
  const auto two = trace::Hub::start({.name = "two", .role = "server"}).value();
  ASSERT_TRUE(one->open_socket() && two->open_socket());
  ASSERT_TRUE(until([&] { return row("endpoints", "All of them") != nullptr; }));
  QTest::keyClick(row("endpoints", "All of them"), Qt::Key_Return);
  ASSERT_TRUE(until([&] { return title() == "one, two - LIVE - rpcrdma-gui"; })) << title();
}

class Presets : public StartPageTest, public ::testing::WithParamInterface<const Preset*> {};

TEST_P(Presets, StartATrialWithItsFault) {
  const Preset& preset = *GetParam();
  auto* const button = page().findChild<QPushButton*>(QString("preset-") + preset.name);
  ASSERT_NE(button, nullptr);
  QTest::mouseClick(button, Qt::LeftButton);
  ASSERT_TRUE(until([&] { return document().is_live() && document().row_count() > 20; }))
      << window_->message().toStdString();
  EXPECT_EQ(title(),
            "Trial, " + QString(preset.title).toLower().toStdString() + " - LIVE - rpcrdma-gui");
  const QString force = window_->findChild<QLabel*>("force")->text();
  if (preset.loss > 0) {
    EXPECT_EQ(force, QString("Faults in force: drop rate=%1").arg(preset.loss));
  } else {
    EXPECT_EQ(force, "No faults");
  }
  if (preset.granted != 0) {
    auto& granted = *window_->findChild<QLabel*>("grant_now");
    EXPECT_TRUE(until([&] { return granted.text() == QString::number(preset.granted); }));
  }
  if (QString(preset.name) == "loss-2") picture(*window_, "trial");
  // Another preset changes what runs, and the title.
  window_->dock("trial")->findChild<QPushButton*>("preset-loss-1")->click();
  EXPECT_EQ(title(), "Trial, 1 % loss - LIVE - rpcrdma-gui");
  // Ctrl+W ends both.
  action("Ctrl+W")->trigger();
  EXPECT_TRUE(document().is_empty());
  EXPECT_TRUE(page().isVisible());
  EXPECT_EQ(title(), "rpcrdma-gui");
  EXPECT_TRUE(until([&] { return !window_->playground().running(); }));
}

std::vector<const Preset*> all_presets() {
  std::vector<const Preset*> all;
  for (const Preset& p : presets()) all.push_back(&p);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, Presets, ::testing::ValuesIn(all_presets()), [](const auto& p) {
  return QString(p.param->name).remove('-').toStdString();
});

TEST_F(StartPageTest, AnInterfaceIsCapturedFromOrTheReasonIsShown) {
  if (!capture::list_interfaces()) GTEST_SKIP() << "no interfaces can be listed";
  if (capture::list_interfaces()->empty()) GTEST_SKIP() << "there is no interface";
  ASSERT_TRUE(until([&] { return !rows("interfaces").empty(); }));
  for (RowButton* const r : rows("interfaces")) {
    EXPECT_FALSE(r->shown().title.startsWith("bluetooth")) << r->shown().title.toStdString();
    EXPECT_FALSE(r->shown().title.startsWith("nflog")) << r->shown().title.toStdString();
  }
  const QString key = rows("interfaces").back()->shown().key;
  capture::LiveOptions options;
  options.interface = key.toStdString();
  options.only_roce = true;
  const auto possible = capture::open_live(options);
  QTest::mouseClick(rows("interfaces").back(), Qt::LeftButton);
  if (possible) {
    EXPECT_TRUE(document().is_live());
    EXPECT_EQ(title(), key.toStdString() + " - LIVE - rpcrdma-gui");
  } else {
    EXPECT_TRUE(document().is_empty());
    EXPECT_EQ(page().problem().toStdString(), possible.error().message);
  }
}

TEST_F(StartPageTest, WhatCannotBeOpenedIsSaidOnThePage) {
  const QString path = folder_.filePath("<h1>no.pcap");
  window_->open({path});
  EXPECT_TRUE(page().isVisible());
  EXPECT_TRUE(page().problem().contains(path)) << page().problem().toStdString();
  EXPECT_EQ(page().problem(), window_->message());
  EXPECT_TRUE(page().findChild<QWidget*>("problem")->isVisible());
  picture(*window_, "start-problem");
  window_->attach({"nosuch"});
  EXPECT_TRUE(page().problem().contains("nosuch"));
  // A filter that is typed does not hide it.
  window_->filter().setText("rpcrdma.error");
  EXPECT_TRUE(page().problem().contains("nosuch"));
  // What can be opened does.
  window_->open({copy_of("linux-nfs3.pcap")});
  ASSERT_FALSE(document().is_empty());
  window_->close_document();
  EXPECT_EQ(page().problem(), "");
}

TEST_F(StartPageTest, ThePageIsATargetForFiles) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(copy_of("linux-nfs3.pcap"))});
  const QImage before = page().grab().toImage();
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  EXPECT_NE(page().grab().toImage(), before);
  picture(*window_, "start-drag");
  QDragLeaveEvent leave;
  QApplication::sendEvent(window_.get(), &leave);
  const auto text_of_drop = [&] {
    QStringList texts;
    for (const QLabel* const l : page().findChildren<QLabel*>()) texts << l->text();
    return texts.join('|');
  };
  EXPECT_FALSE(text_of_drop().contains("Drop to open"));
  QApplication::sendEvent(window_.get(), &enter);
  EXPECT_TRUE(text_of_drop().contains("Drop to open"));
  QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &drop);
  EXPECT_FALSE(document().is_empty());
}

TEST_F(StartPageTest, ActionsAreEnabledWhenTheyMakeSense) {
  const auto enabled = [&](const char* keys) { return action(keys)->isEnabled(); };
  for (const char* const keys :
       {"Ctrl+.", "Ctrl+P", "Ctrl+S", "Ctrl+R", "Ctrl+W", "Ctrl+Shift+A"}) {
    ASSERT_NE(action(keys), nullptr) << keys;
    EXPECT_FALSE(enabled(keys)) << keys;
  }
  window_->open({copy_of("linux-nfs41.pcap")});
  ASSERT_TRUE(read_to_end());
  ASSERT_TRUE(until([&] { return enabled("Ctrl+S") && !enabled("Ctrl+."); }));
  for (const char* const keys : {"Ctrl+R", "Ctrl+W", "Ctrl+Shift+A"}) EXPECT_TRUE(enabled(keys));
  EXPECT_FALSE(enabled("Ctrl+P"));  // it does not grow
  EXPECT_EQ(window_->findChild<StateBadge*>()->text(), "File");
  // Read again.
  QSignalSpy reset(&document(), &Document::reset);
  action("Ctrl+R")->trigger();
  EXPECT_EQ(reset.size(), 1);
  ASSERT_TRUE(read_to_end());
  EXPECT_TRUE(until([&] { return document().row_count() == 100; }));
}

TEST_F(StartPageTest, ALiveSessionIsPausedStoppedAndSavedWhole) {
  page().findChild<QPushButton*>("preset-healthy")->click();
  ASSERT_TRUE(until([&] { return document().is_live(); }));
  // One end: which connections of two ends are one is not the subject here.
  window_->attach({window_->playground().endpoints().back()});
  ASSERT_TRUE(until([&] { return document().row_count() > 100; }));
  const auto& state = *window_->findChild<StateBadge*>();
  action("Ctrl+P")->trigger();
  EXPECT_EQ(state.state(), StateBadge::State::kPaused);
  action("Ctrl+P")->trigger();
  EXPECT_EQ(state.state(), StateBadge::State::kLive);
  action("Ctrl+.")->trigger();
  ASSERT_TRUE(until([&] { return state.text() == "stopped"; })) << state.text().toStdString();
  EXPECT_FALSE(action("Ctrl+.")->isEnabled());
  picture(*window_, "stopped");
  // All of it is saved, whatever the filter hides.
  const auto counts = [&] {
    return document().store().read(
        [](const index::Content& c) { return std::pair(c.rows.size(), c.connections.size()); });
  };
  const auto before = counts();
  window_->use_filter("rpcrdma.error");
  auto from = open_session(document());
  ASSERT_TRUE(from) << from.error().message;
  const QString path = folder_.filePath("whole.pcapng");
  const auto saved = save_frames(**from, path);
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_GT(*saved, before.first);
  window_->open({path});
  ASSERT_TRUE(read_to_end());
  EXPECT_EQ(counts(), before);
}

// Every toolbar button is in sight at this size, and has a name for screen readers.
TEST_F(StartPageTest, TheToolbarFits) {
  for (const char* const name :
       {"tool-open", "tool-attach", "tool-trial", "tool-capture", "tool-help"}) {
    auto* const button = window_->findChild<QToolButton*>(name);
    ASSERT_NE(button, nullptr) << name;
    EXPECT_TRUE(button->isVisible()) << name;
    EXPECT_FALSE(button->accessibleName().isEmpty()) << name;
    EXPECT_FALSE(button->icon().isNull()) << name;
    EXPECT_LE(button->mapTo(window_.get(), button->rect().topRight()).x(), 1280) << name;
  }
}

TEST_F(StartPageTest, EveryStopOfTheKeyboardHasAName) {
  ASSERT_TRUE(until([&] { return !rows("samples").empty(); }));
  for (QWidget* const w : page().findChildren<QWidget*>()) {
    if ((w->focusPolicy() & Qt::TabFocus) == 0 || !w->isVisible()) continue;
    const auto* const button = qobject_cast<QAbstractButton*>(w);
    EXPECT_TRUE(!w->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty()))
        << w->metaObject()->className() << ' ' << w->objectName().toStdString();
  }
}

// Down each column, the columns from left to right, also after rows have come.
TEST_F(StartPageTest, TheKeyboardGoesThroughTheColumns) {
  RecentFiles(settings_).add({"/some/where.pcap", "/some/where-else.pcap"});
  make();
  const auto hub = trace::Hub::start({.name = "late", .role = "server"}).value();
  ASSERT_TRUE(hub->open_socket());
  ASSERT_TRUE(until([&] { return row("endpoints", "late") != nullptr; }));
  QWidget* at = rows("recent").front();
  at->setFocus();
  std::set<QString> lists;
  for (QWidget* next = nullptr; at != rows("help").back(); at = next) {
    lists.insert(at->parent()->objectName());
    QTest::keyClick(at, Qt::Key_Tab);
    next = QApplication::focusWidget();
    ASSERT_NE(next, nullptr);
    ASSERT_TRUE(page().isAncestorOf(next)) << at->accessibleName().toStdString();
    const QPoint before = at->mapTo(&page(), QPoint());
    const QPoint after = next->mapTo(&page(), QPoint());
    EXPECT_TRUE(after.y() > before.y() || after.x() > before.x())
        << at->accessibleName().toStdString() << " -> " << next->accessibleName().toStdString();
  }
  for (const char* const list : {"recent", "endpoints", "samples"}) {
    EXPECT_TRUE(lists.contains(list)) << list;
  }
}

TEST_F(StartPageTest, KeysAreThoseOfTheActions) {
  QTest::keyClick(window_.get(), Qt::Key_F1);
  auto* const help = window_->findChild<HelpWindow*>();
  ASSERT_TRUE(until([&] { return help->isVisible(); }));
  std::set<QString> listed;
  for (const HelpRow& row : key_rows(*window_)) {
    for (const QString& keys : row.cells[1].split(", ")) listed.insert(keys);
  }
  int actions = 0;
  for (const QAction* const a : window_->findChildren<QAction*>()) {
    if (a->shortcut().isEmpty()) continue;
    ++actions;
    const QString keys = a->shortcut().toString(QKeySequence::NativeText);
    EXPECT_TRUE(listed.contains(keys)) << keys.toStdString();
  }
  EXPECT_GT(actions, 25);
  // What has no key is not there.
  EXPECT_FALSE(listed.contains(""));
  // The search.
  HelpTopic& topic = help->topic("keys");
  QTest::keyClicks(&topic.search(), "ctrl+g");
  ASSERT_EQ(topic.table().model()->rowCount(), 1);
  EXPECT_THAT(topic.detail().toStdString(), ::testing::HasSubstr("To a frame"));
  topic.search().clear();
  picture(*help, "help-keys");
}

TEST_F(StartPageTest, NoTwoActionsHaveTheSameKeys) {
  std::map<QString, QString> used;
  for (const QAction* const a : window_->findChildren<QAction*>()) {
    if (a->shortcut().isEmpty()) continue;
    const QString keys = a->shortcut().toString();
    EXPECT_FALSE(used.contains(keys)) << keys.toStdString() << ": " << a->text().toStdString()
                                      << " and " << used[keys].toStdString();
    used[keys] = a->text();
  }
}

TEST_F(StartPageTest, TheFilterReferenceHasEveryFieldAndItsExamplesAreValid) {
  std::set<QString> fields;
  int examples = 0;
  for (const HelpRow& row : filter_rows()) {
    if (row.filter.isEmpty()) continue;
    EXPECT_TRUE(filter::compile(row.filter.toStdString()) || row.cells[1] != "example")
        << row.filter.toStdString();
    examples += row.cells[1] == "example" ? 1 : 0;
    fields.insert(row.filter);
  }
  EXPECT_GT(examples, 5);
  for (const decode::FieldSpec& f : decode::schema()) {
    EXPECT_EQ(fields.contains(f.name), filter::is_filter_field(f.id)) << f.name;
  }
}

TEST_F(StartPageTest, AFieldOfTheReferenceBecomesTheFilter) {
  window_->open({copy_of("linux-nfs41.pcap")});
  ASSERT_TRUE(read_to_end());
  QTest::keyClick(window_.get(), Qt::Key_F1, Qt::ControlModifier);
  auto* const help = window_->findChild<HelpWindow*>();
  ASSERT_TRUE(until([&] { return help != nullptr && help->isVisible(); }));
  picture(*help, "help-filter");
  HelpTopic& topic = help->topic("filter");
  QTest::keyClicks(&topic.search(), "rpcrdma.latency > 5ms");
  ASSERT_EQ(topic.table().model()->rowCount(), 1);
  QTest::keyClick(&topic.search(), Qt::Key_Down);
  QTest::keyClick(&topic.table(), Qt::Key_Return);
  EXPECT_EQ(document().filter(), "rpcrdma.latency > 5ms");
}

TEST_F(StartPageTest, EveryRuleIsInTheHelp) {
  RowButton* const rules = row("help", "Rules");
  ASSERT_NE(rules, nullptr);
  rules->click();
  auto* const help = window_->findChild<HelpWindow*>();
  HelpTopic& topic = help->topic("rules");
  EXPECT_EQ(topic.table().model()->rowCount(), static_cast<int>(rules::rules().size()));
  QTest::keyClicks(&topic.search(), "RETX-STORM");
  ASSERT_GE(topic.table().model()->rowCount(), 1);
  EXPECT_TRUE(topic.detail().contains("RETX-STORM"));
  EXPECT_TRUE(topic.detail().contains(rules::find_rule("RETX-STORM")->advice));
  picture(*help, "help-rules");
  row("help", "About")->click();
  const auto& about = *help->findChild<QLabel*>("about");
  EXPECT_TRUE(about.isVisible());
  EXPECT_TRUE(about.text().contains("GNU General Public License"));
}

}  // namespace
}  // namespace rpcrdma::gui
