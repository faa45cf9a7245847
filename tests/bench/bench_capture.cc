// What `rpcrdma capture` loses at rising packet rates, beside dumpcap and tcpdump.
//
//   bench_capture RPCRDMA CAPTURES FOLDER
//
// In a network namespace of its own, a generator sends RoCE traffic through a veth pair at a rate,
// from the first processor; a program captures it on the second one. At each rate all programs have
// their turn. What a program wrote is counted, and compared with what was sent. FOLDER should be on
// a tmpfs, or else the disk is measured.
#include "replay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>

namespace {

namespace fs = std::filesystem;
using namespace rpcrdma;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFrames = 1'000'000;  // in the file that is sent
constexpr double kSeconds = 2;                // of sending, at most
constexpr std::array<double, 6> kRates{50e3, 100e3, 200e3, 400e3, 800e3, 2e6};  // packets/s
constexpr unsigned kBatch = 32;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "bench_capture: %s\n", what.c_str());
  std::exit(2);
}

void pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) die("failed: " + command);  // NOLINT(cert-env33-c)
}

struct Sent {
  std::uint64_t packets = 0;
  double rate = 0;
};

// Sends the RoCE frames of a file in batches, at most at a rate. Without others, a program that
// filters in the kernel captures as many as one that does not.
class Generator {
 public:
  Generator(const std::string& path, const char* interface)
      : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
    const auto opened = capture::open_file(path);
    if (!opened) die(opened.error().message);
    capture::Frame frame;
    for (auto more = (*opened)->next(frame); more && *more; more = (*opened)->next(frame)) {
      capture::TransportPacket packet;
      if (capture::dissect_link(frame, packet) != capture::LinkResult::kRoce) continue;
      sizes_.push_back(frame.data.size());
      bytes_.insert(bytes_.end(), frame.data.begin(), frame.data.end());
    }
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex(interface));
    const int bypass = 1;
    ::setsockopt(socket_.get(), SOL_PACKET, PACKET_QDISC_BYPASS, &bypass, sizeof bypass);
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      die(std::string("bind: ") + std::strerror(errno));
    }
  }

  [[nodiscard]] Sent send(double rate) {
    const auto wanted =
        static_cast<std::uint64_t>(std::min(rate * kSeconds, static_cast<double>(sizes_.size())));
    std::array<mmsghdr, kBatch> messages{};
    std::array<iovec, kBatch> vectors{};
    std::uint64_t at = 0, offset = 0;
    const auto begin = Clock::now();
    while (at < wanted) {
      const auto count = static_cast<unsigned>(std::min<std::uint64_t>(kBatch, wanted - at));
      for (unsigned i = 0; i < count; ++i) {
        vectors[i] = {&bytes_[offset], sizes_[at + i]};
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        offset += sizes_[at + i];
      }
      const auto due = begin + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(static_cast<double>(at) / rate));
      while (Clock::now() < due) {
      }
      for (unsigned done = 0; done < count;) {
        const int n = ::sendmmsg(socket_.get(), &messages[done], count - done, 0);
        if (n > 0) {
          done += static_cast<unsigned>(n);
        } else if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR) {
          die(std::string("sendmmsg: ") + std::strerror(errno));
        }
      }
      at += count;
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    return {wanted, static_cast<double>(wanted) / took.count()};
  }

 private:
  base::FileDescriptor socket_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::size_t> sizes_;
};

// The number of packet sockets in this namespace that receive.
int receivers() {
  std::ifstream in("/proc/net/packet");
  int found = 0;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::array<char, 5> protocol{};
    int running = 0;
    if (std::sscanf(line.c_str(), "%*s %*d %*d %4s %*d %d", protocol.data(), &running) == 2 &&
        running == 1 && std::strcmp(protocol.data(), "0003") == 0) {
      ++found;
    }
  }
  return found;
}

struct Program {
  const char* name;
  std::vector<std::string> command;  // {file}: what it writes
  bool writes = true;
};

