// The file of Prometheus's exporters: what is read, and what is refused.
#include <cstdlib>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <rpcrdma/metrics/web_config.h>

namespace rpcrdma::metrics {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHash = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG";

class WebConfigFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "web_config.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    write("server.crt", "certificate");
    write("server.key", "key");
    write("ca.crt", "authority");
  }
  void TearDown() override {
    for (const char* file : {"server.crt", "server.key", "ca.crt", "web.yml"}) {
      ::unlink((folder_ + "/" + file).c_str());
    }
    ::rmdir(folder_.c_str());
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  [[nodiscard]] fabric::Expected<WebConfig> read(const std::string& text) const {
    write("web.yml", text);
    return read_web_config(folder_ + "/web.yml");
  }
  void refused(const std::string& text, const std::string& why) const {
    const auto config = read(text);
    ASSERT_FALSE(config) << text;
    EXPECT_THAT(config.error().message, HasSubstr(folder_ + "/web.yml: "));
    EXPECT_THAT(config.error().message, HasSubstr(why));
  }

  std::string folder_;
};

TEST_F(WebConfigFile, TlsAndUsersAreRead) {
  const auto config = read(std::string("tls_server_config:\n  cert_file: server.crt\n"
                                       "  key_file: server.key\n  client_ca_file: ca.crt\n"
                                       "  client_auth_type: RequireAndVerifyClientCert\n"
                                       "  min_version: TLS13\n"
                                       "basic_auth_users:\n  alice: ") +
                           kHash + "\nhttp_server_config:\n  http2: false\n");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_TRUE(config->tls);
  EXPECT_EQ(config->tls->certificate, "certificate");
  EXPECT_EQ(config->tls->key, "key");
  EXPECT_EQ(config->tls->client_ca, "authority");
  EXPECT_EQ(config->tls->client_auth, ClientAuth::kRequireAndVerifyClientCert);
  EXPECT_EQ(config->tls->min_version, 13);
  EXPECT_EQ(config->tls->max_version, 13);
  EXPECT_EQ(config->users.at("alice"), kHash);
}

TEST_F(WebConfigFile, InlineCertificatesAndDefaults) {
  const auto config = read("tls_server_config: {cert: a, key: b}\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->tls->certificate, "a");
  EXPECT_EQ(config->tls->key, "b");
  EXPECT_EQ(config->tls->client_auth, ClientAuth::kNoClientCert);
  EXPECT_EQ(config->tls->min_version, 12);
  EXPECT_TRUE(read("{}\n")->is_plain());
}

TEST_F(WebConfigFile, WhatCannotBeHonouredIsRefused) {
  const std::string files = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";
  refused("", "empty");
  refused("a: [", "line 1");
  refused("- a\n", "not a map");
  refused("rate_limit: {}\n", "line 1: web configuration: rate_limit is not supported");
  refused(files + "  cipher_suites: [TLS_AES_128_GCM_SHA256]\n",
          "line 4: tls_server_config: cipher_suites is not supported");
  refused("tls_server_config:\n  key_file: server.key\n", "no cert_file");
  refused("tls_server_config:\n  cert_file: server.crt\n", "no key_file");
  refused("tls_server_config:\n  cert_file: none.crt\n",
          "line 2: " + folder_ + "/none.crt: No such file");
  refused(files + "  cert: x\n", "both cert and cert_file");
  refused(files + "  client_auth_type: Sometimes\n", "client_auth_type Sometimes");
  refused(files + "  client_auth_type: RequireAndVerifyClientCert\n", "no client_ca_file");
  refused(files + "  client_ca_file: ca.crt\n", "does not verify");
  refused(files + "  min_version: TLS14\n", "TLS14: not TLS10");
  refused(files + "  min_version: TLS13\n  max_version: TLS12\n", "above max_version");
  refused("http_server_config: {headers: {}}\n", "headers is not supported");
}

TEST_F(WebConfigFile, OnlyBcryptOfABoundedCostIsAHash) {
  const std::string hash = kHash;
  EXPECT_TRUE(read("basic_auth_users:\n  a: $2b$14" + hash.substr(6)));
  refused("basic_auth_users:\n  a: $2b$15" + hash.substr(6), "cost 15: not 4 to 14");
  refused("basic_auth_users:\n  a: $2b$03" + hash.substr(6), "cost 3: not 4 to 14");
  refused("basic_auth_users:\n  a: secret\n", "line 2: basic_auth_users: a: not a bcrypt hash");
  refused("basic_auth_users:\n  a: " + hash + "x\n", "not a bcrypt hash");
  refused("basic_auth_users:\n  a: $6$10$" + hash.substr(7), "not a bcrypt hash");
  refused("basic_auth_users: [a]\n", "not a map");
}

TEST_F(WebConfigFile, AMissingFileIsNamed) {
  const auto config = read_web_config(folder_ + "/none.yml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, folder_ + "/none.yml: No such file or directory");
}

}  // namespace
}  // namespace rpcrdma::metrics
