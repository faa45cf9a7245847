// The fleet's page with a fleet that a script plays: what is current, what is not, and what it
// does.
#include "fleet_page.h"

#include "fleet_address.h"
#include "fleet_badge.h"
#include "fleet_dialog.h"
#include "fleet_lists.h"
#include "fleet_model.h"
#include "fleet_totals.h"
#include "scripted_fleet.h"

#include <QAccessible>
#include <QApplication>
#include <QDateTime>
#include <QDialogButtonBox>
#include <QFile>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QSysInfo>
#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTextDocument>
#include <QTreeView>
#include <map>

#include <gmock/gmock.h>

#include <rpcrdma/live/hub.h>
#include <rpcrdma/views/palettes.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kPatience = 30'000;  // ms
const std::string kMarkup = "<h1>OWNED</h1><img src=x.png>";

// A view of its own clock, fed by summaries, as the bus source feeds one.
class Fleet {
 public:
  Fleet() { view_.bus(true, {}, now()); }

  void pass(double seconds) {
    ns_ += static_cast<std::int64_t>(seconds * 1e9);
    view_.tick(now());
  }
  // The next summary of a host with one endpoint, which has answered `calls` more Calls.
  void report(const std::string& host, std::uint64_t calls, const std::string& instance = "1") {
    fleet::Summary& s = latest_[host];
    if (s.instance != instance) s = {};
    s.host = host;
    s.instance = instance;
    s.boot = "boot";
    s.version = "1.0";
    s.interval_ns = s.sequence == 0 ? 0 : now().monotonic_ns - s.monotonic_ns;
    ++s.sequence;
    s.wall_ns = now().wall_ns;
    s.monotonic_ns = now().monotonic_ns;
    if (s.endpoints.empty()) {
      fleet::EndpointSummary e;
      e.name = "nfsd";
      e.role = "server";
      e.generation = 1;
      e.process = 7;
      s.endpoints.push_back(e);
    }
    fleet::EndpointSummary& e = s.endpoints.front();
    e.connections = 1;
    e.credits = {32, 32, 3, 0};
    e.counters.calls += calls;
    e.counters.replies += calls;
    view_.apply(s, now());
  }
  void skip_one(const std::string& host) { ++latest_[host].sequence; }
  void bus(bool connected, const char* why = "") { view_.bus(connected, why, now()); }
  [[nodiscard]] FleetShown shown() const {
    FleetShown shown;
    shown.state = view_.state();
    return shown;
  }

