// Measures how the cost of a packet, and of a Call, grows: with connections, outstanding Calls,
// segments of a Call, files and the length of the capture.
//
//   bench_growth RPCRDMA FOLDER [full] [keep] [NAME]...
//
// NAME: one of the sweeps below, or "endpoint"; all of them if there is none. full: also captures
// of ten million packets, and more of 100,000 connections. keep: the captures stay in FOLDER, for a
// profiler. GROUP-time.svg and GROUP-memory.svg, of each group of sweeps, are left there.
//
// `rpcrdma analyze -j 1` reads each capture; what it needs for an empty one is subtracted. The
// exponent is the slope of the cost of one packet over the number in the table's first column, both
// logarithmic: 0 if the whole cost is linear, 1 if it is quadratic. Caches explain some tenths.
#include "echo_calls.h"
#include "growth_capture.h"
#include "two_cores.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpcrdma/plot/svg.h>

namespace {

using namespace rpcrdma;
using bench::GrowthShape;

struct Cost {
  double seconds = 1e9;  // of processors
  double bytes = 0;      // of memory, at most
};

double seconds_of(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The cheapest of several runs.
Cost analyze(const std::string& rpcrdma, const std::string& path, int runs) {
  Cost best;
  for (int i = 0; i < runs; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDOUT_FILENO);
      dup2(null, STDERR_FILENO);
      execl(rpcrdma.c_str(), rpcrdma.c_str(), "analyze", "--json", "-j", "1", path.c_str(),
            nullptr);
      _exit(127);
    }
    int status = 0;
    rusage usage{};
    wait4(pid, &status, 0, &usage);
    // 1: findings. More connections than it follows are one.
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) bench::die(rpcrdma + " analyze failed");
    best.seconds = std::min(best.seconds, seconds_of(usage));
    best.bytes = std::max(best.bytes, static_cast<double>(usage.ru_maxrss) * 1024);
  }
  return best;
}

struct Row {
  double n = 0;
  double seconds = 0;  // a packet or a Call
  double bytes = 0;
};

// Sweeps of one plot: their numbers are of one kind.
struct Group {
  const char* name;
  const char* of;
};
constexpr Group kByConnections{"connections", "a packet, by the number of connections"};
constexpr Group kByCalls{"calls",
                         "a packet, by the number of outstanding Calls, segments or files"};
constexpr Group kByLength{"length", "a packet, by the length of the capture in packets"};
constexpr Group kByEndpoint{"endpoint",
                            "a Call of both ends, by the number of connections or Calls"};

struct Sweep {
  std::string name;
  std::string what;
  std::vector<Row> rows = {};
};

// Least squares over the logarithms.
double exponent(const std::vector<Row>& rows, double Row::*value) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const Row& r : rows) {
    const double x = std::log(r.n);
    const double y = std::log(std::max(r.*value, 1e-12));
    ++n, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  const double spread = n * sxx - sx * sx;
  return spread > 0 ? (n * sxy - sx * sy) / spread : 0;
}

void print_exponents(const Sweep& sweep) {
  std::printf("  exponent: time %.2f, memory %.2f\n", exponent(sweep.rows, &Row::seconds),
              exponent(sweep.rows, &Row::bytes));
  std::fflush(stdout);
}

struct Place {
  std::string rpcrdma;
  std::string folder;
  bool keep = false;
};

// `shape`: of the capture for a number.
Sweep of_captures(const Place& place, const std::string& name, const std::string& what,
                  const std::vector<std::uint32_t>& numbers,
                  const std::function<GrowthShape(std::uint32_t)>& shape) {
  constexpr std::uint64_t kLong = 1'000'000;
  std::string path = place.folder + "/growth.pcap";
  GrowthShape none;
  none.packets = 0;
  (void)bench::write_growth_capture(none, path);
  const Cost empty = analyze(place.rpcrdma, path, 5);
  std::filesystem::remove(path);
  std::printf("%s: %s\n%14s %12s %12s %12s\n", name.c_str(), what.c_str(), "", "packets",
              "ns a packet", "peak MiB");
  Sweep sweep{name, what};
  for (const std::uint32_t n : numbers) {
    if (place.keep) path = fmt::format("{}/{}-{}.pcap", place.folder, name, n);
    const bench::GrowthCapture made = bench::write_growth_capture(shape(n), path);
    const Cost cost = analyze(place.rpcrdma, path, made.packets > kLong ? 1 : 3);
    if (!place.keep) std::filesystem::remove(path);
    const Row row{static_cast<double>(n),
                  std::max(cost.seconds - empty.seconds, 0.0) / static_cast<double>(made.packets),
                  cost.bytes};
    sweep.rows.push_back(row);
    std::printf("%14u %12lu %12.0f %12.1f\n", n, static_cast<unsigned long>(made.packets),
                row.seconds * 1e9, row.bytes / (1 << 20));
    std::fflush(stdout);
  }
  print_exponents(sweep);
  return sweep;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage);
}

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double size = 0, resident = 0;
  in >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// NULL Calls of both ends in this process. Each row runs in a process of its own, so that its
