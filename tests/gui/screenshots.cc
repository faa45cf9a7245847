// Draws pictures of the window from real captures, and from a server and a load that run meanwhile.
//
//   gui_screenshots CAPTURES FOLDER [MORE]
//
// FOLDER gets the pictures of the documentation. MORE gets each scene in three sizes (1280x800,
// 1920x1080, and that at twice the density: 4K), light and dark, for whoever changes a view.
#include "detail_view.h"
#include "ends_page.h"
#include "filter_edit.h"
#include "findings_view.h"
#include "fleet_page.h"
#include "main_window.h"
#include "message_table.h"
#include "panels.h"
#include "scripted_fleet.h"
#include "support/congested.h"

#include <QApplication>
#include <QDateTime>
#include <QDir>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QMimeData>
#include <QPainter>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <cstdio>

#include <rpcrdma/sources/playground_panel.h>
#include <rpcrdma/views/palettes.h>

namespace rpcrdma::gui {
namespace {

constexpr int kBound = 30'000;     // ms
constexpr QSize kPage(1440, 900);  // of the documentation
constexpr QSize kSmall(1280, 800), kLarge(1920, 1080);

// The settings name captures that were open before.
void remember(QSettings& settings, const QString& captures) {
  QStringList recent;
  for (const char* const name : {"linux-nfs41.pcap", "linux-nfs3.pcap", "rules/FC-01.pcap"}) {
    recent << QFileInfo(captures + "/" + name).absoluteFilePath();
  }
  settings.setValue("recent", recent);
}

class Screens {
 public:
  Screens(QString captures, QString folder, QString more)
      : captures_(std::move(captures)),
        folder_(std::move(folder)),
        more_(std::move(more)),
        settings_(temporary_.filePath("settings"), QSettings::IniFormat) {
    remember(settings_, captures_);
    window_ = std::make_unique<MainWindow>(settings_);
    QApplication::setPalette(light_palette());
    window_->resize(kPage);
    window_->show();
    window_->activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(window_.get(), kBound));
  }

  bool all() {
    return start() && fleet() && help() && capture() && congestion() && findings() && compare() &&
           ends() && live() && stalled();
  }

 private:
  // ---- Pictures ----

  bool write(const QImage& image, const QString& path) {
    const bool written = image.save(path);
    std::printf("%s: %s\n", qPrintable(path), written ? "drawn" : "cannot be written");
    return written;
  }
  // `density`: pixels of the picture for each of the widget.
  static QImage picture_of(QWidget& widget, int density) {
    QImage image(widget.size() * density, QImage::Format_RGB32);
    image.setDevicePixelRatio(density);
    image.fill(widget.palette().color(QPalette::Window));
    widget.render(&image);
    return image;
  }
  // Draws a scene for the documentation, and in all sizes and themes if they are wanted.
  bool save(const QString& name, QWidget* widget = nullptr) {
    QWidget& shown = widget != nullptr ? *widget : *window_;
    QTest::qWait(400);  // until charts and background work are drawn
    if (!write(picture_of(shown, 1), folder_ + "/" + name + ".png")) return false;
    if (more_.isEmpty() || widget != nullptr) return true;
    const QPalette before = QApplication::palette();
    bool good = true;
    for (const auto& [theme, palette] :
         {std::pair("light", light_palette()), std::pair("dark", dark_palette())}) {
      QApplication::setPalette(palette);
      for (const auto& [size, density] :
           {std::pair(kSmall, 1), std::pair(kLarge, 1), std::pair(kLarge, 2)}) {
        window_->resize(size);
        QTest::qWait(400);
        good = good && write(picture_of(shown, density),
                             QString("%1/%2-%3-%4.png")
                                 .arg(more_, name, QString::number(size.width() * density), theme));
      }
    }
    QApplication::setPalette(before);
    window_->resize(kPage);
    QTest::qWait(200);
    return good;
  }

  // ---- Ways to a scene ----

  Document& document() { return window_->document(); }
  bool open(const QString& path) {
    window_->open({path});
    return QTest::qWaitFor(
        [&] {
          return document().store().read(
              [](const index::Content& c) { return c.progress.finished; });
        },
        kBound);
  }
  bool open_capture(const char* name) { return open(captures_ + "/" + name); }
  bool wait_for_excerpt() {
    return QTest::qWaitFor(
        [&] {
          const auto e = document().excerpt();
          return e && e->find(document().selected()) != nullptr;
        },
        kBound);
  }
  bool select(std::uint64_t row) {
    window_->messages().go_to(row);
    return wait_for_excerpt();
  }
  bool filter(const QString& text) {
    window_->use_filter(text);
    return QTest::qWaitFor(
        [&] {
          const auto s = document().searched();
          return s.finished && s.done == s.total;
        },
        kBound);
  }
  void view(const char* name) {
    window_->show_view(name);
    QTest::qWait(300);
  }

