// The window with real captures: simulates keys and mouse, and checks what is visible. Runs without
// a screen; tests/gui runs it in a real window, too.
#include "connections_model.h"
#include "detail_view.h"
#include "events_model.h"
#include "events_view.h"
#include "export.h"
#include "filter_edit.h"
#include "findings_view.h"
#include "integrity_bar.h"
#include "main_window.h"
#include "message_table.h"
#include "panels.h"
#include "support/congested.h"
#include "wait_for_tests.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QFile>
#include <QInputDialog>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <array>
#include <filesystem>

#include <gmock/gmock.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/playground/playground.h>
#include <rpcrdma/sources/playground_panel.h>
#include <rpcrdma/views/byte_view.h>

namespace rpcrdma::gui {
namespace {

QString capture(const char* name) {
  return QString(RPCRDMA_TEST_CAPTURES) + "/" + name;
}

class Window : public ::testing::Test {
 protected:
  Window() : settings(folder.filePath("settings"), QSettings::IniFormat), window(settings) {
    window.show();
    window.activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(&window, kBound));
  }

  [[nodiscard]] Document& document() { return window.document(); }
  [[nodiscard]] std::uint64_t rows() { return document().row_count(); }

  void open(const char* name) {
    window.open({capture(name)});
    ASSERT_FALSE(document().is_empty()) << window.message().toStdString();
    ASSERT_TRUE(QTest::qWaitFor([&] { return finished(); }, kBound));
  }
  [[nodiscard]] bool finished() {
    bool over = false;
    std::uint64_t all = 0;
    document().store().read([&](const index::Content& c) {
      over = c.progress.finished;
      all = c.rows.size();
    });
    return over && (!document().filter().isEmpty() || rows() == all);
  }
  [[nodiscard]] bool wait_for_excerpt() {
    return QTest::qWaitFor(
        [&] {
          const auto e = document().excerpt();
          return e && e->find(document().selected()) != nullptr;
        },
        kBound);
  }
  void filter(const QString& text) {
    FilterEdit& edit = window.filter();
    edit.setFocus();
    edit.clear();
    QTest::keyClicks(&edit, text);
    edit.popup()->hide();
    QTest::keyClick(&edit, Qt::Key_Return);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          const auto s = document().searched();
          return s.finished && s.done == s.total;
        },
        kBound));
  }
  // Answers the open dialog.
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
    QTest::keyClicks(line, text);
    QTest::keyClick(line, Qt::Key_Return);
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return window.findChildren<QInputDialog*>().isEmpty(); }, kBound));
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, kBound));
  }
  [[nodiscard]] QString cell(std::uint64_t row, Column column) {
    return window.messages().text(row, column);
  }

  QTemporaryDir folder;
  QSettings settings;
  MainWindow window;
};

TEST_F(Window, ShowsEveryMessageOfACapture) {
  open("linux-nfs41.pcap");
  EXPECT_EQ(rows(), 100u);
  EXPECT_EQ(cell(0, Column::kKind), "call");
  EXPECT_EQ(cell(1, Column::kKind), "reply");
  EXPECT_EQ(cell(0, Column::kProcedure), "NFS v4 NULL");
  EXPECT_EQ(cell(1, Column::kStatus), "ok");
  EXPECT_TRUE(window.windowTitle().contains("linux-nfs41.pcap"));
}

