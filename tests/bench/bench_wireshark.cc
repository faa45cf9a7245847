// tshark with the plugin against tshark as it is, with the built-in dissector, on the same files.
//
//   bench_wireshark RPCRDMA PLUGIN VERSION CAPTURES FOLDER
//
// VERSION: Wireshark's, as its plugin folders are named, such as 4.0. Both run by turns, so that
// both have their share of a machine's good and bad moments; medians count.
#include "replay.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

struct Runs {
  std::vector<double> seconds;
  std::vector<double> cpu;
  long max_rss_kib = 0;
  bool failed = false;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

// One run of tshark, its output thrown away. `plugins`: the folder that it has instead of its own.
void run(const std::vector<std::string>& arguments, const std::string& plugins, Runs& runs) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    // As root tshark passes over plugins that are not installed.
    constexpr unsigned kNobody = 65534;
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(126);
    setenv("WIRESHARK_PLUGIN_DIR", plugins.c_str(), 1);
    setenv("HOME", plugins.c_str(), 1);
    std::vector<char*> argv{const_cast<char*>("tshark")};
    for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  runs.seconds.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  runs.cpu.push_back(seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  runs.max_rss_kib = std::max(runs.max_rss_kib, usage.ru_maxrss);
  runs.failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

void print(const char* name, const Runs& r) {
  std::printf("  %-10s %8.3f s %8.3f s CPU %9.1f MiB%s\n", name, median(r.seconds), median(r.cpu),
              static_cast<double>(r.max_rss_kib) / 1024, r.failed ? "   FAILED" : "");
}

std::uint64_t messages_of(const std::string& rpcrdma, const std::string& path) {
  FILE* const lines = popen(("'" + rpcrdma + "' decode '" + path + "'").c_str(), "r");
  if (lines == nullptr) return 0;
  std::uint64_t count = 0;
  for (int c = 0; (c = std::fgetc(lines)) != EOF;) count += c == '\n' ? 1U : 0U;
  pclose(lines);
  return count;
}

// True if neither failed.
bool compare(const char* what, const std::vector<std::string>& arguments, int rounds,
             const std::string& with, const std::string& without, std::uint64_t messages) {
  Runs ours;
  Runs built_in;
  for (int round = 0; round < rounds; ++round) {
    run(arguments, with, ours);
    run(arguments, without, built_in);
  }
  std::printf("%s\n", what);
  print("plugin", ours);
  print("built-in", built_in);
  std::printf("  plugin / built-in: time %.2f, CPU %.2f",
              median(ours.seconds) / median(built_in.seconds),
              median(ours.cpu) / median(built_in.cpu));
  if (messages != 0) {
    std::printf("; %.0f bytes more a message",
                static_cast<double>(ours.max_rss_kib - built_in.max_rss_kib) * 1024 /
                    static_cast<double>(messages));
  }
  std::printf("\n");
  return !ours.failed && !built_in.failed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: bench_wireshark RPCRDMA PLUGIN VERSION CAPTURES FOLDER\n");
    return 2;
  }
  const std::string rpcrdma = argv[1];
  const std::string captures = argv[4];
  const fs::path folder = fs::absolute(argv[5]);
  const fs::path with = folder / "with";
  const fs::path without = folder / "without";
  fs::create_directories(with / argv[3] / "epan");
  fs::create_directories(without);
  fs::copy_file(argv[2], with / argv[3] / "epan" / "rpcrdma_scope.so",
                fs::copy_options::overwrite_existing);

  bool good = true;
  struct File {
    const char* name;
    std::uint64_t packets;
    int rounds;
  };
  for (const File& file : {File{"small.pcap", 100'000, 7}, File{"large.pcap", 1'000'000, 5}}) {
    const std::string path = folder / file.name;
    const rpcrdma::bench::Replayed made =
        rpcrdma::bench::replay({captures + "/linux-nfs41.pcap", captures + "/linux-nfs3.pcap",
                                captures + "/linux-deleg.pcap"},
                               file.packets, path);
    const std::uint64_t messages = messages_of(rpcrdma, path);
    std::printf("capture: %lu packets (%lu RoCE), %lu messages, %.0f MB\n",
                static_cast<unsigned long>(made.packets), static_cast<unsigned long>(made.roce),
                static_cast<unsigned long>(messages), static_cast<double>(made.bytes) / 1e6);
    good &= compare(" tshark -r", {"-r", path}, file.rounds, with, without, messages);
    // A field that only their dissection of NFS has: the tree is made for each packet.
    good &=
        compare(" tshark -r -T fields -e rpc.xid", {"-r", path, "-T", "fields", "-e", "rpc.xid"},
                file.rounds, with, without, messages);
  }
  return good ? 0 : 1;
}
