// A bus with TLS, users with passwords, and nkeys; and the permissions of the example in
// docs/agent.md.
#include "fleet_fixture.h"

#include <array>
#include <cstdint>
#include <regex>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;

// The text form of keys in NATS: base32 of prefix, key and CRC-16 (XMODEM).
std::string encoded(std::string bytes) {
  std::uint16_t crc = 0;
  for (const char c : bytes) {
    crc = static_cast<std::uint16_t>(crc ^ (static_cast<unsigned char>(c) << 8));
    for (int i = 0; i < 8; ++i) {
      crc = static_cast<std::uint16_t>((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
    }
  }
  bytes += static_cast<char>(crc & 0xff);
  bytes += static_cast<char>(crc >> 8);
  std::string text;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    held += 8;
    while (held >= 5) {
      held -= 5;
      text += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[(bits >> held) & 31];
    }
  }
  if (held > 0) text += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[(bits << (5 - held)) & 31];
  return text;
}

struct Nkey {
  std::string seed, key;
};

class Secured : public Fleet {
 protected:
  // A key pair of a user, made by openssl.
  [[nodiscard]] Nkey make_nkey() const {
    const std::string pem = folder_.file("nkey.pem");
    EXPECT_EQ(run("openssl genpkey -algorithm ed25519 -out " + pem).status, 0);
    const std::string seed = run("openssl pkey -in " + pem + " -outform DER | tail -c 32").out;
    const std::string key =
        run("openssl pkey -in " + pem + " -pubout -outform DER | tail -c 32").out;
    EXPECT_EQ(seed.size(), 32U);
    EXPECT_EQ(key.size(), 32U);
    constexpr unsigned kSeed = 18U << 3U, kUser = 20U << 3U;
    std::string head;
    head += static_cast<char>(kSeed | kUser >> 5U);
    head += static_cast<char>((kUser & 31U) << 3U);
    return {encoded(head + seed), encoded(static_cast<char>(kUser) + key)};
  }
  // ca.pem, cert.pem and key.pem of 127.0.0.1, and other-ca.pem.
  void make_certificates() const {
    const Result r = run(
        "cd " + folder_.path() +
        " && for ca in ca other-ca; do openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "
        "/CN=$ca -keyout $ca.key -out $ca.pem 2>>log || exit 1; done; "
        "openssl req -newkey rsa:2048 -nodes -subj /CN=bus -keyout key.pem -out bus.csr 2>>log && "
        "printf 'subjectAltName=IP:127.0.0.1' >san && openssl x509 -req -days 2 -in bus.csr -CA "
        "ca.pem -CAkey ca.key -CAcreateserial -extfile san -out cert.pem 2>>log");
    ASSERT_EQ(r.status, 0) << read_file(folder_.file("log"));
  }
  [[nodiscard]] std::string agent_error(const std::string& options) const {
    const Result r = run("RPCRDMA agent --host node " + options);
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    return r.err;
  }
};

TEST_F(Secured, Tls) {
  make_certificates();
  start_bus({.more = "tls { cert_file: \"" + folder_.file("cert.pem") + "\", key_file: \"" +
                     folder_.file("key.pem") + "\" }\n"});
  const std::string bus = "--bus " + server_.url("tls");
  fleet::BusOptions how;
  how.url = server_.url("tls");
  how.tls_ca = folder_.file("ca.pem");
  listen(how);
  Background agent(
      {"agent", "--host", "node", "--bus", server_.url("tls"), "--tls-ca", folder_.file("ca.pem")});
  ASSERT_TRUE(agent.wait_for("publishes as host node"));
  EXPECT_TRUE(summary());
  EXPECT_THAT(agent_error(bus + " --tls-ca " + folder_.file("other-ca.pem")),
              HasSubstr("TLS failed: SSL handshake error"));
  EXPECT_THAT(agent_error(bus), HasSubstr("TLS failed: SSL handshake error"));
  // The certificate is of the address, not of this name.
  EXPECT_THAT(agent_error("--bus tls://localhost:" + std::to_string(server_.port()) + " --tls-ca " +
                          folder_.file("ca.pem")),
              HasSubstr("TLS failed: SSL handshake error"));
  EXPECT_THAT(agent_error("--bus " + server_.url()), HasSubstr("TLS failed: SSL handshake error"));
}

TEST_F(Secured, UserAndPassword) {
  start_bus({.more = "authorization { user: op, password: \"s3cret\" }\n"});
  write_file(folder_.file("password"), "s3cret\n");
  write_file(folder_.file("wrong"), "guess\n");
  fleet::BusOptions how;
  how.url = server_.url();
  how.user = "op";
  how.password = "s3cret";
  listen(how);
  Background agent(agent_words({"--user", "op", "--password-file", folder_.file("password")}));
  ASSERT_TRUE(agent.wait_for("publishes as host node"));
  EXPECT_TRUE(summary());
  const std::string wrong =
      agent_error("--bus " + server_.url() + " --user op --password-file " + folder_.file("wrong"));
  EXPECT_THAT(wrong, HasSubstr("it does not accept this user, password or key"));
  EXPECT_THAT(wrong, ::testing::Not(HasSubstr("guess")));
}

TEST_F(Secured, NkeyWithThePermissionsOfTheExample) {
  const Nkey agent_key = make_nkey();
  const Nkey viewer_key = make_nkey();
  // The example is tested as it is printed.
  const std::string docs = read_file(RPCRDMA_SOURCE_DIR "/docs/agent.md");
  const std::size_t begin = docs.find("```conf\n");
  ASSERT_NE(begin, std::string::npos);
  std::string config = docs.substr(begin + 8, docs.find("```\n", begin + 8) - begin - 8);
  config = config.substr(config.find("accounts"));
  config = std::regex_replace(config, std::regex("UAGENT[A-Z0-9.]*"), agent_key.key);
  config = std::regex_replace(config, std::regex("UVIEW[A-Z0-9.]*"), viewer_key.key);
  config = std::regex_replace(config, std::regex("node7"), "node");
  start_bus({.more = config});
  write_file(folder_.file("agent.nk"), agent_key.seed + "\n" + agent_key.key + "\n");
  write_file(folder_.file("viewer.nk"), viewer_key.seed + "\n" + viewer_key.key + "\n");
  Background agent(agent_words({"--nkey", folder_.file("agent.nk")}));
  ASSERT_TRUE(agent.wait_for("publishes as host node")) << agent.out << server_.log();
  fleet::BusOptions how;
  how.url = server_.url();
  how.nkey_file = folder_.file("viewer.nk");
  listen(how);
  EXPECT_TRUE(summary());
  Background server(serve_words({"--name", "srv"}));
  ASSERT_TRUE(follows("srv"));
  const Result r = run("RPCRDMA fleet record node --bus " + server_.url() + " --nkey " +
                       folder_.file("viewer.nk") + " --for 200ms -w " + folder_.file("out.pcapng"));
  EXPECT_EQ(r.status, 0) << r.err << agent.out << server_.log();
  // A killed endpoint is a finding that the viewer may read.
  Background load(load_words({"--no-live", "--duration", "60s", "--rate", "20"}));
  ASSERT_TRUE(summary([&](const fleet::Summary& s) {
    const fleet::EndpointSummary* const e = endpoint(s, "srv");
    return e != nullptr && e->connections == 1;
  }));
  server.signal(SIGKILL);
  EXPECT_TRUE(becomes([&] { return !findings().empty(); }));
  std::vector<std::string> latest;
  EXPECT_TRUE(bus_->latest_states([&](const fleet::BusMessage& m) {
    latest.push_back(m.subject);
    return true;
  }));
  EXPECT_EQ(latest.size(), 1U);
  // An agent cannot speak for another host, and a viewer cannot publish state.
  EXPECT_EQ(run("timeout 20 " RPCRDMA_COMMAND " agent --host other --bus " + server_.url() +
                " --nkey " + folder_.file("agent.nk"))
                .status,
            2);
  EXPECT_EQ(server_.log().find("Publish Violation - Nkey \"" + viewer_key.key), std::string::npos);
  ASSERT_TRUE(bus_->send(fleet::state_subject("node"), "{}"));
  EXPECT_TRUE(becomes([&] { return bus_->state().why.find("ermissions") != std::string::npos; }));
  // A file without the public key.
  write_file(folder_.file("half.nk"), agent_key.seed + "\n");
  EXPECT_THAT(agent_error("--bus " + server_.url() + " --nkey " + folder_.file("half.nk")),
              HasSubstr("contains no public key (U...) beside the seed"));
}

}  // namespace
}  // namespace rpcrdma::e2e
