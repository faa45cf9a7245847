#include <fmt/core.h>

#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::fleet {

namespace {

constexpr std::string_view kPrefix = "rpcrdma.";
constexpr const char* kDigits = "0123456789ABCDEF";

bool is_plain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::optional<unsigned> digit(char c) {
  const std::size_t at = std::string_view(kDigits).find(c);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned>(at);
}

std::optional<std::string> host_of_token(std::string_view token) {
  std::string host;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '%') {
      if (!is_plain(token[i])) return std::nullopt;
      host += token[i];
      continue;
    }
    if (token.size() - i < 3) return std::nullopt;
    const auto high = digit(token[i + 1]);
    const auto low = digit(token[i + 2]);
    if (!high || !low) return std::nullopt;
    host += static_cast<char>(*high << 4U | *low);
    i += 2;
  }
  if (host.empty()) return std::nullopt;
  return host;
}

}  // namespace

std::string host_token(std::string_view host) {
  std::string token;
  for (const char c : host) {
    if (is_plain(c)) {
      token += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    token += '%';
    token += kDigits[byte >> 4U];
    token += kDigits[byte & 15U];
  }
  return token;
}

std::string state_subject(std::string_view host) {
  return fmt::format("{}state.{}", kPrefix, host_token(host));
}

std::string findings_subject(std::string_view host) {
  return fmt::format("{}findings.{}", kPrefix, host_token(host));
}

std::string control_subject(std::string_view host) {
  return fmt::format("{}control.{}", kPrefix, host_token(host));
}

std::string record_subject(std::string_view host, std::string_view id) {
  return fmt::format("{}record.{}.{}", kPrefix, host_token(host), host_token(id));
}

std::optional<std::string> host_of_subject(std::string_view subject) {
  if (!subject.starts_with(kPrefix)) return std::nullopt;
  subject.remove_prefix(kPrefix.size());
  const std::size_t dot = subject.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view kind = subject.substr(0, dot);
  subject.remove_prefix(dot + 1);
  if (kind == "record") {
    const std::size_t end = subject.find('.');
    if (end == std::string_view::npos) return std::nullopt;
    subject = subject.substr(0, end);
  } else if (kind != "state" && kind != "findings" && kind != "control") {
    return std::nullopt;
  }
  return host_of_token(subject);
}

}  // namespace rpcrdma::fleet
