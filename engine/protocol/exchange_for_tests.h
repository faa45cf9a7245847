// Two endpoints, requester and responder, in a simulated network, with an upper layer that checks
// every byte. A Call's arguments and results are opaques, each of which may be DDP-eligible.
//
//   Call:  XID, 0, cookie, count of arguments, the arguments
//   Reply: XID, 1, cookie, count of results, the results
#pragma once

#include "sim_host_for_tests.h"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/soft/random.h>

namespace rpcrdma::protocol::testing {

struct Opaque {
  std::uint32_t bytes = 0;
  bool ddp = true;
  bool registered = false;  // lies in memory that its owner has registered
};

struct CallPlanForTest {
  std::vector<Opaque> arguments;
  std::vector<Opaque> results;  // the DDP-eligible ones have memory offered for them
  std::uint32_t spare = 0;      // bytes by which that is longer
  fabric::Time timeout = fabric::kNever;
  fabric::Time service_time = 0;
  bool result_memory = true;  // of DDP-eligible results; else they are to come with the stream
};

inline std::uint8_t content(std::uint64_t cookie, std::size_t which, std::size_t at) {
  return static_cast<std::uint8_t>((at * 2654435761U + cookie * 97 + which * 31 + 7) >> 5);
}

// One opaque's bytes.
class Content {
 public:
  Content(std::uint64_t cookie, std::size_t which, std::uint32_t bytes) : bytes_(bytes) {
    for (std::size_t i = 0; i < bytes; ++i) bytes_[i] = content(cookie, which, i);
  }
  [[nodiscard]] wire::Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// The pieces of a message, and the memory that they lie in.
class Message {
 public:
  Message(fabric::Provider& provider, std::uint64_t cookie, std::uint32_t type,
          const std::vector<Opaque>& opaques, std::size_t first)
      : provider_(provider) {
    word(0);
    word(type);
    word(static_cast<std::uint32_t>(cookie));
    word(static_cast<std::uint32_t>(opaques.size()));
    for (std::size_t i = 0; i < opaques.size(); ++i) {
      const Opaque& o = opaques[i];
      word(o.bytes);
      const Content data(cookie, first + i, o.bytes);
      if (!o.ddp) {
        put(data.bytes());
        continue;
      }
      end_piece();
      std::vector<std::uint8_t>& own =
          memory_.emplace_back(data.bytes().begin(), data.bytes().end());
      Piece p;
      p.bytes = own;
      p.ddp = true;
      if (o.registered && o.bytes != 0) {
        p.memory = &registered_.emplace_back(provider.remember(own).value());
      }
      pieces_.push_back(p);
    }
    end_piece();
  }
  ~Message() {
    for (const fabric::Memory& m : registered_) provider_.forget(m);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  // What a peer may only have read from is as it was.
  [[nodiscard]] std::size_t size() const { return stream_bytes(pieces_); }

 private:
  void word(std::uint32_t v) {
    std::array<std::uint8_t, 4> b{};
    wire::store_be32(b.data(), v);
    stream_.insert(stream_.end(), b.begin(), b.end());
  }
  void put(wire::Bytes bytes) {
    stream_.insert(stream_.end(), bytes.begin(), bytes.end());
    stream_.resize((stream_.size() + 3) / 4 * 4);
  }
  void end_piece() {
    if (stream_.empty()) return;
    pieces_.push_back({memory_.emplace_back(std::move(stream_)), nullptr, false});
    stream_.clear();
  }

  fabric::Provider& provider_;
  std::vector<std::uint8_t> stream_;
  std::deque<std::vector<std::uint8_t>> memory_;
  std::deque<fabric::Memory> registered_;
  std::vector<Piece> pieces_;
};

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

// A requester's and a responder's upper layer, and their event loop in virtual time.
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
        responder(*this, options.responder) {
    EXPECT_TRUE(server_host.listen(kPort, 0));
  }

  // Starts a connection, after the end of the one before.
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

  // Makes a Call; its outcome is found under the cookie that is returned.
  std::uint64_t call(const CallPlanForTest& plan) {
    const std::uint64_t cookie = ++last_cookie_;
    Calling& c = calls_[cookie];
    c.plan = plan;
    c.message = std::make_unique<Message>(client_host, cookie, 0, plan.arguments, 0);
    std::uint32_t max_reply = 16;
    for (std::size_t i = 0; i < plan.results.size(); ++i) {
      const Opaque& o = plan.results[i];
      max_reply += 4;
      if (!o.ddp || !plan.result_memory) {
        max_reply += static_cast<std::uint32_t>(wire::xdr_padded(o.bytes));
        continue;
      }
      // Guards around it are to stay as they are.
      auto& memory = c.result_memory.emplace_back(o.bytes + plan.spare + 2 * kGuard, kGuardByte);
      c.registered.push_back(client_host.remember(memory).value());
    }
    for (std::size_t i = 0; i < c.registered.size(); ++i) {
      const auto length = static_cast<std::uint32_t>(c.result_memory[i].size() - 2 * kGuard);
      c.spaces.push_back({c.result_memory[i].data() + kGuard, length, &c.registered[i]});
    }
    CallSpec spec;
    spec.message = c.message->pieces();
    spec.results = c.spaces;
    spec.max_reply = max_reply;
    spec.timeout = plan.timeout;
    spec.cookie = cookie;
    const auto xid = requester.call(spec, net.now());
    EXPECT_TRUE(xid);
    return cookie;
  }

