// TLS and basic authentication of the metrics port, by the file of Prometheus's exporters.
#include "support/background.h"
#include "support/command.h"
#include "support/http_client.h"
#include "support/own_address.h"

#include <deque>
#include <string>

#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using metrics::testing::TcpConnection;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint16_t kPort = 9464;
// "secret", of cost 4, which is fast, and of cost 12.
constexpr const char* kHash = "$2y$04$rGmwTl1.H3BdrGrrw4EjXOt3Y9qcp48TmqNHmS8dLQGFMNlUXh/UO";
constexpr const char* kSlowHash = "$2y$12$q2lU1BKaHNmaeG6JDI.5p.kibcrssQ4rjxbVkUR1J942PqQ/R7WtS";

class MetricsConfig : public ::testing::Test {
 protected:
  // An authority with the certificates of a server and a client, and another authority's client.
  void make_certificates() const {
    const std::string key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    const Result r = run(fmt::format(
        "cd {0} && for ca in ca other; do openssl req -x509 {2} -days 2 -subj "
        "/CN=$ca -keyout $ca.key -out $ca.crt 2>>log || exit 1; done && "
        "printf 'subjectAltName=IP:{1}\\nextendedKeyUsage=serverAuth' >server.ext && "
        "printf 'extendedKeyUsage=clientAuth' >client.ext && "
        "sign() {{ openssl req {2} -subj /CN=$1 -keyout $1.key -out $1.csr "
        "2>>log && openssl x509 -req -days 2 -in $1.csr -CA $2.crt -CAkey $2.key -CAcreateserial "
        "-extfile $3.ext -out $1.crt 2>>log; }} && sign server ca server && sign client ca client "
        "&& sign stranger other client",
        folder_.path(), address_, key));
    ASSERT_EQ(r.status, 0) << r.err << read_file(folder_.file("log"));
  }
  [[nodiscard]] std::vector<std::string> serving(const std::string& config) const {
    write_file(folder_.file("web.yml"), config);
    return {"serve",
            "--listen",
            address_,
            "--metrics",
            fmt::format("{}:{}", address_, kPort),
            "--metrics-config",
            folder_.file("web.yml")};
  }
  // Returns the status of curl and, in its output, that of HTTP.
  [[nodiscard]] Result get(const std::string& scheme, const std::string& options = {}) const {
    return run(fmt::format("cd {} && curl -sS -o body -w '%{{http_code}}' {} {}://{}:{}/metrics",
                           folder_.path(), options, scheme, address_, kPort));
  }

  const std::string address_ = own_address(1);
  TemporaryFolder folder_;
};

const std::string kTls = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";
const std::string kUsers = std::string("basic_auth_users:\n  alice: ") + kHash + "\n";

TEST_F(MetricsConfig, TlsWithUsers) {
  ASSERT_NO_FATAL_FAILURE(make_certificates());
  Background server(serving(kTls + kUsers));
  ASSERT_TRUE(server.wait_for(fmt::format("metrics at https://{}:{}/metrics\n", address_, kPort)))
      << server.out;
  // Twice: the second time the password is known.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(get("https", "--cacert ca.crt -u alice:secret").out, "200");
    EXPECT_THAT(read_file(folder_.file("body")), HasSubstr("rpcrdma_build_info"));
  }
  for (const std::string wrong : {"", "-u alice:other", "-u bob:secret", "-u alice:",
                                  "-H 'Authorization: Basic !!'", "-H 'Authorization: Bearer x'"}) {
    EXPECT_EQ(get("https", "--cacert ca.crt " + wrong).out, "401") << wrong;
    EXPECT_EQ(read_file(folder_.file("body")), "Unauthorized\n");
  }
  EXPECT_THAT(run(fmt::format("curl -sSki https://{}:{}/metrics", address_, kPort)).out,
              HasSubstr("\r\nWWW-Authenticate: Basic\r\n"));
  // Another authority's, an old version, no TLS.
  EXPECT_NE(get("https", "--cacert other.crt -u alice:secret").status, 0);
  EXPECT_NE(get("https", "--cacert ca.crt --tls-max 1.1 -u alice:secret").status, 0);
  EXPECT_NE(get("http", "-u alice:secret").status, 0);
  EXPECT_EQ(get("https", "--cacert ca.crt -u alice:secret").out, "200");
}

