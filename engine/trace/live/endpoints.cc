#include "clock.h"
#include "socket_file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <tuple>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/trace_live/endpoints.h>

namespace rpcrdma::trace {
namespace {

using capture::Expected;
using capture::fail;
using capture::FileDescriptor;

constexpr std::int64_t kPatience = 250 * kMillisecond;

std::vector<std::string> files_in(const RuntimeFolder& folder) {
  std::vector<std::string> files;
  // Of its own, since reading moves a position that its copies share.
  const int fd = ::openat(folder.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return files;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), ::closedir);
  if (!stream) {
    ::close(fd);
    return files;
  }
  while (const dirent* const entry = ::readdir(stream.get())) files.emplace_back(entry->d_name);
  return files;
}

// What a process left that was ended between two steps of making its socket.
bool is_left_over(const std::string& file) {
  if (file.front() != '.') return false;
  const auto socket = parse_file_name(std::string_view(file).substr(1));
  return socket && ::kill(static_cast<pid_t>(socket->process), 0) != 0 && errno == ESRCH;
}

void sort_by_name(std::vector<RunningEndpoint>& endpoints) {
  std::sort(endpoints.begin(), endpoints.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.process) < std::tie(b.name, b.process);
  });
}

// What its first event says.
void ask(FileDescriptor fd, RunningEndpoint& endpoint) {
  const timeval patience{0, kPatience / kMicrosecond};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const auto source = capture::open_descriptor(std::move(fd), endpoint.path);
  capture::Frame frame;
  if (!source || !(*source)->next(frame).value_or(false)) return;
  const auto event = event_in_pdu(frame.data);
  const auto view = event ? view_event(*event) : std::nullopt;
  const auto told = view ? read_event<Endpoint>(*view) : std::nullopt;
  if (!told) return;
  const std::string_view tail(reinterpret_cast<const char*>(view->tail.data()), view->tail.size());
  const std::size_t name_bytes = std::min<std::size_t>(told->name_bytes, tail.size());
  endpoint.name = tail.substr(0, name_bytes);
  endpoint.role = tail.substr(name_bytes);
  endpoint.since = told->since;
}

// An endpoint sends at once who tells; where all its readers' places are taken it hangs up.
bool hangs_up(const FileDescriptor& fd) {
  pollfd answer{fd.get(), POLLIN, 0};
  if (::poll(&answer, 1, static_cast<int>(kPatience / kMillisecond)) <= 0) return false;
  char first = 0;
  return ::recv(fd.get(), &first, sizeof first, MSG_PEEK | MSG_DONTWAIT) == 0;
}

Expected<FileDescriptor> connect_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  RuntimeFolder folder;
  folder.path = path.substr(0, std::max<std::size_t>(slash, 1));
  folder.fd = FileDescriptor(::open(folder.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  int error = errno;
  if (folder.fd.get() >= 0) {
    auto fd = connect_socket(folder, path.substr(slash + 1));
    if (fd && hangs_up(*fd)) {
      return fail(
          fmt::format("{}: it hangs up: {} readers, as many as it takes, are attached "
                      "already, or it has just ended",
                      path, kMostReaders));
    }
    if (fd) return std::move(*fd);
    error = fd.error();
  }
  if (error == ECONNREFUSED) return fail(path + ": nobody listens there; the endpoint has ended");
  if (error == EAGAIN) return fail(path + ": the endpoint does not answer");
  return fail(fmt::format("{}: {}", path, std::strerror(error)));
}

RunningEndpoint named(const RuntimeFolder& folder, const std::string& file,
                      const SocketName& socket) {
  RunningEndpoint endpoint;
  endpoint.name = socket.name;
  endpoint.process = socket.process;
  endpoint.path = folder.path + "/" + file;
  return endpoint;
}

// Where each has its packets, if it has. Returns the files of those that belong to none of them.
std::vector<std::string> add_packets(const RuntimeFolder& folder,
                                     const std::vector<std::string>& files,
                                     std::vector<RunningEndpoint>& endpoints) {
  std::vector<std::string> of_nobody;
  for (const std::string& file : files) {
    auto socket = parse_file_name(file);
    if (!socket || !socket->packets) continue;
    socket->packets = false;
    const std::string path = folder.path + "/" + to_file_name(*socket);
    const auto of = std::find_if(endpoints.begin(), endpoints.end(),
                                 [&](const auto& endpoint) { return endpoint.path == path; });
    if (of != endpoints.end()) {
      of->packets = folder.path + "/" + file;
    } else {
      of_nobody.push_back(file);
    }
  }
  return of_nobody;
}

Expected<RunningEndpoint> choose(const std::string& which) {
  const auto endpoints = list_endpoints();
  if (!endpoints) return tl::unexpected(endpoints.error());
  const RunningEndpoint* found = nullptr;
  for (const RunningEndpoint& endpoint : *endpoints) {
    if (std::to_string(endpoint.process) == which) return endpoint;
    if (endpoint.name != which) continue;
    if (found != nullptr) {
      return fail(fmt::format("there are several endpoints named {}; name the process, such as {}",
                              which, endpoint.process));
    }
    found = &endpoint;
  }
  if (found == nullptr) return fail(fmt::format("no endpoint {} runs here", which));
  return *found;
}

}  // namespace

