// Measures the window's cost and the longest time the interface does not respond: with ten million
// messages, with an endpoint at full speed, and idle.
//
//   bench_gui RPCRDMA CAPTURES FOLDER [MESSAGES [PART]]
//
// RPCRDMA: the command; CAPTURES: the folder with linux-nfs41.pcap; FOLDER: for the large capture,
// which is removed at the end. Runs without a screen unless QT_QPA_PLATFORM says otherwise:
// everything is drawn, except for the last copy to the screen.
//
// PART: only this part, with a capture that stays: "make" writes it, "open" reads it and compares
// with `analyze`, "use" reads it and measures every interaction but filters that read frames.
#include "call_list.h"
#include "calls_view.h"
#include "filter_edit.h"
#include "main_window.h"
#include "message_table.h"
#include "panels.h"

#include <QApplication>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QHeaderView>
#include <QKeyEvent>
#include <QProcess>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTableView>
#include <QTemporaryDir>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>

#include <rpcrdma/capture/frame_file.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::gui {
namespace {

constexpr std::uint64_t kMessages = 10'000'000;
constexpr std::size_t kBth = 42;  // Ethernet, IPv4 without options, UDP
constexpr std::size_t kSend = kBth + 12;

void row(const std::string& what, const std::string& measured, const std::string& aim) {
  fmt::print("| {:<58} | {:>24} | {:>14} |\n", what, measured, aim);
  std::fflush(stdout);
}
std::string ms(double milliseconds) {
  return fmt::format("{:.1f} ms", milliseconds);
}

// Repeats two exchanges of a real session, a GETATTR and a READDIR with two RDMA Writes, on some
// connections: each time with other addresses, XIDs and PSNs.
class Maker {
 public:
  bool take(const std::string& capture) {
    const auto source = capture::open_file(capture);
    if (!source) return false;
    capture::Frame f;
    for (;;) {
      const auto more = (*source)->next(f);
      if (!more) return false;
      if (!*more) break;
      for (Exchange& e : exchanges_) {
        for (Packet& p : e.packets) {
          if (p.frame == f.number) p.bytes.assign(f.data.begin(), f.data.end());
        }
      }
    }
    for (const Exchange& e : exchanges_) {
      for (const Packet& p : e.packets) {
        if (p.bytes.size() < kSend + 4) return false;
      }
    }
    return true;
  }
  bool make(const std::string& path, std::uint64_t messages) {
    const auto file = capture::FrameFile::create(path);
    if (!file) return false;
    std::int64_t time = 1'800'000'000'000'000'000;
    for (std::uint64_t i = 0; i < messages / 2; ++i) {
      time += 2000;
      // Some Calls are slow.
      const std::int64_t took = i % 1000 == 0 ? 1500 : 300 + static_cast<std::int64_t>(i % 97) * 5;
      if (!put(**file, exchanges_[i % 10 == 0 ? 1 : 0], i, time, took)) return false;
    }
    return static_cast<bool>((*file)->finish());
  }

 private:
  struct Packet {
    std::uint64_t frame;
    std::size_t side;  // 0: client
    std::vector<std::uint8_t> bytes;
  };
  struct Exchange {
    std::vector<Packet> packets;
  };
  static constexpr std::size_t kConnections = 8;