TEST_F(MetricsConfig, ClientsShowCertificates) {
  ASSERT_NO_FATAL_FAILURE(make_certificates());
  const std::string own = "--cacert ca.crt --cert client.crt --key client.key";
  const std::string strange = "--cacert ca.crt --cert stranger.crt --key stranger.key";
  const std::string of_server = "--cacert ca.crt --cert server.crt --key server.key";
  {
    Background server(serving(
        kTls + "  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n"));
    ASSERT_TRUE(server.wait_for("metrics at https")) << server.out;
    EXPECT_EQ(get("https", own).out, "200");
    EXPECT_EQ(get("https", strange).out, "000");
    EXPECT_EQ(get("https", "--cacert ca.crt").out, "000");
    // A certificate for another purpose.
    EXPECT_EQ(get("https", of_server).out, "000");
  }
  {
    Background server(
        serving(kTls + "  client_ca_file: ca.crt\n  client_auth_type: VerifyClientCertIfGiven\n"));
    ASSERT_TRUE(server.wait_for("metrics at https")) << server.out;
    EXPECT_EQ(get("https", own).out, "200");
    EXPECT_EQ(get("https", strange).out, "000");
    EXPECT_EQ(get("https", "--cacert ca.crt").out, "200");
  }
  {
    Background server(serving(kTls + "  client_auth_type: RequireAnyClientCert\n"));
    ASSERT_TRUE(server.wait_for("metrics at https")) << server.out;
    EXPECT_EQ(get("https", strange).out, "200");
    EXPECT_EQ(get("https", "--cacert ca.crt").out, "000");
  }
}

// Guesses, each of which needs a slow hash, do not delay who is known.
TEST_F(MetricsConfig, GuessesDoNotDelayAScrape) {
  Background server(serving(std::string("basic_auth_users:\n  alice: ") + kSlowHash + "\n"));
  ASSERT_TRUE(server.wait_for("metrics at http:")) << server.out;
  EXPECT_EQ(get("http", "-u alice:secret").out, "200");
  std::deque<TcpConnection> guesses;
  for (int i = 0; i < 50; ++i) {
    // "alice:0".."alice:9" and so on; base64 of three digits needs no padding.
    guesses.emplace_back(address_, kPort);
    (void)guesses.back().send(fmt::format(
        "GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWxpY2U6MTAw{}\r\n\r\n",
        std::string(4, static_cast<char>('A' + i % 26))));
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get("http", "-u alice:secret").out, "200");
}

TEST_F(MetricsConfig, WhatIsWrongIsOneLine) {
  const auto refused = [&](const std::string& config, const std::string& why) {
    std::string line;
    for (const std::string& word : serving(config)) line += word + " ";
    const Result r = run("RPCRDMA " + line);
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr(why)) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_THAT(r.err, Not(HasSubstr("exception")));
  };
  const std::string file = "serve: --metrics-config " + folder_.file("web.yml") + ": ";
  refused("rate_limit: {}\n", file + "line 1: web configuration: rate_limit is not supported");
  refused(kTls, file + "line 2: " + folder_.file("server.crt") + ": No such file or directory");
  write_file(folder_.file("server.crt"), "no certificate");
  write_file(folder_.file("server.key"), "no key");
  refused(kTls, "certificate and key: ");
  const Result r = run("RPCRDMA serve --listen " + address_ + " --metrics-config web.yml");
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("--metrics"));
}

}  // namespace
}  // namespace rpcrdma::e2e
