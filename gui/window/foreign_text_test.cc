// Names and texts from outside in the window: shown as plain text everywhere.
#include "connections_model.h"
#include "events_model.h"
#include "events_view.h"
#include "filter_edit.h"
#include "main_window.h"
#include "support/trace_builder.h"
#include "wait_for_tests.h"

#include <QAbstractItemView>
#include <QDockWidget>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QSettings>
#include <QStatusBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTextDocument>
#include <QTreeWidget>

#include <gmock/gmock.h>

namespace rpcrdma::gui {
namespace {

// A heading, and a picture that Qt would load from the current folder.
const QString kMarkup = "<h1>OWNED</h1><img src=x.png>";

QString shown_of(const QString& html) {
  QTextDocument document;
  document.setHtml(html);
  return document.toPlainText();
}

class ForeignText : public ::testing::Test {
 protected:
  ForeignText() : settings(folder.filePath("settings"), QSettings::IniFormat), window(settings) {
    for (const char* dock : {"endpoints", "trial", "interfaces"}) window.dock(dock)->show();
    window.show();
  }

  // Collects every text that Qt would render as HTML, with the name of its widget.
  [[nodiscard]] QStringList rich() const {
    QStringList found;
    const auto look = [&found](const QString& text, const QObject* of) {
      if (Qt::mightBeRichText(text) && shown_of(text) != text && text.contains("<h1>")) {
        found << QString("%1 %2: %3").arg(of->metaObject()->className(), of->objectName(), text);
      }
    };
    for (const QWidget* const w : window.findChildren<QWidget*>()) {
      look(w->toolTip(), w);
      look(w->whatsThis(), w);
      look(w->statusTip(), w);
      if (const auto* const label = qobject_cast<const QLabel*>(w)) {
        if (label->textFormat() != Qt::PlainText) look(label->text(), w);
      }
      if (const auto* const browser = qobject_cast<const QTextBrowser*>(w)) {
        if (browser->toHtml().contains("<img")) found << "a text with a picture";
      }
      if (const auto* const view = qobject_cast<const QAbstractItemView*>(w)) {
        if (view->model() != nullptr) look_at(*view->model(), {}, look, view);
      }
    }
    return found;
  }
  // Returns whether a widget's tooltip contains `text`.
  [[nodiscard]] bool a_tool_tip_shows(const QString& text) const {
    for (const QWidget* const w : window.findChildren<QWidget*>()) {
      if (shown_of(w->toolTip()).contains(text)) return true;
    }
    return false;
  }

  QTemporaryDir folder;
  QSettings settings;
  MainWindow window;

 private:
  template <typename Look>
  static void look_at(const QAbstractItemModel& model, const QModelIndex& parent, const Look& look,
                      const QObject* of) {
    for (int row = 0; row < model.rowCount(parent); ++row) {
      for (int column = 0; column < model.columnCount(parent); ++column) {
        const QModelIndex at = model.index(row, column, parent);
        look(at.data(Qt::ToolTipRole).toString(), of);
        look(at.data(Qt::WhatsThisRole).toString(), of);
        if (column == 0) look_at(model, at, look, of);
      }
    }
  }
};

TEST_F(ForeignText, AFilesName) {
  const int height = window.statusBar()->height();
  const QString missing = folder.filePath("no <h1>OWNED<img src=x.png>\n\x1b[2J.pcap");
  window.open({missing});
  EXPECT_TRUE(window.message().contains("<h1>OWNED<img")) << window.message().toStdString();
  EXPECT_FALSE(window.message().contains('\n'));
  EXPECT_FALSE(window.message().contains('\x1b'));
  EXPECT_TRUE(a_tool_tip_shows("<h1>OWNED<img"));
  EXPECT_EQ(rich(), QStringList());
  QCoreApplication::processEvents();
  EXPECT_EQ(window.statusBar()->height(), height);

  const QString there = folder.filePath("R&D <h1>OWNED<img src=x.png>.pcap");
  ASSERT_TRUE(QFile::copy(QString(RPCRDMA_TEST_CAPTURES) + "/linux-nfs41.pcap", there));
  window.open({there});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.document().row_count() == 100; }, kBound))
      << window.message().toStdString();
  EXPECT_TRUE(window.windowTitle().contains("<h1>OWNED"));
  EXPECT_EQ(rich(), QStringList());
  // In the menu, "&" shows as itself and is no mnemonic.
  for (QMenu* const menu : window.findChildren<QMenu*>()) {
    if (!menu->title().contains("recent")) continue;
    Q_EMIT menu->aboutToShow();
    ASSERT_FALSE(menu->actions().isEmpty());
    EXPECT_TRUE(menu->actions().front()->text().contains("R&&D <h1>"));
  }
}

