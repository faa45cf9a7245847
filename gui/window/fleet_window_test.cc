// The fleet in the window: the ways to it, back, and to what it opens.
#include "bus_source.h"
#include "fleet_address.h"
#include "fleet_dialog.h"
#include "fleet_model.h"
#include "fleet_page.h"
#include "row_button.h"
#include "scripted_fleet.h"
#include "start_page.h"
#include "window_for_tests.h"

#include <QAction>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeView>

#include <gmock/gmock.h>

namespace rpcrdma::gui {
namespace {

class FleetWindow : public OpenWindow {
 protected:
  void follow() {
    auto made = std::make_unique<ScriptedFleet>();
    source = made.get();
    window.follow_fleet(std::move(made), "nats://bus:4222");
    window.fleet().set_folder(folder.path());
    for (int second = 0; second < 5; ++second) source->show(scripted_cluster(second, 0));
  }
  [[nodiscard]] QAction* action(const QString& keys) {
    for (QAction* const a : window.findChildren<QAction*>()) {
      if (a->shortcut() == QKeySequence(keys)) return a;
    }
    return nullptr;
  }
  [[nodiscard]] std::string title() const { return window.windowTitle().toStdString(); }

  ScriptedFleet* source = nullptr;
};

TEST_F(FleetWindow, IsOpenedAndLeft) {
  EXPECT_FALSE(window.fleet().isVisible());
  follow();
  EXPECT_TRUE(window.fleet().isVisible());
  EXPECT_FALSE(window.start().isVisible());
  EXPECT_EQ(title(), "Fleet nats://bus:4222 - rpcrdma-gui");
  EXPECT_EQ(window.fleet().model().rowCount(), 8);
  ASSERT_TRUE(action("Ctrl+W")->isEnabled());
  action("Ctrl+W")->trigger();
  EXPECT_TRUE(window.start().isVisible());
  EXPECT_FALSE(window.fleet().is_open());
  EXPECT_EQ(title(), "rpcrdma-gui");
  EXPECT_FALSE(action("Ctrl+W")->isEnabled());
}

TEST_F(FleetWindow, ARecordingOpensAndTheFleetStaysOpenBehindIt) {
  follow();
  window.fleet().record_button().click();
  ASSERT_EQ(source->asked.size(), 1U);
  const QString path = source->asked[0].path;
  ASSERT_TRUE(QFile::copy(QString(RPCRDMA_TEST_CAPTURES) + "/linux-nfs41.pcap", path));
  Q_EMIT source->recorded(source->asked[0].host, path);
  ASSERT_FALSE(document().is_empty());
  EXPECT_FALSE(window.fleet().isVisible());
  EXPECT_TRUE(window.fleet().is_open());
  ASSERT_TRUE(QTest::qWaitFor([&] { return rows() == 100; }, kBound));
  // To the fleet and back.
  action("Alt+Shift+F")->trigger();
  EXPECT_TRUE(window.fleet().isVisible());
  window.show_view("messages");
  EXPECT_FALSE(window.fleet().isVisible());
  EXPECT_TRUE(window.messages().isVisible());
  // Closing the document leads to the fleet, closing the fleet to the start page.
  action("Ctrl+W")->trigger();
  EXPECT_TRUE(document().is_empty());
  EXPECT_TRUE(window.fleet().isVisible());
  action("Ctrl+W")->trigger();
  EXPECT_TRUE(window.start().isVisible());
}

TEST_F(FleetWindow, TheStartPageAsksForTheBusAndTheWindowKeepsItsAddress) {
  auto* const card = window.start().findChild<RowButton*>("fleet");
  ASSERT_NE(card, nullptr);
  QTest::mouseClick(card, Qt::LeftButton);
  if (!BusSource::available()) {
    EXPECT_THAT(window.message().toStdString(), ::testing::HasSubstr("built without libnats"));
    return;
  }
  auto* const dialog = window.findChild<FleetDialog*>();
  ASSERT_NE(dialog, nullptr);
  ASSERT_TRUE(QTest::qWaitForWindowActive(dialog, kBound));
  // Nobody listens here.
  dialog->field("url")->setText("nats://joe:secret@127.0.0.1:1");
  QTest::keyClick(dialog->field("url"), Qt::Key_Return);
  EXPECT_TRUE(window.fleet().isVisible());
  EXPECT_EQ(title(), "Fleet nats://127.0.0.1:1 - rpcrdma-gui");
  EXPECT_EQ(saved_fleet_address(settings).url, "nats://127.0.0.1:1");
  window.close_document();
  EXPECT_TRUE(window.start().isVisible());
}

TEST_F(FleetWindow, CtrlFFindsHosts) {
  follow();
  action("Ctrl+F")->trigger();
  EXPECT_TRUE(window.fleet().filter().hasFocus());
}

}  // namespace
}  // namespace rpcrdma::gui
