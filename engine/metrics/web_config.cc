// Reads the file with yaml-cpp, which throws; no exception leaves this file.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <rpcrdma/metrics/web_config.h>

namespace rpcrdma::metrics {

namespace {

using fabric::Errc;

// A certificate chain is some kilobytes.
constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{1} << 20;
// 2^14 rounds take a second. A higher cost would make each first scrape wait for longer than
// Prometheus does.
constexpr int kHighestCost = 14;

// Wrong content, with the line.
class Wrong : public std::runtime_error {
 public:
  Wrong(const YAML::Node& node, const std::string& what)
      : std::runtime_error(
            node.Mark().is_null() ? what : fmt::format("line {}: {}", node.Mark().line + 1, what)) {
  }
};

std::string read_whole(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > kMostFileBytes) throw std::runtime_error(path.string() + ": too large");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (text.empty()) throw std::runtime_error(path.string() + ": empty");
  return text;
}

// Refuses all keys but these.
void only_keys(const YAML::Node& map, std::string_view where,
               std::initializer_list<std::string_view> known) {
  if (!map.IsMap()) throw Wrong(map, fmt::format("{}: not a map", where));
  for (const auto& entry : map) {
    const auto key = entry.first.as<std::string>();
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw Wrong(entry.first, fmt::format("{}: {} is not supported", where, key));
    }
  }
}

std::string text_of(const YAML::Node& node, const char* key) {
  if (!node.IsScalar()) throw Wrong(node, fmt::format("{}: not a string", key));
  return node.Scalar();
}

// The PEM text of `key`, inline or in the file that `key`_file names; empty if there is neither.
std::string pem(const YAML::Node& tls, const std::filesystem::path& folder,
                const std::string& key) {
  const YAML::Node inline_text = tls[key];
  const YAML::Node file = tls[key + "_file"];
  if (inline_text && file) throw Wrong(file, fmt::format("both {0} and {0}_file", key));
  if (inline_text) return text_of(inline_text, key.c_str());
  if (!file) return {};
  try {
    return read_whole(folder / text_of(file, key.c_str()));
  } catch (const std::runtime_error& e) {
    throw Wrong(file, e.what());
  }
}

int version_of(const YAML::Node& node, int otherwise) {
  if (!node) return otherwise;
  static constexpr std::array<std::pair<std::string_view, int>, 4> kVersions{
      {{"TLS10", 10}, {"TLS11", 11}, {"TLS12", 12}, {"TLS13", 13}}};
  const std::string name = text_of(node, "version");
  for (const auto& [known, version] : kVersions) {
    if (name == known) return version;
  }
  throw Wrong(node, fmt::format("{}: not TLS10, TLS11, TLS12 or TLS13", name));
}

ClientAuth client_auth_of(const YAML::Node& node) {
  if (!node) return ClientAuth::kNoClientCert;
  static constexpr std::array<std::pair<std::string_view, ClientAuth>, 6> kTypes{
      {{"NoClientCert", ClientAuth::kNoClientCert},
       {"RequestClientCert", ClientAuth::kRequestClientCert},
       {"RequireAnyClientCert", ClientAuth::kRequireAnyClientCert},
       {"RequireClientCert", ClientAuth::kRequireAnyClientCert},
       {"VerifyClientCertIfGiven", ClientAuth::kVerifyClientCertIfGiven},
       {"RequireAndVerifyClientCert", ClientAuth::kRequireAndVerifyClientCert}}};
  const std::string name = text_of(node, "client_auth_type");
  for (const auto& [known, type] : kTypes) {
    if (name == known) return type;
  }
  throw Wrong(node, fmt::format("client_auth_type {}: not supported", name));
}

WebConfig::Tls tls_of(const YAML::Node& node, const std::filesystem::path& folder) {
  only_keys(node, "tls_server_config",
            {"cert", "cert_file", "key", "key_file", "client_ca", "client_ca_file",
             "client_auth_type", "min_version", "max_version"});
  WebConfig::Tls tls;
  tls.certificate = pem(node, folder, "cert");
  if (tls.certificate.empty()) throw Wrong(node, "tls_server_config: no cert_file");
  tls.key = pem(node, folder, "key");
  if (tls.key.empty()) throw Wrong(node, "tls_server_config: no key_file");
  tls.client_ca = pem(node, folder, "client_ca");
  tls.client_auth = client_auth_of(node["client_auth_type"]);
  const bool verifies = tls.client_auth == ClientAuth::kVerifyClientCertIfGiven ||
                        tls.client_auth == ClientAuth::kRequireAndVerifyClientCert;
  if (verifies && tls.client_ca.empty()) {
    throw Wrong(node, "client_auth_type: verifies certificates, and there is no client_ca_file");
  }
  if (!verifies && !tls.client_ca.empty()) {
    throw Wrong(node, "client_ca_file: client_auth_type does not verify certificates");
  }
  tls.min_version = version_of(node["min_version"], tls.min_version);
  tls.max_version = version_of(node["max_version"], tls.max_version);
  if (tls.min_version > tls.max_version) throw Wrong(node, "min_version is above max_version");
  return tls;
}

// "$2y$10$" and 53 characters: salt and hash.
void check_hash(const YAML::Node& node, const std::string& user) {
  const std::string hash = text_of(node, "hash");
  const auto digit = [&](std::size_t at) {
    return std::isdigit(static_cast<unsigned char>(hash[at])) != 0;
  };
  const bool bcrypt = hash.size() == 60 && hash.starts_with("$2") &&
                      std::string_view("aby").find(hash[2]) != std::string_view::npos &&
                      hash[3] == '$' && digit(4) && digit(5) && hash[6] == '$';
  if (!bcrypt) {
    throw Wrong(node, fmt::format("basic_auth_users: {}: not a bcrypt hash, as `htpasswd -nB` "
                                  "prints it",
                                  user));
  }
  const int cost = (hash[4] - '0') * 10 + (hash[5] - '0');
  if (cost < 4 || cost > kHighestCost) {
    throw Wrong(
        node, fmt::format("basic_auth_users: {}: cost {}: not 4 to {}", user, cost, kHighestCost));
  }
}

WebConfig config_of(const YAML::Node& root, const std::filesystem::path& folder) {
  WebConfig config;
  if (root.IsNull()) return config;
  only_keys(root, "web configuration",
            {"tls_server_config", "basic_auth_users", "http_server_config"});
  if (const YAML::Node tls = root["tls_server_config"]; tls && !tls.IsNull()) {
    config.tls = tls_of(tls, folder);
  }
  if (const YAML::Node users = root["basic_auth_users"]; users && !users.IsNull()) {
    if (!users.IsMap()) throw Wrong(users, "basic_auth_users: not a map");
    for (const auto& entry : users) {
      const auto name = entry.first.as<std::string>();
      check_hash(entry.second, name);
      config.users[name] = entry.second.Scalar();
    }
  }
  // HTTP/2 is offered, never required.
  if (const YAML::Node http = root["http_server_config"]; http && !http.IsNull()) {
    only_keys(http, "http_server_config", {"http2"});
  }
  return config;
}

}  // namespace

fabric::Expected<WebConfig> read_web_config(const std::string& path) {
  try {
    const std::string text = read_whole(path);
    return config_of(YAML::Load(text), std::filesystem::path(path).parent_path());
  } catch (const std::exception& e) {
    const std::string_view what = e.what();
    return fabric::fail(Errc::kSystem, what.starts_with(path) ? std::string(what)
                                                              : fmt::format("{}: {}", path, what));
  }
}

}  // namespace rpcrdma::metrics
