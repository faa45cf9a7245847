// For tests: a window with its own settings, and a capture that was read to its end.
#pragma once

#include "filter_edit.h"
#include "main_window.h"
#include "message_table.h"
#include "wait_for_tests.h"

#include <QInputDialog>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include <gtest/gtest.h>

namespace rpcrdma::gui {

class OpenWindow : public ::testing::Test {
 protected:
  OpenWindow() : settings(folder.filePath("settings"), QSettings::IniFormat), window(settings) {
    window.show();
    window.activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(&window, kBound));
  }

  [[nodiscard]] Document& document() { return window.document(); }
  [[nodiscard]] std::uint64_t rows() { return document().row_count(); }

  void open(const char* name) {
    window.open({QString(RPCRDMA_TEST_CAPTURES) + "/" + name});
    ASSERT_FALSE(document().is_empty()) << window.message().toStdString();
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          return document().store().read(
              [](const index::Content& c) { return c.progress.finished; });
        },
        kBound));
    ASSERT_TRUE(searched());
  }
  // Waits until the filter has looked at all messages.
  [[nodiscard]] bool searched() {
    return QTest::qWaitFor(
        [&] {
          const auto s = document().searched();
          const std::uint64_t all =
              document().store().read([](const index::Content& c) { return c.rows.size(); });
          return document().filter().isEmpty() ? rows() == all : s.finished && s.done >= all;
        },
        kBound);
  }
  [[nodiscard]] bool wait_for_excerpt() {
    return QTest::qWaitFor(
        [&] {
          const auto e = document().excerpt();
          return e && e->find(document().selected()) != nullptr;
        },
        kBound);
  }
  [[nodiscard]] QString cell(std::uint64_t row, Column column) {
    return window.messages().text(row, column);
  }
  // Types a text into the open dialog, and accepts it.
  void answer(const QString& text) {
    QLineEdit* line = nullptr;
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          for (QInputDialog* const dialog : window.findChildren<QInputDialog*>()) {
            if (dialog->isVisible()) line = dialog->findChild<QLineEdit*>();
          }
          return line != nullptr;
        },
        kBound));
    line->clear();
    QTest::keyClicks(line, text);
    QTest::keyClick(line, Qt::Key_Return);
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return window.findChildren<QInputDialog*>().isEmpty(); }, kBound));
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, kBound));
  }

  QTemporaryDir folder;
  QSettings settings;
  MainWindow window;
};

}  // namespace rpcrdma::gui
