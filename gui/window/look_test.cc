// Theme, size of text, focus, and what screen readers hear.
#include "connections_model.h"
#include "detail_view.h"
#include "filter_edit.h"
#include "main_window.h"
#include "message_table.h"
#include "wait_for_tests.h"

#include <QAbstractButton>
#include <QAccessible>
#include <QApplication>
#include <QDockWidget>
#include <QMenuBar>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolBar>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include <rpcrdma/views/byte_view.h>
#include <rpcrdma/views/chunk_view.h>
#include <rpcrdma/views/palettes.h>
#include <rpcrdma/views/style.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {
namespace {

class Look : public ::testing::Test {
 protected:
  Look() : settings(folder.filePath("settings"), QSettings::IniFormat) { start(); }

  void start() {
    window = std::make_unique<MainWindow>(settings);
    window->show();
    window->activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(window.get(), kBound));
  }
  void start_again() {
    window->close();
    window.reset();
    start();
  }
  void open(const char* name) {
    window->open({QString(RPCRDMA_TEST_CAPTURES) + "/" + name});
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          const auto [over, all] = window->document().store().read([](const index::Content& c) {
            return std::pair(c.progress.finished, c.rows.size());
          });
          return over && window->document().row_count() == all;
        },
        kBound));
  }
  [[nodiscard]] QAction* action(const QString& title) {
    for (QAction* const a : window->findChildren<QAction*>()) {
      if (QString(a->text()).remove('&') == title) return a;
    }
    return nullptr;
  }
  void trigger(const QString& title) {
    QAction* const found = action(title);
    ASSERT_NE(found, nullptr) << title.toStdString();
    found->trigger();
  }

  QTemporaryDir folder;
  QSettings settings;
  std::unique_ptr<MainWindow> window;
};

TEST_F(Look, TheThemeIsChosenAndKept) {
  trigger("Dark");
  ASSERT_TRUE(QTest::qWaitFor([&] { return is_dark(window->palette()); }, kBound));
  EXPECT_EQ(window->messages().palette().color(QPalette::Base),
            dark_palette().color(QPalette::Base));
  start_again();
  EXPECT_TRUE(is_dark(window->palette()));
  EXPECT_TRUE(action("Dark")->isChecked());
  trigger("Light");
  EXPECT_TRUE(QTest::qWaitFor([&] { return !is_dark(window->palette()); }, kBound));
  trigger("As the system");
  start_again();
  EXPECT_TRUE(action("As the system")->isChecked());
}

// The highest WCAG contrast of any two colours in a picture.
double contrast_in(const QImage& picture) {
  const auto part = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  double least = 1;
  double most = 0;
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) {
      const QColor c = picture.pixelColor(x, y);
      const double luminance =
          0.2126 * part(c.redF()) + 0.7152 * part(c.greenF()) + 0.0722 * part(c.blueF());
      least = std::min(least, luminance);
      most = std::max(most, luminance);
    }
  }
  return (most + 0.05) / (least + 0.05);
}

TEST_F(Look, TheTextOfEachButtonIsReadable) {
  open("linux-nfs41.pcap");
  for (const char* const theme : {"Dark", "Light"}) {
    trigger(theme);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return is_dark(window->palette()) == (QString(theme) == "Dark"); }, kBound));
    QCoreApplication::processEvents();
    const QImage all = window->grab().toImage();
    int seen = 0;
    for (QAbstractButton* const b : window->findChildren<QAbstractButton*>()) {
      if (!b->isVisible() || !b->isEnabled() || b->text().isEmpty() || b->width() < 24) continue;
      // The middle: a frame's colours do not count.
      const QRect place(b->mapTo(window.get(), QPoint(0, 0)), b->size());
      const QRect middle = place.adjusted(8, 4, -8, -4) & all.rect();
      if (middle.isEmpty() || b->visibleRegion().boundingRect().size() != b->size()) continue;
      ++seen;
      EXPECT_GE(contrast_in(all.copy(middle)), 4.5) << theme << ": " << b->text().toStdString();
    }
    EXPECT_GT(seen, 8) << theme;
  }
}

TEST_F(Look, ThePlaceholderIsReadable) {
  for (const char* const theme : {"Dark", "Light", "As the system"}) {
    trigger(theme);
    QCoreApplication::processEvents();
    const QPalette palette = window->filter().palette();
    const int base = palette.color(QPalette::Base).lightness();
    EXPECT_GT(std::abs(palette.color(QPalette::PlaceholderText).lightness() - base), 80) << theme;
  }
}

