// Draws the documentation's pictures of the window, from captures of Linux NFS and from a server
// and a load that run meanwhile. Usage: gui_screenshots CAPTURES FOLDER
#include "connections_model.h"
#include "detail_view.h"
#include "filter_edit.h"
#include "findings_view.h"
#include "main_window.h"
#include "message_table.h"
#include "panels.h"
#include "support/congested.h"

#include <QApplication>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QFile>
#include <QSignalSpy>
#include <QStyleFactory>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <cstdio>

#include <rpcrdma/sources/playground_panel.h>
#include <rpcrdma/views/picture.h>

namespace rpcrdma::gui {
namespace {

constexpr int kBound = 30'000;

QPalette dark() {
  QPalette p;
  const QColor base(30, 33, 38);
  const QColor window(43, 47, 54);
  const QColor text(222, 226, 232);
  p.setColor(QPalette::Window, window);
  p.setColor(QPalette::WindowText, text);
  p.setColor(QPalette::Base, base);
  p.setColor(QPalette::AlternateBase, QColor(36, 40, 46));
  p.setColor(QPalette::ToolTipBase, window);
  p.setColor(QPalette::ToolTipText, text);
  p.setColor(QPalette::Text, text);
  p.setColor(QPalette::PlaceholderText, QColor(140, 146, 156));
  p.setColor(QPalette::Button, window);
  p.setColor(QPalette::ButtonText, text);
  p.setColor(QPalette::Mid, QColor(85, 92, 102));
  p.setColor(QPalette::Midlight, QColor(62, 68, 77));
  p.setColor(QPalette::Highlight, QColor(60, 120, 200));
  p.setColor(QPalette::HighlightedText, Qt::white);
  return p;
}

class Screens {
 public:
  Screens(QString captures, QString folder)
      : captures_(std::move(captures)),
        folder_(std::move(folder)),
        settings_(temporary_.filePath("settings"), QSettings::IniFormat),
        window_(settings_) {
    window_.resize(1440, 900);
    window_.show();
    window_.activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(&window_, kBound));
  }

  bool all() { return capture() && congestion() && findings() && live() && stalled(); }

 private:
  bool save(QWidget& widget, const char* name) {
    QTest::qWait(250);  // until the view is painted
    const QString why = save_png(widget, folder_ + "/" + name + ".png");
    std::printf("%s: %s\n", name, why.isEmpty() ? "drawn" : qPrintable(why));
    return why.isEmpty();
  }
  bool open(const char* name) { return open_path(captures_ + "/" + name); }
  bool open_path(const QString& path) {
    window_.open({path});
    return QTest::qWaitFor(
        [&] {
          return window_.document().store().read(
              [](const index::Content& c) { return c.progress.finished; });
        },
        kBound);
  }
  bool select(std::uint64_t row) {
    window_.messages().go_to(row);
    return QTest::qWaitFor(
        [&] {
          const auto e = window_.document().excerpt();
          return e && e->find(window_.document().selected()) != nullptr;
        },
        kBound);
  }
  bool filter(const QString& text) {
    window_.filter().setText(text);
    Q_EMIT window_.filter().applied(text);
    return QTest::qWaitFor(
        [&] {
          const auto s = window_.document().searched();
          return s.finished && s.done == s.total;
        },
        kBound);
  }
  void raise(const char* name) {
    window_.dock(name)->show();
    window_.dock(name)->raise();
  }

  bool capture() {
    if (!open("linux-nfs41.pcap") || !filter("nfs.op == READ") || !select(2)) return false;
    raise("chunks");
    FieldTree& tree = window_.detail().tree();
    const auto found = tree.findItems("Handle", Qt::MatchExactly | Qt::MatchRecursive);
    if (!found.isEmpty()) tree.setCurrentItem(found.front());
    if (!save(window_, "capture")) return false;
    if (!filter({})) return false;
    select(window_.document().row_of(window_.document().selected()).value_or(0));
    raise("ladder");
    QTest::qWait(400);
    if (!save(window_, "ladder")) return false;
    raise("latency");
    QTest::qWait(900);
    QTableWidget& procedures = window_.findChild<LatencyView*>()->table();
    const auto reads = procedures.findItems("NFS v4 READ", Qt::MatchExactly);
    if (!reads.isEmpty()) procedures.setCurrentItem(reads.front());
    if (!save(window_, "latency")) return false;
    raise("chunk-sizes");
    return save(*window_.dock("chunk-sizes")->widget(), "chunk-sizes");
  }

