// RPC Calls over TCP or a local socket (RFC 5531 record marking), all within one deadline.
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/fabric/socket_address.h>
#include <rpcrdma/rpcbind/stream_client.h>

namespace rpcrdma::rpcbind {

namespace {

using base::FileDescriptor;
using fabric::Errc;
using fabric::Expected;
using fabric::fail;

// Both are far above legitimate sizes: a path in a Call, hundreds of programs in a Reply.
constexpr std::size_t kMostCall = 8192;
constexpr std::size_t kMostReply = 256 << 10;
constexpr std::uint32_t kLastFragment = 0x80000000U;
constexpr std::size_t kMark = 4;

// Waits for the socket. Returns false when the time is over.
bool wait_for(int fd, short events, fabric::Time until) {
  for (;;) {
    const fabric::Time left = until - base::monotonic_ns();
    if (left <= 0) return false;
    pollfd wait{fd, events, 0};
    const timespec time{left / fabric::kSecond, left % fabric::kSecond};
    const int n = ::ppoll(&wait, 1, &time, nullptr);
    // An error of the socket is reported by the next operation on it.
    if (n > 0 || (n < 0 && errno != EINTR)) return true;
  }
}

}  // namespace

Expected<StreamClient> StreamClient::connect(const fabric::Address& address, std::uint16_t port,
                                             std::string name, fabric::Time until) {
  const fabric::SocketAddress to = fabric::to_socket_address(address, port);
  FileDescriptor socket(::socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  (void)::bindresvport_sa(socket.get(), nullptr);
  const std::string where = fmt::format("{} TCP port {}", address.to_string(), port);
  return connect_to(std::move(socket), &to.any, length_of(to), std::move(name), where, until);
}

Expected<StreamClient> StreamClient::connect(const std::string& socket, std::string name,
                                             fabric::Time until) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (socket.size() >= sizeof to.sun_path) {
    return fail(Errc::kNotConnected, fmt::format("{} at {}: the path is too long", name, socket));
  }
  std::memcpy(to.sun_path, socket.data(), socket.size());
  FileDescriptor own(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return connect_to(std::move(own), reinterpret_cast<const sockaddr*>(&to), sizeof to,
                    std::move(name), socket, until);
}

Expected<StreamClient> StreamClient::connect_to(FileDescriptor socket, const sockaddr* address,
                                                socklen_t length, std::string name,
                                                const std::string& where, fabric::Time until) {
  const auto refused = [&](int error) {
    return fail(Errc::kNotConnected,
                fmt::format("{} at {}: {}", name, where, std::strerror(error)));
  };
  if (socket.get() < 0) return refused(errno);
  if (::connect(socket.get(), address, length) != 0) {
    if (errno != EINPROGRESS) return refused(errno);
    if (!wait_for(socket.get(), POLLOUT, until)) return refused(ETIMEDOUT);
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return refused(errno);
    if (error != 0) return refused(error);
  }
  return StreamClient(std::move(socket), std::move(name), until);
}

tl::unexpected<fabric::Error> StreamClient::lost(const std::string& what) const {
  return fail(Errc::kNotConnected, fmt::format("{}: {}", name_, what));
}

Expected<void> StreamClient::send(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(socket_.get(), POLLOUT, until_))
        return lost("it did not accept the Call in time");
    } else {
      return lost(std::strerror(errno));
    }
  }
  return {};
}

Expected<void> StreamClient::receive(std::span<char> bytes) {
  while (!bytes.empty()) {
    // Checked before each piece: there may be many.
    if (!wait_for(socket_.get(), POLLIN, until_)) return lost("no answer in time");
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (n == 0) {
      return lost("it closed the connection without an answer");
    } else if (errno != EAGAIN && errno != EINTR) {
      return lost(std::strerror(errno));
    }
  }
  return {};
}

// RFC 5531 section 11.
Expected<std::vector<char>> StreamClient::receive_record() {
  std::vector<char> record;
  for (std::uint32_t mark = 0; (mark & kLastFragment) == 0;) {
    std::array<char, kMark> bytes{};
    if (const auto got = receive(bytes); !got) return tl::unexpected(got.error());
    std::memcpy(&mark, bytes.data(), kMark);
    mark = ntohl(mark);
    const std::size_t length = mark & ~kLastFragment;
    if (length > kMostReply - record.size()) {
      return fail(Errc::kSystem,
                  fmt::format("{}: its answer is longer than {} bytes", name_, kMostReply));
    }
    record.resize(record.size() + length);
    const auto fragment = std::span(record).last(length);
    if (const auto got = receive(fragment); !got) return tl::unexpected(got.error());
  }
  return record;
}

Expected<void> StreamClient::call_any(const Procedure& procedure, xdrproc_t encode, void* argument,
                                      xdrproc_t decode, void* result) {
  std::vector<char> call(kMostCall);
  XDR xdr{};
  ::xdrmem_create(&xdr, call.data() + kMark, kMostCall - kMark, XDR_ENCODE);
  rpc_msg header{};
  header.rm_xid = ++xid_;
  header.rm_direction = CALL;
  header.rm_call.cb_rpcvers = RPC_MSG_VERSION;
  header.rm_call.cb_prog = procedure.program;
  header.rm_call.cb_vers = procedure.version;
  std::uint32_t number = procedure.procedure;
  AUTH* const auth = ::authunix_create_default();
  const bool encoded = auth != nullptr && ::xdr_callhdr(&xdr, &header) != 0 &&
                       ::xdr_uint32_t(&xdr, &number) != 0 && AUTH_MARSHALL(auth, &xdr) != 0 &&
                       encode(&xdr, argument) != 0;
  if (auth != nullptr) auth_destroy(auth);
  if (!encoded) return fail(Errc::kSystem, fmt::format("{}: the Call cannot be encoded", name_));
  const std::uint32_t length = xdr_getpos(&xdr);
  const std::uint32_t mark = htonl(kLastFragment | length);
  std::memcpy(call.data(), &mark, kMark);
  if (const auto sent = send(std::span(call).first(kMark + length)); !sent) return sent;

  auto record = receive_record();
  if (!record) return tl::unexpected(record.error());
  ::xdrmem_create(&xdr, record->data(), static_cast<unsigned>(record->size()), XDR_DECODE);
  std::array<char, MAX_AUTH_BYTES> verifier{};
  rpc_msg reply{};
  reply.acpted_rply.ar_verf.oa_base = verifier.data();
  reply.acpted_rply.ar_results.where = static_cast<caddr_t>(result);
  reply.acpted_rply.ar_results.proc = decode;
  if (::xdr_replymsg(&xdr, &reply) == 0) {
    return fail(Errc::kSystem, fmt::format("{}: its answer cannot be decoded", name_));
  }
  if (reply.rm_xid != xid_) {
    return fail(Errc::kSystem, fmt::format("{}: it answered another Call", name_));
  }
  rpc_err error{};
  ::_seterr_reply(&reply, &error);
  if (error.re_status == RPC_SUCCESS) return {};
  return fail(Errc::kBadArgument, fmt::format("{}: {}", name_, ::clnt_sperrno(error.re_status)));
}

}  // namespace rpcrdma::rpcbind