  bool put(capture::FrameFile& file, Exchange& exchange, std::uint64_t i, std::int64_t time,
           std::int64_t took) {
    const std::size_t connection = (i / 64) % kConnections;
    const std::uint32_t was = wire::load_be32(&exchange.packets.front().bytes[kSend]);
    // No other word of the packets has one of these values: not even the program's number.
    const auto xid = static_cast<std::uint32_t>(i + 0x5a000000);
    const auto steps = static_cast<std::int64_t>(exchange.packets.size()) - 1;
    std::int64_t step = 0;
    for (Packet& packet : exchange.packets) {
      std::vector<std::uint8_t>& bytes = packet.bytes;
      const std::uint32_t psn = psn_[connection][packet.side]++ & 0xffffffU;
      bytes[kBth + 9] = static_cast<std::uint8_t>(psn >> 16);
      bytes[kBth + 10] = static_cast<std::uint8_t>(psn >> 8);
      bytes[kBth + 11] = static_cast<std::uint8_t>(psn);
      // The third byte of both IPv4 addresses.
      bytes[28] = bytes[32] = static_cast<std::uint8_t>(connection + 1);
      // Linux puts the XID into its chunks' offsets, too.
      for (std::size_t at = kSend; at + 8 <= bytes.size(); at += 4) {
        if (wire::load_be32(&bytes[at]) == was) wire::store_be32(&bytes[at], xid);
      }
      const wire::Bytes covered = wire::Bytes(bytes).subspan(14, bytes.size() - 14 - 4);
      wire::store_icrc(&bytes[bytes.size() - 4],
                       wire::icrc(wire::IcrcKind::kRoceV2Ipv4, covered, kBth - 14));
      capture::Frame f;
      f.time_ns = time + took * step++ / steps;
      f.original = static_cast<std::uint32_t>(bytes.size());
      f.data = bytes;
      if (!file.write(f)) return false;
    }
    return true;
  }

  std::array<Exchange, 2> exchanges_{
      Exchange{{{88, 0, {}}, {90, 1, {}}}},
      Exchange{{{129, 0, {}}, {131, 1, {}}, {133, 1, {}}, {135, 1, {}}}},
  };
  std::array<std::array<std::uint32_t, 2>, kConnections> psn_{};
};

double memory_mib(const char* key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stod(line.substr(line.find(':') + 1)) / 1024;
  }
  return 0;
}

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// Measures how late the machine wakes a sleeping thread: the lower bound for the interface.
class Sleeper {
 public:
  Sleeper() : thread_([this] { sleep(); }) {}
  ~Sleeper() {
    ended_ = true;
    thread_.join();
  }
  void reset() { worst_ = 0; }
  [[nodiscard]] double worst_ms() const { return static_cast<double>(worst_) / 1e6; }

 private:
  void sleep() {
    while (!ended_) {
      QElapsedTimer clock;
      clock.start();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      worst_ = std::max(worst_.load(), clock.nsecsElapsed());
    }
  }

  std::atomic<qint64> worst_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// Measures the longest time between two timer events in the interface's thread, the longest CPU
// time used between them, and the machine's wake-up latency.
class Pulse {
 public:
  Pulse() {
    timer_.setInterval(1);
    QObject::connect(&timer_, &QTimer::timeout, [this] {
      turn();
      // The program's main loop does this after each turn; the nested loops here do not.
      QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    });
    start();
  }
  void stop() {
    timer_.stop();
    sleeper_.reset();
  }
  void start() {
    sleeper_ = std::make_unique<Sleeper>();
    reset();
    timer_.start();
  }
  void reset() {
    worst_ = {};
    clock_.restart();
    worked_ns_ = worked();
    if (sleeper_) sleeper_->reset();
  }
  struct Worst {
    double away = 0, worked = 0, machine = 0;  // ms
  };
  // Includes the current interval.
  [[nodiscard]] Worst worst() {
    turn();
    Worst w = worst_;
    if (sleeper_) w.machine = sleeper_->worst_ms();
    return w;
  }

 private:
  // Returns the CPU time of this thread.
  static std::int64_t worked() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1'000'000'000 + t.tv_nsec;
  }
  void turn() {
    const std::int64_t now = worked();
    worst_.away = std::max(worst_.away, static_cast<double>(clock_.nsecsElapsed()) / 1e6);
    worst_.worked = std::max(worst_.worked, static_cast<double>(now - worked_ns_) / 1e6);
    worked_ns_ = now;
    clock_.restart();
  }

  QTimer timer_;
  QElapsedTimer clock_;
  std::int64_t worked_ns_ = 0;
  Worst worst_;
  std::unique_ptr<Sleeper> sleeper_;
};

// Prints the longest time without response, and its parts.
void away_row(const std::string& what, const Pulse::Worst& w, const std::string& aim) {
  row(what, ms(w.away), aim);
  row("  its longest work without a pause", ms(w.worked), "");
  row("  the machine wakes a sleeping thread late by", ms(w.machine), "");
}