TEST_F(Window, AFilterThatIsTypedLeavesWhatMatches) {
  open("linux-nfs41.pcap");
  filter("rpcrdma.kind == \"reply\" && rpcrdma.moved > 0");
  ASSERT_GT(rows(), 0u);
  EXPECT_LT(rows(), 50u);
  for (std::uint64_t row = 0; row < rows(); ++row) {
    EXPECT_EQ(cell(row, Column::kKind), "reply");
    EXPECT_GT(cell(row, Column::kMoved).toULongLong(), 0u);
  }
  QTest::keyClick(&window, Qt::Key_X, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(rows(), 100u);
}

TEST_F(Window, AFilterThatIsWrongSaysWhereAndChangesNothing) {
  open("linux-nfs41.pcap");
  FilterEdit& edit = window.filter();
  edit.setFocus();
  QTest::keyClicks(&edit, "rpcrdma.credit < banana");
  edit.popup()->hide();
  QTest::keyClick(&edit, Qt::Key_Return);
  EXPECT_TRUE(edit.error().contains("character")) << edit.error().toStdString();
  EXPECT_EQ(edit.error_label().text(), edit.error());
  EXPECT_TRUE(edit.error_label().isVisible());
  EXPECT_EQ(rows(), 100u);
}

TEST_F(Window, NamesOfFieldsAreCompleted) {
  FilterEdit& edit = window.filter();
  edit.setFocus();
  QTest::keyClicks(&edit, "rpcrdma.cred");
  ASSERT_TRUE(QTest::qWaitFor([&] { return edit.popup()->isVisible(); }, kBound));
  QTest::keyClick(edit.popup(), Qt::Key_Down);
  QTest::keyClick(edit.popup(), Qt::Key_Return);
  EXPECT_EQ(edit.text(), "rpcrdma.credit");
  EXPECT_EQ(edit.error(), "");
}

TEST_F(Window, FromAMessageToItsBytesAndBack) {
  open("linux-nfs41.pcap");
  window.messages().go_to(0);
  ASSERT_TRUE(wait_for_excerpt());
  FieldTree& tree = window.detail().tree();
  const auto found = tree.findItems("XID", Qt::MatchExactly | Qt::MatchRecursive);
  ASSERT_FALSE(found.isEmpty());
  tree.setCurrentItem(found.front());
  // The XID is the first word of the header.
  EXPECT_EQ(window.detail().send_bytes().marked(), (std::pair<std::size_t, std::size_t>(0, 4)));
  // The credit value is the third.
  ByteView& bytes = window.detail().send_bytes();
  QTest::mouseClick(bytes.viewport(), Qt::LeftButton, {}, bytes.rect_of(9).center());
  ASSERT_NE(tree.currentItem(), nullptr);
  EXPECT_EQ(tree.currentItem()->text(0), "Credit value");
  EXPECT_EQ(tree.currentItem()->text(1), "128");
  EXPECT_EQ(bytes.marked(), (std::pair<std::size_t, std::size_t>(8, 4)));
  EXPECT_TRUE(tree.currentItem()->toolTip(0).contains("RFC 8166"));
}

TEST_F(Window, WhatIsBehindAnotherViewIsDrawnWhenItComesIntoSight) {
  LatencyView& latency = *window.findChild<LatencyView*>();
  window.dock("credits")->raise();
  QCoreApplication::processEvents();
  open("linux-nfs41.pcap");
  EXPECT_EQ(latency.table().rowCount(), 0);
  window.show_view("latency");
  ASSERT_TRUE(QTest::qWaitFor([&] { return latency.table().rowCount() != 0; }, kBound));
  // Another capture, while the first one is shown.
  open("linux-nfs3.pcap");
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        const QTableWidgetItem* const first = latency.table().item(0, 0);
        return first != nullptr && first->text().contains("v3");
      },
      kBound))
      << latency.table().rowCount();
}

