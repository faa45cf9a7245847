// Two endpoints, requester and responder, in a simulated network, with an upper layer that checks
// every byte.
#pragma once

#include "messages_for_tests.h"
#include "support/endpoint_options.h"
#include "support/sim_host.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/channel.h>

namespace rpcrdma::protocol::testing {

struct Outcome {
  CallStatus status = CallStatus::kReplied;
  std::string reason;
  std::uint32_t attempts = 0;
  CallTimes times;
};

struct ExchangeOptions {
  soft::SimLink link;
  std::uint64_t seed = 1;
  ChannelOptions client, server;
  RequesterOptions requester;
  ResponderOptions responder;
  MemoryPool::Options pool;
  soft::AdapterOptions adapter;
};

// The upper layers of a requester and a responder, and their event loop in virtual time.
class Exchange : public RequesterOwner, public ResponderOwner {
 public:
  static constexpr std::uint16_t kPort = 20049;

  explicit Exchange(const ExchangeOptions& options = {})
      : options_(options),
        net(options.seed),
        client_host(net, adapter(1), options.seed * 2 + 1, options.link),
        server_host(net, adapter(2), options.seed * 2 + 2, options.link),
        client_pool(client_host, options.pool),
        server_pool(server_host, options.pool),
        requester(*this, options.requester),
        responder(*this, counted(options.responder)) {
    EXPECT_TRUE(server_host.listen(kPort, 0));
  }

  // Ends the previous connection and starts a new one.
  void connect() {
    client.reset();
    server.reset();
    ++cookie_;
    client = std::make_unique<Channel>(client_pool, options_.client, &requester, nullptr);
    fabric::ConnectionOptions o;
    o.cookie = cookie_;
    o.depths = client->depths();
    o.rnr_retry_count = 0;  // as Linux
    auto connection = client_host.connect(address(2), kPort, o);
    ASSERT_TRUE(connection);
    ASSERT_TRUE(client->begin(std::move(*connection)));
    client_host.wake();
  }

  // Makes a Call and returns the cookie of its outcome.
  std::uint64_t call(const CallPlanForTest& plan) {
    const std::uint64_t cookie = ++last_cookie_;
    Calling& c = calls_[cookie];
    c.plan = plan;
    c.call = std::make_unique<TestCall>(client_host, cookie, plan);
    const auto xid = requester.call(c.call->spec(), net.now());
    EXPECT_TRUE(xid);
    return cookie;
  }

  // Runs until `condition` holds. Returns false if it did not by `limit`.
  template <typename Condition>
  bool run_until(Condition condition, fabric::Time limit) {
    for (;;) {
      pump();
      if (condition()) return true;
      const fabric::Time next =
          std::min({limit, requester.deadline(),
                    delayed_.empty() ? fabric::kNever : delayed_.begin()->first});
      net.run_until(
          [&] {
            pump();
            return condition() || due() < next;
          },
          next);
      pump();
      if (condition()) return true;
      if (net.now() >= limit) return false;
    }
  }
  bool run_to_end(fabric::Time limit = 100 * fabric::kSecond) {
    return run_until([&] { return outcomes.size() == last_cookie_; }, net.now() + limit);
  }
  // Runs until nothing is in flight any more.
  void settle() {
    const fabric::Time until = net.now() + fabric::kSecond;
    run_until([] { return false; }, until);
  }

  Outcome& only() {
    EXPECT_EQ(outcomes.size(), 1U);
    return outcomes.begin()->second;
  }

  void on_outcome(const CallOutcome& o) override {
    const auto found = calls_.find(o.cookie);
    ASSERT_NE(found, calls_.end()) << "an outcome of nothing";
    ASSERT_EQ(outcomes.count(o.cookie), 0U) << "a second outcome";
    outcomes[o.cookie] = {o.status, o.reason, o.attempts, o.times};
    found->second.call->check(o);
    calls_.erase(found);
    if (again) again();
  }

  void on_call(const IncomingCall& call) override {
    ++calls_seen;
    ReceivedCall received(call);
    const std::uint64_t cookie = received.cookie();
    const auto found = calls_.find(cookie);
    // Resent, and already answered before.
    if (found == calls_.end()) {
      EXPECT_TRUE(lossy);
      delayed_.emplace(net.now(), Pending{call.id, server.get(), {}, cookie});
      return;
    }
    const CallPlanForTest& plan = found->second.plan;
    received.check(plan);
    delayed_.emplace(net.now() + plan.service_time,
                     Pending{call.id, server.get(), plan.results, cookie});
  }
  void on_sent(std::uint64_t id) override { EXPECT_EQ(replies_.erase(id), 1U); }
  void on_cancelled(std::uint64_t id) override {
    ++cancelled;
    std::erase_if(delayed_, [&](const auto& d) { return d.second.id == id; });
  }

