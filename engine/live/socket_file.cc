#include "socket_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace rpcrdma::trace {
namespace {

using base::fail;
using base::FileDescriptor;

constexpr std::size_t kLongestFileName = 64;
constexpr std::string_view kSuffix = ".sock";
constexpr std::string_view kPackets = ".packets";
constexpr mode_t kSocketMode = 0600;
constexpr int kBacklog = 16;

bool belongs_into_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// Uses the folder's path if it is short enough, otherwise its descriptor.
sockaddr_un address_of(const RuntimeFolder& folder, const std::string& file) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = folder.path + "/" + file;
  if (path.size() >= sizeof address.sun_path) {
    path = fmt::format("/proc/self/fd/{}/{}", folder.fd.get(), file);
  }
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

// Returns errno, or 0.
int with_address(int (*call)(int, const sockaddr*, socklen_t), int fd, const sockaddr_un& address) {
  return call(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

}  // namespace

std::string to_file_name(const SocketName& socket) {
  std::string name = socket.name.substr(0, kLongestFileName);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !belongs_into_a_name(c); }, '_');
  return fmt::format("{}.{}{}{}", name.empty() ? "endpoint" : name, socket.process,
                     socket.packets ? kPackets : "", kSuffix);
}

std::optional<SocketName> parse_file_name(std::string_view file) {
  if (!file.ends_with(kSuffix)) return std::nullopt;
  file.remove_suffix(kSuffix.size());
  SocketName socket;
  socket.packets = file.ends_with(kPackets);
  if (socket.packets) file.remove_suffix(kPackets.size());
  const std::size_t dot = file.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot > kLongestFileName) return std::nullopt;
  socket.name = file.substr(0, dot);
  if (!std::ranges::all_of(socket.name, belongs_into_a_name)) return std::nullopt;
  const std::string_view process = file.substr(dot + 1);
  const auto [end, error] =
      std::from_chars(process.data(), process.data() + process.size(), socket.process);
  if (error != std::errc() || end != process.data() + process.size()) return std::nullopt;
  return socket;
}

bool is_owners_socket(const RuntimeFolder& folder, const std::string& file) {
  struct stat status {};
  return ::fstatat(folder.fd.get(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISSOCK(status.st_mode) && status.st_uid == folder.owner;
}

namespace {

// Connects to the very file that was looked at: another user can replace it at any time.
int connect_file_of_other(int fd, const RuntimeFolder& folder, const std::string& file) {
  const FileDescriptor path(
      ::openat(folder.fd.get(), file.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (path.get() < 0 || ::fstat(path.get(), &status) != 0) return errno;
  if (!S_ISSOCK(status.st_mode) || status.st_uid != folder.owner) return EPERM;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("/proc/self/fd/{}", path.get());
  std::memcpy(address.sun_path, name.data(), name.size());
  if (const int error = with_address(::connect, fd, address); error != 0) return error;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno;
  const auto named = parse_file_name(file);
  const bool expected = named && static_cast<pid_t>(named->process) == peer.pid &&
                        (peer.uid == folder.owner || peer.uid == 0);
  return expected ? 0 : EPERM;
}

}  // namespace

tl::expected<FileDescriptor, int> connect_socket(const RuntimeFolder& folder,
                                                 const std::string& file) {
  // Non-blocking: a hung process may have a full accept queue.
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return tl::unexpected(errno);
  const int error = folder.owner == ::geteuid()
                        ? with_address(::connect, fd.get(), address_of(folder, file))
                        : connect_file_of_other(fd.get(), folder, file);
  if (error != 0) return tl::unexpected(error);
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (::fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) return tl::unexpected(errno);
  return fd;
}

base::Expected<ListeningSocket> ListeningSocket::open(RuntimeFolder folder,
                                                      const SocketName& socket) {
  ListeningSocket s;
  s.folder_ = std::move(folder);
  s.file_ = to_file_name(socket);
  const auto cannot = [&s](const char* what, int error) {
    return fail(fmt::format("{}: cannot {}: {}", s.path(), what, std::strerror(error)));
  };
  const auto other = connect_socket(s.folder_, s.file_);
  if (other || other.error() == EAGAIN) return fail(s.path() + ": another endpoint listens there");

  const std::string temporary = "." + s.file_;
  const int folder_fd = s.folder_.fd.get();
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The file inherits the socket's mode.
  if (fd.get() < 0 || ::fchmod(fd.get(), kSocketMode) != 0) return cannot("create a socket", errno);
  ::unlinkat(folder_fd, temporary.c_str(), 0);
  if (const int error = with_address(::bind, fd.get(), address_of(s.folder_, temporary))) {
    return cannot("bind a socket", error);
  }
  struct stat status {};
  if (::listen(fd.get(), kBacklog) != 0 ||
      ::fstatat(folder_fd, temporary.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::renameat(folder_fd, temporary.c_str(), folder_fd, s.file_.c_str()) != 0) {
    const int error = errno;
    ::unlinkat(folder_fd, temporary.c_str(), 0);
    return cannot("listen", error);
  }
  s.inode_ = status.st_ino;
  s.fd_ = std::move(fd);
  return s;
}

ListeningSocket::~ListeningSocket() {
  if (fd_.get() < 0) return;
  struct stat status {};
  const int folder = folder_.fd.get();
  if (::fstatat(folder, file_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      status.st_ino == inode_) {
    ::unlinkat(folder, file_.c_str(), 0);
  }
}

}  // namespace rpcrdma::trace
