#include "metrics_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/parse.h>

namespace rpcrdma::trace {
namespace {

using base::fail;
using base::FileDescriptor;

constexpr std::string_view kMetricsSuffix = ".metrics";
constexpr std::string_view kSocketSuffix = ".sock";
// An IPv6 address with the name of an interface, and a port.
constexpr std::size_t kLongestAddress = 80;
constexpr mode_t kFileMode = 0600;

bool belongs_into_a_zone(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_address(int family, const std::string& text) {
  if (text.find('\0') != std::string::npos) return false;
  std::array<std::uint8_t, sizeof(in6_addr)> address{};
  return ::inet_pton(family, text.c_str(), address.data()) == 1;
}

}  // namespace

std::string metrics_file_name(const SocketName& socket) {
  std::string file = to_file_name(socket);
  file.resize(file.size() - kSocketSuffix.size());
  return file + std::string(kMetricsSuffix);
}

std::optional<std::uint32_t> process_of_metrics_file(std::string_view file) {
  if (!file.ends_with(kMetricsSuffix)) return std::nullopt;
  file.remove_suffix(kMetricsSuffix.size());
  const auto socket = parse_file_name(std::string(file) + std::string(kSocketSuffix));
  if (!socket || socket->packets) return std::nullopt;
  return socket->process;
}

bool is_metrics_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (text.size() > kLongestAddress || colon == std::string_view::npos) return false;
  const auto port = base::parse_u32(text.substr(colon + 1));
  if (!port || *port == 0 || *port > UINT16_MAX) return false;
  std::string_view host = text.substr(0, colon);
  if (!host.starts_with('[')) return is_address(AF_INET, std::string(host));
  if (!host.ends_with(']')) return false;
  host = host.substr(1, host.size() - 2);
  const std::size_t percent = host.find('%');
  if (percent != std::string_view::npos) {
    const std::string_view zone = host.substr(percent + 1);
    if (zone.empty() || !std::ranges::all_of(zone, belongs_into_a_zone)) return false;
    host = host.substr(0, percent);
  }
  return is_address(AF_INET6, std::string(host));
}

std::string read_metrics_file(const RuntimeFolder& folder, const SocketName& socket) {
  // Opening another user's FIFO must not block.
  const FileDescriptor fd(::openat(folder.fd.get(), metrics_file_name(socket).c_str(),
                                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != folder.owner) {
    return {};
  }
  std::array<char, kLongestAddress + 2> buffer{};
  const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
  if (n <= 0) return {};
  std::string_view text(buffer.data(), static_cast<std::size_t>(n));
  if (!text.ends_with('\n')) return {};
  text.remove_suffix(1);
  return is_metrics_address(text) ? std::string(text) : std::string();
}

base::Expected<MetricsFile> MetricsFile::create(RuntimeFolder folder, const SocketName& socket,
                                                const std::string& address) {
  const std::string file = metrics_file_name(socket);
  const std::string temporary = "." + file;
  const int in = folder.fd.get();
  const auto cannot = [&](int error) {
    ::unlinkat(in, temporary.c_str(), 0);
    return fail(fmt::format("{}/{}: {}", folder.path, file, std::strerror(error)));
  };
  if (!is_metrics_address(address)) {
    return fail(fmt::format("{}/{}: {} is no address", folder.path, file, address));
  }
  ::unlinkat(in, temporary.c_str(), 0);
  const FileDescriptor fd(::openat(
      in, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (fd.get() < 0) return cannot(errno);
  const std::string text = address + "\n";
  const ssize_t n = ::write(fd.get(), text.data(), text.size());
  if (n != static_cast<ssize_t>(text.size())) return cannot(n < 0 ? errno : ENOSPC);
  if (::renameat(in, temporary.c_str(), in, file.c_str()) != 0) return cannot(errno);
  return MetricsFile(std::move(folder), file);
}

MetricsFile::~MetricsFile() {
  if (folder_.fd.get() >= 0) ::unlinkat(folder_.fd.get(), file_.c_str(), 0);
}

}  // namespace rpcrdma::trace
