// What the window costs, and whom it keeps waiting: ten million messages, an endpoint at full
// speed, and nothing to do.
//
//   bench_gui RPCRDMA CAPTURES FOLDER [MESSAGES]
//
// RPCRDMA: the command; CAPTURES: with linux-nfs41.pcap; FOLDER: where the large capture is made,
// and removed at the end. Draws without a screen, unless QT_QPA_PLATFORM says otherwise: whatever
// the window does is done, but for the last copy to the screen.
#include "main_window.h"
#include "message_table.h"
#include "panels.h"

#include <QApplication>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QProcess>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTemporaryDir>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>

#include <rpcrdma/capture/frame_file.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/trace_live/endpoints.h>
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

// A Call and its Reply of a real session, again and again, each time with another XID and PSN.
class Maker {
 public:
  bool take(const std::string& capture) {
    const auto source = capture::open_file(capture);
    if (!source) return false;
    capture::Frame f;
    while (call_.empty() || reply_.empty()) {
      const auto more = (*source)->next(f);
      if (!more || !*more) return false;
      if (f.number == 88) call_.assign(f.data.begin(), f.data.end());
      if (f.number == 90) reply_.assign(f.data.begin(), f.data.end());
    }
    return true;
  }
  bool make(const std::string& path, std::uint64_t messages) {
    const auto file = capture::FrameFile::create(path);
    if (!file) return false;
    std::int64_t time = 1'800'000'000'000'000'000;
    for (std::uint64_t i = 0; i < messages / 2; ++i) {
      time += 2000;
      if (!put(**file, call_, i, time)) return false;
      // Some are slow.
      const std::int64_t took = i % 1000 == 0 ? 1500 : 300 + static_cast<std::int64_t>(i % 97) * 5;
      if (!put(**file, reply_, i, time + took)) return false;
    }
    return static_cast<bool>((*file)->flush());
  }

 private:
  static bool put(capture::FrameFile& file, std::vector<std::uint8_t>& bytes, std::uint64_t i,
                  std::int64_t time) {
    const auto psn = static_cast<std::uint32_t>(i) & 0xffffffU;
    bytes[kBth + 9] = static_cast<std::uint8_t>(psn >> 16);
    bytes[kBth + 10] = static_cast<std::uint8_t>(psn >> 8);
    bytes[kBth + 11] = static_cast<std::uint8_t>(psn);
    const auto xid = static_cast<std::uint32_t>(i + 1);
    constexpr std::size_t kHeader = 28;  // of version 1 without chunks
    wire::store_be32(&bytes[kSend], xid);
    wire::store_be32(&bytes[kSend + kHeader], xid);
    const wire::Bytes covered = wire::Bytes(bytes).subspan(14, bytes.size() - 14 - 4);
    wire::store_icrc(&bytes[bytes.size() - 4],
                     wire::icrc(wire::IcrcKind::kRoceV2Ipv4, covered, kBth - 14));
    capture::Frame f;
    f.time_ns = time;
    f.original = static_cast<std::uint32_t>(bytes.size());
    f.data = bytes;
    return static_cast<bool>(file.write(f));
  }

  std::vector<std::uint8_t> call_, reply_;
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

// How long the interface was away at most: between turns of a timer.
class Pulse {
 public:
  Pulse() {
    timer_.setInterval(1);
    QObject::connect(&timer_, &QTimer::timeout, [this] {
      worst_ = std::max(worst_, clock_.nsecsElapsed());
      clock_.restart();
    });
    clock_.start();
    timer_.start();
  }
  void stop() { timer_.stop(); }
  void start() { timer_.start(); }
  void reset() {
    worst_ = 0;
    clock_.restart();
  }
  [[nodiscard]] double worst_ms() const { return static_cast<double>(worst_) / 1e6; }

 private:
  QTimer timer_;
  QElapsedTimer clock_;
  qint64 worst_ = 0;
};

template <typename Done>
bool wait(Done done, int bound_ms) {
  QElapsedTimer clock;
  clock.start();
  while (!done()) {
    if (clock.elapsed() > bound_ms) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 20);
  }
  return true;
}
void rest(int milliseconds) {
  QEventLoop loop;
  QTimer::singleShot(milliseconds, &loop, &QEventLoop::quit);
  loop.exec();
}

