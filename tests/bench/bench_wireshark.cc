// Compares tshark with the plugin and tshark without it, which has a built-in dissector of
// RPC-over-RDMA, on the same large captures.
//
//   bench_wireshark PLUGIN VERSION CAPTURES
//
// PLUGIN: rpcrdma_scope.so; VERSION: of Wireshark's plugin folder, "4.0". The two run alternately,
// so that changes in the machine's speed affect both, and the median counts. Each has a plugin
// folder of its own: one with the plugin, the other empty. Since tshark ignores such folders when
// it runs as root, it then runs as nobody.
#include "replay.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using namespace rpcrdma;

constexpr int kRounds = 5;
constexpr id_t kNobody = 65534;

struct Program {
  const char* name;
  fs::path plugins;
  std::vector<double> seconds = {};
  std::vector<double> cpu = {};
  long max_rss_kib = 0;
  bool failed = false;
};

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t half = v.size() / 2;
  return v.size() % 2 != 0 ? v[half] : (v[half - 1] + v[half]) / 2;
}

void become(const fs::path& plugins, const fs::path& home, const fs::path& capture) {
  if (getuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0))
    return;
  setenv("HOME", home.c_str(), 1);
  unsetenv("XDG_CONFIG_HOME");
  setenv("WIRESHARK_PLUGIN_DIR", plugins.c_str(), 1);
  const int null = open("/dev/null", O_WRONLY);
  dup2(null, STDOUT_FILENO);
  execlp("tshark", "tshark", "-r", capture.c_str(), nullptr);
}

void run(Program& p, const fs::path& home, const fs::path& capture) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    become(p.plugins, home, capture);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  p.seconds.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  p.cpu.push_back(seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  p.max_rss_kib = std::max(p.max_rss_kib, usage.ru_maxrss);
  p.failed = p.failed || status != 0;
}

// tshark silently ignores plugins that it cannot load: then both would be the same.
bool is_loaded(const Program& p, const fs::path& home) {
  const std::string command =
      "WIRESHARK_PLUGIN_DIR='" + p.plugins.string() + "' HOME='" + home.string() + "' " +
      (getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "") +
      "tshark -G plugins | grep -q rpcrdma_scope";
  return std::system(command.c_str()) == 0;
}

void row(const Program& p, const bench::Replayed& made, long empty_kib) {
  const double seconds = median(p.seconds);
  std::printf(
      "%-22s %8.2f s %8.2f s %11.0f %10.1f MiB %11.0f%s\n", p.name, seconds, median(p.cpu),
      static_cast<double>(made.packets) / seconds, static_cast<double>(p.max_rss_kib) / 1024,
      static_cast<double>(p.max_rss_kib - empty_kib) * 1024 / static_cast<double>(made.sends),
      p.failed ? "   FAILED" : "");
}

// Returns true if the plugin is not slower, and both have read everything.
bool compare(Program ours, Program theirs, const std::string& captures, const fs::path& folder,
             std::uint64_t packets) {
  const fs::path capture = folder / "replayed.pcap";
  // Only the file header.
  const fs::path nothing = folder / "empty.pcap";
  fs::copy_file(captures + "/linux-nfs41.pcap", nothing, fs::copy_options::overwrite_existing);
  fs::resize_file(nothing, 24);
  Program ours_empty = ours, theirs_empty = theirs;
  run(ours_empty, folder, nothing);
  run(theirs_empty, folder, nothing);

  const bench::Replayed made = bench::replay(
      {captures + "/linux-nfs41.pcap", captures + "/linux-nfs3.pcap"}, packets, capture.string());
  for (int round = 0; round < kRounds; ++round) {
    run(ours, folder, capture);
    run(theirs, folder, capture);
  }
  fs::remove(capture);

  std::printf("%lu packets, %lu messages, %.0f MB; median of %d\n",
              static_cast<unsigned long>(made.packets), static_cast<unsigned long>(made.sends),
              static_cast<double>(made.bytes) / 1e6, kRounds);
  std::printf("%-22s %10s %10s %11s %14s %11s\n", "tshark -r", "time", "CPU", "packets/s",
              "peak RSS", "B/message");
  row(ours, made, ours_empty.max_rss_kib);
  row(theirs, made, theirs_empty.max_rss_kib);
  const double ratio = median(ours.seconds) / median(theirs.seconds);
  std::printf("with the plugin / without: time %.2f, CPU %.2f, memory %.2f\n", ratio,
              median(ours.cpu) / median(theirs.cpu),
              static_cast<double>(ours.max_rss_kib) / static_cast<double>(theirs.max_rss_kib));
  return ratio <= 1 && !ours.failed && !theirs.failed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_wireshark PLUGIN VERSION CAPTURES\n");
    return 2;
  }
  const fs::path plugin = argv[1];
  const std::string version = argv[2];
  const std::string captures = argv[3];
  // A folder that user nobody can access, too.
  std::string folder = (fs::temp_directory_path() / "bench-wireshark-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  fs::permissions(folder, fs::perms(0755));
  const Program ours = {"with the plugin", fs::path(folder) / "with"};
  const Program theirs = {"without (built-in)", fs::path(folder) / "without"};
  std::error_code error;
  for (const Program* p : {&ours, &theirs}) {
    fs::create_directories(p->plugins / version / "epan", error);
  }
  fs::copy(plugin, ours.plugins / version / "epan", error);
  bool good = false;
  if (error) {
    std::fprintf(stderr, "%s: %s\n", plugin.c_str(), error.message().c_str());
  } else if (!is_loaded(ours, folder) || is_loaded(theirs, folder)) {
    std::fprintf(stderr, "%s: tshark does not load it from plugins/%s/epan\n", plugin.c_str(),
                 version.c_str());
  } else {
    good = compare(ours, theirs, captures, folder, 200'000);
    good = compare(ours, theirs, captures, folder, 1'000'000) && good;
  }
  fs::remove_all(folder, error);
  return good ? 0 : 1;
}
