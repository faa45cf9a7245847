// The panels of endpoints, interfaces and the playground, operated as a user does.
#include <QAbstractButton>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QTreeWidget>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/live/hub.h>
#include <rpcrdma/sources/endpoint_list.h>
#include <rpcrdma/sources/interface_list.h>
#include <rpcrdma/sources/interfaces.h>
#include <rpcrdma/sources/playground_panel.h>

namespace rpcrdma::gui {
namespace {

constexpr int kKernel = 1;     // the row of the kernel, which does not run
constexpr int kLong = 60'000;  // ms; a limit far beyond any expected time

template <typename Condition>
bool until(Condition condition) {
  return QTest::qWaitFor(condition, kLong);
}

// Saves pictures to the folder that RPCRDMA_TEST_PICTURES names, for visual inspection.
void picture(QWidget& widget, const char* name) {
  const QString folder = qEnvironmentVariable("RPCRDMA_TEST_PICTURES");
  QTest::qWait(0);  // finishes the layout
  if (!folder.isEmpty()) widget.grab().save(folder + '/' + name + ".png");
}

template <typename Widget>
Widget* part(QWidget& widget, const char* name) {
  auto* found = widget.findChild<Widget*>(name);
  EXPECT_NE(found, nullptr) << name;
  return found;
}

// Keeps live sockets in a folder of the test.
class Sources : public ::testing::Test {
 protected:
  Sources() { qputenv("XDG_RUNTIME_DIR", folder_.path().toUtf8()); }
  ~Sources() override { qunsetenv("XDG_RUNTIME_DIR"); }

  static std::unique_ptr<trace::Hub> endpoint(const std::string& name) {
    auto hub = trace::Hub::start({.name = name, .role = "a test's " + name}).value();
    EXPECT_TRUE(hub->open_socket());
    return hub;
  }