  // ---- Scenes ----

  // The start page shows the verdicts of files that were read before.
  bool start() {
    for (const QString& path : settings_.value("recent").toStringList()) {
      if (!open(path)) return false;
      QTest::qWait(500);  // until the report is there
    }
    for (QAction* const action : window_->findChildren<QAction*>()) {
      if (action->shortcut() == QKeySequence("Ctrl+W")) action->trigger();
    }
    return save("start");
  }

  // A cluster in its 59th second: one host without news, one that vanished, one whose agent
  // stopped.
  bool fleet() {
    auto made = std::make_unique<ScriptedFleet>();
    ScriptedFleet& cluster = *made;
    window_->follow_fleet(std::move(made), "tls://bus.example.org:4222");
    // On this day, so that times are shown without a date.
    const QDateTime begin(QDate::currentDate(), QTime(14, 3));
    for (int second = 0; second < 60; ++second) {
      cluster.show(scripted_cluster(second, begin.toMSecsSinceEpoch() * 1'000'000));
    }
    const bool saved = save("fleet");
    window_->close_document();
    return saved;
  }

  bool help() {
    auto* const button = window_->findChild<QToolButton*>("tool-help");
    if (button == nullptr) return true;
    button->click();
    QTest::qWait(300);
    for (QWidget* const top : QApplication::topLevelWidgets()) {
      if (top == window_.get() || !top->isVisible() || top->windowType() == Qt::ToolTip) continue;
      const bool good = save("help", top);
      top->close();
      return good;
    }
    return false;
  }

  bool capture() {
    if (!open_capture("linux-nfs41.pcap")) return false;
    view("overview");
    if (!save("overview")) return false;
    view("messages");
    if (!filter("nfs.op == READ") || !select(2)) return false;
    view("chunks");
    FieldTree& tree = window_->detail().tree();
    const auto found = tree.findItems("Handle", Qt::MatchExactly | Qt::MatchRecursive);
    if (!found.isEmpty()) tree.setCurrentItem(found.front());
    if (!save("capture")) return false;
    if (!filter({})) return false;
    select(document().row_of(document().selected()).value_or(0));
    view("ladder");
    view("waterfall");
    if (!save("ladder")) return false;
    view("calls");
    view("waterfall");
    if (!save("calls")) return false;
    view("latency");
    QTableWidget& procedures = window_->findChild<LatencyView*>()->table();
    const auto reads = procedures.findItems("NFS v4 READ", Qt::MatchExactly);
    if (!reads.isEmpty()) procedures.setCurrentItem(reads.front());
    if (!save("latency")) return false;
    view("chunk-sizes");
    return save("chunk-sizes", window_->dock("chunk-sizes")->widget());
  }

  // A capture of NFS in which a switch marks packets of the client in bursts.
  bool congestion() {
    QFile plain(captures_ + "/linux-nfs3.pcap");
    const QString path = temporary_.filePath("congested.pcap");
    QFile made(path);
    if (!plain.open(QIODevice::ReadOnly) || !made.open(QIODevice::WriteOnly)) return false;
    const auto bursts = [](std::size_t packet) { return packet % 300 > 200; };
    const bool written =
        made.write(QByteArray::fromStdString(
            testing::congested_capture(plain.readAll().toStdString(), bursts, 7).file)) > 0;
    made.close();
    if (!written || !open(path)) return false;
    view("congestion");
    return save("congestion", window_->dock("congestion")->widget());
  }

  bool findings() {
    if (!open_capture("rules/FC-01.pcap")) return false;
    view("messages");
    view("findings");
    const auto found =
        window_->findings().tree().findItems("FC-01", Qt::MatchExactly | Qt::MatchRecursive);
    if (!found.isEmpty()) window_->findings().tree().setCurrentItem(found.front());
    window_->findings().jump(1);
    static_cast<void>(wait_for_excerpt());
    return save("findings");
  }