  // Until `condition` holds; false: it did not by `limit`.
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
  // And until nothing is under way any more.
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
    Calling& c = found->second;
    if (o.status == CallStatus::kReplied) check_reply_bytes(o, c);
    check_guards(c);
    for (const fabric::Memory& m : c.registered) client_host.forget(m);
    calls_.erase(found);
    if (again) again();
  }

  void on_call(const IncomingCall& call) override {
    ++calls_seen;
    StreamReader r(call.stream, call.items);
    EXPECT_EQ(r.u32(), call.xid);
    EXPECT_EQ(r.u32(), 0U);
    const std::uint64_t cookie = r.u32();
    const auto found = calls_.find(cookie);
    // Sent again, and it was answered before.
    if (found == calls_.end()) {
      EXPECT_TRUE(lossy);
      delayed_.emplace(net.now(), Pending{call.id, server.get(), {}, cookie});
      return;
    }
    const CallPlanForTest& plan = found->second.plan;
    EXPECT_EQ(r.u32(), plan.arguments.size());
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
      const wire::Bytes got = r.opaque();
      const Content want(cookie, i, plan.arguments[i].bytes);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), want.bytes().begin(), want.bytes().end()))
          << "argument " << i << " of " << cookie;
    }
    EXPECT_TRUE(r.ok());
    EXPECT_TRUE(r.at_end());
    delayed_.emplace(net.now() + plan.service_time,
                     Pending{call.id, server.get(), plan.results, cookie});
  }
  void on_sent(std::uint64_t id) override { EXPECT_EQ(replies_.erase(id), 1U); }
  void on_cancelled(std::uint64_t id) override {
    ++cancelled;
    std::erase_if(delayed_, [&](const auto& d) { return d.second.id == id; });
  }

  // Both sides take what there is, until there is nothing.
  void pump() {
    for (int i = 0; i < 1000; ++i) {
      const bool any = take(client_host, client) | take(server_host, server) | answer();
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
  static constexpr std::size_t kGuard = 16;
  static constexpr std::uint8_t kGuardByte = 0xa5;
  struct Calling {
    CallPlanForTest plan;
    std::unique_ptr<Message> message;
    std::deque<std::vector<std::uint8_t>> result_memory;
    std::deque<fabric::Memory> registered;
    std::vector<ResultSpace> spaces;
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
    // Completions first: those of a connection come before its end is told.
    for (std::size_t n; (n = host.take(done)) != 0;) {
      any = true;
      for (std::size_t i = 0; i < n; ++i) {
        if (channel != nullptr && done[i].connection == cookie_) {
          channel->completed(done[i], net.now());
        }
      }
    }
    while (host.take(event)) {
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
      message = std::make_unique<Message>(server_host, p.cookie, 1, p.results, 100);
      if (!responder.reply(p.id, message->pieces(), net.now())) {
        ++refused;
        replies_.erase(p.id);
      }
    }
    return any;
  }

  void check_reply_bytes(const CallOutcome& o, const Calling& c) {
    std::vector<Placed> items;
    for (std::size_t i = 0; i < o.result_bytes.size(); ++i) {
      items.push_back({kAnyPosition, {c.spaces[i].data, o.result_bytes[i]}});
    }
    StreamReader r(o.reply, items);
    EXPECT_EQ(r.u32(), o.xid);
    EXPECT_EQ(r.u32(), 1U);
    EXPECT_EQ(r.u32(), o.cookie);
    EXPECT_EQ(r.u32(), c.plan.results.size());
    for (std::size_t i = 0; i < c.plan.results.size(); ++i) {
      const wire::Bytes got = c.plan.results[i].ddp ? r.opaque_result() : r.opaque();
      const Content want(o.cookie, 100 + i, c.plan.results[i].bytes);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), want.bytes().begin(), want.bytes().end()))
          << "result " << i << " of " << o.cookie;
    }
    EXPECT_TRUE(r.ok());
    EXPECT_TRUE(r.at_end());
  }
  static void check_guards(const Calling& c) {
    for (const auto& m : c.result_memory) {
      for (std::size_t i = 0; i < kGuard; ++i) {
        EXPECT_EQ(m[i], kGuardByte);
        EXPECT_EQ(m[m.size() - 1 - i], kGuardByte);
      }
    }
  }

  ExchangeOptions options_;

 public:
  soft::SimNetwork net;
  SimHost client_host;
  SimHost server_host;
  MemoryPool client_pool;
  MemoryPool server_pool;
  Requester requester;
  Responder responder;
  std::unique_ptr<Channel> client;
  std::unique_ptr<Channel> server;
  std::map<std::uint64_t, Outcome> outcomes;  // by cookie
  std::vector<std::string> failures;
  bool client_down = false;
  bool lossy = false;  // Calls may come twice
  std::uint64_t calls_seen = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t refused = 0;
  std::function<void()> again;  // after each outcome

 private:
  std::uint64_t cookie_ = 0;  // of the connection
  std::uint64_t last_cookie_ = 0;
  std::map<std::uint64_t, Calling> calls_;
  std::multimap<fabric::Time, Pending> delayed_;
  std::map<std::uint64_t, std::unique_ptr<Message>> replies_;  // under way, by id
  const Channel* failed_ = nullptr;
};

}  // namespace rpcrdma::protocol::testing