  bool congestion() {
    const QString path = temporary_.filePath("congested.pcap");
    if (!congest(path) || !open_path(path)) return false;
    raise("congestion");
    return save(window_, "congestion");
  }

  // A capture of NFS in which a switch marks packets of the client in bursts.
  bool congest(const QString& path) {
    QFile plain(captures_ + "/linux-nfs3.pcap");
    QFile made(path);
    if (!plain.open(QIODevice::ReadOnly) || !made.open(QIODevice::WriteOnly)) return false;
    const auto bursts = [](std::size_t packet) { return packet % 300 > 200; };
    return made.write(QByteArray::fromStdString(
               testing::congested_capture(plain.readAll().toStdString(), bursts, 7).file)) > 0;
  }

  bool findings() {
    if (!open("rules/FC-01.pcap")) return false;
    raise("findings");
    window_.findings().tree().setFocus();
    const auto found =
        window_.findings().tree().findItems("FC-01", Qt::MatchExactly | Qt::MatchRecursive);
    if (!found.isEmpty()) window_.findings().tree().setCurrentItem(found.front());
    window_.findings().jump(1);
    return save(window_, "findings");
  }

  bool live() {
    raise("trial");
    raise("credits");
    window_.playground().start();
    const bool some =
        QTest::qWaitFor([&] { return window_.document().row_count() > 4000; }, kBound);
    set("loss", 2);
    QTest::qWait(2500);
    bool saved = save(window_, "live");
    raise("endpoints");
    raise("events");
    saved = saved &&
            QTest::qWaitFor(
                [&] {
                  const auto* const list =
                      window_.dock("endpoints")->widget()->findChild<QTreeWidget*>();
                  return list != nullptr && list->topLevelItemCount() >= 2;
                },
                kBound) &&
            save(window_, "events");
    raise("trial");
    return some && saved && stop();
  }

  bool stop() {
    const QSignalSpy over(&window_.playground(), &PlaygroundPanel::stopped);
    window_.playground().stop();
    return QTest::qWaitFor([&] { return over.count() != 0; }, kBound);
  }
  // Sets the value of a row with a slider.
  void set(const char* name, double value) {
    QWidget* const row = window_.playground().findChild<QWidget*>(name);
    auto* const field = row != nullptr ? row->findChild<QDoubleSpinBox*>() : nullptr;
    if (field != nullptr) field->setValue(value);
  }

  // A dark picture, and a shortage of credits.
  bool stalled() {
    QApplication::setPalette(dark());
    set("loss", 0);
    if (auto* const depth = window_.playground().findChild<QSpinBox*>("depth")) depth->setValue(16);
    window_.playground().start();
    const bool some =
        QTest::qWaitFor([&] { return window_.playground().running(); }, kBound) &&
        QTest::qWaitFor([&] { return window_.document().row_count() > 6000; }, kBound);
    set("granted", 1);
    QTest::qWait(1500);
    raise("credits");
    const bool saved = save(window_, "dark");
    return some && saved && stop();
  }

  QString captures_, folder_;
  QTemporaryDir temporary_;
  QSettings settings_;
  MainWindow window_;
};

}  // namespace
}  // namespace rpcrdma::gui

int main(int argc, char** argv) {
  const QApplication app(argc, argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: gui_screenshots CAPTURES FOLDER\n");
    return 2;
  }
  QApplication::setStyle(QStyleFactory::create("Fusion"));
  rpcrdma::gui::Screens screens(argv[1], argv[2]);
  return screens.all() ? 0 : 1;
}