TEST_F(Window, OneSelectionInAllViews) {
  open("linux-nfs41.pcap");
  filter("nfs.op == READ && rpcrdma.kind == \"call\" && rpcrdma.moved > 4096");
  ASSERT_GT(rows(), 0u);
  window.dock("chunks")->raise();
  window.messages().go_to(0);
  ASSERT_TRUE(wait_for_excerpt());
  const ChunkView& chunks = *window.findChild<ChunkView*>();
  ASSERT_FALSE(chunks.picture().chunks.empty());
  const auto& segment = chunks.picture().chunks[0].segments.at(0);
  EXPECT_GT(segment.operations.size(), 0u);
  EXPECT_EQ(segment.moved, segment.length);
  EXPECT_TRUE(ChunkView::gaps(segment).empty());
  window.show_view("ladder");
  LadderView& ladder = *window.findChild<LadderView*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !ladder.items().empty(); }, kBound));
  const quint64 call = document().selected();
  const auto reply =
      std::find_if(ladder.items().begin(), ladder.items().end(), [&](const LadderItem& i) {
        return i.exchange == call && i.kind == LadderItem::Kind::kReply;
      });
  ASSERT_NE(reply, ladder.items().end());
  const auto writes =
      std::count_if(ladder.items().begin(), ladder.items().end(), [&](const LadderItem& i) {
        return i.exchange == call && i.kind == LadderItem::Kind::kWrite;
      });
  EXPECT_EQ(static_cast<std::size_t>(writes), segment.operations.size());
  const quint64 answer = reply->message;
  const auto at = static_cast<std::size_t>(reply - ladder.items().begin());
  // The ladder scrolls to it when it is selected by a key.
  ladder.setFocus();
  ladder.set_selected(answer);
  QTest::mouseClick(ladder.viewport(), Qt::LeftButton, {}, ladder.rect_of(at).center());
  EXPECT_EQ(document().selected(), answer);
}

TEST_F(Window, CopiesTextCsvAndJson) {
  open("linux-nfs41.pcap");
  MessageTable& table = window.messages();
  table.go_to(0);
  table.go_to(2, true);
  QTest::keyClick(&table, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text().count('\n'), 3);
  const QString csv = table.copy(MessageTable::CopyAs::kCsv);
  EXPECT_EQ(csv.count('\n'), 4);
  EXPECT_TRUE(csv.startsWith("Frame,Time,"));
  const QJsonArray json =
      QJsonDocument::fromJson(table.copy(MessageTable::CopyAs::kJson).toUtf8()).array();
  ASSERT_EQ(json.size(), 3);
  EXPECT_EQ(json[1].toObject()["Kind"].toString(), "reply");
}

TEST_F(Window, TimesAreRelativeAbsoluteOrSinceTheRowAbove) {
  open("linux-nfs41.pcap");
  EXPECT_TRUE(cell(1, Column::kTime).startsWith("30.14"));
  document().set_time_format(TimeFormat::kDelta);
  EXPECT_EQ(cell(1, Column::kTime), "0.003297");
  document().set_time_format(TimeFormat::kAbsolute);
  EXPECT_EQ(cell(1, Column::kTime).count(':'), 2);
}

TEST_F(Window, KeysGoThroughMessages) {
  open("linux-nfs41.pcap");
  MessageTable& table = window.messages();
  table.setFocus();
  QTest::keyClick(&table, Qt::Key_Home);
  QTest::keyClick(&table, Qt::Key_Down);
  EXPECT_EQ(table.current(), 1u);
  QTest::keyClick(&table, Qt::Key_End);
  EXPECT_EQ(table.current(), 99u);
  EXPECT_EQ(table.visible().second, 99u);
  // From the last message, a Reply, to its Call.
  const QString xid = cell(99, Column::kXid);
  QTest::keyClick(&window, Qt::Key_M, Qt::ControlModifier);
  ASSERT_TRUE(table.current());
  EXPECT_NE(table.current(), 99u);
  EXPECT_EQ(cell(*table.current(), Column::kXid), xid);
  QTest::keyClick(&table, Qt::Key_Home);
  EXPECT_EQ(table.current(), 0u);
}

TEST_F(Window, AFindingLeadsToItsEvidence) {
  open("rules/FC-02.pcap");
  window.dock("findings")->raise();
  QTreeWidget& tree = window.findings().tree();
  const auto found = tree.findItems("FC-02", Qt::MatchExactly | Qt::MatchRecursive);
  ASSERT_FALSE(found.isEmpty());
  tree.setFocus();
  tree.setCurrentItem(found.front());
  window.findings().jump(1);
  const quint64 id = document().selected();
  ASSERT_NE(id, 0u);
  EXPECT_EQ(cell(*document().row_of(id), Column::kFinding), "FC-02");
  EXPECT_EQ(cell(*document().row_of(id), Column::kCredit), "0");
}

