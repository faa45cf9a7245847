// Calls in both directions on one connection at the same time, over two user-space adapters in
// virtual time (RFC 8167): each direction has its own credits and XIDs, and neither waits for the
// other.
#include "messages_for_tests.h"
#include "support/endpoint_options.h"
#include "support/sim_host.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/protocol/channel.h>

namespace rpcrdma::protocol {
namespace {

using testing::CallPlanForTest;
using testing::Message;
using testing::options_with;
using testing::random_plan;
using testing::ReceivedCall;
using testing::SimHost;
using testing::TestCall;

struct PeerOptions {
  RequesterOptions requester;
  ResponderOptions responder;
};

struct PairOptions {
  std::uint64_t seed = 1;
  PeerOptions first, second;
  ChannelOptions channel;
  soft::SimLink link;
  soft::AdapterOptions adapter;
};

// One end with both roles, and its upper layer.
class Peer : public RequesterOwner, public ResponderOwner {
 public:
  // `number`: 1 or 2.
  Peer(soft::SimNetwork& network, const PairOptions& options, const PeerOptions& own,
       std::uint8_t number)
      : host(network, adapter(options, number), options.seed * 2 + number, options.link),
        pool(host, {}),
        requester(*this, own.requester),
        responder(*this, own.responder),
        net_(network),
        // Makes the bytes of the two directions differ.
        last_cookie_(std::uint64_t{number} << 20U) {}

  void make_channel(const ChannelOptions& options) {
    drop_channel();
    channel = std::make_unique<Channel>(pool, options, &requester, &responder);
  }

  void drop_channel() {
    channel.reset();
    up = failed = false;
  }

  std::uint64_t call(const CallPlanForTest& plan) {
    const std::uint64_t cookie = ++last_cookie_;
    plans[cookie] = plan;
    calls_[cookie] = std::make_unique<TestCall>(host, cookie, plan);
    const auto xid = requester.call(calls_[cookie]->spec(), net_.now());
    EXPECT_TRUE(xid);
    xids_.insert(xid.value_or(0));
    return cookie;
  }
  // Calls of the peer that wait for release().
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  void release() {
    for (const Answer& a : held_) due_.emplace(net_.now(), a);
    held_.clear();
  }
  [[nodiscard]] bool all_ended() const { return calls_.empty(); }
  [[nodiscard]] std::size_t answered() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        outcomes, [](const auto& o) { return o.second.status == CallStatus::kReplied; }));
  }

  void on_outcome(const CallOutcome& o) override {
    const auto found = calls_.find(o.cookie);
    ASSERT_NE(found, calls_.end()) << "an outcome of nothing, or a second one";
    found->second->check(o);
    outcomes[o.cookie] = {o.status, o.attempts};
    xids_.erase(o.xid);
    calls_.erase(found);
    if (on_end) on_end();
  }
  void on_call(const IncomingCall& call) override {
    if (xids_.contains(call.xid)) ++same_xids;
    ReceivedCall received(call);
    const auto plan = other->plans.find(received.cookie());
    ASSERT_NE(plan, other->plans.end()) << "not a Call of the peer's";
    received.check(plan->second);
    const Answer answer{call.id, received.cookie()};
    if (hold) {
      held_.push_back(answer);
      if (on_held) on_held();
    } else {
      due_.emplace(net_.now() + plan->second.service_time, answer);
    }
  }
  void on_sent(std::uint64_t id) override { EXPECT_EQ(replies_.erase(id), 1U); }
  void on_cancelled(std::uint64_t id) override {
    ++cancelled;
    std::erase_if(due_, [&](const auto& d) { return d.second.id == id; });
    std::erase_if(held_, [&](const Answer& a) { return a.id == id; });
  }

  // Work that its upper layer does by itself; returns false if there was none.
  bool work() {
    bool any = false;
    while (!due_.empty() && due_.begin()->first <= net_.now()) {
      const Answer a = due_.begin()->second;
      due_.erase(due_.begin());
      any = true;
      auto& message = replies_[a.id];
      message = std::make_unique<Message>(host, a.cookie, 1, other->plans[a.cookie].results,
                                          testing::kFirstResult);
      EXPECT_TRUE(responder.reply(a.id, message->pieces(), net_.now()));
    }
    if (requester.deadline() > net_.now()) return any;
    if (channel != nullptr) {
      channel->expire(net_.now());
    } else {
      requester.expire(net_.now());
    }
    return true;
  }
  [[nodiscard]] fabric::Time due() const {
    return std::min(requester.deadline(), due_.empty() ? fabric::kNever : due_.begin()->first);
  }

  static fabric::Address address(std::uint8_t number) {
    return fabric::make_ipv4(10, 0, 0, number);
  }

  SimHost host;
  MemoryPool pool;
  Requester requester;
  Responder responder;
  std::unique_ptr<Channel> channel;
  bool up = false;      // it has a connection
  bool failed = false;  // its connection has failed
  Peer* other = nullptr;
  bool hold = false;  // hold the peer's Calls
  bool looks = true;  // process what arrives
  std::function<void()> on_held, on_end;

  struct Ended {
    CallStatus status;
    std::uint32_t attempts;
  };
  std::map<std::uint64_t, CallPlanForTest> plans;  // of its Calls, by cookie
  std::map<std::uint64_t, Ended> outcomes;
  std::uint64_t same_xids = 0;  // Calls received with the XID of one of its own
  std::uint64_t cancelled = 0;

 private:
  struct Answer {
    std::uint64_t id, cookie;
  };
  static soft::AdapterOptions adapter(const PairOptions& options, std::uint8_t number) {
    soft::AdapterOptions o = options.adapter;
    o.address = address(number);
    return o;
  }

  soft::SimNetwork& net_;
  std::uint64_t last_cookie_;
  std::map<std::uint64_t, std::unique_ptr<TestCall>> calls_;
  std::set<std::uint32_t> xids_;  // XIDs of its own Calls
  std::multimap<fabric::Time, Answer> due_;
  std::vector<Answer> held_;
  std::map<std::uint64_t, std::unique_ptr<Message>> replies_;  // in flight, by id
};