  // Both sides process completions and events until there are none left.
  void pump() {
    for (int i = 0; i < 1000; ++i) {
      bool any = take(client_host, client);
      if (take(server_host, server)) any = true;
      if (answer()) any = true;
      if (client != nullptr) client->flush(net.now());
      if (server != nullptr) server->flush(net.now());
      if (!any) return;
      client_host.wake();
      server_host.wake();
    }
    FAIL() << "it never rests";
  }

  [[nodiscard]] static fabric::Address address(std::uint8_t last) {
    return fabric::make_ipv4(10, 0, 0, last);
  }

 private:
  ResponderOptions counted(ResponderOptions own) {
    own.durations = &durations;
    return own;
  }

  struct Calling {
    CallPlanForTest plan;
    std::unique_ptr<TestCall> call;
  };
  struct Pending {
    std::uint64_t id;
    Channel* channel;
    std::vector<Opaque> results;
    std::uint64_t cookie;
  };

  soft::AdapterOptions adapter(std::uint8_t last) const {
    soft::AdapterOptions o = options_.adapter;
    o.address = address(last);
    return o;
  }
  [[nodiscard]] fabric::Time due() const {
    return std::min(requester.deadline(),
                    delayed_.empty() ? fabric::kNever : delayed_.begin()->first);
  }

  bool take(SimHost& host, std::unique_ptr<Channel>& channel) {
    bool any = false;
    fabric::Event event;
    std::array<fabric::Completion, 16> done;
    // Completions first: those of a connection come before the event of its end.
    for (std::size_t n; (n = host.poll(done)) != 0;) {
      any = true;
      for (std::size_t i = 0; i < n; ++i) {
        if (channel != nullptr && done[i].connection == cookie_) {
          channel->completed(done[i], net.now());
        }
      }
    }
    while (host.poll(event)) {
      any = true;
      if (event.type == fabric::EventType::kRequest) {
        accept(std::move(event.request));
      } else if (channel == nullptr || event.cookie != cookie_) {
        continue;
      } else if (event.type == fabric::EventType::kEstablished) {
        channel->established(net.now());
      } else {
        channel->disconnected(net.now());
        if (&channel == &client) client_down = true;
      }
    }

    if (channel != nullptr && !channel->failure().empty() && failed_ != channel.get()) {
      failed_ = channel.get();
      failures.push_back(channel->failure());
      channel->connection().disconnect();
      any = true;
    }
    if (&channel == &client && requester.deadline() <= net.now()) {
      any = true;
      if (client != nullptr) {
        client->expire(net.now());
      } else {
        requester.expire(net.now());
      }
    }
    return any;
  }
  void accept(std::unique_ptr<fabric::Connection> connection) {
    server.reset();
    server = std::make_unique<Channel>(server_pool, options_.server, nullptr, &responder);
    fabric::Connection& c = *connection;
    ASSERT_TRUE(server->begin(std::move(connection)));
    fabric::ConnectionOptions o;
    o.cookie = cookie_;
    o.depths = server->depths();
    o.rnr_retry_count = 0;
    EXPECT_TRUE(c.accept(o));
  }
  bool answer() {
    bool any = false;
    while (!delayed_.empty() && delayed_.begin()->first <= net.now()) {
      const Pending p = delayed_.begin()->second;
      delayed_.erase(delayed_.begin());
      any = true;
      auto& message = replies_[p.id];
      message = std::make_unique<Message>(server_host, p.cookie, 1, p.results, kFirstResult);
      if (!responder.reply(p.id, message->pieces(), net.now())) {
        ++refused;
        replies_.erase(p.id);
      }
    }
    return any;
  }

  ExchangeOptions options_;

 public:
  soft::SimNetwork net;
  SimHost client_host;
  SimHost server_host;
  MemoryPool client_pool;
  MemoryPool server_pool;
  Requester requester;
  Durations durations;  // of the Calls that the responder answered
  Responder responder;
  std::unique_ptr<Channel> client;
  std::unique_ptr<Channel> server;
  std::map<std::uint64_t, Outcome> outcomes;  // by cookie
  std::vector<std::string> failures;
  bool client_down = false;
  bool lossy = false;  // Calls may arrive twice
  std::uint64_t calls_seen = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t refused = 0;
  std::function<void()> again;  // called after each outcome

 private:
  std::uint64_t cookie_ = 0;  // of the connection
  std::uint64_t last_cookie_ = 0;
  std::map<std::uint64_t, Calling> calls_;
  std::multimap<fabric::Time, Pending> delayed_;
  std::map<std::uint64_t, std::unique_ptr<Message>> replies_;  // in flight, by id
  const Channel* failed_ = nullptr;
};

}  // namespace rpcrdma::protocol::testing
