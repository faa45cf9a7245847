#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/decode/utf8.h>
#include <rpcrdma/service_discovery/service_discovery.h>

namespace rpcrdma::service_discovery {

using base::fail;
using trace::RunningEndpoint;

namespace {

bool belongs_into_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_ipv6(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

// "[::1]:9464" becomes "::1" and "9464".
std::pair<std::string, std::string> split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return {host, colon == std::string::npos ? std::string() : address.substr(colon + 1)};
}

bool is_wildcard(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1";
}

std::string joined(const std::string& host, const std::string& port) {
  return is_ipv6(host) ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

// Whether the file holds this text, and nothing else.
bool holds(const std::string& path, const std::string& text) {
  const base::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size != static_cast<off_t>(text.size())) {
    return false;
  }
  std::string read(text.size(), '\0');
  std::size_t length = 0;
  while (length < read.size()) {
    const ssize_t n = ::read(fd.get(), read.data() + length, read.size() - length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    length += static_cast<std::size_t>(n);
  }
  return read == text;
}

}  // namespace

base::Expected<void> check(const Options& options) {
  if (!options.file.ends_with(".json")) {
    return fail(fmt::format("{}: Prometheus reads only files that end in .json", options.file));
  }
  const std::string& host = options.reached_as;
  if (host.empty() || is_ipv6(host) || std::ranges::all_of(host, belongs_into_a_name)) return {};
  return fail(fmt::format("{}: not a name or an address of a host, without a port",
                          decode::escape_text(host)));
}

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::string to_json(std::span<const Target> targets) {
  std::string text = "[";
  const char* before = "\n";
  for (const Target& target : targets) {
    const nlohmann::ordered_json json{{"targets", {decode::valid_utf8(target.address)}},
                                      {"labels", [&] {
                                         nlohmann::ordered_json labels =
                                             nlohmann::ordered_json::object();
                                         for (const auto& [name, value] : target.labels)
                                           labels[name] = decode::valid_utf8(value);
                                         return labels;
                                       }()}};
    text += before + json.dump(-1, ' ', true);  // escapes all non-ASCII characters as \uNNNN
    before = ",\n";
  }
  return text + "\n]\n";
}

bool is_local(const std::string& address) {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return false;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(found, ::freeifaddrs);
  in_addr ipv4{};
  in6_addr ipv6{};
  const bool is_4 = ::inet_pton(AF_INET, address.c_str(), &ipv4) == 1;
  const bool is_6 = ::inet_pton(AF_INET6, address.c_str(), &ipv6) == 1;
  for (const ifaddrs* at = found; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    if (is_4 && at->ifa_addr->sa_family == AF_INET &&
        reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr.s_addr == ipv4.s_addr) {
      return true;
    }
    if (is_6 && at->ifa_addr->sa_family == AF_INET6 &&
        IN6_ARE_ADDR_EQUAL(&reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr,
                           &ipv6)) {
      return true;
    }
  }
  return false;
}

std::string File::choose(const RunningEndpoint& endpoint, Target& target) const {
  const auto [host, port] = split(endpoint.metrics);
  const bool elsewhere = !options_.reached_as.empty();
  if (host.find('%') != std::string::npos)
    return "Prometheus does not support link-local addresses";
  if (is_wildcard(host)) {
    target.address = joined(elsewhere ? options_.reached_as : options_.machine, port);
    return {};
  }
  if (is_loopback(host)) {
    if (elsewhere) return "other machines cannot reach a loopback address";
  } else if (endpoint.uid != ::geteuid() && !is_local(host)) {
    // Another user must not make Prometheus connect anywhere.
    return "its user names an address that is not of this machine";
  }
  target.address = endpoint.metrics;
  return {};
}

File::Identity File::identify(const RunningEndpoint& endpoint) {
  const auto known = known_.find(endpoint.path);
  if (endpoint.since == 0 && known != known_.end()) return known->second;
  return {endpoint.name, endpoint.role};
}

base::Expected<File::Update> File::update(std::span<const RunningEndpoint> endpoints) {
  Update update;
  std::vector<Target> targets;
  std::set<std::string> addresses;
  std::map<std::string, Identity> known;
  std::map<std::string, std::string> left_out;
  for (const RunningEndpoint& endpoint : endpoints) {
    if (endpoint.metrics.empty()) continue;
    const Identity identity = identify(endpoint);
    known[endpoint.path] = identity;
    Target target;
    std::string why = choose(endpoint, target);
    if (why.empty() && !addresses.insert(target.address).second) {
      why = "another endpoint has the same address";
    }
    if (!why.empty()) {
      std::string& line = left_out[endpoint.path];
      line =
          fmt::format("{} (process {}) at {} is left out: {}", decode::escape_text(identity.name),
                      endpoint.process, endpoint.metrics, why);
      const auto before = reported_.find(endpoint.path);
      if (before == reported_.end() || before->second != line) update.left_out.push_back(line);
      continue;
    }
    target.labels = {{"endpoint", identity.name},
                     {"endpoint_role", identity.role},
                     {"host", options_.machine},
                     {"process", fmt::format("{}", endpoint.process)},
                     {"user", endpoint.user}};
    targets.push_back(std::move(target));
  }
  known_ = std::move(known);
  reported_ = std::move(left_out);
  update.targets = targets.size();
  const std::string text = to_json(targets);
  if (holds(options_.file, text)) return update;
  // Prometheus is another user: readable as umask allows.
  const auto written = base::write_whole(
      options_.file, [&](const base::Write& write) { write(text); }, {.to_disk = true});
  if (!written) return tl::unexpected(written.error());
  update.written = true;
  return update;
}

}  // namespace rpcrdma::service_discovery
