// Runs libmicrohttpd on a socket of our own, so that any address and port 0 can be listened on.
#include "http_server.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>

#include <fmt/core.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::metrics {

using base::FileDescriptor;
using fabric::Errc;
using fabric::Expected;

namespace {

// A handler may have to wait a second for a loop.
constexpr unsigned kServingThreads = 4;
// Clients at a time; more wait for the kernel to accept them.
constexpr unsigned kMostClients = 64;
constexpr unsigned kSilenceSeconds = 2;
// For the header of a request.
constexpr std::size_t kMostHeaderBytes = std::size_t{16} << 10;
constexpr int kBacklog = 64;

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

// Returns a listening socket, or errno.
tl::expected<FileDescriptor, int> listen_at(const addrinfo& at) {
  FileDescriptor fd(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1, no = 0;
  if (fd.get() < 0 || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) {
    return tl::unexpected(errno);
  }
  // All addresses of IPv6 include those of IPv4, whatever the system's default is.
  if (at.ai_family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  if (::bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return tl::unexpected(errno);
  }
  return fd;
}

// Listens on the first address of the host that can be listened on.
Expected<FileDescriptor> listen_on(const std::string& host, std::uint16_t port) {
  const std::string name = host.empty() ? "::" : host;
  const std::string service = fmt::format("{}", port);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(name.c_str(), service.c_str(), &hints, &found); error != 0) {
    return fabric::fail(Errc::kSystem, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    auto fd = listen_at(*at);
    if (fd) return std::move(*fd);
    error = fd.error();
  }
  // A kernel without IPv6.
  if (host.empty() && error != EADDRINUSE) return listen_on("0.0.0.0", port);
  return fabric::fail(Errc::kSystem, std::strerror(error));
}

std::string address_of(int fd) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const any = reinterpret_cast<sockaddr*>(&own);
  if (::getsockname(fd, any, &length) != 0 ||
      ::getnameinfo(any, length, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return own.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host.data(), port.data())
                                   : fmt::format("{}:{}", host.data(), port.data());
}

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

}  // namespace

struct HttpServer::Impl {
  explicit Impl(Handler answers) : handler(std::move(answers)) {}
  ~Impl() {
    if (daemon != nullptr) ::MHD_stop_daemon(daemon);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Called by libmicrohttpd's threads from C code: must not throw. The first call for a request
  // comes before its body, which is not waited for.
  static MHD_Result request_comes(void* self, MHD_Connection* connection, const char* path,
                                  const char* method, const char* /*version*/,
                                  const char* /*upload*/, std::size_t* /*upload_bytes*/,
                                  void** /*state*/) noexcept {
    HttpResponse answer;
    try {
      HttpRequest request{method, path, {}};
      ::MHD_get_connection_values(connection, MHD_HEADER_KIND, &add_accept, &request.accept);
      answer = static_cast<Impl*>(self)->handler(request);
    } catch (const std::exception&) {
      answer = {};
      answer.status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    }
    return send(connection, answer);
  }

  static MHD_Result send(MHD_Connection* connection, HttpResponse& answer) noexcept {
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

  Handler handler;
  std::string where;
  MHD_Daemon* daemon = nullptr;
};

Expected<std::unique_ptr<HttpServer>> HttpServer::open(const std::string& host, std::uint16_t port,
                                                       Handler handler) {
  auto fd = listen_on(host, port);
  if (!fd) return tl::unexpected(fd.error());
  auto impl = std::make_unique<Impl>(std::move(handler));
  impl->where = address_of(fd->get());
  const SignalsKept kept;
  impl->daemon = ::MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &Impl::request_comes, impl.get(),
      MHD_OPTION_LISTEN_SOCKET, fd->get(), MHD_OPTION_THREAD_POOL_SIZE, kServingThreads,
      MHD_OPTION_CONNECTION_LIMIT, kMostClients, MHD_OPTION_CONNECTION_TIMEOUT, kSilenceSeconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMostHeaderBytes, MHD_OPTION_END);
  if (impl->daemon == nullptr) {
    return fabric::fail(Errc::kSystem, "the HTTP server did not start");
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