TEST_F(Look, TheTextGrowsInEveryView) {
  open("linux-nfs41.pcap");
  window->show_view("messages");
  const int row = window->messages().rect_of(0).height();
  const int other = window->connections().verticalHeader()->defaultSectionSize();
  const int wide = window->messages().header().sectionSize(0);
  auto* const bytes = window->findChild<ByteView*>();
  const double digits = QFontMetricsF(bytes->font()).horizontalAdvance('0');
  for (int i = 0; i < 5; ++i) QTest::keyClick(window.get(), Qt::Key_Plus, Qt::ControlModifier);
  QCoreApplication::processEvents();
  EXPECT_GT(window->messages().rect_of(0).height(), row);
  EXPECT_GT(window->connections().verticalHeader()->defaultSectionSize(), other);
  EXPECT_GT(window->messages().header().sectionSize(0), wide);
  EXPECT_GT(QFontMetricsF(bytes->font()).horizontalAdvance('0'), digits);
  const double size = QApplication::font().pointSizeF();
  start_again();
  EXPECT_DOUBLE_EQ(QApplication::font().pointSizeF(), size);
  QTest::keyClick(window.get(), Qt::Key_0, Qt::ControlModifier);
  EXPECT_LT(QApplication::font().pointSizeF(), size);
  EXPECT_EQ(window->connections().verticalHeader()->defaultSectionSize(), other);
}

TEST_F(Look, TheSizeOfTextHasLimits) {
  for (int i = 0; i < 30; ++i) trigger("Larger text");
  const double most = QApplication::font().pointSizeF();
  trigger("Larger text");
  EXPECT_DOUBLE_EQ(QApplication::font().pointSizeF(), most);
  for (int i = 0; i < 30; ++i) trigger("Smaller text");
  EXPECT_GT(QFontMetrics(QApplication::font()).height(), 6);
}

TEST_F(Look, RowsHaveOneHeight) {
  EXPECT_EQ(window->messages().rect_of(0).height(), row_height_of(window->fontMetrics()));
  EXPECT_EQ(window->connections().verticalHeader()->defaultSectionSize(),
            row_height_of(window->fontMetrics()));
}

// A window's stops of the Tab key. Each is the focus, and is seen to be.
class Stops : public Look, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Workspaces, Stops,
                         ::testing::Values("start", "overview", "messages", "ladder", "calls",
                                           "latency", "compare"));

TEST_P(Stops, EachIsSeen) {
  const QString name = GetParam();
  if (name != "start") {
    open("linux-nfs41.pcap");
    window->show_view(name);
  }
  QTest::qWait(50);
  // Blinking cursors and late paints would hide that nothing shows the focus.
  const int blink = QApplication::cursorFlashTime();
  QApplication::setCursorFlashTime(0);
  std::set<QWidget*> seen;
  QImage before = window->grab().toImage();
  constexpr int kMost = 400;
  for (int i = 0; i < kMost; ++i) {
    QTest::keyClick(window.get(), Qt::Key_Tab);
    QCoreApplication::processEvents();
    QWidget* const now = QApplication::focusWidget();
    ASSERT_NE(now, nullptr);
    if (!seen.insert(now).second) break;
    const QImage after = window->grab().toImage();
    EXPECT_FALSE(after == before) << now->metaObject()->className() << " "
                                  << now->objectName().toStdString() << " "
                                  << now->accessibleName().toStdString();
    before = after;
  }
  QApplication::setCursorFlashTime(blink);
  EXPECT_GE(seen.size(), name == "start" ? 1u : 5u);
  EXPECT_LT(seen.size(), static_cast<std::size_t>(kMost));
}

TEST_F(Look, TabGoesAsOneReads) {
  open("linux-nfs41.pcap");
  window->show_view("messages");
  window->filter().setFocus();
  std::vector<QWidget*> order;
  QTest::keyClick(window.get(), Qt::Key_Tab);
  while (QApplication::focusWidget() != &window->filter() && order.size() < 400) {
    order.push_back(QApplication::focusWidget());
    QTest::keyClick(window.get(), Qt::Key_Tab);
  }
  const auto place = [&](QWidget* widget) {
    return std::find(order.begin(), order.end(), widget) - order.begin();
  };
  EXPECT_LT(place(&window->messages()), std::ssize(order));
  EXPECT_LT(place(&window->messages()), place(&window->detail().tree()));
  EXPECT_LT(place(&window->detail().tree()), place(&window->connections()));
  EXPECT_LT(place(&window->connections()), std::ssize(order));
  // The same way back.
  window->filter().setFocus();
  QTest::keyClick(window.get(), Qt::Key_Tab, Qt::ShiftModifier);
  EXPECT_EQ(QApplication::focusWidget(), order.back());
}