TEST_F(Window, WhatCannotBeReadIsSaidInOneLineAndLosesNothing) {
  open("linux-nfs41.pcap");
  window.open({"/nowhere/at/all.pcap"});
  EXPECT_TRUE(window.message().contains("/nowhere/at/all.pcap"));
  EXPECT_EQ(rows(), 100u);
  EXPECT_FALSE(document().attach({"no-such-endpoint"}));
  EXPECT_TRUE(window.message().contains("no-such-endpoint"));
  EXPECT_FALSE(document().capture("no-such-interface", {}));
  EXPECT_TRUE(window.message().contains("no-such-interface")) << window.message().toStdString();
  EXPECT_EQ(rows(), 100u);
}

TEST_F(Window, FilesAreDroppedOnIt) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(capture("linux-nfs3.pcap"))});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&window, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&window, &drop);
  ASSERT_FALSE(document().is_empty());
  EXPECT_TRUE(QTest::qWaitFor([&] { return finished(); }, kBound));
  EXPECT_GT(rows(), 0u);
  EXPECT_EQ(settings.value("recent").toStringList().front(), capture("linux-nfs3.pcap"));
}

TEST_F(Window, MessagesThatAreShownAreSavedAndReadAgain) {
  open("linux-nfs41.pcap");
  filter("nfs.op == READ");
  const std::uint64_t shown = rows();
  ASSERT_GT(shown, 0u);
  const QString path = folder.filePath("some.pcapng");
  const auto saved = save_messages(document(), path, window.marks());
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(saved->messages, shown);
  window.open({path});
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        const auto s = document().searched();
        return s.finished && s.total != 0 && s.done == s.total && finished();
      },
      kBound));
  EXPECT_EQ(rows(), shown);
  const auto bad = save_messages(document(), "/nowhere/at/all.pcapng", window.marks());
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("/nowhere/at/all.pcapng"), std::string::npos);
}

TEST_F(Window, IntegrityIsAlwaysInSight) {
  open("rules/CAPTURE-lost.pcap");
  const IntegrityBar& bar = *window.findChild<IntegrityBar*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return bar.text().contains("lost by the capture"); }, kBound))
      << bar.text().toStdString();
  EXPECT_TRUE(bar.toolTip().contains("missing from the capture"));
}

TEST_F(Window, ColumnsAreChosenAndKept) {
  open("linux-nfs41.pcap");
  EXPECT_FALSE(window.messages().is_shown(Column::kSource));
  window.messages().show_column(Column::kSource, true);
  EXPECT_TRUE(cell(0, Column::kSource).startsWith("10.77.0.2"));
  window.close();
  MainWindow again(settings);
  EXPECT_TRUE(again.messages().is_shown(Column::kSource));
}

TEST_F(Window, ALayoutIsKeptAndTakenAgain) {
  // The start page has no docks.
  open("linux-nfs41.pcap");
  QMenu* layouts = nullptr;
  for (QMenu* const menu : window.findChildren<QMenu*>()) {
    if (menu->title() == "&Layouts") layouts = menu;
  }
  ASSERT_NE(layouts, nullptr);
  const auto choose = [&](const QString& text) {
    Q_EMIT layouts->aboutToShow();
    for (QAction* const action : layouts->actions()) {
      if (action->text() != text) continue;
      action->trigger();
      return true;
    }
    return false;
  };
  window.dock("findings")->hide();
  ASSERT_TRUE(choose("&Save this layout..."));
  answer("no findings");
  window.dock("findings")->show();
  window.dock("credits")->hide();
  ASSERT_TRUE(choose("no findings"));
  EXPECT_TRUE(window.dock("findings")->isHidden());
  EXPECT_FALSE(window.dock("credits")->isHidden());
  ASSERT_TRUE(choose("&Default"));
  EXPECT_FALSE(window.dock("findings")->isHidden());
  // The next window restores it, too.
  MainWindow next(settings);
  QStringList names;
  for (QMenu* const menu : next.findChildren<QMenu*>()) {
    if (menu->title() != "&Layouts") continue;
    Q_EMIT menu->aboutToShow();
    for (const QAction* const action : menu->actions()) names << action->text();
  }
  EXPECT_TRUE(names.contains("no findings"));
}