struct Loss {
  Sent sent;
  std::uint64_t captured = 0;
  double cpu = 0;  // seconds
};

std::uint64_t frames_in(const std::string& path) {
  const auto opened = capture::open_file(path);
  if (!opened) die(opened.error().message);
  capture::Frame frame;
  std::uint64_t frames = 0;
  for (auto more = (*opened)->next(frame); more && *more; more = (*opened)->next(frame)) ++frames;
  return frames;
}

// Returns what the program says in "N packets captured".
std::uint64_t said(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t at = line.find(" packets captured");
    if (at == std::string::npos) continue;
    const std::size_t before = line.rfind(' ', at - 1);
    return std::strtoull(line.c_str() + (before == std::string::npos ? 0 : before), nullptr, 10);
  }
  die("it does not report how many packets it captured: " + path);
}

Loss capture_once(const Program& program, Generator& generator, double rate,
                  const std::string& folder) {
  const std::string file = folder + "/captured", log = folder + "/log";
  const int before = receivers();
  const pid_t pid = fork();
  if (pid == 0) {
    pin(1);
    const int out = open("/dev/null", O_WRONLY);
    const int err = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    std::vector<std::string> words = program.command;
    std::vector<char*> argv;
    for (std::string& word : words) {
      if (word == "{file}") word = file;
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  while (receivers() <= before) {
    if (Clock::now() > deadline) die(std::string(program.name) + " does not capture");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // some open a second socket
  Loss loss{.sent = generator.send(rate)};
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // to catch up
  kill(pid, SIGINT);
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  loss.cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  loss.captured = program.writes ? frames_in(file) : said(log);
  std::error_code ignored;
  fs::remove(file, ignored);
  return loss;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_capture RPCRDMA CAPTURES FOLDER\n");
    return 2;
  }
  if (unshare(CLONE_NEWNET) != 0) die("must run as root: it makes a network namespace");
  const std::string rpcrdma = argv[1], captures = argv[2], folder = argv[3];
  fs::create_directories(folder);
  const std::string traffic = folder + "/traffic.pcap";
  (void)bench::replay({captures + "/linux-nfs41.pcap", captures + "/linux-nfs3.pcap",
                       captures + "/linux-deleg.pcap"},
                      kFrames, traffic);
  shell("ip link add send type veth peer name take");
  for (const char* end : {"send", "take"}) {
    std::ofstream(std::string("/proc/sys/net/ipv6/conf/") + end + "/disable_ipv6") << 1;
    shell(std::string("ip link set ") + end + " up");
  }
  Generator generator(traffic, "send");
  fs::remove(traffic);
  pin(0);
  const std::vector<Program> programs{
      {"dumpcap", {"dumpcap", "-q", "-i", "take", "-w", "{file}"}},
      {"tcpdump -w", {"tcpdump", "-Z", "root", "-i", "take", "-w", "{file}"}},
      {"rpcrdma capture -w", {rpcrdma, "capture", "--user", "root", "-i", "take", "-w", "{file}"}},
      {"rpcrdma capture -w --headers",
       {rpcrdma, "capture", "--user", "root", "--headers", "-i", "take", "-w", "{file}"}},
      {"rpcrdma capture", {rpcrdma, "capture", "--user", "root", "-i", "take"}, false},
  };
  for (const double rate : kRates) {
    for (const Program& program : programs) {
      const Loss loss = capture_once(program, generator, rate, folder);
      const double lost =
          static_cast<double>(loss.sent.packets) - static_cast<double>(loss.captured);
      std::printf("%-30s %9.0f packets/s sent: %6.2f %% lost, %5.2f us of processor a packet\n",
                  program.name, loss.sent.rate, 100 * lost / static_cast<double>(loss.sent.packets),
                  loss.cpu * 1e6 / static_cast<double>(loss.captured));
      std::fflush(stdout);
    }
  }
  return 0;
}
