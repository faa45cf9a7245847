// Heavy loss in a trial, and its end, as the findings show them while it runs.
#include "findings_view.h"
#include "main_window.h"
#include "wait_for_tests.h"

#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeWidget>
#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <rpcrdma/sources/playground_panel.h>

namespace rpcrdma::gui {
namespace {

class Trial : public ::testing::Test {
 protected:
  Trial() : settings(folder.filePath("settings"), QSettings::IniFormat), window(settings) {
    window.show();
  }

  [[nodiscard]] bool begin(const QString& preset) {
    window.playground().use(preset);
    return QTest::qWaitFor([&] { return window.document().row_count() > 100; }, kBound);
  }
  // Ends the trial, and waits until all is read.
  [[nodiscard]] bool stop() {
    window.playground().stop();
    return QTest::qWaitFor(
        [&] {
          return window.document().store().read(
              [](const index::Content& c) { return c.progress.finished; });
        },
        kBound);
  }
  [[nodiscard]] bool found(std::string_view rule) {
    return window.document().store().read([&](const index::Content& c) {
      return std::ranges::any_of(c.kinds,
                                 [&](const index::FoundKind& k) { return k.rule->name == rule; });
    });
  }
  [[nodiscard]] std::string texts() {
    return window.document().store().read([](const index::Content& c) {
      std::string all;
      for (const index::FoundKind& k : c.kinds) {
        all += std::string(k.rule->name) + ": " + k.text + '\n';
      }
      return all;
    });
  }
  [[nodiscard]] bool wait_for(const char* rule) {
    return QTest::qWaitFor([&] { return found(rule); }, 3 * kBound) &&
           QTest::qWaitFor(
               [&] {
                 return !window.findings()
                             .tree()
                             .findItems(rule, Qt::MatchExactly | Qt::MatchRecursive)
                             .isEmpty();
               },
               kBound);
  }

  QTemporaryDir folder;
  QSettings settings;
  MainWindow window;
};

TEST_F(Trial, HeavyLossIsFoundWhileItLasts) {
  ASSERT_TRUE(begin("loss-5")) << window.message().toStdString();
  EXPECT_TRUE(wait_for("RETX-STORM")) << texts();
  EXPECT_TRUE(window.document().is_live());
}

TEST_F(Trial, LossThatBeginsLaterIsFound) {
  ASSERT_TRUE(begin("healthy")) << window.message().toStdString();
  EXPECT_FALSE(found("RETX-STORM"));
  window.playground().use("loss-5");
  EXPECT_TRUE(wait_for("RETX-STORM")) << texts();
}

// Its ends close their connections in order: that is no fault of either.
TEST_F(Trial, ItsEndIsNoLostConnection) {
  ASSERT_TRUE(begin("healthy")) << window.message().toStdString();
  ASSERT_TRUE(stop());
  EXPECT_FALSE(found("CONN-LOST")) << texts();
}

TEST_F(Trial, ItsEndUnderLossIsNoLostConnection) {
  ASSERT_TRUE(begin("loss-5")) << window.message().toStdString();
  ASSERT_TRUE(stop());
  EXPECT_FALSE(found("CONN-LOST")) << texts();
}

}  // namespace
}  // namespace rpcrdma::gui