// memory is its own.
Sweep of_endpoint(const std::string& name, const std::string& what,
                  const std::vector<std::uint32_t>& numbers, bool connections) {
  constexpr std::uint64_t kCalls = 100'000;
  std::printf("%s: %s\n%14s %12s %12s %12s\n", name.c_str(), what.c_str(), "", "Calls", "ns a Call",
              "MiB");
  std::fflush(stdout);
  Sweep sweep{name, what};
  for (const std::uint32_t n : numbers) {
    int ends[2];
    if (pipe(ends) != 0) bench::die("no pipe");
    const pid_t pid = fork();
    if (pid == 0) {
      const bench::Bounds bounds{connections ? n + 16 : 16, connections ? 4 : n};
      const bench::RunningServer server(0, std::nullopt, nullptr, bench::kServer, bounds);
      bench::Calls calls(0, connections ? n : 1, connections ? 1 : n, 0, nullptr, bench::kClient,
                         bench::kServer, bounds);
      const service::echo::Request null{service::echo::Proc::kNull, 0, 0, 0, 0};
      // Each Receive was used once.
      (void)calls.run(null, std::max<std::uint64_t>(8ULL * n, 1000));
      const double before = cpu_seconds();
      (void)calls.run(null, kCalls);
      const Row row{static_cast<double>(n), (cpu_seconds() - before) / static_cast<double>(kCalls),
                    resident_bytes()};
      _exit(write(ends[1], &row, sizeof row) == sizeof row ? 0 : 1);
    }
    close(ends[1]);
    Row row;
    const bool got = read(ends[0], &row, sizeof row) == sizeof row;
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    if (!got || status != 0) bench::die(fmt::format("endpoint with {} failed", n));
    sweep.rows.push_back(row);
    std::printf("%14u %12lu %12.0f %12.1f\n", n, static_cast<unsigned long>(kCalls),
                row.seconds * 1e9, row.bytes / (1 << 20));
    std::fflush(stdout);
  }
  print_exponents(sweep);
  return sweep;
}

void draw(const std::vector<Sweep>& sweeps, const std::string& path, const std::string& title,
          plot::Unit unit, double Row::*value) {
  plot::Chart chart;
  chart.title = title;
  chart.description = title + ".";
  chart.x_unit = plot::Unit::kCount;
  chart.y_unit = unit;
  chart.x_log = chart.y_log = true;
  for (const Sweep& sweep : sweeps) {
    plot::Series series;
    series.name = sweep.name;
    for (const Row& row : sweep.rows) series.points.push_back({row.n, row.*value, ""});
    chart.series.push_back(std::move(series));
  }
  std::ofstream out(path);
  out << plot::to_svg(chart, {.width = 640, .height = 320});
  out.close();
  if (!out) bench::die(path + ": cannot be written");
}

