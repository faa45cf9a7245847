#include "nats_options.h"

#include "nats_text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace rpcrdma::fleet {

namespace {

constexpr int kPingMs = 2000;  // two without an answer: disconnected
constexpr int kReconnectMs = 250;
constexpr int kWriteMs = 2000;
// While disconnected, messages wait in the bus's own queues; this takes what was just on its way.
constexpr int kReconnectBytes = 64 << 10;
// A seed and a public key as `nk` prints them.
constexpr std::size_t kSeedChars = 58;
constexpr std::size_t kKeyChars = 56;

std::vector<std::string> split(const std::string& urls) {
  std::vector<std::string> all;
  std::string_view rest = urls;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (end != 0) all.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return all;
}

// libnats puts the name into a JSON object as it is.
std::string plain(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; }, '?');
  return name;
}

natsStatus sign(char** /*error*/, unsigned char** signature, int* length, const char* nonce,
                void* closure) {
  const auto* const seed = static_cast<const NkeySeed*>(closure);
  return nats_Sign(seed->seed.c_str(), nonce, signature, length);
}

// Reads the seed and the public key, in any order, from a file of `nk -gen user -pubout`.
base::Expected<void> use_nkey(natsOptions* nats, const std::string& file, NkeySeed& seed) {
  std::ifstream in(file);
  if (!in) return base::fail(fmt::format("{}: {}", file, std::strerror(errno)));
  std::string word;
  std::string key;
  while (in >> word) {
    if (word.size() == kSeedChars && word.starts_with("SU")) seed.seed = word;
    if (word.size() == kKeyChars && word.starts_with("U")) key = word;
  }
  if (seed.seed.empty()) {
    return base::fail(fmt::format("{}: contains no seed of a user's nkey (SU...)", file));
  }
  if (key.empty()) {
    return base::fail(
        fmt::format("{}: contains no public key (U...) beside the seed; `nk -inkey {} -pubout` "
                    "prints it",
                    file, file));
  }
  if (natsOptions_SetNKey(nats, key.c_str(), sign, &seed) != NATS_OK) {
    return base::fail(fmt::format("{}: not a valid nkey", file));
  }
  return {};
}

base::Expected<void> readable(const std::string& file) {
  if (std::ifstream(file).good()) return {};
  return base::fail(fmt::format("{}: {}", file, std::strerror(errno)));
}

base::Expected<void> use_tls(natsOptions* nats, const BusOptions& options) {
  const bool tls = !options.tls_ca.empty() || !options.tls_cert.empty() ||
                   options.url.find("tls://") != std::string::npos;
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return base::fail("a TLS certificate and its key must be given together");
  }
  if (!tls) return {};
  for (const std::string& file : {options.tls_ca, options.tls_cert, options.tls_key}) {
    if (file.empty()) continue;
    if (const auto read = readable(file); !read) return read;
  }
  if (natsOptions_SetSecure(nats, true) != NATS_OK) return base::fail("no TLS in libnats");
  if (!options.tls_ca.empty()) {
    if (natsOptions_LoadCATrustedCertificates(nats, options.tls_ca.c_str()) != NATS_OK) {
      return base::fail(fmt::format("{}: contains no CA certificate in PEM", options.tls_ca));
    }
  }
  if (!options.tls_cert.empty()) {
    if (natsOptions_LoadCertificatesChain(nats, options.tls_cert.c_str(),
                                          options.tls_key.c_str()) != NATS_OK) {
      return base::fail(fmt::format("{}, {}: not a certificate and its key in PEM",
                                    options.tls_cert, options.tls_key));
    }
  }
  return {};
}

}  // namespace

base::Expected<NatsOptions> nats_options(const BusOptions& options, NkeySeed& seed) {
  natsOptions* raw = nullptr;
  if (natsOptions_Create(&raw) != NATS_OK) return base::fail("libnats: out of memory");
  NatsOptions nats(raw);
  const std::vector<std::string> urls = split(options.url);
  std::vector<const char*> servers;
  for (const std::string& url : urls) servers.push_back(url.c_str());
  if (servers.empty() ||
      natsOptions_SetServers(raw, servers.data(), static_cast<int>(servers.size())) != NATS_OK) {
    return base::fail(
        fmt::format("{}: not a URL such as nats://host:4222", public_urls(options.url)));
  }
  natsOptions_SetName(raw, plain(options.name).c_str());
  natsOptions_SetTimeout(raw, options.timeout.count());
  natsOptions_SetMaxReconnect(raw, -1);
  natsOptions_SetReconnectWait(raw, kReconnectMs);
  natsOptions_SetReconnectJitter(raw, kReconnectMs, kReconnectMs);
  natsOptions_SetPingInterval(raw, kPingMs);
  natsOptions_SetMaxPingsOut(raw, 2);
  natsOptions_SetReconnectBufSize(raw, kReconnectBytes);
  natsOptions_SetWriteDeadline(raw, kWriteMs);
  if (!options.user.empty()) {
    natsOptions_SetUserInfo(raw, options.user.c_str(), options.password.c_str());
  }
  if (const auto done = use_tls(raw, options); !done) return tl::unexpected(done.error());
  if (!options.nkey_file.empty()) {
    if (const auto done = use_nkey(raw, options.nkey_file, seed); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (!options.credentials_file.empty()) {
    if (const auto read = readable(options.credentials_file); !read) {
      return tl::unexpected(read.error());
    }
    if (natsOptions_SetUserCredentialsFromFiles(raw, options.credentials_file.c_str(), nullptr) !=
        NATS_OK) {
      return base::fail(fmt::format("{}: not a credentials file", options.credentials_file));
    }
  }
  return nats;
}

}  // namespace rpcrdma::fleet
