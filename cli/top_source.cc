#include "top_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/kernel_launch/launch.h>
#include <rpcrdma/live/stream_check.h>
#include <rpcrdma/load_agents/agent_list.h>

namespace rpcrdma::cli {

using base::Expected;
using base::fail;
using base::FileDescriptor;

namespace {

constexpr std::string_view kOverSsh = "ssh:";
constexpr std::size_t kMostSaid = 4096;
// Another host has to be reached first, and the kernel's BPF programs have to be loaded there.
constexpr base::LivePatience kRemotePatience{.begin = std::chrono::minutes(1)};
// Somebody may type the command that writes.
constexpr base::LivePatience kPipePatience{.begin = std::chrono::hours(24)};

capture::LiveStream stream_of(FileDescriptor fd, base::LivePatience patience = {}) {
  return capture::LiveStream(std::move(fd), trace::live_check(), patience);
}

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace

TopSource::TopSource(std::string name, std::string path, FileDescriptor stream)
    : name_(std::move(name)), path_(std::move(path)), stream_(stream_of(std::move(stream))) {}

Expected<TopSource> TopSource::over_ssh(const std::string& name, const RemoteOptions& options) {
  const std::string_view target = std::string_view(name).substr(kOverSsh.size());
  const std::size_t slash = target.find('/');
  const std::string_view host = target.substr(0, slash);
  const std::string endpoint(slash == std::string_view::npos
                                 ? std::string_view(kernel::kEndpointName)
                                 : target.substr(slash + 1));
  // What ssh would take for an option is no host.
  const auto parsed = load_agents::parse_agents(host);
  if (!parsed || parsed->size() != 1 || endpoint.empty() || endpoint.starts_with('-')) {
    return fail(
        fmt::format("top: {}: it does not name a host, as ssh:HOST or ssh:HOST/ENDPOINT do", name));
  }
  auto words = load_agents::split_words(options.ssh);
  if (!words) return fail("top: --ssh: " + words.error().message);
  words->push_back(parsed->front().host);
  words->push_back(
      fmt::format("{} attach {} -w -", options.command, load_agents::quote_word(endpoint)));
  auto child = base::ChildProcess::start(*words);
  if (!child) return fail(fmt::format("top: {}: {}", name, child.error().message));
  // It reads nothing: ssh must not wait for keys.
  child->input.reset();
  for (const auto* const fd : {&child->output, &child->errors}) {
    ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  TopSource source(name, {}, {});
  source.stream_ = stream_of(std::move(child->output), kRemotePatience);
  source.host_ = parsed->front().host;
  source.child_ = std::move(*child);
  return source;
}

Expected<TopSource> TopSource::open(const std::string& name, EndpointReader& reader,
                                    const RemoteOptions& options, FileDescriptor& standard_input) {
  if (name.starts_with(kOverSsh)) return over_ssh(name, options);
  TopSource source(name, {}, {});
  struct stat info {};
  if (is_standard_input(name)) {
    if (standard_input.get() < 0) return fail("top: standard input is closed");
    source.name_ = "standard input";
    source.stream_ = stream_of(std::move(standard_input), kPipePatience);
  } else if (::stat(name.c_str(), &info) == 0 && S_ISFIFO(info.st_mode)) {
    // Does not wait for a writer.
    FileDescriptor fd(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (fd.get() < 0) return fail(fmt::format("top: {}: {}", name, std::strerror(errno)));
    source.stream_ = stream_of(std::move(fd), kPipePatience);
  } else {
    auto fd = reader.connect(name);
    if (!fd) return tl::unexpected(fd.error());
    source.stream_ = stream_of(std::move(*fd));
  }
  return source;
}

void TopSource::read_errors() {
  if (errors() < 0) return;
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(errors(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    child_->errors.reset();
    return;
  }
  said_.append(buffer.data(), static_cast<std::size_t>(n));
  if (said_.size() > kMostSaid) said_.erase(0, said_.size() - kMostSaid);
}

std::string TopSource::why() {
  if (!child_ || !stream_.why().empty() || stream_.frames() != 0) return stream_.why();
  read_errors();
  const std::string said = last_line(said_);
  if (!said.empty()) return said;
  const auto status = child_->ended();
  return status ? "ssh " + base::describe_wait_status(*status) : "it sent nothing";
}

}  // namespace rpcrdma::cli
