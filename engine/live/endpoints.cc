// Lists and connects to the endpoints of this user. Sockets in the runtime folder are untrusted:
// each is queried within a common deadline and must send an Endpoint event.
#include "metrics_file.h"
#include "socket_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/base/pcapng/read_blocks.h>
#include <rpcrdma/base/pcapng/whole_blocks.h>
#include <rpcrdma/base/text.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/live/stream_check.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {
namespace {

using base::Expected;
using base::fail;
using base::FileDescriptor;
namespace pcapng = base::pcapng;

// Another user's folder may hold any number.
constexpr std::size_t kMostFiles = 16384;

std::vector<std::string> files_in(const RuntimeFolder& folder) {
  std::vector<std::string> files;
  // Opens a new description: reading a directory moves an offset that duplicated descriptors share.
  const int fd = ::openat(folder.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return files;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), ::closedir);
  if (!stream) {
    ::close(fd);
    return files;
  }
  while (const dirent* const entry = ::readdir(stream.get())) {
    files.emplace_back(entry->d_name);
    if (files.size() == kMostFiles) break;
  }
  return files;
}

// Returns whether a process left this file behind because it died: while it was creating its
// socket, or before it removed the file that states where its metrics are.
bool is_left_over(const std::string& file) {
  std::optional<std::uint32_t> process = process_of_metrics_file(file);
  if (!process && file.front() == '.') {
    const std::string_view name = std::string_view(file).substr(1);
    process = process_of_metrics_file(name);
    if (const auto socket = parse_file_name(name)) process = socket->process;
  }
  return process && ::kill(static_cast<pid_t>(*process), 0) != 0 && errno == ESRCH;
}

bool is_own(const RuntimeFolder& folder) {
  return folder.owner == ::geteuid();
}

// The name may come from a directory service, so it is looked up once per folder.
std::string user_name(uid_t uid) {
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return entry.pw_name;
  }
  return fmt::format("{}", uid);
}

void sort_by_name(std::vector<RunningEndpoint>& endpoints) {
  std::sort(endpoints.begin(), endpoints.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.process) < std::tie(b.name, b.process);
  });
}

// Longest name and role that a list of endpoints shows.
constexpr std::size_t kLongestName = 256, kLongestRole = 1024;
// Sockets that are queried at the same time.
constexpr std::size_t kMostAsked = 64;

// Queries one endpoint for its identity, which is the first event of its stream. All endpoints are
// queried at once and share one deadline, since any of them may hang or be hostile.
class Question {
 public:
  Question(FileDescriptor fd, RunningEndpoint& endpoint)
      : endpoint_(endpoint), fd_(std::move(fd)) {}

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool over() const { return answered_ || refused_; }
  void read() {
    std::array<std::uint8_t, std::size_t{64} << 10> buffer;
    const ssize_t n = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n == 0) return refuse("closed the connection");
    if (n < 0) {
      if (errno != EAGAIN && errno != EINTR) refuse_as(std::strerror(errno));
      return;
    }
    auto blocks = blocks_.add(std::span(buffer).first(static_cast<std::size_t>(n)));
    while (!over() && !blocks.empty()) {
      const pcapng::Block block = pcapng::take_block(blocks);
      if (block.type == pcapng::kEnhancedPacket) packet(block.bytes);
    }
    blocks_.expire(base::WholeBlocks::Clock::now());
    if (!over() && blocks_.broken()) refuse_as(blocks_.why());
  }

 private:
  void refuse(std::string fault) {
    endpoint_.fault = std::move(fault);
    refused_ = true;
  }
  void refuse_as(const char* why) { refuse(std::string("is not an endpoint: ") + why); }

  void packet(std::span<const std::uint8_t> block) {
    const auto packet = pcapng::read_packet(block);
    const auto event = check_.take(packet ? packet->data : std::span<const std::uint8_t>());
    if (!event) return refuse_as(event.error());
    answered_ = true;
    const auto identity = read_event<Endpoint>(*event);
    if (!identity) {
      endpoint_.fault = "is not an endpoint";
      return;
    }
    const std::string_view payload = base::as_text(event->payload);
    const std::size_t name_bytes = std::min<std::size_t>(identity->name_bytes, payload.size());
    endpoint_.name = payload.substr(0, std::min(name_bytes, kLongestName));
    endpoint_.role = payload.substr(name_bytes, kLongestRole);
    endpoint_.since = identity->since;
    endpoint_.fault.clear();
  }

  RunningEndpoint& endpoint_;
  FileDescriptor fd_;
  base::WholeBlocks blocks_;
  StreamCheck check_;
  bool answered_ = false;
  bool refused_ = false;
};

