// Runs libmicrohttpd. Its threads only read and write sockets; whatever takes time happens in
// others, while the connection is suspended: passwords (passwords.h) and answers.
#include "http_server.h"

#include "door.h"
#include "listen.h"
#include "passwords.h"
#include "tls.h"

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <microhttpd.h>
#include <strings.h>
#include <sys/socket.h>

namespace rpcrdma::metrics {

using fabric::Errc;
using fabric::Expected;

namespace {

constexpr unsigned kServingThreads = 2;
// For libmicrohttpd, which divides them among its threads: far above what the door lets in, so that
// each thread always accepts.
constexpr unsigned kMostSockets = 512;
constexpr unsigned kSilenceSeconds = 5;
// For the header of a request.
constexpr std::size_t kMostHeaderBytes = std::size_t{16} << 10;
constexpr const char* kShortTextType = "text/plain; charset=utf-8";

// While it exists, started threads receive no signals, which belong to the program.
class SignalsKept {
 public:
  SignalsKept() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &mask_);
  }
  ~SignalsKept() { ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr); }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;

 private:
  sigset_t mask_{};
};

HttpResponse unauthorized() {
  return {401, kShortTextType, "Unauthorized\n", {{"WWW-Authenticate", "Basic"}}};
}

HttpResponse busy() {
  return {503, kShortTextType, "Busy\n", {{"Retry-After", "1"}}};
}

// A request, from its header to the end of its answer.
struct Exchange {
  MHD_Connection* connection = nullptr;
  HttpRequest request;
  std::optional<HttpResponse> answer;
  Exchange* next = nullptr;  // in the queue of Answers
};

// Gives the answer that `produce` returns, and resumes the connection, after which the exchange may
// exist no longer.
template <typename Produce>
void settle(Exchange& exchange, const Produce& produce) noexcept {
  try {
    exchange.answer = produce();
  } catch (const std::exception&) {
    exchange.answer.emplace();  // without memory, too
    exchange.answer->status = 500;
  }
  ::MHD_resume_connection(exchange.connection);
}

// One thread that answers requests, whose connections are suspended until then.
class Answers {
 public:
  explicit Answers(HttpServer::MakeHandler make)
      : make_(std::move(make)), thread_([this] { work(); }) {}
  ~Answers() { stop(); }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // Returns false after stop(). Otherwise the thread resumes the connection. For any thread.
  [[nodiscard]] bool take(Exchange& exchange) noexcept {
    const std::scoped_lock lock(mutex_);
    if (stops_) return false;
    exchange.next = std::exchange(waiting_, &exchange);
    changed_.notify_all();
    return true;
  }
  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stops_ || waiting_ != nullptr; });
      if (waiting_ == nullptr) return;
      Exchange* const all = std::exchange(waiting_, nullptr);
      lock.unlock();
      answer(all);
      lock.lock();
    }
  }
  void answer(Exchange* all) {
    HttpServer::Handler handler;
    while (all != nullptr) {
      Exchange& e = *std::exchange(all, all->next);
      settle(e, [&] {
        if (!handler) handler = make_();
        return handler(e.request);
      });
    }
  }

  const HttpServer::MakeHandler make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Exchange* waiting_ = nullptr;  // the latest first
  bool stops_ = false;
  std::thread thread_;
};

// Joins all fields of that name, which form one list (RFC 9110 section 5.2).
MHD_Result add_accept(void* all, MHD_ValueKind /*kind*/, const char* name, const char* value) {
  constexpr const char* kAccept = "accept";
  auto& list = *static_cast<std::string*>(all);
  if (value != nullptr && ::strcasecmp(name, kAccept) == 0) {
    if (!list.empty()) list += ',';
    list += value;
  }
  return MHD_YES;
}

int socket_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info =
      ::MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info != nullptr ? info->connect_fd : -1;
}

PeerKey peer_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info =
      ::MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info != nullptr ? peer_key(*info->client_addr) : PeerKey{};
}

struct Credentials {
  std::string user;
  std::string password;
};

std::optional<Credentials> credentials_of(MHD_Connection* connection) {
  char* password = nullptr;
  char* const user = ::MHD_basic_auth_get_username_password(connection, &password);
  std::optional<Credentials> credentials;
  if (user != nullptr && password != nullptr) credentials = {user, password};
  ::MHD_free(user);
  ::MHD_free(password);
  return credentials;
}

MHD_Result send(MHD_Connection* connection, HttpResponse& answer) noexcept {
  MHD_Response* const response = ::MHD_create_response_from_buffer(
      answer.body.size(), answer.body.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  if (!answer.type.empty()) {
    ::MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
  }
  ::MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  for (const auto& [name, value] : answer.fields) {
    ::MHD_add_response_header(response, name, value);
  }
  const MHD_Result queued = ::MHD_queue_response(connection, answer.status, response);
  ::MHD_destroy_response(response);
  return queued;
}

}  // namespace

struct HttpServer::Impl {
  Impl(WebConfig config, MakeHandler make)
      : web(std::move(config)),
        door(DoorLimits{}, [](int fd) { ::shutdown(fd, SHUT_RDWR); }),
        answers(std::move(make)) {
    if (!web.users.empty()) passwords.emplace(web.users);
  }
  // Connections must not be suspended when the daemon stops.
  ~Impl() {
    if (passwords) passwords->stop();
    answers.stop();
    if (daemon != nullptr) ::MHD_stop_daemon(daemon);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Expected<void> start(int listening_socket);

  // The following are called by libmicrohttpd's threads from C code: they must not throw.

  static void connection_changes(void* self, MHD_Connection* connection, void** /*context*/,
                                 MHD_ConnectionNotificationCode code) noexcept {
    auto& impl = *static_cast<Impl*>(self);
    const int fd = socket_of(connection);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) return impl.door.leaves(fd);
    impl.door.came(fd, peer_of(connection));
    if (impl.tls) impl.tls->prepare(connection);
  }