// Two peers and the loop of each. The first is the one that connects.
class Pair {
 public:
  explicit Pair(const PairOptions& options)
      : options_(options),
        net(options.seed),
        first(net, options, options.first, 1),
        second(net, options, options.second, 2) {
    first.other = &second;
    second.other = &first;
    EXPECT_TRUE(second.host.listen(kPort, 0));
  }

  void connect() {
    second.drop_channel();
    ++cookie_;
    down = false;
    first.make_channel(options_.channel);
    auto connection = first.host.connect(Peer::address(2), kPort, connection_options(first));
    ASSERT_TRUE(connection);
    ASSERT_TRUE(first.channel->begin(std::move(*connection)));
    first.host.wake();
  }

  // Runs until `condition` holds. Returns false if it did not by `limit`.
  template <typename Condition>
  bool run_until(Condition condition, fabric::Time limit) {
    for (;;) {
      const fabric::Time next = std::min({limit, first.due(), second.due()});
      const auto ready = [&] {
        pump();
        return condition() || std::min(first.due(), second.due()) < next;
      };
      net.run_until(ready, next);
      pump();
      if (condition()) return true;
      if (net.now() >= limit) return false;
    }
  }
  bool run_to_end() {
    return run_until([&] { return first.all_ended() && second.all_ended(); },
                     net.now() + 100 * fabric::kSecond);
  }
  // Runs until nothing more happens.
  void settle() {
    run_until([] { return false; }, net.now() + fabric::kSecond);
  }

  void check_over() {
    first.drop_channel();
    second.drop_channel();
    for (Peer* p : {&first, &second}) {
      EXPECT_TRUE(p->all_ended());
      EXPECT_EQ(p->requester.outstanding() + p->requester.waiting(), 0U);
      EXPECT_EQ(p->requester.counters().unmatched + p->requester.counters().malformed, 0U);
      EXPECT_EQ(p->responder.counters().over_credit, 0U);
      EXPECT_EQ(p->responder.counters().error_chunk + p->responder.counters().ignored, 0U);
      EXPECT_EQ(p->pool.in_use(), 0U);
    }
  }