 private:
  [[nodiscard]] fleet::ViewTime now() const { return {ns_, 1'700'000'000 * kSecond + ns_}; }

  std::int64_t ns_ = 1'000 * kSecond;
  fleet::View view_;
  std::map<std::string, fleet::Summary> latest_;
};

class FleetPageTest : public ::testing::Test {
 protected:
  FleetPageTest() {
    page.resize(1280, 800);
    page.set_folder(folder.path());
    auto made = std::make_unique<ScriptedFleet>();
    source = made.get();
    page.follow(std::move(made), "nats://localhost:4222");
    page.show();
    page.activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(&page, kPatience));
  }

  // The text of a host's row, or of its endpoint's.
  [[nodiscard]] QModelIndex row(const QString& host, const QString& endpoint = {}) const {
    const QAbstractItemModel& m = *tree().model();
    for (int i = 0; i < m.rowCount(); ++i) {
      const QModelIndex at = m.index(i, 0);
      if (at.data().toString() != host) continue;
      if (endpoint.isEmpty()) return at;
      for (int j = 0; j < m.rowCount(at); ++j) {
        if (m.index(j, 0, at).data().toString().startsWith(endpoint)) return m.index(j, 0, at);
      }
    }
    return {};
  }
  [[nodiscard]] std::string cell(const QString& host, FleetModel::Column column,
                                 const QString& endpoint = {}) const {
    const QModelIndex at = row(host, endpoint);
    return at.isValid() ? at.siblingAtColumn(column).data().toString().toStdString() : "no row";
  }
  [[nodiscard]] std::string figure(const QString& title) {
    for (const FleetTotalsRow::Figure& f : page.totals().figures()) {
      if (f.title == title) return f.value.toStdString();
    }
    return "no figure";
  }
  [[nodiscard]] QTreeView& tree() const { return const_cast<FleetPage&>(page).tree(); }
  void play(const FleetShown& now) { source->show(now); }

  QTemporaryDir folder;
  FleetPage page;
  ScriptedFleet* source = nullptr;
};

TEST_F(FleetPageTest, HostsAndTheirEndpointsAreListed) {
  FleetShown first;
  first.connecting = true;
  play(first);
  EXPECT_EQ(page.badge().state(), FleetBadge::State::kConnecting);
  Fleet fleet;
  for (int i = 0; i < 3; ++i) {
    fleet.report("a", 100);
    fleet.report("b", 20);
    fleet.pass(1);
  }
  play(fleet.shown());
  EXPECT_EQ(page.badge().state(), FleetBadge::State::kConnected);
  EXPECT_EQ(tree().model()->rowCount(), 2);
  EXPECT_EQ(cell("a", FleetModel::kLife), "live");
  EXPECT_EQ(cell("a", FleetModel::kCalls), "100");
  EXPECT_EQ(cell("a", FleetModel::kCalls, "nfsd"), "100");
  EXPECT_EQ(cell("a", FleetModel::kInUse, "nfsd"), "3");
  EXPECT_TRUE(tree().isExpanded(row("a")));
  EXPECT_EQ(figure("Live hosts"), "2");
  EXPECT_EQ(figure("Calls/s"), "120");
}

TEST_F(FleetPageTest, AHostWithoutNewsIsGreyedAfterThreeSecondsAndInNoSum) {
  Fleet fleet;
  for (int i = 0; i < 3; ++i) {
    fleet.report("a", 100);
    fleet.report("b", 20);
    fleet.pass(1);
  }
  fleet.report("b", 20);
  fleet.pass(1.5);
  fleet.report("b", 20);
  play(fleet.shown());
  EXPECT_EQ(cell("a", FleetModel::kLife), "live");  // 2.5 s old
  EXPECT_EQ(figure("Live hosts"), "2");
  EXPECT_FALSE(row("a").data(Qt::ForegroundRole).isValid());
  fleet.pass(1);
  fleet.report("b", 20);
  play(fleet.shown());
  EXPECT_EQ(cell("a", FleetModel::kLife), "stale");
  EXPECT_EQ(cell("a", FleetModel::kAge), "3.5 s");
  EXPECT_EQ(cell("a", FleetModel::kCalls), "100");  // the last that was known
  const QColor grey = secondary_text(QGuiApplication::palette());
  EXPECT_EQ(row("a").data(Qt::ForegroundRole).value<QColor>(), grey);
  EXPECT_EQ(row("a", "nfsd").data(Qt::ForegroundRole).value<QColor>(), grey);
  EXPECT_FALSE(row("b").data(Qt::ForegroundRole).isValid());
  EXPECT_EQ(figure("Live hosts"), "1");
  EXPECT_EQ(figure("Endpoints"), "1");
  EXPECT_EQ(figure("Calls/s"), "20");
  EXPECT_EQ(page.totals().figures().front().detail, "1 old");
  // It stays listed.
  fleet.pass(60);
  fleet.report("b", 1200);
  play(fleet.shown());
  EXPECT_EQ(cell("a", FleetModel::kLife), "vanished");
  EXPECT_EQ(cell("a", FleetModel::kAge), "64 s");
  EXPECT_EQ(figure("Live hosts"), "1");
  // The event list says so.
  const QAbstractItemModel& events = *page.events().model();
  bool said = false;
  for (int i = 0; i < events.rowCount(); ++i) {
    said = said || (events.index(i, FleetEventsModel::kHost).data() == "a" &&
                    events.index(i, FleetEventsModel::kText).data().toString().contains("vanish"));
  }
  EXPECT_TRUE(said);
}

TEST_F(FleetPageTest, ARestartedAgentAndLostSummariesAreShown) {
  Fleet fleet;
  for (int i = 0; i < 3; ++i) {
    fleet.report("a", 100);
    fleet.pass(1);
  }
  fleet.skip_one("a");
  fleet.report("a", 100);
  play(fleet.shown());
  EXPECT_EQ(cell("a", FleetModel::kLost), "1");
  EXPECT_EQ(figure("Lost summaries"), "1");
  fleet.pass(1);
  fleet.report("a", 5, "2");
  play(fleet.shown());
  EXPECT_EQ(cell("a", FleetModel::kLife), "live, restarted: 1");
  EXPECT_EQ(cell("a", FleetModel::kCalls), "-");  // one summary is no rate
  fleet.pass(1);
  fleet.report("a", 7, "2");
  play(fleet.shown());
  EXPECT_EQ(cell("a", FleetModel::kCalls), "7.0");
}

TEST_F(FleetPageTest, WithoutTheBusNothingIsCurrent) {
  Fleet fleet;
  for (int i = 0; i < 3; ++i) {
    fleet.report("a", 100);
    fleet.pass(1);
  }
  fleet.report("a", 100);
  fleet.bus(false, "connection closed");
  play(fleet.shown());
  EXPECT_EQ(page.badge().state(), FleetBadge::State::kDisconnected);
  EXPECT_THAT(page.badge().text().toStdString(),
              ::testing::AllOf(::testing::HasSubstr("BUS DISCONNECTED"),
                               ::testing::HasSubstr("connection closed")));
  EXPECT_EQ(page.badge().accessibleName(), page.badge().text());
  EXPECT_EQ(cell("a", FleetModel::kLife), "stale");
  EXPECT_EQ(figure("Live hosts"), "0");
  EXPECT_EQ(figure("Calls/s"), "-");
  fleet.bus(true);
  fleet.pass(1);
  fleet.report("a", 100);
  play(fleet.shown());
  EXPECT_EQ(page.badge().state(), FleetBadge::State::kConnected);
  EXPECT_EQ(figure("Live hosts"), "1");
}

TEST_F(FleetPageTest, TheSelectionStaysWhileHostsComeAndGo) {
  FleetShown now;
  now.state.connected = true;
  now.state.hosts = {scripted_host("b", {scripted_endpoint("x", "client", 1)}),
                     scripted_host("d", {scripted_endpoint("y", "client", 2)})};
  play(now);
  tree().setCurrentIndex(row("d", "y"));
  now.state.hosts.insert(now.state.hosts.begin(), scripted_host("a", {}));
  now.state.hosts.insert(now.state.hosts.begin() + 2, scripted_host("c", {}));
  now.state.hosts.back().endpoints.insert(now.state.hosts.back().endpoints.begin(),
                                          scripted_endpoint("w", "client", 9));
  play(now);
  EXPECT_EQ(tree().currentIndex().data().toString(), "y  client");
  now.state.hosts.erase(now.state.hosts.begin(), now.state.hosts.begin() + 3);
  play(now);
  EXPECT_EQ(tree().currentIndex().data().toString(), "y  client");
  EXPECT_EQ(tree().model()->rowCount(), 1);
  now.state.hosts.clear();
  play(now);
  EXPECT_EQ(tree().model()->rowCount(), 0);
  EXPECT_FALSE(page.record_button().isEnabled());
}

TEST_F(FleetPageTest, RowsAreSortedByAnyColumnAndFilteredByName) {
  FleetShown now;
  now.state.connected = true;
  now.state.hosts = {scripted_host("alpha", {scripted_endpoint("one", "client", 9)}),
                     scripted_host("beta", {scripted_endpoint("two", "client", 100)}),
                     scripted_host("gamma", {scripted_endpoint("three", "server", 20)})};
  now.state.hosts[2].findings.errors = 1;
  now.state.hosts[1].findings.warnings = 5;
  play(now);
  const auto order = [&] {
    QStringList names;
    for (int i = 0; i < tree().model()->rowCount(); ++i) {
      names << tree().model()->index(i, 0).data().toString();
    }
    return names.join(' ').toStdString();
  };
  EXPECT_EQ(order(), "alpha beta gamma");
  tree().sortByColumn(FleetModel::kCalls, Qt::DescendingOrder);
  EXPECT_EQ(order(), "beta gamma alpha");
  tree().sortByColumn(FleetModel::kFindings, Qt::DescendingOrder);
  EXPECT_EQ(order(), "gamma beta alpha");
  // By the name of a host, or of an endpoint.
  page.filter().setFocus();
  QTest::keyClicks(&page.filter(), "ALPH");
  EXPECT_EQ(order(), "alpha");
  EXPECT_TRUE(row("alpha", "one").isValid());
  page.filter().setText("two");
  EXPECT_EQ(order(), "beta");
  QTest::keyClick(&page.filter(), Qt::Key_Down);
  EXPECT_TRUE(tree().hasFocus());
  page.filter().setFocus();
  QTest::keyClick(&page.filter(), Qt::Key_Escape);
  EXPECT_EQ(tree().model()->rowCount(), 3);
}

TEST_F(FleetPageTest, AHostOrAnEndpointIsRecordedAndTheRecordingOpened) {
  FleetShown now;
  now.state.connected = true;
  now.state.hosts = {scripted_host("../ev il", {scripted_endpoint("busy", "client", 9),
                                                scripted_endpoint("nfsd", "server", 1)})};
  play(now);
  const QSignalSpy opened(&page, &FleetPage::open_wanted);
  tree().setCurrentIndex(row("../ev il"));
  QTest::mouseClick(&page.record_button(), Qt::LeftButton);
  ASSERT_EQ(source->asked.size(), 1U);
  EXPECT_EQ(source->asked[0].host, "../ev il");
  EXPECT_EQ(source->asked[0].endpoint, "busy");
  EXPECT_EQ(source->asked[0].seconds, 10);
  // A host's name does not choose the folder.
  EXPECT_EQ(QFileInfo(source->asked[0].path).path(), folder.path());
  EXPECT_THAT(page.note().toStdString(), ::testing::HasSubstr("Recording busy of ../ev il"));
  EXPECT_FALSE(page.record_button().isEnabled());  // one at a time
  Q_EMIT source->recorded("../ev il", source->asked[0].path);
  ASSERT_EQ(opened.size(), 1);
  EXPECT_EQ(opened[0][0].toStringList(), QStringList{source->asked[0].path});
  // By key, of an endpoint.
  tree().setFocus();
  tree().setCurrentIndex(row("../ev il", "nfsd"));
  QTest::keyClick(&tree(), Qt::Key_R);
  ASSERT_EQ(source->asked.size(), 2U);
  EXPECT_EQ(source->asked[1].endpoint, "nfsd");
  Q_EMIT source->record_failed("../ev il", "the agent did not answer");
  EXPECT_EQ(page.note().toStdString(), "../ev il was not recorded: the agent did not answer");
  EXPECT_TRUE(page.record_button().isEnabled());
  EXPECT_EQ(opened.size(), 1);
}

TEST_F(FleetPageTest, AnEndpointOfThisMachineOpensLive) {
  qputenv("XDG_RUNTIME_DIR", folder.path().toUtf8());
  const auto hub = trace::Hub::start({.name = "here", .role = "server"}).value();
  ASSERT_TRUE(hub->open_socket());
  FleetShown now;
  now.state.connected = true;
  now.state.hosts = {scripted_host("far", {scripted_endpoint("here", "server", 1)}),
                     scripted_host("near", {scripted_endpoint("gone", "server", 1),
                                            scripted_endpoint("here", "server", 1)})};
  for (fleet::HostState& h : now.state.hosts) {
    for (fleet::EndpointState& e : h.endpoints) {
      e.process = static_cast<std::uint32_t>(QCoreApplication::applicationPid());
    }
  }
  play(now);
  page.set_own_host("near");
  const QSignalSpy attached(&page, &FleetPage::attach_wanted);
  tree().setFocus();
  const auto open = [&](const char* host, const char* endpoint) {
    tree().setCurrentIndex(row(host, endpoint));
    QTest::keyClick(&tree(), Qt::Key_Return);
  };
  open("far", "here");
  EXPECT_THAT(page.note().toStdString(), ::testing::HasSubstr("far is another machine"));
  open("near", "gone");
  EXPECT_THAT(page.note().toStdString(), ::testing::HasSubstr("not among the endpoints"));
  EXPECT_EQ(attached.size(), 0);
  const QRect cell = tree().visualRect(row("near", "here"));
  QTest::mouseClick(tree().viewport(), Qt::LeftButton, {}, cell.center());
  QTest::mouseDClick(tree().viewport(), Qt::LeftButton, {}, cell.center());
  ASSERT_EQ(attached.size(), 1);
  EXPECT_THAT(attached[0][0].toStringList().join(' ').toStdString(),
              ::testing::HasSubstr(folder.path().toStdString()));
  qunsetenv("XDG_RUNTIME_DIR");
}

TEST_F(FleetPageTest, TextsFromTheBusAreShownAsPlainText) {
  FleetShown now;
  now.state.connected = false;
  now.state.bus = kMarkup;
  now.state.refused.malformed = 1;
  now.state.refused.latest = kMarkup;
  now.state.hosts = {
      scripted_host(kMarkup + "\n\x1b[2J", {scripted_endpoint(kMarkup, kMarkup, 1)})};
  now.state.hosts[0].problem = kMarkup;
  now.state.hosts[0].version = kMarkup;
  now.state.events = {{fleet::ViewEvent::Kind::kBad, 1, kMarkup, kMarkup, 1}};
  fleet::FindingNote note;
  note.host = note.endpoint = note.rule = note.text = note.advice = note.local = kMarkup;
  note.severity = "error";
  now.findings = {note};
  page.follow(std::make_unique<ScriptedFleet>(), QString::fromStdString(kMarkup));
  const auto* const fresh = page.findChild<ScriptedFleet*>();
  ASSERT_EQ(fresh, nullptr);  // the page owns it, not as a child
  auto again = std::make_unique<ScriptedFleet>();
  source = again.get();
  page.follow(std::move(again), QString::fromStdString(kMarkup));
  play(now);
  const auto is_rich = [](const QString& text) {
    QTextDocument shown;
    shown.setHtml(text);
    return Qt::mightBeRichText(text) && text.contains("<h1>") && shown.toPlainText() != text;
  };
  for (const QWidget* const w : page.findChildren<QWidget*>()) {
    EXPECT_FALSE(is_rich(w->toolTip())) << w->objectName().toStdString();
    if (const auto* const label = qobject_cast<const QLabel*>(w)) {
      EXPECT_TRUE(label->textFormat() == Qt::PlainText || !is_rich(label->text()));
    }
    const auto* const view = qobject_cast<const QAbstractItemView*>(w);
    if (view == nullptr || view->model() == nullptr) continue;
    const auto look = [&](const QModelIndex& parent, const auto& self) -> void {
      const QAbstractItemModel& m = *view->model();
      for (int r = 0; r < m.rowCount(parent); ++r) {
        for (int c = 0; c < m.columnCount(parent); ++c) {
          const QModelIndex at = m.index(r, c, parent);
          EXPECT_FALSE(is_rich(at.data(Qt::ToolTipRole).toString())) << r << ' ' << c;
          EXPECT_FALSE(at.data().toString().contains('\n')) << r << ' ' << c;
          EXPECT_FALSE(at.data().toString().contains(QChar(0x1b))) << r << ' ' << c;
        }
        self(m.index(r, 0, parent), self);
      }
    };
    look({}, look);
  }
  EXPECT_FALSE(page.grab().isNull());
}

TEST_F(FleetPageTest, FindingsAreListedTheNewestFirst) {
  FleetShown now;
  now.state.connected = true;
  fleet::FindingNote old;
  old.host = "a";
  old.instance = "1";
  old.kind = 1;
  old.wall_ns = 10 * kSecond;
  old.severity = "warning";
  old.rule = "RETX-STORM";
  old.text = "many packets again";
  old.count = 3;
  fleet::FindingNote next = old;
  next.kind = 2;
  next.wall_ns = 20 * kSecond;
  next.severity = "error";
  next.rule = "STALL";
  now.findings = {next, old};
  play(now);
  QTableView& list = page.findings();
  const auto text = [&](int row, int column) {
    return list.model()->index(row, column).data().toString().toStdString();
  };
  ASSERT_EQ(list.model()->rowCount(), 2);
  EXPECT_EQ(text(0, FleetFindingsModel::kRule), "STALL");
  EXPECT_EQ(text(0, FleetFindingsModel::kSeverity), "error");
  EXPECT_EQ(text(1, FleetFindingsModel::kHost), "a");
  EXPECT_EQ(text(1, FleetFindingsModel::kCount), "3");
  // A repeated finding moves up, and stays selected.
  list.selectRow(1);
  old.wall_ns = 30 * kSecond;
  old.count = 4;
  now.findings = {old, next};
  play(now);
  EXPECT_EQ(text(0, FleetFindingsModel::kCount), "4");
  EXPECT_EQ(list.currentIndex().row(), 0);
  EXPECT_EQ(page.findChild<QTabWidget*>("fleet-lists")->tabText(0), "Findings (2)");
  now.findings = {next};
  play(now);
  EXPECT_EQ(list.model()->rowCount(), 1);
}

TEST_F(FleetPageTest, EachStateDrawsItsOwnSign) {
  FleetShown now;
  now.state.connected = true;
  now.state.hosts = {scripted_host("a", {})};
  const auto picture = [&] {
    play(now);
    return tree()
        .viewport()
        ->grab(tree().visualRect(row("a").siblingAtColumn(FleetModel::kLife)))
        .toImage();
  };
  tree().setCurrentIndex({});
  fleet::HostState& h = now.state.hosts[0];
  std::vector<QImage> signs{picture()};
  h.fresh = false;
  signs.push_back(picture());
  h.presence = fleet::HostPresence::kSilent;
  h.age_ns = 20 * kSecond;
  signs.push_back(picture());
  h.presence = fleet::HostPresence::kLeft;
  signs.push_back(picture());
  for (std::size_t i = 0; i < signs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(signs[i], signs[j]) << i << ' ' << j;
  }
}

TEST_F(FleetPageTest, TheCourseOfCallsHasAGapWhereNothingIsKnown) {
  FleetShown now;
  now.state.connected = true;
  now.state.hosts = {scripted_host("a", {scripted_endpoint("x", "client", 10)})};
  for (int i = 1; i <= 70; ++i) {
    now.state.wall_ns = i * kSecond;
    now.state.hosts[0].fresh = i != 70;
    play(now);
    play(now);  // twice in a second: one point
  }
  const QVariantList course =
      row("a").siblingAtColumn(FleetModel::kCourse).data(FleetModel::kCourseRole).toList();
  ASSERT_EQ(course.size(), static_cast<qsizetype>(FleetModel::kCourseLength));
  EXPECT_EQ(course.front().toDouble(), 10);
  EXPECT_FALSE(course.back().isValid());
}

TEST_F(FleetPageTest, KeysAndNamesForScreenReaders) {
  FleetShown now;
  now.state.connected = true;
  now.state.hosts = {scripted_host("a", {scripted_endpoint("x", "client", 10)})};
  now.state.hosts[0].findings = {2, 1, 0};
  play(now);
  EXPECT_FALSE(tree().accessibleName().isEmpty());
  EXPECT_FALSE(page.filter().accessibleName().isEmpty());
  EXPECT_FALSE(page.findings().accessibleName().isEmpty());
  EXPECT_FALSE(page.events().accessibleName().isEmpty());
  EXPECT_TRUE(page.totals().accessibleDescription().contains("Live hosts"));
  EXPECT_EQ(row("a").siblingAtColumn(FleetModel::kFindings).data(Qt::AccessibleTextRole),
            "2 errors, 1 warning");
  // Enter on a host folds and unfolds it.
  tree().setFocus();
  tree().setCurrentIndex(row("a"));
  const bool open = tree().isExpanded(row("a"));
  QTest::keyClick(&tree(), Qt::Key_Return);
  EXPECT_NE(tree().isExpanded(row("a")), open);
}

TEST_F(FleetPageTest, AThousandHostsStaySortedWhileTheirFiguresChange) {
  FleetShown now;
  now.state.connected = true;
  for (int i = 0; i < 1000; ++i) {
    now.state.hosts.push_back(
        scripted_host("node" + std::to_string(10'000 + i),
                      {scripted_endpoint("a", "client", i), scripted_endpoint("b", "client", 1)}));
  }
  play(now);
  tree().sortByColumn(FleetModel::kCalls, Qt::DescendingOrder);
  for (unsigned second = 1; second < 4; ++second) {
    for (std::size_t i = 0; i < now.state.hosts.size(); ++i) {
      now.state.hosts[i].rates->calls = static_cast<double>((i * 7919 + 31) % (1000U + second));
    }
    now.state.wall_ns = second * kSecond;
    play(now);
  }
  const QAbstractItemModel& m = *tree().model();
  ASSERT_EQ(m.rowCount(), 1000);
  for (int i = 1; i < m.rowCount(); ++i) {
    ASSERT_GE(m.index(i - 1, FleetModel::kCalls).data(FleetModel::kSortRole).toDouble(),
              m.index(i, FleetModel::kCalls).data(FleetModel::kSortRole).toDouble());
  }
}

// Saves pictures to the folder that RPCRDMA_TEST_PICTURES names.
TEST_F(FleetPageTest, AWholeClusterFitsTheScreen) {
  const std::int64_t noon = QDateTime(QDate::currentDate(), QTime(14, 3)).toMSecsSinceEpoch();
  for (int second = 0; second < 60; ++second) play(scripted_cluster(second, noon * 1'000'000));
  EXPECT_EQ(tree().model()->rowCount(), 9);
  const QString to = qEnvironmentVariable("RPCRDMA_TEST_PICTURES");
  const QPalette before = QApplication::palette();
  for (const auto& [name, palette] :
       {std::pair("light", light_palette()), std::pair("dark", dark_palette())}) {
    QApplication::setPalette(palette);
    for (const QSize size : {QSize(1280, 800), QSize(1920, 1080)}) {
      page.resize(size);
      QCoreApplication::processEvents();
      // Names, figures and findings are in sight.
      EXPECT_LE(tree().header()->length(), size.width()) << size.width();
      const QImage picture = page.grab().toImage();
      EXPECT_EQ(picture.size(), size);
      if (!to.isEmpty())
        picture.save(QString("%1/fleet-%2-%3.png").arg(to, name).arg(size.width()));
    }
  }
  QApplication::setPalette(before);
}

TEST(FleetAddresses, AreKeptWithoutSecrets) {
  const QTemporaryDir folder;
  QSettings settings(folder.filePath("settings"), QSettings::IniFormat);
  const FleetAddress address{"nats://joe:p@ss@one:4222, tls://two:4222", "joe", "/etc/pw", "",
                             "/etc/ca.pem"};
  EXPECT_EQ(address.url_without_secrets(), "nats://one:4222,tls://two:4222");
  save_fleet_address(settings, address);
  settings.sync();
  QFile file(folder.filePath("settings"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_FALSE(file.readAll().contains("p@ss"));
  const FleetAddress kept = saved_fleet_address(settings);
  EXPECT_EQ(kept.url, "nats://one:4222,tls://two:4222");
  EXPECT_EQ(kept.user, "joe");
  EXPECT_EQ(kept.password_file, "/etc/pw");
  EXPECT_EQ(kept.ca, "/etc/ca.pem");
}

TEST(FleetDialogs, OpenOnlyWhatABusCanAccept) {
  FleetDialog dialog({});
  QSignalSpy wanted(&dialog, &FleetDialog::wanted);
  QPushButton* const open = dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Open);
  EXPECT_TRUE(open->isEnabled());
  dialog.field("user")->setText("joe");
  EXPECT_FALSE(open->isEnabled());  // without a password
  dialog.field("password-file")->setText("/etc/pw");
  EXPECT_TRUE(open->isEnabled());
  dialog.field("nkey-file")->setText("/etc/seed");
  EXPECT_FALSE(open->isEnabled());
  dialog.field("nkey-file")->clear();
  dialog.field("url")->setText(" tls://bus ");
  open->click();
  ASSERT_EQ(wanted.size(), 1);
  EXPECT_EQ(dialog.address().url, "tls://bus");
}

}  // namespace
}  // namespace rpcrdma::gui