  // The first call for a request comes before its body, which is not waited for. The second one
  // comes when the connection is resumed.
  static MHD_Result request_comes(void* self, MHD_Connection* connection, const char* path,
                                  const char* method, const char* /*version*/,
                                  const char* /*upload*/, std::size_t* /*upload_bytes*/,
                                  void** state) noexcept {
    try {
      if (*state == nullptr) {
        auto* const exchange = new Exchange{connection, {method, path, {}}, {}};
        *state = exchange;
        // Suspended, another thread has the exchange.
        if (!static_cast<Impl*>(self)->begin(*exchange)) return MHD_YES;
      }
      auto& exchange = *static_cast<Exchange*>(*state);
      return exchange.answer ? send(connection, *exchange.answer) : MHD_YES;
    } catch (const std::exception&) {
      return MHD_NO;
    }
  }

  static void request_ends(void* /*self*/, MHD_Connection* /*connection*/, void** state,
                           MHD_RequestTerminationCode /*why*/) noexcept {
    delete static_cast<Exchange*>(*state);
    *state = nullptr;
  }

  // Answers at once, or suspends the connection and returns false: then another thread has the
  // exchange.
  [[nodiscard]] bool begin(Exchange& exchange);
  void check_password(Exchange& exchange, const Credentials& credentials);
  void answer_later(Exchange& exchange);

  const WebConfig web;
  std::optional<TlsOptions> tls;
  Door door;
  Answers answers;
  std::optional<Passwords> passwords;
  std::string where;
  MHD_Daemon* daemon = nullptr;
};

Expected<void> HttpServer::Impl::start(int listening_socket) {
  std::vector<MHD_OptionItem> options{
      {MHD_OPTION_LISTEN_SOCKET, listening_socket, nullptr},
      {MHD_OPTION_THREAD_POOL_SIZE, kServingThreads, nullptr},
      {MHD_OPTION_CONNECTION_LIMIT, kMostSockets, nullptr},
      {MHD_OPTION_CONNECTION_TIMEOUT, kSilenceSeconds, nullptr},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMostHeaderBytes, nullptr},
  };
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
  if (web.tls) {
    auto created = TlsOptions::create(*web.tls);
    if (!created) return tl::unexpected(created.error());
    tls.emplace(std::move(*created));
    tls->add_to(options);
    flags |= MHD_USE_TLS;
  }
  options.push_back({MHD_OPTION_END, 0, nullptr});
  daemon = ::MHD_start_daemon(flags, 0, nullptr, nullptr, &Impl::request_comes, this,
                              MHD_OPTION_NOTIFY_CONNECTION, &Impl::connection_changes, this,
                              MHD_OPTION_NOTIFY_COMPLETED, &Impl::request_ends, this,
                              MHD_OPTION_ARRAY, options.data(), MHD_OPTION_END);
  if (daemon == nullptr) return fabric::fail(Errc::kSystem, "the HTTP server did not start");
  return {};
}

bool HttpServer::Impl::begin(Exchange& exchange) {
  door.requested(socket_of(exchange.connection));
  ::MHD_get_connection_values(exchange.connection, MHD_HEADER_KIND, &add_accept,
                              &exchange.request.accept);
  if (passwords) {
    const auto credentials = credentials_of(exchange.connection);
    const auto verdict =
        credentials ? passwords->known(credentials->user, credentials->password) : Verdict::kWrong;
    if (!verdict) {
      check_password(exchange, *credentials);
      return false;
    }
    if (*verdict != Verdict::kRight) {
      exchange.answer = unauthorized();
      return true;
    }
  }
  answer_later(exchange);
  return false;
}

void HttpServer::Impl::check_password(Exchange& exchange, const Credentials& credentials) {
  const auto done = [this, &exchange](Verdict verdict) {
    if (verdict == Verdict::kRight && answers.take(exchange)) return;
    settle(exchange, verdict == Verdict::kWrong ? &unauthorized : &busy);
  };
  ::MHD_suspend_connection(exchange.connection);
  bool asked = false;
  try {
    asked =
        passwords->ask(credentials.user, credentials.password, peer_of(exchange.connection), done);
  } catch (const std::exception&) {
    asked = false;
  }
  if (!asked) settle(exchange, &busy);
}

void HttpServer::Impl::answer_later(Exchange& exchange) {
  ::MHD_suspend_connection(exchange.connection);
  if (!answers.take(exchange)) settle(exchange, &busy);
}

Expected<std::unique_ptr<HttpServer>> HttpServer::open(const std::string& host, std::uint16_t port,
                                                       const WebConfig& web, MakeHandler make) {
  auto fd = listen_on(host, port);
  if (!fd) return tl::unexpected(fd.error());
  const SignalsKept kept;
  std::unique_ptr<Impl> impl;
  try {
    impl = std::make_unique<Impl>(web, std::move(make));
  } catch (const std::exception& e) {  // no thread, no memory
    return fabric::fail(Errc::kSystem, fmt::format("the HTTP server did not start: {}", e.what()));
  }
  impl->where = address_of(fd->get());
  if (const auto started = impl->start(fd->get()); !started) {
    return tl::unexpected(started.error());
  }
  (void)fd->release();  // MHD_stop_daemon() closes it
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

std::string HttpServer::address() const {
  return impl_->where;
}

}  // namespace rpcrdma::metrics