 private:
  static constexpr std::uint16_t kPort = 20049;
  const PairOptions options_;

 public:
  soft::SimNetwork net;
  Peer first, second;
  std::vector<std::string> failures;
  bool down = false;  // the first peer's connection has ended

 private:
  fabric::ConnectionOptions connection_options(const Peer& peer) const {
    fabric::ConnectionOptions o;
    o.cookie = cookie_;
    o.depths = peer.channel->depths();
    o.rnr_retry_count = 0;  // a Send without a Receive ends the connection, as with Linux
    return o;
  }

  void pump() {
    for (int i = 0; i < 1000; ++i) {
      bool any = false;
      for (Peer* p : {&first, &second}) any = take(*p) || any;
      for (Peer* p : {&first, &second}) any = p->work() || any;
      for (Peer* p : {&first, &second}) {
        if (p->channel != nullptr) p->channel->flush(net.now());
        check_credits(*p);
      }
      if (!any) return;
      first.host.wake();
      second.host.wake();
    }
    FAIL() << "it never rests";
  }

  bool take(Peer& peer) {
    if (!peer.looks) return false;
    bool any = false;
    std::array<fabric::Completion, 16> done;
    for (std::size_t n; (n = peer.host.poll(done)) != 0;) {
      any = true;
      for (std::size_t i = 0; i < n; ++i) {
        if (peer.channel != nullptr && done[i].connection == cookie_) {
          peer.channel->completed(done[i], net.now());
        }
      }
    }
    fabric::Event event;
    while (peer.host.poll(event)) {
      any = true;
      if (event.type == fabric::EventType::kRequest) {
        accept(std::move(event.request));
      } else if (peer.channel == nullptr || event.cookie != cookie_) {
        continue;
      } else if (event.type == fabric::EventType::kEstablished) {
        peer.channel->established(net.now());
        peer.up = true;
      } else {
        peer.channel->disconnected(net.now());
        peer.up = false;
        down = down || &peer == &first;
      }
    }
    if (peer.channel != nullptr && !peer.channel->failure().empty() && !peer.failed) {
      peer.failed = true;
      failures.push_back(peer.channel->failure());
      peer.channel->connection().disconnect();
      any = true;
    }
    return any;
  }

  void accept(std::unique_ptr<fabric::Connection> connection) {
    second.make_channel(options_.channel);
    fabric::Connection& c = *connection;
    ASSERT_TRUE(second.channel->begin(std::move(connection)));
    EXPECT_TRUE(c.accept(connection_options(second)));
  }

  // A responder never has more Calls of a direction than the requester may have sent.
  static void check_credits(const Peer& p) {
    if (!p.up || !p.other->up) return;
    EXPECT_LE(p.responder.outstanding(), p.other->requester.credit_limit());
  }

  std::uint64_t cookie_ = 0;  // of the connection
};

const CallPlanForTest kSmall{{{100}}, {{200}}};

PairOptions unequal() {
  PairOptions o;
  o.first = {{.credits = 8}, {.credits = 3}};
  o.second = {{.credits = 5}, {.credits = 6}};
  return o;
}

TEST(BothRoles, AGrantIsOfItsDirectionAlone) {
  Pair p(unequal());
  ASSERT_NO_FATAL_FAILURE(p.connect());
  p.first.call(kSmall);
  ASSERT_TRUE(p.run_to_end());
  EXPECT_EQ(p.first.requester.credit_limit(), 6U);
  EXPECT_EQ(p.second.requester.credit_limit(), 1U);
  p.second.call(kSmall);
  ASSERT_TRUE(p.run_to_end());
  EXPECT_EQ(p.first.requester.credit_limit(), 6U);
  EXPECT_EQ(p.second.requester.credit_limit(), 3U);
  EXPECT_THAT(p.failures, ::testing::IsEmpty());
  p.settle();
  p.check_over();
}