TEST_F(Window, AFrameIsGoneTo) {
  open("linux-nfs41.pcap");
  QTest::keyClick(&window, Qt::Key_G, Qt::ControlModifier);
  answer("88");
  ASSERT_TRUE(wait_for_excerpt());
  EXPECT_EQ(document().excerpt()->find(document().selected())->message.frame, 88u);
  QTest::keyClick(&window, Qt::Key_G, Qt::ControlModifier);
  answer("the last");
  EXPECT_EQ(window.message(), "the last is not a frame number");
}

TEST_F(Window, ConnectionsAreListedAndChosen) {
  open("linux-nfs41.pcap");
  QTableView& table = window.connections();
  ASSERT_TRUE(QTest::qWaitFor([&] { return table.model()->rowCount() == 1; }, kBound));
  const auto text = [&](int column) { return table.model()->index(0, column).data().toString(); };
  EXPECT_EQ(text(1), "10.77.0.2 QP 17");
  EXPECT_EQ(text(3), "packets");
  EXPECT_EQ(text(7), "50");
  EXPECT_EQ(document().connection(), 0u);
}

TEST_F(Window, CongestionOfTheConnectionIsDrawn) {
  QFile plain(capture("linux-nfs3.pcap"));
  ASSERT_TRUE(plain.open(QIODevice::ReadOnly));
  const auto made = testing::congested_capture(
      plain.readAll().toStdString(), [](std::size_t n) { return n % 3 == 0; }, 2);
  ASSERT_GT(made.marked, 0U);
  ASSERT_GT(made.cnps, 0U);
  const QString path = folder.filePath("congested.pcap");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(QByteArray::fromStdString(made.file));
  file.close();
  window.open({path});
  ASSERT_TRUE(QTest::qWaitFor([&] { return finished(); }, kBound));
  window.show_view("congestion");
  const auto& view = *window.findChild<CongestionView*>();
  EXPECT_TRUE(QTest::qWaitFor([&] { return view.lines().size() == 3; }, kBound));
  EXPECT_EQ(view.lines(),
            QStringList({"CE from the client", "CNPs of the server", "Pause, class 3"}));
  EXPECT_TRUE(view.totals().contains(QString(" %1 of ").arg(made.marked)));
  EXPECT_TRUE(view.totals().contains(QString("sent %1 CNPs").arg(made.cnps)));
  EXPECT_TRUE(view.totals().contains("2 of class 3")) << view.totals().toStdString();
  Congestion::Bin sum;
  document().store().read([&](const index::Content& c) {
    const auto shown =
        Panels::congestion_of(c, *document().connection(), document().time_range().shown());
    for (const Congestion::Bin& b : shown.bins) {
      sum.marked[0] += b.marked[0];
      sum.marked[1] += b.marked[1];
      sum.cnps[1] += b.cnps[1];
      sum.paused[3] += b.paused[3];
    }
  });
  EXPECT_EQ(sum.marked[0], made.marked);
  EXPECT_EQ(sum.marked[1], 0U);
  EXPECT_EQ(sum.cnps[1], made.cnps);
  EXPECT_EQ(sum.paused[3], 2U);
  const QAbstractItemModel& table = *window.connections().model();
  const auto cell = [&](const QString& title) {
    for (int column = 0; column < table.columnCount(); ++column) {
      if (table.headerData(column, Qt::Horizontal).toString() != title) continue;
      return table.index(0, column).data().toString();
    }
    return QString("no such column");
  };
  EXPECT_EQ(cell("CE client"), QString::number(made.marked));
  EXPECT_EQ(cell("CE server"), "0");
  EXPECT_EQ(cell("CNPs server"), QString::number(made.cnps));
}