// Queries `endpoints`, which are listed with the files of their sockets. Removes the files of
// endpoints that have ended, and their entries.
void ask(const RuntimeFolder& folder,
         std::vector<std::pair<std::string, RunningEndpoint>>& endpoints,
         std::chrono::nanoseconds patience) {
  using std::chrono::milliseconds;
  using Clock = base::WholeBlocks::Clock;
  const auto deadline = Clock::now() + patience;
  std::list<Question> asked;
  std::vector<pollfd> fds;
  for (auto next = endpoints.begin(); next != endpoints.end() || !asked.empty();) {
    for (; next != endpoints.end() && asked.size() < kMostAsked; ++next) {
      auto fd = connect_socket(folder, next->first);
      if (fd) {
        asked.emplace_back(std::move(*fd), next->second);
      } else if (fd.error() == EPERM) {
        next->second.fault = "is not served by its user's process";
      } else if (fd.error() != EAGAIN) {
        if (fd.error() == ECONNREFUSED && is_own(folder)) {
          ::unlinkat(folder.fd.get(), next->first.c_str(), 0);
        }
        next->second.path.clear();
      }
    }
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    fds.clear();
    for (const Question& question : asked) fds.push_back({question.fd(), POLLIN, 0});
    const int ready =
        ::poll(fds.data(), fds.size(), static_cast<int>(std::max<milliseconds::rep>(left, 0)));
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0 && left <= 0) {
      if (asked.empty()) break;
      // The deadline has passed: endpoints not queried yet get one attempt that does not wait.
      asked.clear();
      continue;
    }
    auto fd = fds.begin();
    for (Question& question : asked) {
      if ((fd++)->revents != 0) question.read();
    }
    asked.remove_if([](const Question& question) { return question.over(); });
    // Other endpoints may trickle or flood in the meantime.
    if (Clock::now() >= deadline) asked.clear();
  }
  std::erase_if(endpoints, [](const auto& one) { return one.second.path.empty(); });
}