TEST(BothRoles, CallsOfOneDirectionTakeNoCreditsOfTheOther) {
  Pair p(unequal());
  ASSERT_NO_FATAL_FAILURE(p.connect());
  p.first.call(kSmall);
  p.second.call(kSmall);
  ASSERT_TRUE(p.run_to_end());
  // Each direction has as many Calls as it was granted, both at the same time.
  p.first.hold = p.second.hold = true;
  for (int i = 0; i < 20; ++i) {
    p.first.call(kSmall);
    p.second.call(kSmall);
  }
  p.settle();
  EXPECT_EQ(p.second.held(), 6U);
  EXPECT_EQ(p.first.held(), 3U);
  // All credits of one direction are in use; the other direction makes progress.
  p.first.hold = false;
  p.first.release();
  p.settle();
  EXPECT_EQ(p.second.held(), 6U);
  EXPECT_EQ(p.second.answered(), 21U);
  EXPECT_EQ(p.first.answered(), 1U);
  p.second.hold = false;
  p.second.release();
  ASSERT_TRUE(p.run_to_end());
  EXPECT_EQ(p.first.answered(), 21U);
  EXPECT_THAT(p.failures, ::testing::IsEmpty());
  EXPECT_GT(p.first.same_xids + p.second.same_xids, 0U);
  p.settle();
  p.check_over();
}

// Calls of one direction and Replies of the other arrive while an end does not process anything.
// There is a Receive for each of them, or the connection would end.
TEST(BothRoles, AReceiveForEachMessageThatMayCome) {
  PairOptions o = unequal();
  o.adapter.flow_control = false;
  Pair p(o);
  ASSERT_NO_FATAL_FAILURE(p.connect());
  p.first.call(kSmall);
  p.second.call(kSmall);
  ASSERT_TRUE(p.run_to_end());
  p.first.hold = true;
  for (int i = 0; i < 3; ++i) p.second.call(kSmall);
  p.settle();
  ASSERT_EQ(p.first.held(), 3U);
  p.second.looks = false;
  p.first.hold = false;
  p.first.release();
  for (int i = 0; i < 20; ++i) p.first.call(kSmall);
  p.settle();
  EXPECT_EQ(p.first.requester.outstanding(), 6U);
  p.second.looks = true;
  ASSERT_TRUE(p.run_to_end());
  EXPECT_THAT(p.failures, ::testing::IsEmpty());
  EXPECT_FALSE(p.down);
  p.settle();
  p.check_over();
}

// A server may have to recall a delegation before it can reply; here with one credit each way.
TEST(BothRoles, ACallMayBeAnsweredAfterOneTheOtherWay) {
  PairOptions o;
  o.first = o.second = {{.credits = 1}, {.credits = 1}};
  Pair p(o);
  ASSERT_NO_FATAL_FAILURE(p.connect());
  p.second.hold = true;
  p.second.on_held = [&] { p.second.call({{{5000}}, {{5000}}}); };
  p.second.on_end = [&] { p.second.release(); };
  for (int i = 0; i < 10; ++i) p.first.call({{{5000, false}}, {{6000, false}}});
  ASSERT_TRUE(p.run_to_end());
  EXPECT_EQ(p.first.answered(), 10U);
  EXPECT_EQ(p.second.answered(), 10U);
  EXPECT_THAT(p.failures, ::testing::IsEmpty());
  p.settle();
  p.check_over();
}

PairOptions random_pair(std::uint64_t seed, soft::Random& random, double rate) {
  PairOptions o;
  o.seed = seed;
  const auto credits = [&] { return 1 + static_cast<std::uint32_t>(random.below(16)); };
  for (PeerOptions* p : {&o.first, &o.second}) {
    p->requester.credits = credits();
    p->responder.credits = credits();
    // Both directions use the same XIDs at about the same time.
    p->requester.first_xid = static_cast<std::uint32_t>(seed);
  }
  const auto threshold = static_cast<std::uint32_t>(1024U << random.below(3));
  o.channel = options_with(threshold, random.chance(0.5) ? 1U << 30 : 5000U);
  o.adapter.mtu = 1024;
  o.adapter.flow_control = random.chance(0.5);
  o.adapter.ack_timeout = 8;  // 1 ms
  o.adapter.cm.response_timeout = fabric::kMillisecond;
  for (soft::SimDirection* d : {&o.link.out, &o.link.in}) {
    d->delay = 3 * fabric::kMicrosecond;
    d->loss = d->duplication = d->reordering = d->corruption = rate;
  }
  return o;
}

