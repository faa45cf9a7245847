#include "collector.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/metrics/exposer.h>

namespace rpcrdma::metrics {

using fabric::Errc;
using fabric::Expected;

namespace {

// Of a loop, before a scrape is answered without it. Prometheus itself waits ten seconds.
constexpr std::chrono::seconds kPatience{1};
// A scrape takes one of the threads, and so does somebody who connects and says nothing, until the
// server's own patience ends: milliseconds.
constexpr std::size_t kThreads = 4;
constexpr const char* kSilence = "2000";
constexpr std::chrono::milliseconds kBetweenKnocks{10};
// For the HTTP server's threads to have begun.
constexpr std::chrono::seconds kBeginning{2};
constexpr std::chrono::milliseconds kBetweenLooks{1};

// Where it listens.
struct Place {
  Place(const fabric::Address& a, std::uint16_t p) : text(fmt::format("{}:{}", a.to_string(), p)) {
    address.sin_family = AF_INET;
    address.sin_port = htons(p);
    std::memcpy(&address.sin_addr, a.bytes.data(), sizeof address.sin_addr);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_in address{};
  std::string text;
};

// What the HTTP server does not say when it cannot listen.
Expected<void> try_to_listen(const Place& place) {
  const auto refused = [](int error) { return fabric::fail(Errc::kSystem, std::strerror(error)); };
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return refused(errno);
  const int yes = 1;
  const bool can = ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                   ::bind(fd, place.get(), sizeof place.address) == 0 && ::listen(fd, 1) == 0;
  const int error = errno;
  ::close(fd);
  if (!can) return refused(error);
  return {};
}

// Threads of this process that the HTTP server has given its name.
std::size_t http_threads() {
  std::size_t count = 0;
  std::error_code gone;  // a thread that ends meanwhile
  for (std::filesystem::directory_iterator task("/proc/self/task", gone), end; !gone && task != end;
       task.increment(gone)) {
    std::string name;
    std::ifstream comm(task->path() / "comm");
    std::getline(comm, name);
    if (name.starts_with("civetweb-")) ++count;
  }
  return count;
}

// Each of its threads begins by letting SIGPIPE be ignored in the whole process, then takes its
// name: what that signal was can be restored only after the last of them has come so far.
void wait_for_http_threads(std::size_t count) {
  const auto until = std::chrono::steady_clock::now() + kBeginning;
  while (http_threads() < count && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

// While it lives, threads that are begun take no signals, which are for those that know what to do;
// and what becomes of SIGPIPE stays as it was, whatever a library makes of it.
class SignalsKept {
 public:
  SignalsKept() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &mask_);
    ::sigaction(SIGPIPE, nullptr, &pipe_);
  }
  ~SignalsKept() {
    ::sigaction(SIGPIPE, &pipe_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;

 private:
  sigset_t mask_{};
  struct sigaction pipe_ {};
};

}  // namespace

struct Exposer::Impl {
  Impl(Place where, std::span<Source* const> sources)
      : place(std::move(where)),
        collector(std::make_shared<Collector>(sources, kPatience)),
        http(std::make_unique<prometheus::Exposer>(std::vector<std::string>{
            "listening_ports", place.text, "num_threads", fmt::format("{}", kThreads),
            "request_timeout_ms", kSilence})) {
    http->RegisterCollectable(collector);
  }
  ~Impl() {
    // The thread that listens looks only every two seconds whether it is to end, and at each
    // connection that comes.
    const SignalsKept kept;
    std::atomic<bool> ended{false};
    std::thread knocking([&] {
      while (!ended.load()) {
        knock();
        std::this_thread::sleep_for(kBetweenKnocks);
      }
    });
    http.reset();
    ended.store(true);
    knocking.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void knock() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    (void)::connect(fd, place.get(), sizeof place.address);
    ::close(fd);
  }

  Place place;
  std::shared_ptr<Collector> collector;
  std::unique_ptr<prometheus::Exposer> http;
};

bool Exposer::available() {
  return true;
}

Expected<std::unique_ptr<Exposer>> Exposer::open(const fabric::Address& address, std::uint16_t port,
                                                 std::span<Source* const> sources) {
  // Debian's civetweb is built without.
  if (address.ipv6) return fabric::fail(Errc::kBadArgument, "metrics are served over IPv4 only");
  Place place(address, port);
  if (const auto can = try_to_listen(place); !can) return tl::unexpected(can.error());
  const SignalsKept kept;
  const std::size_t before = http_threads();
  try {
    auto impl = std::make_unique<Impl>(std::move(place), sources);
    wait_for_http_threads(before + kThreads + 1);  // and the one that listens
    return std::unique_ptr<Exposer>(new Exposer(std::move(impl)));
  } catch (const std::exception& e) {
    return fabric::fail(Errc::kSystem, e.what());
  }
}

Exposer::Exposer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Exposer::~Exposer() = default;

}  // namespace rpcrdma::metrics