// Returns whether the endpoint hangs up. An endpoint identifies itself at once, and hangs up if it
// has its maximum number of readers.
bool hangs_up(const FileDescriptor& fd, std::chrono::nanoseconds patience) {
  using std::chrono::milliseconds;
  pollfd answer{fd.get(), POLLIN, 0};
  const auto bound = std::chrono::ceil<milliseconds>(patience).count();
  if (::poll(&answer, 1, static_cast<int>(std::max<milliseconds::rep>(bound, 0))) <= 0)
    return false;
  char first = 0;
  return ::recv(fd.get(), &first, sizeof first, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// `owner`: of the folder; nothing: the user named this path, so what it leads to is their choice.
Expected<FileDescriptor> connect_path(const std::string& path, std::chrono::nanoseconds patience,
                                      std::optional<uid_t> owner = std::nullopt) {
  const std::size_t slash = path.rfind('/');
  RuntimeFolder folder;
  folder.path = path.substr(0, std::max<std::size_t>(slash, 1));
  folder.owner = owner.value_or(::geteuid());
  const int follow = is_own(folder) ? 0 : O_NOFOLLOW;
  folder.fd =
      FileDescriptor(::open(folder.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | follow));
  int error = errno;
  if (folder.fd.get() >= 0) {
    auto fd = connect_socket(folder, path.substr(slash + 1));
    if (fd && hangs_up(*fd, patience)) {
      return fail(
          fmt::format("{}: it closed the connection: its maximum of {} readers is "
                      "attached, or it has just ended",
                      path, kMostReaders));
    }
    if (fd) return std::move(*fd);
    error = fd.error();
  }
  if (error == ECONNREFUSED) return fail(path + ": no listener; the endpoint has ended");
  if (error == EAGAIN) return fail(path + ": the endpoint does not answer");
  if (error == EPERM) return fail(path + ": it is not served by its user's process");
  return fail(fmt::format("{}: {}", path, std::strerror(error)));
}

RunningEndpoint named(const RuntimeFolder& folder, const std::string& file,
                      const SocketName& socket) {
  RunningEndpoint endpoint;
  endpoint.name = socket.name;
  endpoint.process = socket.process;
  endpoint.path = folder.path + "/" + file;
  endpoint.uid = folder.owner;
  return endpoint;
}

// Fills in the packet socket of each endpoint that has one. Returns the files that belong to no
// endpoint.
std::vector<std::string> add_packets(const RuntimeFolder& folder,
                                     const std::vector<std::string>& files,
                                     std::vector<RunningEndpoint>& endpoints) {
  std::vector<std::string> of_nobody;
  for (const std::string& file : files) {
    auto socket = parse_file_name(file);
    if (!socket || !socket->packets || !is_owners_socket(folder, file)) continue;
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

void add(std::vector<RunningEndpoint>& to, std::vector<RunningEndpoint> endpoints,
         const RuntimeFolder& folder) {
  if (endpoints.empty()) return;
  sort_by_name(endpoints);
  const std::string user = user_name(folder.owner);
  for (RunningEndpoint& endpoint : endpoints) {
    endpoint.user = user;
    to.push_back(std::move(endpoint));
  }
}

// Returns the files of sockets in a folder, and all files in `files`.
std::vector<std::pair<std::string, RunningEndpoint>> sockets_in(const RuntimeFolder& folder,
                                                                std::vector<std::string>& files) {
  files = files_in(folder);
  std::vector<std::pair<std::string, RunningEndpoint>> sockets;
  for (const std::string& file : files) {
    const auto socket = parse_file_name(file);
    if (!socket || socket->packets || !is_owners_socket(folder, file)) continue;
    sockets.emplace_back(file, named(folder, file, *socket));
    if (!is_own(folder) && sockets.size() == kMostOfOneUser) break;
  }
  return sockets;
}

// Queries all endpoints of a folder.
std::vector<RunningEndpoint> list_folder(const RuntimeFolder& folder,
                                         std::chrono::nanoseconds patience) {
  std::vector<std::string> files;
  auto asked = sockets_in(folder, files);
  for (auto& [file, endpoint] : asked) endpoint.fault = "does not answer";
  ask(folder, asked, patience);
  std::vector<RunningEndpoint> endpoints;
  for (auto& [file, endpoint] : asked) {
    if (const auto socket = parse_file_name(file)) {
      endpoint.metrics = read_metrics_file(folder, *socket);
    }
    endpoints.push_back(std::move(endpoint));
  }
  const auto of_nobody = add_packets(folder, files, endpoints);
  if (!is_own(folder)) return endpoints;
  for (const std::string& file : files) {
    if (is_left_over(file)) ::unlinkat(folder.fd.get(), file.c_str(), 0);
  }
  for (const std::string& file : of_nobody) {
    const auto fd = connect_socket(folder, file);
    if (!fd && fd.error() == ECONNREFUSED) ::unlinkat(folder.fd.get(), file.c_str(), 0);
  }
  return endpoints;
}

std::vector<RunningEndpoint> find_in_folder(const RuntimeFolder& folder) {
  std::vector<std::string> files;
  std::vector<RunningEndpoint> endpoints;
  for (auto& [file, endpoint] : sockets_in(folder, files)) endpoints.push_back(std::move(endpoint));
  add_packets(folder, files, endpoints);
  return endpoints;
}

// This user's endpoints come first: another user's of the same name is chosen only by its process
// ID, so that nobody can put an endpoint in the place of one of root's.
Expected<RunningEndpoint> choose(const std::string& which, std::chrono::nanoseconds patience) {
  const auto endpoints = list_endpoints(patience);
  if (!endpoints) return tl::unexpected(endpoints.error());
  const RunningEndpoint* found = nullptr;
  for (const RunningEndpoint& endpoint : *endpoints) {
    if (std::to_string(endpoint.process) == which) return endpoint;
    if (endpoint.name != which) continue;
    if (found != nullptr && found->uid == ::geteuid() && endpoint.uid != found->uid) continue;
    if (found != nullptr) {
      return fail(fmt::format("several endpoints are named {}; give a process ID, such as {}",
                              which, endpoint.process));
    }
    found = &endpoint;
  }
  if (found == nullptr) return fail(fmt::format("no endpoint {} runs here", which));
  return *found;
}

}  // namespace

Expected<std::vector<RunningEndpoint>> list_endpoints(std::chrono::nanoseconds patience) {
  using Clock = std::chrono::steady_clock;
  std::vector<RunningEndpoint> endpoints;
  const auto folder = open_runtime_folder();
  if (!folder) return tl::unexpected(folder.error());
  if (*folder) add(endpoints, list_folder(**folder, patience), **folder);
  const auto deadline = Clock::now() + 4 * patience;
  for (const RuntimeFolder& other : folders_of_others()) {
    const std::chrono::nanoseconds left = deadline - Clock::now();
    add(endpoints, list_folder(other, std::clamp(left, std::chrono::nanoseconds(0), patience)),
        other);
  }
  return endpoints;
}

Expected<std::vector<RunningEndpoint>> find_endpoints() {
  std::vector<RunningEndpoint> endpoints;
  const auto folder = open_runtime_folder();
  if (!folder) return tl::unexpected(folder.error());
  if (*folder) add(endpoints, find_in_folder(**folder), **folder);
  for (const RuntimeFolder& other : folders_of_others()) {
    add(endpoints, find_in_folder(other), other);
  }
  return endpoints;
}

bool is_packet_socket(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return false;
  const auto socket = parse_file_name(std::string_view(path).substr(slash + 1));
  return socket && socket->packets;
}

Expected<FileDescriptor> connect_endpoint(const std::string& which,
                                          std::chrono::nanoseconds patience) {
  if (which.find('/') != std::string::npos) return connect_path(which, patience);
  const auto endpoint = choose(which, patience);
  if (!endpoint) return tl::unexpected(endpoint.error());
  return connect_running(*endpoint, patience);
}

Expected<FileDescriptor> connect_running(const RunningEndpoint& endpoint,
                                         std::chrono::nanoseconds patience, bool packets) {
  return connect_path(packets ? endpoint.packets : endpoint.path, patience, endpoint.uid);
}

Expected<FileDescriptor> connect_packets(const std::string& which,
                                         std::chrono::nanoseconds patience) {
  if (which.find('/') != std::string::npos) return connect_path(which, patience);
  const auto endpoint = choose(which, patience);
  if (!endpoint) return tl::unexpected(endpoint.error());
  if (!endpoint->packets.empty()) return connect_running(*endpoint, patience, true);
  return fail(fmt::format(
      "endpoint {} has no packet stream: it does not use the soft fabric (--provider soft)",
      which));
}

}  // namespace rpcrdma::trace