TEST_F(Window, ACaptureWithoutCongestionDrawsNone) {
  open("linux-nfs3.pcap");
  window.show_view("congestion");
  const auto& view = *window.findChild<CongestionView*>();
  EXPECT_EQ(view.lines(), QStringList());
  EXPECT_EQ(view.totals(), QString());
}

TEST_F(Window, ICRCsAreIgnoredOnRequest) {
  const auto checked = [&] {
    return document().store().read([](const index::Content& c) { return c.check_icrc; });
  };
  open("linux-nfs3.pcap");
  EXPECT_TRUE(checked());
  QAction* ignore = nullptr;
  for (QAction* const action : window.findChildren<QAction*>()) {
    if (action->text() == "Ignore &ICRCs") ignore = action;
  }
  ASSERT_NE(ignore, nullptr);
  ignore->trigger();
  // The file is read again.
  ASSERT_TRUE(QTest::qWaitFor([&] { return !checked() && finished(); }, kBound));
  EXPECT_GT(rows(), 0U);
  EXPECT_TRUE(settings.value("ignore-icrcs").toBool());
  document().select_message(1);
  EXPECT_TRUE(wait_for_excerpt());
  {
    MainWindow next(settings);
    EXPECT_FALSE(next.document().check_icrc());
  }
  ignore->trigger();
  ASSERT_TRUE(QTest::qWaitFor([&] { return checked() && finished(); }, kBound));
  // The option of the command line lasts as long as the window.
  window.ignore_icrcs();
  EXPECT_FALSE(document().check_icrc());
  EXPECT_FALSE(settings.value("ignore-icrcs").toBool());
}

TEST_F(Window, CreditsOfTheConnectionAreDrawn) {
  open("linux-nfs41.pcap");
  CreditChart& chart = *window.findChild<CreditChart*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !chart.drawn(0).empty(); }, kBound));
  chart.refresh();
  std::uint32_t granted = 0;
  std::uint32_t in_use = 0;
  for (const CreditColumn& c : chart.drawn(0)) {
    granted = std::max(granted, c.granted_max);
    in_use = std::max(in_use, c.in_use_max);
  }
  EXPECT_EQ(granted, 64u);
  EXPECT_EQ(in_use, 3u);
}

// A server and a load in this process, watched live; then packets are lost.
TEST_F(Window, ARunningEndpointIsSeenAndAFaultShowsItself) {
  window.dock("trial")->show();
  window.playground().start();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.playground().running(); }, kBound));
  ASSERT_TRUE(QTest::qWaitFor([&] { return rows() > 100; }, kBound))
      << window.message().toStdString();
  EXPECT_TRUE(document().is_live());
  // Endpoints report their identity first.
  const EventsModel& recorded = window.findChild<EventsView*>()->model();
  EXPECT_TRUE(QTest::qWaitFor(
      [&] {
        return !recorded
                    .match(recorded.index(0, EventsModel::kDetailsColumn), Qt::DisplayRole,
                           "gui-server", 1, Qt::MatchContains)
                    .isEmpty();
      },
      kBound));
  // Credits change.
  CreditChart& chart = *window.findChild<CreditChart*>();
  const auto most = [&] {
    chart.refresh();
    std::uint32_t in_use = 0;
    for (const CreditColumn& c : chart.drawn(0)) in_use = std::max(in_use, c.in_use_max);
    return in_use;
  };
  EXPECT_TRUE(QTest::qWaitFor([&] { return most() > 0; }, kBound));
  const auto end = chart.window().second;
  EXPECT_TRUE(QTest::qWaitFor(
      [&] {
        chart.refresh();
        return chart.window().second > end;
      },
      kBound));
  // The bar always states whether events were lost.
  const IntegrityBar& bar = *window.findChild<IntegrityBar*>();
  EXPECT_TRUE(QTest::qWaitFor([&] { return bar.text().startsWith("emitted "); }, kBound));
  // From now on packets are lost and retransmitted.
  auto* const row = window.playground().findChild<QWidget*>("loss");
  ASSERT_NE(row, nullptr);
  auto* const loss = row->findChild<QDoubleSpinBox*>();
  ASSERT_NE(loss, nullptr);
  loss->setValue(10);
  const auto again = [&] {
    std::uint64_t sum = 0;
    document().store().read([&](const index::Content& c) {
      for (const index::ConnectionInfo& i : c.connections) sum += i.retransmitted;
    });
    return sum;
  };
  EXPECT_TRUE(QTest::qWaitFor([&] { return again() > 0; }, kBound));
  // All packets are lost: the connection fails, and a finding reports it.
  loss->setValue(100);
  QTreeWidget& findings = window.findings().tree();
  EXPECT_TRUE(QTest::qWaitFor(
      [&] {
        return !findings.findItems("CONN-LOST", Qt::MatchExactly | Qt::MatchRecursive).isEmpty();
      },
      3 * kBound));
  window.messages().go_to(50);
  EXPECT_TRUE(wait_for_excerpt());
  EXPECT_GT(window.detail().tree().topLevelItemCount(), 0);
  window.playground().stop();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window.playground().running(); }, kBound));
  // Messages read before stay.
  EXPECT_GT(rows(), 100u);
}

