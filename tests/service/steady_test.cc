// In steady state a Call needs no allocation, from the client's call() to its outcome, on either
// side. In one thread, since the counter covers only one.
#include "support/counting_new.h"
#include "support/service_hosts.h"

namespace rpcrdma::testing {
namespace {

using service::echo::Proc;
using service::echo::Request;
using service::echo::Verdict;

class Repeating : public service::ClientObserver {
 public:
  static constexpr std::uint64_t kCalls = 8;

  Repeating(ClientHost& host, const service::ClientOptions& options) {
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      calls_.push_back(
          service::echo::EchoCall::create(host.loop->memory(), host.pattern, 65536).value());
    }
    client_ = service::Client::create(*host.loop, options, *this).value();
  }

  void begin(const Request& request, std::uint64_t times) {
    request_ = request;
    left_ = times;
    for (std::uint64_t i = 0; i < kCalls && left_ != 0; ++i) next(i);
  }
  bool over() const { return left_ == 0 && under_way_ == 0; }

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
    --under_way_;
    if (calls_[outcome.cookie].check(outcome) != Verdict::kRight) ++wrong;
    if (left_ != 0) next(outcome.cookie);
  }

  std::uint64_t wrong = 0;

 private:
  void next(std::uint64_t i) {
    auto spec = calls_[i].begin(request_).value();
    spec.cookie = i;
    --left_;
    ++under_way_;
    if (!client_->call(spec)) ++wrong;
  }

  std::vector<service::echo::EchoCall> calls_;
  Request request_;
  std::uint64_t left_ = 0, under_way_ = 0;
  std::unique_ptr<service::Client> client_;
};

TEST(Steady, NoAllocationForACall) {
  ServerParts parts;
  ClientHost host;
  service::ClientOptions options = to_server();
  options.connections = 2;
  Repeating client(host, options);
  const auto run = [&](const Request& request, std::uint64_t times) {
    client.begin(request, times);
    const fabric::Time end = host.loop->now() + 20 * fabric::kSecond;
    while (!client.over() && host.loop->now() < end) {
      (void)host.loop->run_once(0);
      (void)parts.loop->run_once(0);
    }
    return client.over();
  };
  const std::array<Request, 6> requests{
      Request{Proc::kNull, 0, 0, 0, 0},         Request{Proc::kEcho, 500, 0, 1, 0},
      Request{Proc::kSink, 65536, 0, 1, 0},     Request{Proc::kSource, 65536, 0, 1, 0},
      Request{Proc::kEchoBulk, 65536, 0, 1, 0}, Request{Proc::kList, 10, 1000, 1, 0}};
  for (int warm = 0; warm < 3; ++warm) {
    for (const Request& r : requests) ASSERT_TRUE(run(r, 200));
  }
  ASSERT_TRUE(run({Proc::kSleep, 0, 0, 0, 10}, 100));
  // If the machine stalls, more Calls than ever before are in flight on a connection, and the slots
  // and queues that they use first grow. That ends; an allocation for each Call would not.
  constexpr int kRuns = 50;
  const auto steady = [&](const Request& request, std::uint64_t times) {
    std::size_t allocations = 1;
    for (int i = 0; i < kRuns && allocations != 0; ++i) {
      bool over = false;
      allocations = wire::testing::allocations_in([&] { over = run(request, times); });
      EXPECT_TRUE(over);
    }
    EXPECT_EQ(allocations, 0U) << proc_name(request.proc);
  };
  for (const Request& r : requests) steady(r, 1000);
  steady({Proc::kSleep, 0, 0, 0, 10}, 100);
  EXPECT_EQ(client.wrong, 0U);
}

}  // namespace
}  // namespace rpcrdma::testing
