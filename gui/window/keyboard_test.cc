// From the start page to the bytes behind a finding, with the keyboard alone.
#include "detail_view.h"
#include "findings_view.h"
#include "main_window.h"
#include "wait_for_tests.h"

#include <QApplication>
#include <QMenu>
#include <QTemporaryDir>
#include <QTest>

#include <gtest/gtest.h>

#include <rpcrdma/views/byte_view.h>

namespace rpcrdma::gui {
namespace {

template <typename Condition>
bool wait(Condition condition) {
  return QTest::qWaitFor(condition, kBound);
}

QMenu* open_menu() {
  return qobject_cast<QMenu*>(QApplication::activePopupWidget());
}

// Goes down a menu to the entry with this word. Returns false if there is none.
bool go_down_to(const QString& word) {
  QMenu* const menu = open_menu();
  for (int i = 0; menu != nullptr && i < 30; ++i) {
    const QAction* const now = menu->activeAction();
    if (now != nullptr && QString(now->text()).remove('&').contains(word)) return true;
    QTest::keyClick(menu, Qt::Key_Down);
  }
  return false;
}

TEST(Keyboard, LeadsFromTheStartPageToTheBytesOfAFinding) {
  const QTemporaryDir folder;
  QSettings settings(folder.filePath("settings"), QSettings::IniFormat);
  settings.setValue("recent", QStringList{QString(RPCRDMA_TEST_CAPTURES) + "/rules/FC-01.pcap"});
  MainWindow window(settings);
  window.show();
  window.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window, kBound));
  ASSERT_TRUE(window.document().is_empty());

  QTest::keyClick(&window, Qt::Key_F, Qt::AltModifier);
  ASSERT_TRUE(wait([] { return open_menu() != nullptr; }));
  ASSERT_TRUE(go_down_to("recent"));
  const QMenu* const file = open_menu();
  QTest::keyClick(open_menu(), Qt::Key_Right);
  ASSERT_TRUE(wait([file] { return open_menu() != nullptr && open_menu() != file; }));
  ASSERT_TRUE(go_down_to("FC-01"));
  QTest::keyClick(open_menu(), Qt::Key_Return);
  Document& document = window.document();
  ASSERT_TRUE(wait([&] {
    return document.row_count() != 0 &&
           document.store().read([](const index::Content& c) { return c.progress.finished; });
  }));

  // The menu gives the keyboard back to the window.
  ASSERT_TRUE(wait([] { return QApplication::activePopupWidget() == nullptr; }));
  window.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window, kBound));
  // Showing the page of the document arranges the panels.
  ASSERT_TRUE(wait([&] { return window.detail().isVisible(); }));
  QTest::keyClick(&window, Qt::Key_7, Qt::AltModifier);
  QTreeWidget& findings = window.findings().tree();
  ASSERT_TRUE(wait([&] { return findings.topLevelItemCount() != 0; }));
  for (int i = 0; i < 10 && !findings.hasFocus(); ++i) QTest::keyClick(&window, Qt::Key_Tab);
  ASSERT_TRUE(findings.hasFocus());
  QTest::keyClick(&findings, Qt::Key_Home);
  QTest::keyClick(&findings, Qt::Key_Down);
  document.select_message(0);
  QTest::keyClick(&window, Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(wait([&] { return document.selected() != 0; }));

  QTest::keyClick(&window, Qt::Key_2, Qt::AltModifier);
  QTreeWidget& fields = window.detail().tree();
  ASSERT_TRUE(wait([&] { return fields.hasFocus() && fields.topLevelItemCount() != 0; }));
  ByteView* bytes = nullptr;  // of the Send or of the RPC message
  ASSERT_TRUE(wait([&] {
    for (ByteView* const view : window.findChildren<ByteView*>()) {
      if (view->isVisible() && !view->bytes().isEmpty()) bytes = view;
    }
    return bytes != nullptr;
  }));
  QTest::keyClick(&fields, Qt::Key_Home);
  for (int i = 0; i < 60 && bytes->marked().second == 0; ++i) {
    QTest::keyClick(&fields, Qt::Key_Right);
    QTest::keyClick(&fields, Qt::Key_Down);
  }
  ASSERT_NE(bytes->marked().second, 0U);

  for (int i = 0; i < 10 && qobject_cast<ByteView*>(QApplication::focusWidget()) == nullptr; ++i) {
    QTest::keyClick(&window, Qt::Key_Tab);
  }
  auto* const focused = qobject_cast<ByteView*>(QApplication::focusWidget());
  ASSERT_NE(focused, nullptr);
  const QString before = focused->accessibleDescription();
  EXPECT_FALSE(before.isEmpty());
  QTest::keyClick(focused, Qt::Key_End);
  EXPECT_NE(focused->accessibleDescription(), before);
}

}  // namespace
}  // namespace rpcrdma::gui
