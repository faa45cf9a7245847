#include "nats_text.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

namespace rpcrdma::fleet {

namespace {

// The library's latest error of this thread, in one line.
std::string detail(natsStatus status) {
  natsStatus of = NATS_OK;
  const char* const text = nats_GetLastError(&of);
  if (text == nullptr || *text == '\0' || of != status) return {};
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  // "SSL Error: (conn.c:733): ..." names the library's source.
  if (const std::size_t source = line.find("): "); source != std::string::npos) {
    line.erase(0, source + 3);
  }
  return line;
}

}  // namespace

std::string status_text(natsStatus status) {
  switch (status) {
    case NATS_NO_SERVER:
    case NATS_IO_ERROR:
      return "no NATS server answers there";
    case NATS_TIMEOUT:
      return "no answer in time";
    case NATS_CONNECTION_AUTH_FAILED:
      return "it does not accept this user, password or key";
    case NATS_SECURE_CONNECTION_REQUIRED:
      return "it requires TLS: use --tls-ca or a URL with tls://";
    case NATS_SECURE_CONNECTION_WANTED:
      return "it offers no TLS";
    case NATS_CONNECTION_CLOSED:
      return "the connection has been closed";
    case NATS_CONNECTION_DISCONNECTED:
      return "the bus is disconnected";
    case NATS_NO_RESPONDERS:
      return "nobody listens there";
    case NATS_MAX_PAYLOAD:
      return "longer than the bus accepts";
    case NATS_NOT_PERMITTED:
      return "the bus does not permit it";
    default:
      break;
  }
  const std::string more = detail(status);
  if (status == NATS_SSL_ERROR) return fmt::format("TLS failed: {}", more);
  const std::string name = natsStatus_GetText(status);
  return more.empty() ? name : fmt::format("{}: {}", name, more);
}

std::string public_urls(const std::string& urls) {
  std::string shown;
  std::string_view rest = urls;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view url = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t scheme = url.find("://");
    const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
    const std::size_t at = url.rfind('@');
    if (!shown.empty()) shown += ',';
    shown += url.substr(0, host);
    shown += url.substr(at == std::string_view::npos || at < host ? host : at + 1);
  }
  return shown;
}

}  // namespace rpcrdma::fleet
