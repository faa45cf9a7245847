// The verbs of the context menu and of the Edit menu: each does what it says.
#include "context_menu.h"
#include "detail_view.h"
#include "export.h"
#include "find_bar.h"
#include "findings_view.h"
#include "marks_dialog.h"
#include "panels.h"
#include "payload.h"
#include "picture_dialog.h"
#include "window_for_tests.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QHeaderView>
#include <QMenu>
#include <QProcess>
#include <QScrollBar>
#include <QTableView>
#include <set>

#include <gmock/gmock.h>

namespace rpcrdma::gui {
namespace {

class VerbsTest : public OpenWindow {
 protected:
  [[nodiscard]] QMenu* menu() { return window.findChild<QMenu*>("context-menu"); }
  // Opens the menu of a view by the keyboard's Menu key.
  [[nodiscard]] QMenu* menu_of(QWidget& view) {
    close_menu();
    auto* const area = qobject_cast<QAbstractScrollArea*>(&view);
    QWidget* const on = area != nullptr ? area->viewport() : &view;
    const QPoint at(5, 5);
    QContextMenuEvent event(QContextMenuEvent::Keyboard, at, on->mapToGlobal(at));
    QApplication::sendEvent(on, &event);
    return menu();
  }
  void close_menu() { delete menu(); }
  // Clicks a cell with the right button, and opens its menu.
  [[nodiscard]] QMenu* menu_of_cell(std::uint64_t row, Column column) {
    close_menu();
    MessageTable& table = window.messages();
    table.show_column(column, true);
    table.go_to(row);
    QHeaderView& header = table.header();
    const int x = header.sectionPosition(static_cast<int>(column)) + 3;
    table.horizontalScrollBar()->setValue(x);
    const QPoint at(x - header.offset(), table.rect_of(row).center().y());
    QTest::mouseClick(table.viewport(), Qt::RightButton, {}, at);
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, table.viewport()->mapToGlobal(at));
    QApplication::sendEvent(table.viewport(), &event);
    return menu();
  }
  [[nodiscard]] static QAction* entry(const QMenu* menu, const QString& text) {
    for (QAction* const action : menu->actions()) {
      if (QString(action->text()).remove('&').startsWith(text)) return action;
    }
    return nullptr;
  }
  [[nodiscard]] static QMenu* under(const QMenu* menu, const QString& text) {
    QAction* const action = entry(menu, text);
    return action != nullptr ? action->menu() : nullptr;
  }
  [[nodiscard]] static QStringList texts(const QMenu* menu) {
    QStringList all;
    for (const QAction* const action : menu->actions()) {
      if (!action->isSeparator())
        all << QString(action->text()).replace("&&", "\x01").remove('&').replace('\x01', '&');
    }
    return all;
  }
  [[nodiscard]] std::set<QString> column(Column of) {
    std::set<QString> all;
    for (std::uint64_t row = 0; row < rows(); ++row) all.insert(cell(row, of));
    return all;
  }
  void only_messages() { window.show_view("messages"); }
};

TEST_F(VerbsTest, EachColumnsFiltersLeaveTheRowsThatTheySay) {
  open("linux-nfs41.pcap");
  only_messages();
  const std::uint64_t all = rows();
  for (const Column of : {Column::kKind, Column::kXid, Column::kType, Column::kCredit,
                          Column::kInUse, Column::kLength, Column::kMoved, Column::kLatency,
                          Column::kProcedure, Column::kStatus, Column::kSource, Column::kFrame}) {
    SCOPED_TRACE(static_cast<int>(of));
    constexpr std::uint64_t kRow = 21;  // a Reply
    const QString value = cell(kRow, of);
    const QMenu* const shown = menu_of_cell(kRow, of);
    ASSERT_NE(shown, nullptr);
    const QMenu* const apply = under(shown, "Apply as filter");
    ASSERT_NE(apply, nullptr);
    ASSERT_GE(apply->actions().size(), 2);
    QAction* const is = apply->actions()[0];
    QAction* const is_not = apply->actions()[1];
    is->trigger();
    ASSERT_TRUE(searched());
    const std::uint64_t equal = rows();
    EXPECT_GT(equal, 0U) << document().filter().toStdString();
    if (of != Column::kProcedure) {
      EXPECT_THAT(column(of), ::testing::ElementsAre(value)) << document().filter().toStdString();
    }
    is_not->trigger();
    ASSERT_TRUE(searched());
    EXPECT_LE(rows() + equal, all);
    EXPECT_FALSE(column(of).contains(value)) << document().filter().toStdString();
    window.use_filter({});
    ASSERT_TRUE(searched());
  }
}

TEST_F(VerbsTest, FiltersAreCombinedWithTheFilterThatIsOn) {
  open("linux-nfs41.pcap");
  only_messages();
  window.use_filter("rpcrdma.kind == reply");
  ASSERT_TRUE(searched());
  const std::uint64_t replies = rows();
  const QMenu* apply = under(menu_of_cell(10, Column::kXid), "Apply as filter");
  ASSERT_EQ(apply->actions().size(), 5);
  apply->actions()[4]->trigger();
  ASSERT_TRUE(searched());
  EXPECT_EQ(rows(), replies - 1);
  window.use_filter("rpcrdma.kind == reply");
  ASSERT_TRUE(searched());
  apply = under(menu_of_cell(10, Column::kXid), "Apply as filter");
  apply->actions()[3]->trigger();
  ASSERT_TRUE(searched());
  EXPECT_EQ(rows(), replies + 1);
  // A filter that is prepared is not applied.
  const QString before = document().filter();
  under(menu_of_cell(3, Column::kXid), "Prepare as filter")->actions()[0]->trigger();
  EXPECT_EQ(document().filter(), before);
  EXPECT_TRUE(window.filter().text().startsWith("rpcrdma.xid == 0x"));
}

TEST_F(VerbsTest, OnlyThisCallAndItsOtherHalf) {
  open("linux-nfs41.pcap");
  only_messages();
  const QString xid = cell(40, Column::kXid);
  entry(menu_of_cell(40, Column::kKind), "Only this Call")->trigger();
  ASSERT_TRUE(searched());
  ASSERT_EQ(rows(), 2U);
  EXPECT_THAT(column(Column::kXid), ::testing::ElementsAre(xid));
  const quint64 before = document().selected();
  QMenu* const shown = menu_of_cell(0, Column::kKind);
  QAction* const other = entry(shown, "Go to the Reply");
  ASSERT_NE(other, nullptr);
  other->trigger();
  EXPECT_NE(document().selected(), before);
  EXPECT_EQ(cell(*document().row_of(document().selected()), Column::kXid), xid);
}

TEST_F(VerbsTest, EachViewHasTheMenuByTheKeyboard) {
  open("linux-nfs41.pcap");
  only_messages();
  window.messages().go_to(20);
  ASSERT_TRUE(wait_for_excerpt());
  ASSERT_NE(menu_of(window.messages()), nullptr);
  const QStringList wanted = texts(menu());
  for (const char* verb : {"Only this Call", "Only this connection", "Follow this Call",
                           "Follow this connection", "Zoom to the time of this Call", "Mark",
                           "Comment...", "Set as time reference", "Export payload...", "Copy"}) {
    EXPECT_TRUE(wanted.contains(verb)) << verb;
  }
  FieldTree& tree = window.detail().tree();
  tree.setCurrentItem(tree.findItems("XID", Qt::MatchExactly | Qt::MatchRecursive).front());
  window.show_view("ladder");
  for (QWidget* const view :
       {static_cast<QWidget*>(&tree), static_cast<QWidget*>(window.findChild<CreditChart*>()),
        static_cast<QWidget*>(window.findChild<LadderView*>()),
        static_cast<QWidget*>(window.findChild<ChunkView*>())}) {
    const QMenu* const shown = menu_of(*view);
    ASSERT_NE(shown, nullptr) << view->metaObject()->className();
    EXPECT_EQ(texts(shown), wanted) << view->metaObject()->className();
  }
  window.connections().selectRow(0);
  const QMenu* const shown = menu_of(window.connections());
  ASSERT_NE(shown, nullptr);
  EXPECT_TRUE(texts(shown).contains("Only this connection"));
}

TEST_F(VerbsTest, AFieldIsAFilter) {
  open("linux-nfs41.pcap");
  only_messages();
  window.messages().go_to(20);
  ASSERT_TRUE(wait_for_excerpt());
  FieldTree& tree = window.detail().tree();
  tree.setCurrentItem(tree.findItems("Source", Qt::MatchExactly | Qt::MatchRecursive).front());
  QMenu* const apply = under(menu_of(tree), "Apply as filter");
  ASSERT_NE(apply, nullptr);
  EXPECT_TRUE(texts(apply).contains("rpcrdma.src == 10.77.0.2"))
      << texts(apply).join("; ").toStdString();
  tree.setCurrentItem(tree.findItems("XID", Qt::MatchExactly | Qt::MatchRecursive).front());
  under(menu_of(tree), "Apply as filter")->actions()[0]->trigger();
  ASSERT_TRUE(searched());
  EXPECT_EQ(rows(), 2U);
}

TEST_F(VerbsTest, AFindingIsAFilter) {
  open("rules/FC-02.pcap");
  window.show_view("findings");
  QTreeWidget& tree = window.findings().tree();
  const auto found = tree.findItems("FC-02", Qt::MatchExactly | Qt::MatchRecursive);
  ASSERT_FALSE(found.isEmpty());
  tree.setCurrentItem(found.front());
  close_menu();
  const QPoint at = tree.visualItemRect(found.front()).center();
  QContextMenuEvent event(QContextMenuEvent::Mouse, at, tree.viewport()->mapToGlobal(at));
  QApplication::sendEvent(tree.viewport(), &event);
  ASSERT_NE(menu(), nullptr);
  under(menu(), "Apply as filter")->actions()[0]->trigger();
  EXPECT_EQ(document().filter(), "rpcrdma.finding == \"FC-02\"");
}

TEST_F(VerbsTest, MarksAreSetAndGoneTo) {
  open("linux-nfs41.pcap");
  only_messages();
  const auto mark = [&](std::uint64_t row) {
    window.messages().go_to(row);
    QTest::keyClick(&window, Qt::Key_M, Qt::ControlModifier | Qt::ShiftModifier);
  };
  const QImage plain = window.messages().grab().toImage();
  mark(10);
  mark(5);
  EXPECT_EQ(window.marks().all().size(), 2U);
  EXPECT_TRUE(window.marks().of(11).marked);
  window.messages().go_to(0);
  QTest::keyClick(&window, Qt::Key_F2);
  EXPECT_EQ(document().selected(), 6U);
  QTest::keyClick(&window, Qt::Key_F2);
  EXPECT_EQ(document().selected(), 11U);
  QTest::keyClick(&window, Qt::Key_F2);
  EXPECT_EQ(document().selected(), 6U);
  QTest::keyClick(&window, Qt::Key_F2, Qt::ShiftModifier);
  EXPECT_EQ(document().selected(), 11U);
  // The sign is painted.
  window.messages().go_to(0);
  const QImage marked = window.messages().grab().toImage();
  mark(10);
  mark(5);
  EXPECT_TRUE(window.marks().all().empty());
  window.messages().go_to(0);
  EXPECT_NE(marked, window.messages().grab().toImage());
  // Another capture has no marks.
  mark(7);
  open("linux-nfs3.pcap");
  EXPECT_TRUE(window.marks().all().empty());
}

TEST_F(VerbsTest, TimesCountFromTheReference) {
  open("linux-nfs41.pcap");
  only_messages();
  window.messages().go_to(4);
  QTest::keyClick(&window, Qt::Key_T, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(cell(4, Column::kTime).toDouble(), 0.0);
  EXPECT_LT(cell(0, Column::kTime).toDouble(), 0.0);
  QTest::keyClick(&window, Qt::Key_T, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_TRUE(cell(0, Column::kTime).startsWith("30.1"));
}

TEST_F(VerbsTest, ACommentIsInTheCaptureThatIsSaved) {
  open("linux-nfs41.pcap");
  only_messages();
  window.messages().go_to(4);
  QTest::keyClick(&window, Qt::Key_K, Qt::ControlModifier | Qt::ShiftModifier);
  answer("why so slow?");
  EXPECT_EQ(window.marks().of(5).comment, "why so slow?");
  const MarksDialog list(document(), window.marks());
  ASSERT_EQ(list.list().topLevelItemCount(), 1);
  EXPECT_EQ(list.list().topLevelItem(0)->text(3), "why so slow?");
  const QString path = folder.filePath("commented.pcapng");
  ASSERT_TRUE(save_messages(document(), path, window.marks()));
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray bytes = file.readAll();
  // opt_comment, twelve bytes.
  EXPECT_EQ(bytes.count(QByteArray("\x01\x00\x0c\x00why so slow?", 16)), 1);
  // It is a capture as before.
  const std::uint64_t all = rows();
  window.open({path});
  ASSERT_TRUE(QTest::qWaitFor([&] { return rows() == all; }, kBound))
      << window.message().toStdString();
}

#ifdef RPCRDMA_COMMAND  // it is built, too
TEST_F(VerbsTest, APayloadHasTheBytesOfExtract) {
  open("linux-nfs41.pcap");
  only_messages();
  window.use_filter("nfs.op == READ && rpcrdma.kind == call && rpcrdma.moved > 4096");
  ASSERT_TRUE(searched());
  ASSERT_GT(rows(), 0U);
  window.messages().go_to(0);
  ASSERT_TRUE(wait_for_excerpt());
  const QString xid = cell(0, Column::kXid);
  const auto extract = [&](const QStringList& more) {
    QProcess process;
    process.start(RPCRDMA_COMMAND,
                  QStringList{"extract", "-d", folder.path(), "--xid", xid} + more +
                      QStringList{QString(RPCRDMA_TEST_CAPTURES) + "/linux-nfs41.pcap"});
    return process.waitForFinished(kBound) && process.exitCode() == 0;
  };
  ASSERT_TRUE(extract({}));
  ASSERT_TRUE(extract({"--message"}));
  const auto payloads = payloads_of(*document().excerpt(), document().selected());
  ASSERT_EQ(payloads.size(), 3U);  // a Write chunk, the Call, the Reply
  for (const Payload& p : payloads) {
    EXPECT_EQ(p.missing, "") << p.title.toStdString();
    const QString path = folder.filePath("saved.bin");
    EXPECT_EQ(save_payload(p, path), "");
    QFile ours(path);
    ASSERT_TRUE(ours.open(QIODevice::ReadOnly));
    const QStringList theirs = QDir(folder.path()).entryList({'*' + p.file});
    ASSERT_EQ(theirs.size(), 1) << p.file.toStdString();
    QFile file(folder.filePath(theirs.front()));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_EQ(ours.readAll(), file.readAll()) << p.file.toStdString();
  }
}
#endif

TEST_F(VerbsTest, AnIncompletePayloadIsNotSaved) {
  Payload part;
  part.title = "Write chunk 0";
  part.missing = "only 10 of 20 bytes were seen";
  const QString path = folder.filePath("part.bin");
  EXPECT_TRUE(save_payload(part, path).contains("only 10 of 20"));
  EXPECT_FALSE(QFile::exists(path));
}

TEST_F(VerbsTest, ATextIsFound) {
  open("linux-nfs41.pcap");
  only_messages();
  QTest::keyClick(&window, Qt::Key_F, Qt::ControlModifier);
  QLineEdit& edit = window.find_bar().edit();
  ASSERT_TRUE(edit.isVisible());
  const QString xid = cell(60, Column::kXid);
  QTest::keyClicks(&edit, xid);
  QTest::keyClick(&edit, Qt::Key_Return);
  const auto selected_xid = [&] {
    const auto row = document().row_of(document().selected());
    return row ? cell(*row, Column::kXid) : QString();
  };
  ASSERT_TRUE(QTest::qWaitFor([&] { return selected_xid() == xid; }, kBound));
  const quint64 first = document().selected();
  QTest::keyClick(&window, Qt::Key_F3);
  ASSERT_TRUE(QTest::qWaitFor([&] { return document().selected() != first; }, kBound));
  EXPECT_EQ(cell(*document().row_of(document().selected()), Column::kXid), xid);
  // Around the end, back to the first.
  QTest::keyClick(&window, Qt::Key_F3);
  ASSERT_TRUE(QTest::qWaitFor([&] { return document().selected() == first; }, kBound));
  EXPECT_EQ(window.find_bar().result(), "Passed the end");
  edit.setText("no such text");
  window.find_bar().find(1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !window.find_bar().result().isEmpty(); }, kBound));
  EXPECT_TRUE(window.find_bar().result().startsWith("No message"));
}

TEST_F(VerbsTest, ViewsInSightAreOfferedAsPictures) {
  open("linux-nfs41.pcap");
  only_messages();
  QTest::keyClick(&window, Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
  auto* const dialog = window.findChild<PictureDialog*>();
  ASSERT_NE(dialog, nullptr);
  QStringList titles;
  for (int i = 0; i < dialog->list().count(); ++i) titles << dialog->list().item(i)->text();
  ASSERT_GE(titles.size(), 4);
  EXPECT_EQ(titles[0], "The whole window");
  EXPECT_EQ(titles[1], "Messages");
  EXPECT_FALSE(titles.contains("Latency"));
}

}  // namespace
}  // namespace rpcrdma::gui