std::uint64_t pair_seeds() {
  const char* const text = std::getenv("RPCRDMA_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 40;
}

TEST(BothRoles, RandomCallsBothWaysOverABadNetwork) {
  constexpr std::size_t kCalls = 30;  // per side
  std::uint64_t same_xids = 0;
  for (std::uint64_t seed = 0; seed < pair_seeds(); ++seed) {
    soft::Random random(seed);
    Pair p(random_pair(seed, random, seed % 4 == 0 ? 0 : 0.02));
    ASSERT_NO_FATAL_FAILURE(p.connect());
    for (std::size_t i = 0; i < kCalls; ++i) {
      p.first.call(random_plan(random));
      p.second.call(random_plan(random));
    }
    ASSERT_TRUE(p.run_to_end()) << "seed " << seed;
    for (const Peer* peer : {&p.first, &p.second}) {
      EXPECT_EQ(peer->answered(), kCalls);
      for (const auto& [cookie, o] : peer->outcomes) EXPECT_EQ(o.attempts, 1U);
    }
    EXPECT_THAT(p.failures, ::testing::IsEmpty());
    same_xids += p.first.same_xids + p.second.same_xids;
    p.settle();
    p.check_over();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(same_xids, pair_seeds());
}

// Calls of both sides are resent on the next connection, which only the first side sets up.
TEST(BothRoles, ConnectionsThatEnd) {
  constexpr std::size_t kCalls = 20;  // per side
  std::array<std::uint64_t, 2> resent{};
  std::array<std::uint64_t, 2> cancelled{};
  for (std::uint64_t seed = 0; seed < pair_seeds(); ++seed) {
    soft::Random random(seed + 1000);
    Pair p(random_pair(seed, random, seed % 4 == 0 ? 0 : 0.05));
    for (std::size_t i = 0; i < kCalls; ++i) {
      for (Peer* peer : {&p.first, &p.second}) {
        CallPlanForTest plan = random_plan(random);
        if (random.chance(0.1)) plan.timeout = static_cast<fabric::Time>(random.below(20'000'000));
        peer->call(plan);
      }
    }
    const auto over = [&] { return p.first.all_ended() && p.second.all_ended(); };
    for (int i = 0; i < 300 && !over(); ++i) {
      ASSERT_NO_FATAL_FAILURE(p.connect());
      const auto life = static_cast<fabric::Time>(random.below(i < 8 ? 400'000 : 400'000'000));
      p.run_until([&] { return p.down || over(); }, p.net.now() + life);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
      const std::uint64_t how = random.below(4);
      if (over() || how == 0) continue;
      if (how == 1) p.first.channel->connection().disconnect();
      if (how == 2 && p.second.channel != nullptr) p.second.channel->connection().disconnect();
      if (how == 3) p.second.drop_channel();
      p.run_until([&] { return p.down; }, p.net.now() + fabric::kSecond);
    }
    p.settle();
    ASSERT_TRUE(over()) << "seed " << seed;
    std::size_t side = 0;
    for (Peer* peer : {&p.first, &p.second}) {
      EXPECT_EQ(peer->outcomes.size(), kCalls);
      for (const auto& [cookie, o] : peer->outcomes) {
        EXPECT_TRUE(o.status == CallStatus::kReplied || o.status == CallStatus::kTimedOut)
            << call_status_name(o.status);
      }
      resent[side] += peer->requester.counters().resent;
      cancelled[side] += peer->cancelled;
      ++side;
    }
    p.check_over();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  for (const std::uint64_t n : resent) EXPECT_GT(n, pair_seeds() / 4);
  for (const std::uint64_t n : cancelled) EXPECT_GT(n, pair_seeds() / 10);
}

}  // namespace
}  // namespace rpcrdma::protocol