// Processes events until `done`, asleep in between, as an idle program does.
template <typename Done>
bool wait(Done done, int bound_ms) {
  QElapsedTimer clock;
  clock.start();
  QTimer look;
  look.start(2);
  while (!done()) {
    if (clock.elapsed() > bound_ms) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
  }
  return true;
}
void rest(int milliseconds) {
  QEventLoop loop;
  QTimer::singleShot(milliseconds, &loop, &QEventLoop::quit);
  loop.exec();
}

// Returns the longest of some steps.
template <typename Step>
double longest(int times, Step step) {
  double worst = 0;
  for (int i = 0; i < times; ++i) {
    QElapsedTimer clock;
    clock.start();
    step();
    QCoreApplication::processEvents();  // deferred work
    worst = std::max(worst, static_cast<double>(clock.nsecsElapsed()) / 1e6);
  }
  return worst;
}

class Bench {
 public:
  explicit Bench(QString rpcrdma)
      : rpcrdma_(std::move(rpcrdma)),
        settings_(folder_.filePath("settings"), QSettings::IniFormat),
        window_(settings_) {
    window_.resize(1440, 900);
    window_.show();
    rest(200);
  }

  enum class Part : std::uint8_t { kAll, kOpen, kUse };

  bool large(const QString& capture, std::uint64_t messages, Part part) {
    const double before = memory_mib("RssAnon");
    pulse_.reset();
    const auto opening = open(capture, messages);
    if (!opening) return false;
    Document& document = window_.document();
    row(fmt::format("{} messages read", messages), fmt::format("{:.1f} s", *opening), "");
    away_row("longest time without response, meanwhile", pulse_.worst(), "100 ms");
    rest(1500);
    const double bytes = (memory_mib("RssAnon") - before) * 1048576.0;
    const double per = static_cast<double>(messages);
    const double counted = static_cast<double>(
        document.store().read([](const index::Content& c) { return c.footprint(); }));
    row("memory a message, of the whole process", fmt::format("{:.0f} bytes", bytes / per),
        "200 bytes");
    row("memory a message, rows and credits as counted", fmt::format("{:.0f} bytes", counted / per),
        "");
    if (part != Part::kUse) compare_opening(capture, messages, part == Part::kOpen ? 7 : 1);
    if (part == Part::kOpen) return true;
    scroll(messages);
    filter("rpcrdma.credit < 4");
    filter("rpcrdma.latency > 0.000001");
    filter("rpc.procedure == 1 && rpcrdma.kind == \"reply\"");
    if (part == Part::kAll) filter_that_reads();
    select(messages);
    zoom();
    type();
    pages();
    sort();
    close();
    return true;
  }