void draw(const std::vector<Sweep>& sweeps, const std::string& folder, const Group& group) {
  if (sweeps.empty()) return;
  const std::string path = fmt::format("{}/{}", folder, group.name);
  draw(sweeps, path + "-time.svg", fmt::format("Processor time of {}", group.of),
       plot::Unit::kSeconds, &Row::seconds);
  const std::string_view of = group.of;
  draw(sweeps, path + "-memory.svg", fmt::format("Memory{}", of.substr(of.find(','))),
       plot::Unit::kBytes, &Row::bytes);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> asked(argv + 1, argv + argc);
  if (asked.size() < 2) {
    std::fprintf(stderr, "usage: bench_growth RPCRDMA FOLDER [full] [keep] [NAME]...\n");
    return 2;
  }
  const std::string rpcrdma = asked[0];
  const std::string folder = asked[1];
  asked.erase(asked.begin(), asked.begin() + 2);
  const bool full = std::erase(asked, "full") != 0;
  const bool keep = std::erase(asked, "keep") != 0;
  const auto wanted = [&](const char* name) {
    return asked.empty() || std::ranges::find(asked, name) != asked.end();
  };
  std::filesystem::create_directories(folder);

  const std::vector<std::uint32_t> connections{1, 10, 100, 1'000, 10'000, 100'000};
  // Their sweeps differ from the first one only in how a connection is found.
  std::vector<std::uint32_t> other_connections{1, 100, 10'000};
  const std::vector<std::uint32_t> segments{1, 4, 16, 64, 256};
  std::vector<std::uint32_t> lengths{10'000, 100'000, 1'000'000};
  if (full) {
    lengths.push_back(10'000'000);
    other_connections.push_back(100'000);
  }
  std::vector<Sweep> sweeps;
  const auto drawn = [&](const Group& group) {
    draw(sweeps, folder, group);
    sweeps.clear();
  };
  const auto sweep = [&](const char* name, const char* what,
                         const std::vector<std::uint32_t>& numbers,
                         const std::function<GrowthShape(std::uint32_t)>& shape) {
    if (wanted(name))
      sweeps.push_back(of_captures({rpcrdma, folder, keep}, name, what, numbers, shape));
  };
  // Each connection makes as many Calls whatever their number, or it would be its setup that grows.
  const auto of_connections = [](std::uint32_t n) {
    GrowthShape s;
    s.connections = n;
    s.outstanding = 2;
    s.calls = 6;
    return s;
  };
  sweep("connections", "open at a time, each of another client", connections, of_connections);
  sweep("same-hosts", "connections open at a time, between two hosts", other_connections,
        [&](std::uint32_t n) {
          GrowthShape s = of_connections(n);
          s.one_client = true;
          return s;
        });
  sweep("no-setup", "connections whose setup is not in the capture", other_connections,
        [&](std::uint32_t n) {
          GrowthShape s = of_connections(n);
          s.cm = false;
          return s;
        });
  drawn(kByConnections);
  sweep("outstanding", "Calls on one connection", {1, 10, 100, 1'000, 10'000}, [](std::uint32_t n) {
    GrowthShape s;
    s.connections = 1;
    s.outstanding = n;
    s.calls = bench::kEndless;
    return s;
  });
  const auto of_segments = [](std::uint32_t n) {
    GrowthShape s;
    s.connections = 1;
    s.outstanding = 16;
    s.calls = bench::kEndless;
    s.segments = n;
    return s;
  };
  sweep("read-segments", "of each Call's Read chunk, 16 Calls outstanding", segments, of_segments);
  sweep("write-segments", "of each Call's Write chunk, 16 Calls outstanding", segments,
        [&](std::uint32_t n) {
          GrowthShape s = of_segments(n);
          s.write_chunks = true;
          return s;
        });
  sweep("files", "that the Calls are about", {1, 10, 100, 1'000, 10'000, 100'000},
        [](std::uint32_t n) {
          GrowthShape s;
          s.calls = bench::kEndless;
          s.files = n;
          return s;
        });
  drawn(kByCalls);
  sweep("length", "packets, 16 connections for all of them", lengths, [](std::uint32_t n) {
    GrowthShape s;
    s.calls = bench::kEndless;
    s.packets = n;
    return s;
  });
  sweep("reconnects", "packets, 16 connections at a time, new ones after 12 Calls", lengths,
        [](std::uint32_t n) {
          GrowthShape s;
          s.packets = n;
          return s;
        });
  drawn(kByLength);
  if (wanted("endpoint")) {
    sweeps.push_back(of_endpoint("endpoint-connections", "with a NULL Call in flight on each",
                                 {1, 10, 100, 1'000, 4'000}, true));
    sweeps.push_back(of_endpoint("endpoint-outstanding", "NULL Calls in flight on one connection",
                                 {1, 10, 100, 1'000, 10'000}, false));
  }
  drawn(kByEndpoint);
  return 0;
}
