// Compares `rpcrdma analyze` with tshark and with a bare floor, on one large capture, in one run.
//
//   bench_analyze RPCRDMA CAPTURES FOLDER
//   bench_analyze --replay CAPTURES FILE   only writes the capture
//
// The floor walks the records of the mapped file and verifies the ICRC of every RoCEv2 packet,
// nothing else. The programs run alternately, so that changes in the machine's speed affect all of
// them, and the best time of each counts; the first round warms the page cache. The benefit of a
// second core on this machine is measured, too: two single-threaded processes at the same time.
// Then the same packets in other forms: compressed, and as a ring of files.
#include "forms.h"
#include "replay.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace {

using namespace rpcrdma;

struct Measured {
  double seconds = 1e9;
  double cpu = 0;
  long max_rss_kib = 0;
  int status = 0;
};

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

struct Contender {
  const char* name;
  std::function<void()> child;  // ends in execvp() or _exit()
  int rounds;
  Measured best = {};
};

constexpr std::uint64_t kPackets = 2'000'000;
constexpr int kRounds = 11;
constexpr int kSlowRounds = 3;  // for programs that run for seconds

// Runs once, in a process of its own, and discards the output.
void run(Contender& c) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    c.child();
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  c.best.status = std::max(c.best.status, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
  c.best.max_rss_kib = std::max(c.best.max_rss_kib, usage.ru_maxrss);
  if (seconds < c.best.seconds) {
    c.best.seconds = seconds;
    c.best.cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
}

void run_by_turns(std::vector<Contender>& all) {
  for (int round = 0; round < kRounds; ++round) {
    for (Contender& c : all) {
      if (round < c.rounds) run(c);
    }
  }
}

// Runs `command` twice at the same time; returns when both have ended.
void twice(const std::function<void()>& command) {
  const pid_t other = fork();
  if (other == 0) command();
  const pid_t own = fork();
  if (own == 0) command();
  int worst = 0;
  for (const pid_t pid : {other, own}) {
    int status = 0;
    waitpid(pid, &status, 0);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
  }
  _exit(worst);
}

void execute(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
}

void execute_into_file(const std::vector<std::string>& command, const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) _exit(1);
  dup2(file, STDOUT_FILENO);
  execute(command);
}

// Reads what the command prints, in another process, as `| cat > /dev/null` would.
void execute_into_pipe(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) _exit(1);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execute(command);
    _exit(127);
  }
  close(ends[1]);
  std::vector<char> buffer(std::size_t{1} << 16);
  while (read(ends[0], buffer.data(), buffer.size()) > 0) continue;
  int status = 0;
  waitpid(pid, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

std::uint64_t lines_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return static_cast<std::uint64_t>(
      std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
}

// Exits with 0 if every RoCE packet has a valid ICRC.
void floor_walk(const std::string& path, std::uint64_t expected) {
  const int fd = open(path.c_str(), O_RDONLY);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) _exit(1);
  const auto size = static_cast<std::size_t>(info.st_size);
  void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED) _exit(1);
  madvise(map, size, MADV_SEQUENTIAL);
  const auto* p = static_cast<const std::uint8_t*>(map);
  std::uint64_t good = 0;
  for (std::size_t at = 24; at + 16 <= size;) {
    std::uint32_t captured;
    std::memcpy(&captured, p + at + 8, 4);
    const std::uint8_t* ip = p + at + 16 + 14;
    if (captured > 58 && wire::load_be16(ip - 2) == 0x0800 && ip[0] == 0x45 && ip[9] == 17 &&
        wire::load_be16(ip + 22) == wire::kRoceUdpPort) {
      const std::size_t total = wire::load_be16(ip + 2);
      const std::uint32_t found = wire::icrc(wire::IcrcKind::kRoceV2Ipv4, {ip, total - 4}, 28);
      good += found == wire::load_icrc(ip + total - 4) ? 1 : 0;
    }
    at += 16 + captured;
  }
  _exit(good == expected ? 0 : 1);
}

bench::Replayed write_capture(const std::string& captures, const std::string& path) {
  return bench::replay({captures + "/linux-nfs41.pcap", captures + "/linux-nfs3.pcap",
                        captures + "/linux-deleg.pcap"},
                       kPackets, path);
}

void row(const char* name, const Measured& m, std::uint64_t packets, const Measured& reference) {
  std::printf("%-34s %9.3f s %9.3f s %12.0f %8.1f MiB %9.2f%s\n", name, m.seconds, m.cpu,
              static_cast<double>(packets) / m.seconds, static_cast<double>(m.max_rss_kib) / 1024,
              m.seconds / reference.seconds, m.status == 0 ? "" : "   FAILED");
}

// Writes what `command` prints to `path`.
void write_output(const std::vector<std::string>& command, const std::string& path) {
  const pid_t pid = fork();
  if (pid == 0) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file >= 0) dup2(file, STDOUT_FILENO);
    if (file >= 0) execute(command);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
}