  // Drops a capture on each of the two sides, as from a file manager.
  bool compare() {
    view("compare");
    std::vector<QWidget*> sides;
    for (QWidget* const w : workspace("compare")->findChildren<QWidget*>()) {
      if (w->acceptDrops() && w->isVisible()) sides.push_back(w);
    }
    const char* const names[] = {"linux-nfs3.pcap", "linux-nfs41.pcap"};
    for (std::size_t i = 0; i < std::min<std::size_t>(2, sides.size()); ++i) {
      QMimeData data;
      data.setUrls({QUrl::fromLocalFile(QFileInfo(captures_ + "/" + names[i]).absoluteFilePath())});
      QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
      QApplication::sendEvent(sides[i], &enter);
      QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
      QApplication::sendEvent(sides[i], &drop);
      QTest::qWait(500);
    }
    return save("compare");
  }
  QWidget* workspace(const char* name) {
    QTabWidget& all = window_->workspaces();
    for (int i = 0; i < all.count(); ++i) {
      if (all.widget(i)->objectName() == name) return all.widget(i);
    }
    return &all;
  }

  // What the kernels at both ends and a capture between them show of the same Calls.
  bool ends() {
    QStringList files;
    for (const char* const name : {"k61-client.dat", "k61-server.dat.gz", "k61-wire.pcap.gz"}) {
      files << QFileInfo(captures_ + "/kernel/" + name).absoluteFilePath();
    }
    window_->open(files);
    const auto finished = [&] {
      return document().store().read([](const index::Content& c) { return c.progress.finished; });
    };
    if (!QTest::qWaitFor(finished, kBound)) return false;
    view("both-ends");
    EndsPage& page = window_->ends();
    const bool read =
        QTest::qWaitFor([&] { return page.shown() != nullptr && page.is_settled(); }, kBound);
    for (int i = 0; i < 3; ++i) QTest::keyClick(&page.waterfall(), Qt::Key_Down);
    return read && save("joined-ends");
  }

  bool live() {
    view("trial");
    view("credits");
    window_->playground().start();
    const bool some = QTest::qWaitFor([&] { return document().row_count() > 4000; }, kBound);
    set("loss", 2);
    QTest::qWait(2500);
    view("messages");
    view("credits");
    bool saved = some && save("live");
    // Both ends are attached: a joined Call has lanes of both.
    view("calls");
    view("waterfall");
    if (saved && document().row_count() > 100) {
      document().select_message(document().message_at(document().row_count() / 2));
      static_cast<void>(wait_for_excerpt());
    }
    saved = saved && save("both-ends");
    view("endpoints");
    view("events");
    saved = saved && save("events");
    view("trial");
    return saved && stop();
  }

  bool stop() {
    const QSignalSpy over(&window_->playground(), &PlaygroundPanel::stopped);
    window_->playground().stop();
    return QTest::qWaitFor([&] { return over.count() != 0; }, kBound);
  }
  // Sets the value of a row with a slider.
  void set(const char* name, double value) {
    QWidget* const row = window_->playground().findChild<QWidget*>(name);
    auto* const field = row != nullptr ? row->findChild<QDoubleSpinBox*>() : nullptr;
    if (field != nullptr) field->setValue(value);
  }

  // A dark picture, and a shortage of credits.
  bool stalled() {
    QApplication::setPalette(dark_palette());
    set("loss", 0);
    if (auto* const depth = window_->playground().findChild<QSpinBox*>("depth")) {
      depth->setValue(16);
    }
    window_->playground().start();
    const bool some = QTest::qWaitFor([&] { return window_->playground().running(); }, kBound) &&
                      QTest::qWaitFor([&] { return document().row_count() > 6000; }, kBound);
    set("granted", 1);
    QTest::qWait(1500);
    view("messages");
    view("credits");
    bool saved = save("dark");
    view("states");
    saved = saved && save("states", window_->dock("states")->widget());
    return some && saved && stop();
  }

  QString captures_, folder_, more_;
  QTemporaryDir temporary_;
  QSettings settings_;
  std::unique_ptr<MainWindow> window_;
};

}  // namespace
}  // namespace rpcrdma::gui

int main(int argc, char** argv) {
  const QApplication app(argc, argv);
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: gui_screenshots CAPTURES FOLDER [MORE]\n");
    return 2;
  }
  const QString more = argc == 4 ? argv[3] : "";
  if (!QDir().mkpath(argv[2]) || (!more.isEmpty() && !QDir().mkpath(more))) {
    std::fprintf(stderr, "gui_screenshots: the folder cannot be made\n");
    return 1;
  }
  rpcrdma::gui::Screens screens(argv[1], argv[2], more);
  return screens.all() ? 0 : 1;
}