 private:
  QTemporaryDir folder_;
};

TEST_F(Sources, EndpointsComeAndGo) {
  EndpointList list;
  list.resize(560, 240);
  auto& tree = *part<QTreeWidget>(list, "endpoints");
  list.show();
  const auto one = endpoint("one");
  auto other = endpoint("other");
  ASSERT_TRUE(until([&] { return tree.topLevelItemCount() == 2 + kKernel; }));
  ASSERT_TRUE(until([&] { return tree.topLevelItem(0)->text(1) == "a test's one"; }));
  EXPECT_EQ(tree.topLevelItem(0)->text(0), "one");
  EXPECT_EQ(tree.topLevelItem(0)->text(2), QString::number(QCoreApplication::applicationPid()));
  EXPECT_FALSE(tree.topLevelItem(0)->text(3).isEmpty());
  tree.setCurrentItem(tree.topLevelItem(0));
  picture(list, "endpoints");
  // The selection stays when other endpoints end.
  other.reset();
  ASSERT_TRUE(until([&] { return tree.topLevelItemCount() == 1 + kKernel; }));
  EXPECT_EQ(list.selected(), QStringList{QString::fromStdString(one->socket_path())});
}

TEST_F(Sources, EndpointsAreAttachedToByMouseKeyAndButton) {
  const auto one = endpoint("one");
  const auto other = endpoint("other");
  const QString one_socket = QString::fromStdString(one->socket_path());
  const QString other_socket = QString::fromStdString(other->socket_path());
  EndpointList list;
  auto& tree = *part<QTreeWidget>(list, "endpoints");
  auto& button = *part<QPushButton>(list, "attach");
  QSignalSpy attach(&list, &EndpointList::attach);
  list.show();
  ASSERT_TRUE(until([&] { return tree.topLevelItemCount() == 2 + kKernel; }));
  EXPECT_FALSE(button.isEnabled());
  const QPoint second = tree.visualItemRect(tree.topLevelItem(1)).center();
  QTest::mouseClick(tree.viewport(), Qt::LeftButton, {}, second);
  QTest::mouseDClick(tree.viewport(), Qt::LeftButton, {}, second);
  ASSERT_EQ(attach.size(), 1);
  EXPECT_EQ(attach.takeFirst()[0].toStringList(), QStringList{other_socket});
  QTest::keyClick(&tree, Qt::Key_Up);
  QTest::keyClick(&tree, Qt::Key_Return);
  ASSERT_EQ(attach.size(), 1);
  EXPECT_EQ(attach.takeFirst()[0].toStringList(), QStringList{one_socket});
  tree.selectAll();
  tree.topLevelItem(2)->setSelected(false);  // the kernel
  QTest::mouseClick(&button, Qt::LeftButton);
  ASSERT_EQ(attach.size(), 1);
  EXPECT_EQ(attach.takeFirst()[0].toStringList(), (QStringList{one_socket, other_socket}));
}

TEST_F(Sources, AHiddenListDoesNotLook) {
  EndpointList list;
  auto& tree = *part<QTreeWidget>(list, "endpoints");
  const auto one = endpoint("one");
  list.show();
  ASSERT_TRUE(until([&] { return tree.topLevelItemCount() == 1 + kKernel; }));
  const auto& timer = *list.findChild<QTimer*>();
  EXPECT_TRUE(timer.isActive());
  list.hide();
  EXPECT_FALSE(timer.isActive());
  const auto other = endpoint("other");
  list.show();
  EXPECT_TRUE(until([&] { return tree.topLevelItemCount() == 2 + kKernel; }));
}

TEST_F(Sources, TheKernelIsStartedWhenItIsAttachedTo) {
  std::unique_ptr<trace::Hub> kernel;
  EndpointList list(nullptr, [&]() -> base::Expected<StartedKernel> {
    kernel = endpoint("kernel");
    return StartedKernel{std::make_shared<int>(), kernel->socket_path()};
  });
  auto& tree = *part<QTreeWidget>(list, "endpoints");
  QSignalSpy attach(&list, &EndpointList::attach);
  list.show();
  ASSERT_TRUE(until([&] { return tree.topLevelItemCount() == kKernel; }));
  EXPECT_EQ(tree.topLevelItem(0)->text(0), "kernel");
  EXPECT_THAT(tree.topLevelItem(0)->text(1).toStdString(), ::testing::HasSubstr("starts when"));
  tree.setCurrentItem(tree.topLevelItem(0));
  QTest::keyClick(&tree, Qt::Key_Return);
  ASSERT_TRUE(until([&] { return attach.size() == 1; }));
  const QString socket = QString::fromStdString(kernel->socket_path());
  EXPECT_EQ(attach.takeFirst()[0].toStringList(), QStringList{socket});
  // Now it is an endpoint that runs, and is listed as such.
  ASSERT_TRUE(until([&] { return tree.topLevelItem(0)->text(1) == "a test's kernel"; }));
  EXPECT_EQ(tree.topLevelItemCount(), 1);
  list.attach_to({"kernel"});
  EXPECT_EQ(attach.takeFirst()[0].toStringList(), QStringList{"kernel"});
}

TEST_F(Sources, WhyTheKernelCannotBeTraced) {
  EndpointList list(nullptr, []() -> base::Expected<StartedKernel> {
    return base::fail("no privilege; use sudo");
  });
  QSignalSpy attach(&list, &EndpointList::attach);
  QSignalSpy trouble(&list, &EndpointList::trouble);
  list.attach_to({"kernel"});
  ASSERT_TRUE(until([&] { return trouble.size() == 1; }));
  EXPECT_EQ(trouble.takeFirst()[0].toString(), "no privilege; use sudo");
  EXPECT_TRUE(attach.isEmpty());
}

TEST_F(Sources, InterfacesAndAFilter) {
  InterfaceList list(nullptr, [] {
    return std::vector<capture::ListedInterface>{{"eth0", "The first"}, {"lo", ""}};
  });
  auto& tree = *part<QTreeWidget>(list, "interfaces");
  auto& filter = *part<QLineEdit>(list, "filter");
  QSignalSpy capture(&list, &InterfaceList::capture);
  list.resize(480, 240);
  list.show();
  ASSERT_TRUE(until([&] { return tree.topLevelItemCount() == 2; }));
  QTest::keyClick(&tree, Qt::Key_Down);
  QTest::keyClicks(&filter, " host 10.0.0.1 ");
  QTest::keyClick(&filter, Qt::Key_Return);
  ASSERT_EQ(capture.size(), 1);
  EXPECT_EQ(capture[0][0].toString(), "lo");
  EXPECT_EQ(capture[0][1].toString(), "host 10.0.0.1");
  picture(list, "interfaces");
  list.show_problem("lo: no permission");
  EXPECT_TRUE(part<QLabel>(list, "note")->text().startsWith("lo: no permission.\n"));
  QTest::mouseClick(part<QPushButton>(list, "capture"), Qt::LeftButton);
  EXPECT_FALSE(part<QLabel>(list, "note")->isVisible());
  EXPECT_EQ(capture.size(), 2);
}

TEST_F(Sources, InterfacesWithRdmaComeFirstAndThoseWithoutAreHidden) {
  QTemporaryDir sys;
  const auto write = [&](const QString& path, const QByteArray& text) {
    const QString full = sys.path() + "/class/" + path;
    ASSERT_TRUE(QDir().mkpath(QFileInfo(full).path()));
    QFile file(full);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
  };
  write("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "ens1\n");
  write("infiniband/mlx5_0/ports/1/counters/port_rcv_packets", "100\n");
  write("infiniband/mlx5_0/ports/1/counters/port_xmit_packets", "20\n");
  write("net/ens1/statistics/rx_packets", "3\n");
  const auto devices = rdma_devices(sys.path());
  const std::vector<Interface> all = sorted_interfaces(
      {{"any", ""}, {"bluetooth0", ""}, {"eth0", "x"}, {"ens1", ""}, {"dbus-system", ""}}, devices);
  QStringList names;
  for (const Interface& i : all) names << i.name + (i.usual ? "" : " hidden");
  EXPECT_EQ(names, QStringList({"ens1", "eth0", "any", "bluetooth0 hidden", "dbus-system hidden"}));
  EXPECT_EQ(describe(all[0]), "RDMA: mlx5_0");
  EXPECT_EQ(describe(all[1]), "x");
  EXPECT_EQ(packets_of(all[0], sys.path()), 123U);
  EXPECT_EQ(packets_of(all[1], sys.path()), std::nullopt);
  EXPECT_EQ(packets_of({.name = "../../net/ens1", .description = {}, .device = {}}, sys.path()),
            std::nullopt);
}

TEST_F(Sources, WhyThereAreNoInterfacesStandsInTheList) {
  InterfaceList list(nullptr, []() -> capture::Expected<std::vector<capture::ListedInterface>> {
    return capture::fail("this build cannot capture");
  });
  list.resize(480, 240);
  list.show();
  auto& note = *part<QLabel>(list, "note");
  ASSERT_TRUE(until([&] { return note.isVisible(); }));
  EXPECT_TRUE(note.text().startsWith("this build cannot capture.\n"));
  EXPECT_FALSE(part<QPushButton>(list, "capture")->isEnabled());
  picture(list, "no_interfaces");
}

qulonglong counter(PlaygroundPanel& panel, const char* name) {
  return QLocale().toULongLong(part<QLabel>(panel, name)->text());
}

TEST_F(Sources, ATrialRunsAndItsFaultsAreTurnedUpAndDown) {
  PlaygroundPanel panel;
  panel.resize(panel.sizeHint().expandedTo({420, 900}));
  panel.show();
  picture(panel, "trial_before");
  auto& button = *part<QPushButton>(panel, "start");
  QSignalSpy started(&panel, &PlaygroundPanel::started);
  QSignalSpy stopped(&panel, &PlaygroundPanel::stopped);
  QTest::mouseClick(&button, Qt::LeftButton);
  ASSERT_TRUE(started.wait(kLong));
  EXPECT_EQ(started[0][0].toStringList(), panel.endpoints());
  EXPECT_EQ(panel.endpoints().size(), 2);
  ASSERT_TRUE(until([&] { return counter(panel, "calls") > 100; }));
  EXPECT_EQ(part<QLabel>(panel, "force")->text(), "No faults");
  EXPECT_FALSE(part<QWidget>(panel, "credits")->isEnabled());

  auto& loss = *part<QWidget>(panel, "loss")->findChild<QSlider*>();
  for (int i = 0; i < 5; ++i) QTest::keyClick(&loss, Qt::Key_PageUp);
  EXPECT_EQ(part<QLabel>(panel, "force")->text(), "Faults in force: drop rate=0.1");
  ASSERT_TRUE(
      until([&] { return counter(panel, "faults") > 10 && counter(panel, "retransmitted") > 5; }));
  picture(panel, "trial_running");
  QTest::keyClick(&loss, Qt::Key_Home);
  EXPECT_EQ(part<QLabel>(panel, "force")->text(), "No faults");

  // Invalid rules leave the faults in force unchanged.
  auto& rules = *part<QLineEdit>(panel, "rules");
  QTest::keyClicks(&rules, "drip");
  QTest::keyClick(&rules, Qt::Key_Return);
  EXPECT_TRUE(part<QLabel>(panel, "note")->isVisible());
  EXPECT_EQ(part<QLabel>(panel, "force")->text(), "No faults");
  rules.clear();
  QTest::keyClick(&rules, Qt::Key_Return);
  EXPECT_FALSE(part<QLabel>(panel, "note")->isVisible());

  part<QWidget>(panel, "granted")->findChild<QDoubleSpinBox*>()->setValue(5);
  ASSERT_TRUE(until([&] { return counter(panel, "grant_now") == 5; }));
  QTest::mouseClick(&button, Qt::LeftButton);
  ASSERT_TRUE(stopped.wait(kLong));
  EXPECT_FALSE(panel.running());
  EXPECT_TRUE(panel.endpoints().isEmpty());
  EXPECT_EQ(counter(panel, "errors"), 0U);
  // Totals stay; values of the moment are cleared.
  EXPECT_GT(counter(panel, "calls"), 100U);
  for (const char* name : {"rate_now", "outstanding", "waiting", "grant_now"}) {
    EXPECT_EQ(part<QLabel>(panel, name)->text(), "–") << name;
  }
}

TEST_F(Sources, APresetSetsItsFaultAndNoOther) {
  PlaygroundPanel panel;
  panel.show();
  EXPECT_EQ(panel.title(), "Trial, healthy");
  const auto value = [&](const char* name) {
    return part<QWidget>(panel, name)->findChild<QDoubleSpinBox*>()->value();
  };
  part<QWidget>(panel, "duplication")->findChild<QDoubleSpinBox*>()->setValue(3);
  part<QWidget>(panel, "loss")->findChild<QDoubleSpinBox*>()->setValue(7.5);
  EXPECT_EQ(panel.title(), "Trial, 7.5 % loss");
  QSignalSpy started(&panel, &PlaygroundPanel::started);
  QTest::mouseClick(part<QPushButton>(panel, "preset-one-credit"), Qt::LeftButton);
  EXPECT_EQ(value("duplication"), 0);
  EXPECT_EQ(value("loss"), 0);
  EXPECT_EQ(value("granted"), 1);
  EXPECT_EQ(panel.title(), "Trial, one credit");
  EXPECT_TRUE(part<QPushButton>(panel, "preset-one-credit")->isChecked());
  ASSERT_TRUE(started.wait(kLong));
  ASSERT_TRUE(until([&] { return counter(panel, "grant_now") == 1; }));
  panel.use("slow-server");  // while it runs
  EXPECT_EQ(value("stalls"), 20);
  EXPECT_EQ(value("granted"), 32);
  ASSERT_TRUE(until([&] { return counter(panel, "grant_now") == 32; }));
  panel.use("nosuch");
  EXPECT_EQ(panel.title(), "Trial, slow server");
}

// Alt and a letter reach one widget only.
TEST_F(Sources, EveryMnemonicOfThePanelIsItsOwn) {
  PlaygroundPanel panel;
  std::map<QChar, QString> used;
  const auto note = [&](const QString& text) {
    const qsizetype at = text.indexOf('&');
    if (at < 0 || at + 1 == text.size()) return;
    const QChar letter = text[at + 1].toLower();
    EXPECT_FALSE(used.contains(letter)) << text.toStdString() << used[letter].toStdString();
    used[letter] = text;
  };
  for (const QLabel* const l : panel.findChildren<QLabel*>()) note(l->text());
  for (const QAbstractButton* const b : panel.findChildren<QAbstractButton*>()) note(b->text());
  EXPECT_TRUE(used.contains('s'));  // Start
}

TEST_F(Sources, WhatATrialCannotBeStandsInThePanel) {
  PlaygroundPanel panel;
  panel.show();
  auto& sizes = *part<QLineEdit>(panel, "sizes");
  sizes.setText("4X");
  panel.start();
  auto& note = *part<QLabel>(panel, "note");
  ASSERT_TRUE(until([&] { return note.isVisible(); }));
  EXPECT_TRUE(note.text().startsWith("sizes: "));
  EXPECT_FALSE(panel.running());
  // After a correction, it starts.
  QSignalSpy started(&panel, &PlaygroundPanel::started);
  sizes.setText("4k");
  panel.start();
  EXPECT_TRUE(started.wait(kLong));
  EXPECT_FALSE(note.isVisible());
}

}  // namespace
}  // namespace rpcrdma::gui
