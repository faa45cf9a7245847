// The memory of a thousand connections, on either side, beyond the Receives for their credits.
#include "support/counting_new.h"
#include "support/service_hosts.h"

namespace rpcrdma::testing {
namespace {

using service::echo::Proc;
using service::echo::Verdict;

constexpr std::uint32_t kConnections = 1000;
constexpr std::uint32_t kThreshold = 1024;

class OnEach : public service::ClientObserver {
 public:
  explicit OnEach(ClientHost& host)
      : call_(service::echo::EchoCall::create(host.loop->memory(), host.pattern, 65536).value()) {
    service::ClientOptions options = to_server();
    options.connections = kConnections;
    options.inline_threshold = kThreshold;
    client_ = service::Client::create(*host.loop, options, *this).value();
  }
  // Makes one Call after another, rotating over the connections.
  void next() {
    auto spec = call_.begin(kRequests[ended / kConnections]).value();
    if (!client_->call_on(static_cast<std::uint32_t>(ended % kConnections), spec)) ++wrong;
  }
  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
    if (call_.check(outcome) != Verdict::kRight) ++wrong;
    if (++ended < kConnections * kRequests.size()) next();
  }

  static constexpr std::array<service::echo::Request, 3> kRequests{
      service::echo::Request{Proc::kNull, 0, 0, 0, 0},
      service::echo::Request{Proc::kEchoBulk, 4000, 0, 1, 0},
      service::echo::Request{Proc::kList, 10, 1000, 1, 0}};
  std::uint64_t ended = 0, wrong = 0;
  service::Client& client() { return *client_; }

 private:
  service::echo::EchoCall call_;
  std::unique_ptr<service::Client> client_;
};

TEST(Footprint, AThousandConnections) {
  service::ServerOptions options;
  options.max_connections = kConnections;
  // In version 2, a Receive has at least 4096 bytes.
  options.version.versions = {protocol::kVersionOne, protocol::kVersionOne};
  options.inline_threshold = kThreshold;
  ServerParts parts(options);
  ClientHost host;
  // Counts blocks in use, not whole slabs.
  const auto all_bytes = [&] {
    return wire::testing::live_bytes() + host.loop->memory().in_use() +
           parts.loop->memory().in_use();
  };
  const std::size_t before = all_bytes();
  OnEach on_each(host);
  const auto run = [&](auto until) {
    const fabric::Time end = host.loop->now() + 60 * fabric::kSecond;
    while (!until() && host.loop->now() < end) {
      (void)host.loop->run_once(0);
      (void)parts.loop->run_once(0);
    }
    return until();
  };
  ASSERT_TRUE(run([&] { return on_each.client().up() == kConnections; }));
  on_each.next();
  ASSERT_TRUE(run([&] { return on_each.ended == kConnections * OnEach::kRequests.size(); }));
  EXPECT_EQ(on_each.wrong, 0U);

  // Both sides are in this process, so each connection counts twice.
  constexpr std::size_t kSides = 2ULL * kConnections;
  constexpr std::size_t kReceives = std::size_t{protocol::RequesterOptions{}.credits} * kThreshold;
  const std::size_t taken = all_bytes() - before;
  ASSERT_GT(taken, kSides * kReceives);
  EXPECT_LE(taken / kSides - kReceives, 32U << 10);
}

}  // namespace
}  // namespace rpcrdma::testing