// The same packets compressed, beside the decompressor alone, and as a ring of 1,000 files. The
// time of the plain file is measured again between them.
std::vector<Contender> run_forms(const std::string& rpcrdma, const std::string& path,
                                 const std::string& folder) {
  const std::string gz = path + ".gz";
  const std::string zst = path + ".zst";
  write_output({"gzip", "-c", path}, gz);
  write_output({"zstd", "-q", "-c", path}, zst);
  const std::vector<std::string> ring = bench::write_ring(path, folder + "/ring", 1000);
  const auto analyze = [&rpcrdma](const std::vector<std::string>& files) {
    std::vector<std::string> command{rpcrdma, "analyze", "--json"};
    command.insert(command.end(), files.begin(), files.end());
    execute(command);
  };
  std::vector<Contender> forms = {
      {"analyze --json of the plain file", [&] { analyze({path}); }, kSlowRounds},
      {"of a ring of 1,000 files", [&] { analyze(ring); }, kSlowRounds},
      {"of a .gz file", [&] { analyze({gz}); }, kSlowRounds},
      {"  gzip -dc",
       [&] {
         execute({"gzip", "-dc", gz});
       },
       kSlowRounds},
      {"of a .zst file", [&] { analyze({zst}); }, kSlowRounds},
      {"  zstd -dc",
       [&] {
         execute({"zstd", "-q", "-dc", zst});
       },
       kSlowRounds},
  };
  run_by_turns(forms);
  std::filesystem::remove_all(folder + "/ring");
  std::filesystem::remove(gz);
  std::filesystem::remove(zst);
  return forms;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_analyze RPCRDMA CAPTURES FOLDER\n");
    return 2;
  }
  const std::string rpcrdma = argv[1];
  if (rpcrdma == "--replay") return write_capture(argv[2], argv[3]).packets == 0 ? 1 : 0;
  const std::string captures = argv[2];
  const std::string folder = argv[3];
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/replayed.pcap";
  const bench::Replayed made = write_capture(captures, path);
  std::printf("capture: %lu packets (%lu RoCE), %.0f MB, %.0f bytes a packet\n",
              static_cast<unsigned long>(made.packets), static_cast<unsigned long>(made.roce),
              static_cast<double>(made.bytes) / 1e6,
              static_cast<double>(made.bytes) / static_cast<double>(made.packets));

  const std::string decoded = folder + "/decoded.txt";
  const auto analyze = [&] { execute({rpcrdma, "analyze", "--json", path}); };
  const auto alone = [&] { execute({rpcrdma, "analyze", "--json", "-j", "1", path}); };
  const auto two_threads = [&] { execute({rpcrdma, "analyze", "--json", "-j", "2", path}); };
  std::vector<Contender> all = {
      {"floor: mmap walk + ICRC", [&] { floor_walk(path, made.roce); }, kRounds},
      {"rpcrdma analyze --json", analyze, kRounds},
      {"  with -j 1", alone, kRounds},
      {"  with -j 2", two_threads, kRounds},
      {"  two with -j 1 at the same time", [&] { twice(alone); }, kRounds},
      {"rpcrdma decode",
       [&] {
         execute({rpcrdma, "decode", path});
       },
       kSlowRounds},
      {"  into a file",
       [&] {
         execute_into_file({rpcrdma, "decode", path}, decoded);
       },
       kSlowRounds},
      {"  into a pipe",
       [&] {
         execute_into_pipe({rpcrdma, "decode", path});
       },
       kSlowRounds},
      {"tshark -q -z io,stat,0",
       [&] {
         execute({"tshark", "-r", path, "-q", "-z", "io,stat,0"});
       },
       kSlowRounds},
  };
  run_by_turns(all);
  const std::vector<Contender> forms = run_forms(rpcrdma, path, folder);
  const Measured& floor = all[0].best;
  const Measured& ours = all[1].best;
  const Measured& one = all[2].best;
  const Measured& two = all[3].best;
  const Measured& both = all[4].best;
  const Measured& into_file = all[6].best;
  const Measured& into_pipe = all[7].best;
  const Measured& tshark = all[8].best;

  std::printf("%-34s %11s %11s %12s %12s %9s\n", "", "time", "CPU", "packets/s", "peak RSS",
              "of floor");
  for (const Contender& c : all) row(c.name, c.best, made.packets, floor);
  std::printf("tshark / rpcrdma analyze: %.1f times\n", tshark.seconds / ours.seconds);
  std::printf("-j 1 / -j 2: %.2f times (two processes: %.2f)\n", one.seconds / two.seconds,
              2 * one.seconds / both.seconds);
  // A line is a message, of several packets.
  const std::uint64_t lines = lines_in(decoded);
  const auto rate = [&](const Measured& m) { return static_cast<double>(lines) / m.seconds / 1e6; };
  std::printf(
      "rpcrdma decode: %lu lines; %.2f million lines a second into a file, %.2f into a pipe\n",
      static_cast<unsigned long>(lines), rate(into_file), rate(into_pipe));
  std::filesystem::remove(decoded);
  std::filesystem::remove(path);

  // A link carries more short packets per second: their number is the measure, not their bytes.
  const bench::Replayed shorter = bench::replay({captures + "/linux-deleg.pcap"}, kPackets, path);
  std::vector<Contender> of_short = {{"", alone, kRounds}};
  run_by_turns(of_short);
  std::printf("%.0f bytes a packet, -j 1: %.2f million packets a second\n",
              static_cast<double>(shorter.bytes) / static_cast<double>(shorter.packets),
              static_cast<double>(shorter.packets) / of_short[0].best.seconds / 1e6);
  std::filesystem::remove(path);

  std::printf("\n%-34s %11s %11s %12s %12s %9s\n", "", "time", "CPU", "packets/s", "peak RSS",
              "of plain");
  for (const Contender& c : forms) row(c.name, c.best, made.packets, forms[0].best);
  return ours.status == 0 && floor.status == 0 ? 0 : 1;
}
