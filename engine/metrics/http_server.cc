// Runs civetweb for one address. Works around its effects on the process: signals, SIGPIPE, and the
// slow end of its listening thread.
#include "http_server.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <civetweb.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rpcrdma::metrics {

using fabric::Errc;
using fabric::Expected;

namespace {

// A request occupies one of the threads, and so does a client that connects and sends nothing,
// until the server's timeout in milliseconds.
constexpr unsigned kThreads = 4;
constexpr const char* kSilence = "2000";
constexpr std::chrono::milliseconds kBetweenKnocks{10};
// Time limit for the threads to start.
constexpr std::chrono::seconds kBeginning{2};

// Constant: the exception may be due to lack of memory.
constexpr std::string_view kFailed =
    "HTTP/1.1 500 Internal Server Error\r\n"
    "Content-Length: 0\r\n"
    "Connection: close\r\n\r\n";

// The address to listen on.
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

// Finds the error that civetweb does not report when it cannot listen.
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

// Each of civetweb's threads starts by ignoring SIGPIPE in the whole process: the previous action
// can be restored only after the last of them has done so.
class Begun {
 public:
  void one() {
    const std::scoped_lock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void wait_for(unsigned count) {
    std::unique_lock lock(mutex_);
    (void)changed_.wait_for(lock, kBeginning, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned count_ = 0;
};

// During its lifetime, started threads receive no signals, which belong to the program; and the
// action for SIGPIPE is restored afterwards, whatever a library sets.
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

// Joins all fields of that name, which form one list (RFC 9110 section 5.2).
std::string accept_of(const mg_request_info& request) {
  std::string all;
  for (const mg_header& h :
       std::span(request.http_headers, static_cast<std::size_t>(request.num_headers))) {
    if (::mg_strcasecmp(h.name, "Accept") != 0) continue;
    if (!all.empty()) all += ',';
    all += h.value;
  }
  return all;
}

}  // namespace

struct HttpServer::Impl {
  Impl(Place where, Handler answers) : place(std::move(where)), handler(std::move(answers)) {
    // Once for all servers: mg_start() could run it in two threads at a time.
    static const unsigned features = ::mg_init_library(MG_FEATURES_DEFAULT);
    (void)features;
    mg_callbacks callbacks{};
    callbacks.init_thread = &Impl::thread_begins;
    callbacks.begin_request = &Impl::request_comes;
    callbacks.http_error = &Impl::error_comes;
    const std::string threads = fmt::format("{}", kThreads);
    std::array<const char*, 7> options{
        "listening_ports",    place.text.c_str(), "num_threads", threads.c_str(),
        "request_timeout_ms", kSilence,           nullptr};
    context = ::mg_start(&callbacks, this, options.data());
    if (context != nullptr) begun.wait_for(kThreads + 1);  // plus the listening one
  }
  ~Impl() {
    if (context == nullptr) return;
    // The listening thread checks only every two seconds, and at each new connection, whether it
    // must end.
    const SignalsKept kept;
    std::atomic<bool> ended{false};
    std::thread knocking([&] {
      while (!ended.load()) {
        knock();
        std::this_thread::sleep_for(kBetweenKnocks);
      }
    });
    ::mg_stop(context);
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

  // Called by civetweb's threads from C code: must not throw.

  static void* thread_begins(const mg_context* of, int /*kind*/) noexcept {
    static_cast<Impl*>(::mg_get_user_data(of))->begun.one();
    return nullptr;
  }

  static int request_comes(mg_connection* connection) noexcept {
    const mg_request_info& request = *::mg_get_request_info(connection);
    const auto& self = *static_cast<const Impl*>(request.user_data);
    // An unexpected body is not waited for either.
    ::mg_disable_connection_keep_alive(connection);
    try {
      const std::string answer =
          self.handler({request.request_method, request.local_uri, accept_of(request)});
      (void)::mg_write(connection, answer.data(), answer.size());
    } catch (const std::exception&) {
      (void)::mg_write(connection, kFailed.data(), kFailed.size());
    }
    return 1;  // it is answered
  }

  // Called for invalid or too slow requests. Civetweb's own answer would contain the date by
  // gmtime(), whose buffer its threads share.
  static int error_comes(mg_connection* connection, int status, const char* /*why*/) noexcept {
    (void)::mg_printf(connection,
                      "HTTP/1.1 %d %s\r\n"
                      "Content-Length: 0\r\n"
                      "Connection: close\r\n\r\n",
                      status, ::mg_get_response_code_text(connection, status));
    return 0;  // it is answered
  }

  Place place;
  Handler handler;
  Begun begun;
  mg_context* context = nullptr;
};

Expected<std::unique_ptr<HttpServer>> HttpServer::open(const fabric::Address& address,
                                                       std::uint16_t port, Handler handler) {
  // Debian's civetweb is built without IPv6.
  if (address.ipv6) return fabric::fail(Errc::kBadArgument, "metrics are served over IPv4 only");
  Place place(address, port);
  if (const auto can = try_to_listen(place); !can) return tl::unexpected(can.error());
  const SignalsKept kept;
  auto impl = std::make_unique<Impl>(std::move(place), std::move(handler));
  if (impl->context == nullptr) {
    return fabric::fail(Errc::kSystem, "the HTTP server did not start");
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

}  // namespace rpcrdma::metrics