TEST_F(ForeignText, AFilter) {
  FilterEdit& edit = window.filter();
  const QString text = "rpc.program == \"" + kMarkup + "\"";
  edit.setText(text);
  EXPECT_FALSE(edit.error().isEmpty());
  EXPECT_TRUE(edit.error().contains("<h1>")) << edit.error().toStdString();
  EXPECT_EQ(rich(), QStringList());
  QTest::keyClick(&edit, Qt::Key_Return);
  EXPECT_EQ(edit.error_label().text(), edit.error());
  EXPECT_EQ(shown_of(edit.toolTip()), edit.error());
  EXPECT_EQ(rich(), QStringList());
}

TEST_F(ForeignText, WhatARecordingHolds) {
  trace_reader::testing::TraceBuilder trace;
  const std::string markup = kMarkup.toStdString();
  trace.begin("x" + markup, "role " + markup);
  trace_reader::testing::emit_plain_connection(trace, 7);
  trace.emit(7, trace::Error{}, trace_reader::testing::bytes_of("error " + markup));
  trace.emit(0, trace::Fault{}, trace_reader::testing::bytes_of("rule " + markup));
  trace::ConnectionEnd end;
  end.established = end.failed = 1;
  trace.emit(7, end, trace_reader::testing::bytes_of("because " + markup)).end();
  const auto bytes = trace.pcapng();
  const QString path = folder.filePath("recording.pcapng");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<qint64>(bytes.size()));
  file.close();
  window.open({path});
  const EventsModel& events = window.findChild<EventsView*>()->model();
  const auto having = [&events](const char* text) {
    return events.match(events.index(0, EventsModel::kDetailsColumn), Qt::DisplayRole, text, 1,
                        Qt::MatchContains);
  };
  ASSERT_TRUE(QTest::qWaitFor([&] { return !having("because").isEmpty(); }, kBound));
  const auto first = having("OWNED");
  ASSERT_FALSE(first.isEmpty());
  EXPECT_EQ(shown_of(first.front().data(Qt::ToolTipRole).toString()),
            first.front().data().toString());
  EXPECT_EQ(rich(), QStringList());
  // The findings' text is HTML that the window generates.
  auto& findings = *window.dock("findings")->findChild<QTreeWidget*>();
  for (QTreeWidgetItemIterator it(&findings); *it != nullptr; ++it) {
    findings.setCurrentItem(*it);
    EXPECT_EQ(rich(), QStringList());
  }
}

// Labels that nobody declared plain are plain, too: those of the window, and of Qt's dialogs.
TEST_F(ForeignText, NoLabelGuesses) {
  auto* const late = new QLabel(kMarkup, window.centralWidget());
  late->show();
  QInputDialog dialog(&window);
  dialog.setLabelText(kMarkup);
  dialog.show();
  QStringList guess;
  for (const QWidget* const root :
       {static_cast<QWidget*>(&window), static_cast<QWidget*>(&dialog)}) {
    for (const QLabel* const label : root->findChildren<QLabel*>()) {
      if (label->isVisible() && label->textFormat() == Qt::AutoText) guess << label->text();
    }
  }
  EXPECT_EQ(guess, QStringList());
  EXPECT_EQ(late->textFormat(), Qt::PlainText);
}

// Qt's own message boxes quote file names.
TEST_F(ForeignText, AMessageBox) {
  QMessageBox box(QMessageBox::Warning, "Open", kMarkup + "\nFile not found.", QMessageBox::Ok,
                  &window);
  box.show();
  EXPECT_EQ(box.textFormat(), Qt::PlainText);
}

}  // namespace
}  // namespace rpcrdma::gui