QString spoken_name(QWidget* widget) {
  QAccessibleInterface* const access = QAccessible::queryAccessibleInterface(widget);
  return access != nullptr ? access->text(QAccessible::Name) : QString();
}

TEST_F(Look, EveryWidgetThatTakesTheKeyboardHasAName) {
  open("linux-nfs41.pcap");
  for (QDockWidget* const d : window->findChildren<QDockWidget*>()) d->show();
  for (QWidget* const w : window->findChildren<QWidget*>()) {
    if ((w->focusPolicy() & Qt::TabFocus) == 0 || w->focusProxy() != nullptr) continue;
    if (w->objectName().startsWith("qt_")) continue;  // parts of Qt's own widgets
    if (w->isHidden() && qobject_cast<QAbstractButton*>(w) != nullptr) continue;  // without words
    const auto* const tabs = qobject_cast<QTabBar*>(w);
    if (tabs != nullptr && tabs->count() == 0) continue;  // Qt keeps it for later docks
    QStringList where;
    for (QWidget* p = w; p != nullptr; p = p->parentWidget()) {
      where << QString("%1 %2").arg(p->metaObject()->className(), p->objectName());
    }
    EXPECT_FALSE(spoken_name(w).isEmpty()) << where.join(" in ").toStdString();
  }
}

TEST_F(Look, AScreenReaderHearsTheRowsOfTheTable) {
  open("linux-nfs41.pcap");
  window->show_view("messages");
  QAccessibleInterface* const access = QAccessible::queryAccessibleInterface(&window->messages());
  ASSERT_NE(access, nullptr);
  EXPECT_EQ(access->role(), QAccessible::Table);
  QAccessibleTableInterface* const table = access->tableInterface();
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rowCount(), 100);
  EXPECT_EQ(table->columnDescription(0), QString("Frame"));
  EXPECT_EQ(table->cellAt(3, 0)->text(QAccessible::Name),
            window->messages().text(3, Column::kFrame));
  EXPECT_EQ(table->cellAt(100, 0), nullptr);
  EXPECT_EQ(table->cellAt(0, table->columnCount()), nullptr);
  window->messages().go_to(7);
  EXPECT_TRUE(table->isRowSelected(7));
  EXPECT_EQ(table->selectedRows(), QList<int>{7});
  QAccessibleInterface* const cell = access->focusChild();
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->tableCellInterface()->rowIndex(), 7);
  EXPECT_TRUE(
      cell->text(QAccessible::Description).contains(window->messages().text(7, Column::kXid)));
  EXPECT_EQ(access->child(access->indexOfChild(cell)), cell);
  EXPECT_EQ(access->childAt(cell->rect().center().x(), cell->rect().center().y()), cell);
}

// A reader may walk over more cells than are kept.
TEST_F(Look, CellsForScreenReadersAreBounded) {
  open("linux-nfs41.pcap");
  QAccessibleInterface* const access = QAccessible::queryAccessibleInterface(&window->messages());
  for (const Column c : {Column::kSource, Column::kDestination, Column::kType, Column::kGranted}) {
    window->messages().show_column(c, true);
  }
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < access->childCount(); ++i) {
      ASSERT_NE(access->child(i), nullptr);
      ASSERT_TRUE(access->child(i)->isValid()) << i;
    }
  }
}

TEST_F(Look, PaintedViewsSayWhatIsSelected) {
  open("linux-nfs41.pcap");
  window->messages().go_to(3);
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return window->detail().tree().topLevelItemCount() != 0; }, kBound));
  auto* const bytes = window->findChild<ByteView*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !bytes->bytes().isEmpty(); }, kBound));
  QTest::keyClick(bytes, Qt::Key_Home);
  const QString first = bytes->accessibleDescription();
  EXPECT_TRUE(first.contains("ffset 0")) << first.toStdString();
  QTest::keyClick(bytes, Qt::Key_Right);
  EXPECT_NE(bytes->accessibleDescription(), first);
}

}  // namespace
}  // namespace rpcrdma::gui