Expected<std::vector<RunningEndpoint>> list_endpoints() {
  std::vector<RunningEndpoint> endpoints;
  const auto folder = open_runtime_folder();
  if (!folder) return tl::unexpected(folder.error());
  if (!*folder) return endpoints;
  const std::vector<std::string> files = files_in(**folder);
  for (const std::string& file : files) {
    if (is_left_over(file)) ::unlinkat((*folder)->fd.get(), file.c_str(), 0);
    const auto socket = parse_file_name(file);
    if (!socket || socket->packets) continue;
    auto fd = connect_socket(**folder, file);
    if (!fd && fd.error() == ECONNREFUSED) ::unlinkat((*folder)->fd.get(), file.c_str(), 0);
    if (!fd && fd.error() != EAGAIN) continue;
    RunningEndpoint& endpoint = endpoints.emplace_back(named(**folder, file, *socket));
    if (fd) ask(std::move(*fd), endpoint);
  }
  for (const std::string& file : add_packets(**folder, files, endpoints)) {
    const auto fd = connect_socket(**folder, file);
    if (!fd && fd.error() == ECONNREFUSED) ::unlinkat((*folder)->fd.get(), file.c_str(), 0);
  }
  sort_by_name(endpoints);
  return endpoints;
}

Expected<std::vector<RunningEndpoint>> find_endpoints() {
  std::vector<RunningEndpoint> endpoints;
  const auto folder = open_runtime_folder();
  if (!folder) return tl::unexpected(folder.error());
  if (!*folder) return endpoints;
  const std::vector<std::string> files = files_in(**folder);
  for (const std::string& file : files) {
    const auto socket = parse_file_name(file);
    if (socket && !socket->packets) endpoints.push_back(named(**folder, file, *socket));
  }
  add_packets(**folder, files, endpoints);
  sort_by_name(endpoints);
  return endpoints;
}

bool is_packet_socket(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return false;
  const auto socket = parse_file_name(std::string_view(path).substr(slash + 1));
  return socket && socket->packets;
}

Expected<FileDescriptor> connect_endpoint(const std::string& which) {
  if (which.find('/') != std::string::npos) return connect_path(which);
  const auto endpoint = choose(which);
  if (!endpoint) return tl::unexpected(endpoint.error());
  return connect_path(endpoint->path);
}

Expected<FileDescriptor> connect_packets(const std::string& which) {
  if (which.find('/') != std::string::npos) return connect_path(which);
  const auto endpoint = choose(which);
  if (!endpoint) return tl::unexpected(endpoint.error());
  if (!endpoint->packets.empty()) return connect_path(endpoint->packets);
  return fail(fmt::format(
      "endpoint {} shows no packets: it does not run over RDMA in user space (--provider soft)",
      which));
}

}  // namespace rpcrdma::trace