  // Reads the capture and returns how long it took; nothing if it was not read, which it prints.
  std::optional<double> open(const QString& capture, std::uint64_t messages) {
    QElapsedTimer clock;
    clock.start();
    window_.open({capture});
    Document& document = window_.document();
    const auto finished = [&] {
      return document.store().read([](const index::Content& c) { return c.progress.finished; }) &&
             document.row_count() == messages;
    };
    if (!wait(finished, 600'000)) {
      fmt::print("the capture was not read: {} messages, {}\n", document.row_count(),
                 window_.message().toStdString());
      return std::nullopt;
    }
    return static_cast<double>(clock.nsecsElapsed()) / 1e9;
  }

  // The command analyzes the same file on the same machine; nothing if it does not run.
  std::optional<double> analyze(const QString& capture) {
    QProcess process;
    process.setStandardOutputFile(QProcess::nullDevice());
    process.setStandardErrorFile(QProcess::nullDevice());
    QElapsedTimer clock;
    clock.start();
    process.start(rpcrdma_, {"analyze", capture});
    if (!process.waitForStarted() ||
        !wait([&] { return process.state() == QProcess::NotRunning; }, 600'000)) {
      fmt::print("{} analyze did not run\n", rpcrdma_.toStdString());
      return std::nullopt;
    }
    return static_cast<double>(clock.nsecsElapsed()) / 1e9;
  }

  // Both by turns, `pairs` times.
  void compare_opening(const QString& capture, std::uint64_t messages, int pairs) {
    std::vector<double> opening;
    std::vector<double> analyzing;
    std::vector<double> ratios;
    for (int i = 0; i < pairs; ++i) {
      const auto analyzed = analyze(capture);
      window_.close_document();
      rest(200);
      const auto opened = open(capture, messages);
      if (!analyzed || !opened) return;
      opening.push_back(*opened);
      analyzing.push_back(*analyzed);
      ratios.push_back(*opened / *analyzed);
    }
    const auto text = [](std::vector<double>& all, const char* unit) {
      std::sort(all.begin(), all.end());
      return fmt::format("{:.2f} ({:.2f} to {:.2f}){}", all[all.size() / 2], all.front(),
                         all.back(), unit);
    };
    row(fmt::format("opening, median of {} turns", pairs), text(opening, " s"), "");
    row("rpcrdma analyze of the same capture", text(analyzing, " s"), "");
    row("opening, as a multiple of analyze", text(ratios, ""), "1.3");
  }

  void idle() {
    pulse_.stop();
    rest(1000);
    const double before = cpu_seconds();
    rest(5000);
    row("CPU time in five idle seconds", ms((cpu_seconds() - before) * 1e3), "0 ms");
    pulse_.start();
  }

  // `rate`: Calls per second; 0: as many as possible.
  void live(int rate) {
    constexpr int kRounds = 4;
    std::array<std::vector<Run>, 2> runs;  // alone, watched
    for (int i = 0; i < kRounds; ++i) {
      // Alternately, with the first one alternating, too.
      for (const bool attached : {i % 2 != 0, i % 2 == 0}) {
        runs[attached ? 1 : 0].push_back(run(attached, rate));
      }
    }
    const auto median = [](const std::vector<Run>& all, double Run::*what) {
      std::vector<double> v;
      for (const Run& r : all) v.push_back(r.*what);
      std::sort(v.begin(), v.end());
      return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
    };
    const auto range = [](const std::vector<Run>& all, double Run::*what, int digits) {
      double low = all.front().*what;
      double high = low;
      for (const Run& r : all) {
        low = std::min(low, r.*what);
        high = std::max(high, r.*what);
      }
      return fmt::format("{:.{}f} to {:.{}f}", low, digits, high, digits);
    };
    std::uint64_t lost = 0;
    std::uint64_t emitted = 0;
    bool whole = true;
    Pulse::Worst worst;
    for (const Run& r : runs[1]) {
      lost += r.lost;
      emitted += r.emitted;
      whole = whole && r.whole;
      worst.away = std::max(worst.away, r.worst.away);
      worst.worked = std::max(worst.worked, r.worst.worked);
      worst.machine = std::max(worst.machine, r.worst.machine);
    }
    const std::string at = rate != 0 ? fmt::format("{} Calls per second: ", rate) : "full speed: ";
    row(at + "events per second", fmt::format("{:.0f}", median(runs[1], &Run::events)),
        rate != 0 ? "200000" : "");
    away_row("  longest time without response", worst, rate != 0 ? "50 ms" : "");
    row("  events lost, of all", fmt::format("{} of {}", lost, emitted), rate != 0 ? "0" : "");
    row("  emitted = received + lost, each time", whole ? "yes" : "no", "yes");
    const double alone = median(runs[0], &Run::calls);
    const double watched = median(runs[1], &Run::calls);
    row("  Calls per second, without the window", range(runs[0], &Run::calls, 0), "");
    row("  Calls per second, with the window attached", range(runs[1], &Run::calls, 0), "");
    row("  difference of the medians", fmt::format("{:+.1f} %", (watched / alone - 1) * 100),
        "-3 %");
    const double cpu_alone = median(runs[0], &Run::cpu_us);
    const double cpu_watched = median(runs[1], &Run::cpu_us);
    row("  the server's CPU us per Call, without the window", range(runs[0], &Run::cpu_us, 2), "");
    row("  the server's CPU us per Call, with the window attached", range(runs[1], &Run::cpu_us, 2),
        "");
    row("  difference of the medians",
        fmt::format("{:+.1f} %", (cpu_watched / cpu_alone - 1) * 100), "");
  }

 private:
  void scroll(std::uint64_t messages) {
    MessageTable& table = window_.messages();
    std::mt19937_64 random(1);
    row("a step: to a message anywhere",
        ms(longest(200,
                   [&] {
                     table.go_to(random() % messages);
                     table.viewport()->repaint();
                   })),
        "100 ms");
    row("a step: a page down",
        ms(longest(200,
                   [&] {
                     const auto [first, last] = table.visible();
                     table.verticalScrollBar()->setValue(static_cast<int>(last));
                     table.viewport()->repaint();
                   })),
        "100 ms");
    row("a step: the scroll bar is dragged",
        ms(longest(200,
                   [&] {
                     table.verticalScrollBar()->setValue(static_cast<int>(random() % messages));
                     table.viewport()->repaint();
                   })),
        "100 ms");
  }

  void filter(const QString& text) {
    Document& document = window_.document();
    QElapsedTimer clock;
    clock.start();
    pulse_.reset();
    const double set = longest(1, [&] { document.set_filter(text); });
    const bool done = wait(
        [&] {
          const auto s = document.searched();
          return s.finished && s.total != 0 && s.done == s.total;
        },
        300'000);
    row(fmt::format("filter {}: the longest step", text.toStdString()),
        ms(std::max(set, pulse_.worst().away)), "100 ms");
    row(fmt::format("  {} found, all searched after", document.row_count()),
        done ? fmt::format("{:.1f} s", static_cast<double>(clock.elapsed()) / 1e3)
             : std::string("never"),
        "");
    row("  a step: to a match anywhere",
        ms(longest(50,
                   [&] {
                     if (document.row_count() != 0)
                       window_.messages().go_to(document.row_count() / 2);
                     window_.messages().viewport()->repaint();
                   })),
        "100 ms");
    row("  the filter is cleared", ms(longest(1, [&] { document.set_filter({}); })), "100 ms");
  }

  void filter_that_reads() {
    Document& document = window_.document();
    pulse_.reset();
    const double set = longest(1, [&] { document.set_filter("rpcrdma.segment.length > 100"); });
    QElapsedTimer clock;
    clock.start();
    static_cast<void>(wait([&] { return document.row_count() != 0; }, 60'000));
    const double first = static_cast<double>(clock.elapsed()) / 1e3;
    rest(5000);
    const Document::Searched s = document.searched();
    Pulse::Worst w = pulse_.worst();
    w.away = std::max(set, w.away);
    away_row("filter rpcrdma.segment.length > 100, which reads frames again: longest step", w,
             "100 ms");
    row("  the first matches after", fmt::format("{:.1f} s", first), "");
    row("  searched by then",
        fmt::format("{:.0f} messages/s",
                    static_cast<double>(s.done) / (static_cast<double>(clock.elapsed()) / 1e3)),
        "");
    row("  the filter is cleared", ms(longest(1, [&] { document.set_filter({}); })), "100 ms");
  }

  void select(std::uint64_t messages) {
    Document& document = window_.document();
    std::mt19937_64 random(2);
    double worst = 0;
    pulse_.reset();
    for (int i = 0; i < 50; ++i) {
      QElapsedTimer clock;
      clock.start();
      document.select_message(random() % messages + 1);
      static_cast<void>(wait([&] { return document.excerpt() != nullptr; }, 10'000));
      worst = std::max(worst, static_cast<double>(clock.nsecsElapsed()) / 1e6);
    }
    row("a message anywhere is selected: its fields are there after", ms(worst), "");
    away_row("  longest time without response, meanwhile", pulse_.worst(), "100 ms");
  }

  void zoom() {
    CreditChart& chart = *window_.findChild<CreditChart*>();
    TimeRange& range = window_.document().time_range();
    const TimeRange::Span all = range.shown();
    std::mt19937_64 random(3);
    row("a step: zoom into the credits, and all views",
        ms(longest(100,
                   [&] {
                     const auto span = static_cast<double>(all.length_ns());
                     const auto at = static_cast<double>(random() % 1000) / 1000;
                     const auto wide = span / static_cast<double>(1 + random() % 500);
                     const auto begin = all.from_ns + static_cast<std::int64_t>(at * (span - wide));
                     range.set({begin, begin + static_cast<std::int64_t>(wide)});
                     chart.repaint();
                   })),
        "100 ms");
    range.show_all();
  }

  void type() {
    FilterEdit& edit = window_.filter();
    edit.setFocus();
    pulse_.reset();
    double worst = 0;
    for (const QChar c : QString("rpc.procedure == 1 && rpcrdma.kind == \"reply\"")) {
      worst = std::max(worst, longest(1, [&] {
                         QKeyEvent press(QEvent::KeyPress, 0, Qt::NoModifier, QString(c));
                         QCoreApplication::sendEvent(&edit, &press);
                       }));
      rest(5);
    }
    row("a step: a character is typed in the filter", ms(worst), "50 ms");
    away_row("  longest time without response, meanwhile", pulse_.worst(), "50 ms");
    edit.clear();
  }

  void pages() {
    double worst = 0;
    QString slowest;
    for (int round = 0; round < 2; ++round) {
      for (const ViewName& view : MainWindow::view_names()) {
        pulse_.reset();
        const double took = longest(1, [&] { window_.show_view(view.name); });
        rest(300);
        const double step = std::max(took, pulse_.worst().worked);
        if (step > worst) slowest = view.name;
        worst = std::max(worst, step);
      }
    }
    row(fmt::format("a step: another page or view; the slowest: {}", slowest.toStdString()),
        ms(worst), "50 ms");
  }

  void sort() {
    window_.show_view("calls");
    CallsView& calls = window_.calls();
    QTableView& table = calls.table();
    const auto complete = [&calls] { return calls.list().is_complete(); };
    pulse_.reset();
    QElapsedTimer clock;
    clock.start();
    static_cast<void>(wait(complete, 60'000));
    away_row(fmt::format("all {} Calls are listed: longest time without response",
                         table.model()->rowCount()),
             pulse_.worst(), "50 ms");
    for (const auto order : {Qt::DescendingOrder, Qt::AscendingOrder}) {
      pulse_.reset();
      const double set =
          longest(1, [&] { table.sortByColumn(static_cast<int>(CallColumn::kLatency), order); });
      static_cast<void>(wait(complete, 60'000));
      Pulse::Worst w = pulse_.worst();
      w.away = std::max(w.away, set);
      away_row("  sorted by latency: longest time without response", w, "50 ms");
    }
    std::mt19937_64 random(4);
    row("  a step: the Calls are scrolled",
        ms(longest(100,
                   [&] {
                     const int most = table.verticalScrollBar()->maximum();
                     table.verticalScrollBar()->setValue(
                         static_cast<int>(random() % static_cast<std::uint64_t>(most + 1)));
                     table.viewport()->repaint();
                   })),
        "50 ms");
    pulse_.reset();
    window_.document().set_filter("rpcrdma.latency > 0.000001");
    static_cast<void>(wait(
        [&] {
          const auto s = window_.document().searched();
          return s.finished && s.done == s.total && complete();
        },
        60'000));
    away_row("  a filter meanwhile: longest time without response", pulse_.worst(), "50 ms");
    window_.document().set_filter({});
    window_.show_view("messages");
  }

  void close() {
    row("the document is closed", ms(longest(1, [&] { window_.close_document(); })), "50 ms");
  }

  struct Run {
    double calls = 0;  // per second
    double cpu_us = 0;
    double events = 0;  // per second
    Pulse::Worst worst;
    std::uint64_t lost = 0;
    std::uint64_t emitted = 0;
    bool whole = true;  // emitted = received + lost
  };

  static double cpu_of(qint64 process) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(stat, text);
    text = text.substr(text.rfind(')') + 2);
    std::uint64_t user = 0;
    std::uint64_t system = 0;
    std::sscanf(text.c_str(), "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                &system);
    return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

  Run run(bool attached, int rate) {
    Run r;
    QProcess server;
    server.setProcessChannelMode(QProcess::MergedChannels);
    server.start(rpcrdma_, {"serve", "--listen", "127.0.0.1", "--name", "bench-gui"});
    QByteArray said;
    static_cast<void>(wait(
        [&] {
          said += server.readAll();
          return said.contains("listening") || server.state() == QProcess::NotRunning;
        },
        10'000));
    Document& document = window_.document();
    const auto emitted = [&document] {
      return document.store().read([](const index::Content& c) { return c.integrity.events; });
    };
    if (attached) {
      window_.attach({QString::number(server.processId())});
      static_cast<void>(wait([&] { return emitted().endpoints != 0; }, 10'000));
    }
    QProcess load;
    load.setProcessChannelMode(QProcess::MergedChannels);
    QElapsedTimer clock;
    clock.start();
    pulse_.reset();
    const double before = cpu_of(server.processId());
    QStringList words{"load",    "127.0.0.1", "--procedure",   "echo", "--size",     "64",
                      "--depth", "32",        "--connections", "2",    "--duration", "4s"};
    if (rate != 0) words << "--rate" << QString::number(rate);
    load.start(rpcrdma_, words);
    QByteArray result;
    static_cast<void>(wait(
        [&] {
          result += load.readAll();
          return load.state() == QProcess::NotRunning;
        },
        60'000));
    result += load.readAll();
    const double seconds = static_cast<double>(clock.elapsed()) / 1e3;
    const double cpu = cpu_of(server.processId()) - before;
    static const QRegularExpression kCalls("([0-9]+) Calls in ([0-9.]+) s");
    const QRegularExpressionMatch match = kCalls.match(QString::fromUtf8(result));
    const double calls = match.captured(1).toDouble();
    if (calls == 0) fmt::print("the load's output: {}\n", result.toStdString());
    r.calls = calls / std::max(0.001, match.captured(2).toDouble());
    r.cpu_us = cpu * 1e6 / std::max(1.0, calls);
    if (attached) {
      r.worst = pulse_.worst();
      // Waits for data in flight, and for the endpoint's counters, which it emits once per second.
      std::uint64_t before_rest = 0;
      do {
        before_rest = emitted().emitted;
        rest(1500);
      } while (emitted().emitted != before_rest);
      const trace_reader::ReaderStats stats = emitted();
      r.emitted = stats.emitted;
      r.events = static_cast<double>(stats.emitted) / seconds;
      r.lost = stats.lost + stats.missing;
      r.whole = stats.emitted + stats.missing == stats.received + r.lost;
      document.stop();
    }
    server.terminate();
    static_cast<void>(wait([&] { return server.state() == QProcess::NotRunning; }, 10'000));
    return r;
  }

  QString rpcrdma_;
  QTemporaryDir folder_;
  QSettings settings_;
  MainWindow window_;
  Pulse pulse_;
};

int run(int argc, char** argv) {
  const std::string large = std::string(argv[3]) + "/messages.pcapng";
  const std::uint64_t messages = argc > 4 ? std::stoull(argv[4]) : kMessages;
  const std::string part = argc > 5 ? argv[5] : "";
  std::filesystem::create_directories(argv[3]);
  if (part.empty() || part == "make") {
    Maker maker;
    if (!maker.take(std::string(argv[2]) + "/linux-nfs41.pcap") || !maker.make(large, messages)) {
      fmt::print(stderr, "{}: the capture could not be made\n", large);
      return 2;
    }
  }
  fmt::print("{} messages in {} MiB\n\n", messages, std::filesystem::file_size(large) / 1048576);
  if (part == "make") return 0;
  row("figure", "measured", "aim");
  row("---", "---", "---");
  bool good = false;
  {
    Bench bench(argv[1]);
    good = bench.large(QString::fromStdString(large), messages,
                       part == "open"  ? Bench::Part::kOpen
                       : part == "use" ? Bench::Part::kUse
                                       : Bench::Part::kAll);
    if (!part.empty()) return good ? 0 : 1;
    bench.idle();
    bench.live(42'000);
    bench.live(0);
  }
  std::filesystem::remove(large);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace rpcrdma::gui

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench_gui RPCRDMA CAPTURES FOLDER [MESSAGES [PART]]\n");
    return 2;
  }
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication app(argc, argv);
  return rpcrdma::gui::run(argc, argv);
}