TEST_F(Window, AnInterfaceIsWatched) {
  capture::LiveOptions may;
  may.interface = "lo";
  if (!capture::open_live(may)) GTEST_SKIP() << "not permitted to capture on lo";
  // One packet at a time: loopback coalesces several packets into one.
  playground::PlaygroundOptions options;
  options.depth = 1;
  options.sizes = "64-512";
  auto playground = playground::Playground::start(options);
  ASSERT_TRUE(playground) << playground.error().message;
  QTest::keyClick(&window, Qt::Key_I, Qt::ControlModifier);
  QDockWidget& dock = *window.dock("interfaces");
  auto& list = *dock.findChild<QTreeWidget*>("interfaces");
  const auto lo = [&] {
    const auto found = list.findItems("lo", Qt::MatchExactly);
    return found.isEmpty() ? nullptr : found.front();
  };
  ASSERT_TRUE(QTest::qWaitFor([&] { return lo() != nullptr; }, kBound));
  list.setCurrentItem(lo());
  auto& filter = *dock.findChild<QLineEdit*>("filter");
  const std::string& at = (*playground)->server_address();
  QTest::keyClicks(&filter, QString::fromStdString("host " + at.substr(0, at.find(' '))));
  QTest::keyClick(&filter, Qt::Key_Return);
  ASSERT_TRUE(QTest::qWaitFor([&] { return rows() > 100; }, kBound))
      << window.message().toStdString();
  EXPECT_TRUE(document().is_live());
  EXPECT_TRUE(window.windowTitle().contains("lo"));
  EXPECT_TRUE(window.findChild<IntegrityBar*>()->text().contains("frames"));
  window.messages().go_to(50);
  ASSERT_TRUE(wait_for_excerpt());
  EXPECT_GT(window.detail().tree().topLevelItemCount(), 0);
  // Captured messages stay when capturing stops.
  QTest::keyClick(&window, Qt::Key_Period, Qt::ControlModifier);
  ASSERT_TRUE(QTest::qWaitFor([&] { return finished(); }, kBound));
  EXPECT_GT(rows(), 100u);
}

// Every capture of the repository, including damaged ones.
TEST_F(Window, AnyCaptureCanBeOpenedAndLookedThrough) {
  int opened = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RPCRDMA_TEST_CAPTURES)) {
    if (entry.path().extension() != ".pcap") continue;
    ASSERT_NO_FATAL_FAILURE(
        open(std::filesystem::relative(entry.path(), RPCRDMA_TEST_CAPTURES).c_str()));
    ++opened;
    if (rows() == 0) continue;
    window.messages().go_to(rows() - 1);
    ASSERT_TRUE(wait_for_excerpt()) << entry.path() << window.message().toStdString();
    EXPECT_GT(window.detail().tree().topLevelItemCount(), 0);
  }
  EXPECT_GT(opened, 100);
}

}  // namespace
}  // namespace rpcrdma::gui