// The longest of some steps.
template <typename Step>
double longest(int times, Step step) {
  double worst = 0;
  for (int i = 0; i < times; ++i) {
    QElapsedTimer clock;
    clock.start();
    step();
    worst = std::max(worst, static_cast<double>(clock.nsecsElapsed()) / 1e6);
    QCoreApplication::processEvents();
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

  bool large(const QString& capture, std::uint64_t messages) {
    const double before = memory_mib("RssAnon");
    QElapsedTimer clock;
    clock.start();
    pulse_.reset();
    window_.open({capture});
    Document& document = window_.document();
    const auto finished = [&] {
      return document.store().read([](const index::Content& c) { return c.progress.finished; }) &&
             document.row_count() == messages;
    };
    if (!wait(finished, 600'000)) {
      fmt::print("it was not read: {} messages, {}\n", document.row_count(),
                 window_.message().toStdString());
      return false;
    }
    row(fmt::format("{} messages are read", messages),
        fmt::format("{:.1f} s", static_cast<double>(clock.elapsed()) / 1e3), "");
    row("the interface is away at most, while they are", ms(pulse_.worst_ms()), "100 ms");
    rest(1500);
    const double bytes = (memory_mib("RssAnon") - before) * 1048576.0;
    const double per = static_cast<double>(messages);
    const double counted = static_cast<double>(
        document.store().read([](const index::Content& c) { return c.footprint(); }));
    row("memory a message, of the whole process", fmt::format("{:.0f} bytes", bytes / per),
        "200 bytes");
    row("memory a message, rows and credits as counted", fmt::format("{:.0f} bytes", counted / per),
        "");
    scroll(messages);
    filter("rpcrdma.credit < 4");
    filter("rpcrdma.latency > 0.000001");
    filter("rpc.procedure == 1 && rpcrdma.kind == \"reply\"");
    filter_that_reads();
    select(messages);
    zoom();
    return true;
  }

  void idle() {
    pulse_.stop();
    rest(1000);
    const double before = cpu_seconds();
    rest(5000);
    row("CPU time in five seconds in which nothing happens", ms((cpu_seconds() - before) * 1e3),
        "0 ms");
    pulse_.start();
  }

  // `rate`: Calls a second; 0: as many as go.
  void live(int rate) {
    constexpr int kRounds = 3;
    double alone = 0;
    double watched = 0;
    double cpu_alone = 0;
    double cpu_watched = 0;
    double events = 0;
    double worst = 0;
    std::uint64_t lost = 0;
    for (int i = 0; i < kRounds; ++i) {
      const Run without = run(false, rate);
      const Run with = run(true, rate);
      alone += without.calls / kRounds;
      watched += with.calls / kRounds;
      cpu_alone += without.cpu_us / kRounds;
      cpu_watched += with.cpu_us / kRounds;
      events += with.events / kRounds;
      worst = std::max(worst, with.worst_ms);
      lost += with.lost;
    }
    row(rate != 0 ? "an endpoint tells the window, events a second"
                  : "the same at full speed, events a second",
        fmt::format("{:.0f}", events), rate != 0 ? "200000" : "");
    row("the interface is away at most, meanwhile", ms(worst), "50 ms");
    row("events lost", fmt::format("{}", lost), "0");
    row("Calls a second, nobody looks", fmt::format("{:.0f}", alone), "");
    row("Calls a second, the window is attached",
        fmt::format("{:.0f} ({:+.1f} %)", watched, (watched / alone - 1) * 100), "-3 %");
    row("the server's CPU time a Call, nobody looks", fmt::format("{:.3f} us", cpu_alone), "");
    row("the server's CPU time a Call, the window is attached",
        fmt::format("{:.3f} us ({:+.1f} %)", cpu_watched, (cpu_watched / cpu_alone - 1) * 100),
        "+3 %");
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
        ms(std::max(set, pulse_.worst_ms())), "100 ms");
    row(fmt::format("  {} found, all were looked at after", document.row_count()),
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
    pulse_.reset();
    row("  the filter is cleared", ms(longest(1, [&] { document.set_filter({}); })), "100 ms");
  }

  void filter_that_reads() {
    Document& document = window_.document();
    pulse_.reset();
    const double set = longest(1, [&] { document.set_filter("rpc.xid > 100000"); });
    QElapsedTimer clock;
    clock.start();
    static_cast<void>(wait([&] { return document.row_count() != 0; }, 60'000));
    const double first = static_cast<double>(clock.elapsed()) / 1e3;
    rest(5000);
    const Document::Searched s = document.searched();
    row("filter rpc.xid > 100000, which reads again: longest step",
        ms(std::max(set, pulse_.worst_ms())), "100 ms");
    row("  the first matches after", fmt::format("{:.1f} s", first), "");
    row("  looked at by then",
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
    row("a message anywhere is selected: its fields are there after", ms(worst), "100 ms");
  }

  void zoom() {
    CreditChart& chart = *window_.findChild<CreditChart*>();
    const auto [from, to] = chart.window();
    std::mt19937_64 random(3);
    row("a step: credits zoomed, all of the time to some of it",
        ms(longest(100,
                   [&] {
                     const auto span = static_cast<double>(to - from);
                     const auto at = static_cast<double>(random() % 1000) / 1000;
                     const auto wide = span / static_cast<double>(1 + random() % 500);
                     const auto begin = from + static_cast<std::int64_t>(at * (span - wide));
                     chart.set_window(begin, begin + static_cast<std::int64_t>(wide));
                     chart.repaint();
                   })),
        "100 ms");
  }

  struct Run {
    double calls = 0;  // a second
    double cpu_us = 0;
    double events = 0;  // a second
    double worst_ms = 0;
    std::uint64_t lost = 0;
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
    if (attached) window_.attach({QString::number(server.processId())});
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
    if (calls == 0) fmt::print("the load said: {}\n", result.toStdString());
    r.calls = calls / std::max(0.001, match.captured(2).toDouble());
    r.cpu_us = cpu * 1e6 / std::max(1.0, calls);
    if (attached) {
      r.worst_ms = pulse_.worst_ms();
      const trace_reader::ReaderStats stats =
          document.store().read([](const index::Content& c) { return c.integrity.events; });
      r.events = static_cast<double>(stats.emitted) / seconds;
      r.lost = stats.lost + stats.missing;
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
  std::filesystem::create_directories(argv[3]);
  Maker maker;
  if (!maker.take(std::string(argv[2]) + "/linux-nfs41.pcap") || !maker.make(large, messages)) {
    fmt::print(stderr, "{}: the capture could not be made\n", large);
    return 2;
  }
  fmt::print("{} messages in {} MiB\n\n", messages, std::filesystem::file_size(large) / 1048576);
  row("figure", "measured", "aim");
  row("---", "---", "---");
  bool good = false;
  {
    Bench bench(argv[1]);
    good = bench.large(QString::fromStdString(large), messages);
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
    std::fprintf(stderr, "usage: bench_gui RPCRDMA CAPTURES FOLDER [MESSAGES]\n");
    return 2;
  }
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication app(argc, argv);
  return rpcrdma::gui::run(argc, argv);
}
