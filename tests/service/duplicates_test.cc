// A Call that is not idempotent is executed once, whenever its connection is lost: the simulated
// network breaks it after each packet in turn, in either direction or in both, and the client sends
// the Call again on a new connection. Each Reply must be right to the last byte, whatever chunks
// carry it.
#include "support/emitted_events.h"
#include "support/sim_host.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/rpc_message.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/soft/sim_network.h>

namespace rpcrdma::testing {
namespace {

using fabric::kMillisecond;
using fabric::kSecond;
using fabric::Time;
using protocol::CallStatus;
using protocol::Piece;

constexpr std::uint32_t kLedger = 0x20000077;
constexpr std::uint32_t kAdd = 1;
constexpr std::uint32_t kPost = 2;
constexpr std::uint32_t kLongest = 64 << 10;
constexpr std::uint32_t kAmount = 7;
constexpr Time kLater = 90 * kSecond;  // the client has reconnected by then, perhaps twice

struct Shape {
  const char* name;
  std::uint32_t argument;  // bytes of the DDP-eligible argument
  std::uint32_t result;    // of the DDP-eligible result
  std::uint32_t list;      // of results that are not
  bool later;              // answered by a timer
};

// Adds to a sum, and returns it with data that depends on it.
class Ledger : public service::Program {
 public:
  explicit Ledger(const Time& clock)
      : Program(kLedger, 1, "ledger",
                {{kAdd, "ADD", [this](service::Call& c) { add(c); }, {1, 1, 1 << 20}},
                 {kPost,
                  "POST",
                  [this](service::Call& c) {
                    ++posts;
                    (void)c.reply({});
                  },
                  {},
                  false,
                  true}}),
        clock_(clock) {}

  Time deadline() const override { return waiting_.empty() ? fabric::kNever : waiting_[0].at; }
  void expire(Time now) override {
    while (!waiting_.empty() && waiting_[0].at <= now) {
      Waiting w = std::move(waiting_[0]);
      waiting_.erase(waiting_.begin());
      send(w.call, w.sum, w.result, w.list);
    }
  }
  static std::uint8_t byte_of(std::uint32_t sum, std::uint32_t i) {
    return static_cast<std::uint8_t>(sum * 31 + i * 7);
  }

  std::uint32_t executed = 0;
  std::uint32_t posts = 0;
  std::uint32_t sum = 0;

 private:
  struct Waiting {
    Time at;
    service::Deferred call;
    std::uint32_t sum, result, list;
  };

  void add(service::Call& call) {
    protocol::StreamReader& args = call.arguments();
    const std::uint32_t amount = args.u32();
    const std::uint32_t result = args.u32();
    const std::uint32_t list = args.u32();
    const bool later = args.u32() != 0;
    (void)args.opaque(kLongest);
    if (!args.at_end()) return (void)call.fail(service::CallError::kGarbageArgs);
    ++executed;
    sum += amount;
    if (!later) return send(call, sum, result, list);
    waiting_.push_back({clock_ + kLater, call.defer(), sum, result, list});
  }

  template <typename To>
  static void send(To& call, std::uint32_t sum, std::uint32_t result, std::uint32_t list) {
    std::vector<std::uint8_t> head(12 + list);
    wire::store_be32(head.data(), sum);
    wire::store_be32(head.data() + 4, list);
    for (std::uint32_t i = 0; i < list; ++i) head[8 + i] = byte_of(sum, i);
    wire::store_be32(head.data() + 8 + list, result);
    std::vector<std::uint8_t> data(result);
    for (std::uint32_t i = 0; i < result; ++i) data[i] = byte_of(sum + 1, i);
    const std::array<Piece, 2> pieces{Piece{head, nullptr, false}, Piece{data, nullptr, true}};
    (void)call.reply(pieces);
  }

  const Time& clock_;
  std::vector<Waiting> waiting_;
};

struct Net {
  soft::SimNetwork net{1};
  Time clock = kSecond;
  std::vector<std::function<void()>> turns;

  Net() { net.run_for(kSecond); }
  // Returns false after some simulated minutes.
  [[nodiscard]] bool until(const std::function<bool()>& condition) {
    const Time end = clock + 300 * kSecond;
    Time idle = kMillisecond;
    while (!condition()) {
      if (clock > end) return false;
      for (const auto& turn : turns) turn();
      const bool happened = net.run_until([&] { return net.now() > clock; }, clock + idle);
      idle = happened ? kMillisecond : std::min(2 * idle, 200 * kMillisecond);
      clock = net.now();
    }
    return true;
  }
};

class Host : public protocol::testing::SimHost {
 public:
  Host(soft::SimNetwork& net, std::uint8_t last)
      : SimHost(net, options(last), last, {}), node(last - 1U) {}

  // The simulated network has numbered the hosts in the order of their addresses.
  const soft::SimNetwork::NodeId node;

 private:
  static soft::AdapterOptions options(std::uint8_t last) {
    soft::AdapterOptions o;
    o.address = fabric::make_ipv4(127, 0, 0, last);
    o.ack_timeout = 10;  // a lost connection is noticed soon
    return o;
  }
};

service::LoopOptions loop_of(Net& net, trace::Tracer* tracer = nullptr) {
  service::LoopOptions options;
  options.clock = &net.clock;
  options.tracer = tracer;
  return options;
}

struct LedgerServer {
  LedgerServer(Net& net, const service::ServerOptions& options, trace::Tracer* tracer = nullptr)
      : host(net.net, 1),
        loop(service::Loop::create(host, loop_of(net, tracer)).value()),
        ledger(net.clock),
        programs{&ledger},
        server(service::Server::create(*loop, programs, options).value()) {
    net.turns.emplace_back([this] {
      ASSERT_TRUE(loop->run_once(0));
      host.wake();
    });
  }

  Host host;
  std::unique_ptr<service::Loop> loop;
  Ledger ledger;
  std::array<service::Program*, 1> programs;
  std::unique_ptr<service::Server> server;
};

struct LedgerClient : service::ClientObserver {
  LedgerClient(Net& net, const protocol::Versions& versions)
      : host(net.net, 2), loop(service::Loop::create(host, loop_of(net)).value()) {
    space = loop->memory().acquire(kLongest).value();
    service::ClientOptions options;
    options.server = fabric::make_ipv4(127, 0, 0, 1);
    options.version.versions = versions;
    options.backoff_first = options.backoff_most = kMillisecond;
    options.connect_timeout = 100 * kMillisecond;
    client = service::Client::create(*loop, options, *this).value();
    net.turns.emplace_back([this] {
      ASSERT_TRUE(loop->run_once(0));
      host.wake();
    });
  }
  ~LedgerClient() override {
    client.reset();
    loop->memory().release(space);
  }

  // `max_list`: the bytes of `list` for which the Call offers room.
  void call(const Shape& shape, std::uint32_t max_list) {
    asked = shape;
    std::array<std::uint8_t, 20> words{};
    wire::XdrWriter writer(words);
    for (const std::uint32_t word :
         {kAmount, shape.result, shape.list, shape.later ? 1U : 0U, shape.argument}) {
      writer.u32(word);
    }
    arguments.assign(words.begin(), words.end());
    bulk.assign(shape.argument, 0x33);
    const std::array<Piece, 3> message{header.piece(), Piece{arguments, nullptr, false},
                                       Piece{bulk, nullptr, true}};
    const std::array<protocol::ResultSpace, 1> results{
        protocol::ResultSpace{space.data, kLongest, space.memory}};
    protocol::CallSpec spec;
    spec.message = message;
    if (shape.result != 0) spec.results = results;
    spec.max_reply = service::kReplyHeaderBytes + 12 + max_list;
    ASSERT_TRUE(client->call(spec));
  }
  void post() {
    const std::array<Piece, 1> message{posted.piece()};
    protocol::CallSpec spec;
    spec.message = message;
    spec.one_way = true;
    ASSERT_TRUE(client->call(spec));
  }
  void on_connected(const service::ConnectionInfo&) override { ++connected; }
  void on_lost(std::uint32_t, std::string_view, Time) override { ++lost; }
  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
    status = outcome.status;
    ended = true;
    const std::array<protocol::ResultSpace, 1> results{
        protocol::ResultSpace{space.data, kLongest, space.memory}};
    service::ReplyReader reply(outcome, asked.result != 0
                                            ? std::span<const protocol::ResultSpace>(results)
                                            : std::span<const protocol::ResultSpace>());
    text = service::describe(outcome, reply);
    if (reply.status() != service::RpcStatus::kSuccess) return;
    protocol::StreamReader& r = reply.results();
    const std::uint32_t sum = r.u32();
    const wire::Bytes list = r.opaque();
    const wire::Bytes data = r.opaque_result();
    if (!r.at_end() || list.size() != asked.list || data.size() != asked.result) return;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      if (list[i] != Ledger::byte_of(sum, i)) return;
    }
    for (std::uint32_t i = 0; i < data.size(); ++i) {
      if (data[i] != Ledger::byte_of(sum + 1, i)) return;
    }
    right_sum = sum;
  }

  Host host;
  std::unique_ptr<service::Loop> loop;
  protocol::Block space;
  std::unique_ptr<service::Client> client;
  service::CallHeader header{kLedger, 1, kAdd}, posted{kLedger, 1, kPost};
  std::vector<std::uint8_t> arguments, bulk;
  Shape asked{};
  int connected = 0, lost = 0;
  bool ended = false;
  CallStatus status = CallStatus::kReplied;
  std::string text;
  std::optional<std::uint32_t> right_sum;
};

enum class Cut : std::uint8_t { kBoth, kToServer, kToClient };

void set_loss(Net& net, const Host& host, soft::FaultDirection direction, double loss) {
  soft::SimDirection line =
      direction == soft::FaultDirection::kOut ? soft::SimLink{}.out : soft::SimLink{}.in;
  line.loss = loss;
  net.net.change(host.node, direction, line);
}

void set_cut(Net& net, const Host& client, Cut cut, double loss) {
  if (cut != Cut::kToClient) set_loss(net, client, soft::FaultDirection::kOut, loss);
  if (cut != Cut::kToServer) set_loss(net, client, soft::FaultDirection::kIn, loss);
}

struct Tally {
  bool happened = false;  // the cut came before the end of the Call
  std::uint64_t replayed = 0, waited = 0, resent = 0;
};

// Cuts the network after `packets` packets of a Call until the client has noticed.
Tally cut_after(const Shape& shape, Cut cut, std::uint64_t packets,
                const service::ServerOptions& options = {}) {
  Net net;
  LedgerServer server(net, options);
  LedgerClient client(net, {1, 1});
  EXPECT_TRUE(net.until([&] { return client.client->up() == 1; }));
  const std::uint64_t before = net.net.counters().delivered;
  const auto passed = [&] { return net.net.counters().delivered - before; };
  client.call(shape, shape.list);
  const auto cut_now = [&] { return client.ended || passed() >= packets; };
  // Packet by packet, where until() lets both hosts have a turn.
  EXPECT_TRUE(net.until(cut_now));
  Tally tally;
  tally.happened = !client.ended;
  if (tally.happened) {
    const int lost = client.lost;
    set_cut(net, client.host, cut, 1);
    EXPECT_TRUE(net.until([&] { return client.ended || client.lost > lost; }));
    set_cut(net, client.host, cut, 0);
    EXPECT_TRUE(net.until([&] { return client.ended; }));
  }
  EXPECT_EQ(client.status, CallStatus::kReplied) << client.text;
  EXPECT_EQ(client.right_sum, server.ledger.executed * kAmount) << client.text;
  const service::ServerCounters counters = server.server->counters();
  tally.replayed = counters.duplicates.replayed;
  tally.waited = counters.duplicates.waited;
  tally.resent = client.client->counters().requester.resent;
  if (options.duplicates.entries != 0) {
    EXPECT_EQ(server.ledger.executed, 1U);
    EXPECT_EQ(counters.duplicates.calls, 1U);
  } else {
    tally.replayed = server.ledger.executed - 1;
  }
  return tally;
}

class KilledConnection : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, KilledConnection,
                         ::testing::Values(Shape{"Inline", 0, 0, 0, false},
                                           Shape{"ReadChunk", 9000, 0, 0, false},
                                           Shape{"WriteChunk", 0, 9000, 0, false},
                                           Shape{"ReplyChunk", 0, 0, 9000, false},
                                           Shape{"BothChunks", 9000, 9000, 0, false},
                                           Shape{"AnsweredLater", 100, 9000, 0, true}),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(KilledConnection, TheCallIsExecutedOnce) {
  Tally all;
  for (const Cut cut : {Cut::kBoth, Cut::kToServer, Cut::kToClient}) {
    std::uint64_t packets = 0;
    for (;; ++packets) {
      const Tally one = cut_after(GetParam(), cut, packets);
      ASSERT_FALSE(::testing::Test::HasFailure())
          << "cut " << static_cast<int>(cut) << " after packet " << packets;
      if (!one.happened) break;
      all.replayed += one.replayed;
      all.waited += one.waited;
      all.resent += one.resent;
    }
    EXPECT_GE(packets, 2U);
  }
  EXPECT_GT(all.replayed, 0U);
  EXPECT_EQ(all.waited != 0, GetParam().later);
  EXPECT_GT(all.resent, all.replayed) << "some were lost before they were executed";
}

TEST_P(KilledConnection, WithoutTheCacheItIsExecutedTwice) {
  service::ServerOptions options;
  options.duplicates.entries = 0;
  std::uint64_t repeated = 0;
  for (std::uint64_t packets = 0;; ++packets) {
    const Tally one = cut_after(GetParam(), Cut::kToClient, packets, options);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "after packet " << packets;
    if (!one.happened) break;
    repeated += one.replayed;
  }
  EXPECT_GT(repeated, 0U);
}

TEST(Duplicates, AReplyThatDidNotFitIsSentAgainInAWiderChunk) {
  Net net;
  trace::testing::Emitted emitted(1);
  LedgerServer server(net, {}, &emitted.tracer);
  LedgerClient client(net, {2, 2});
  // The Reply chunk is too short: RDMA2_ERR_CANT_REPLY, processed.
  client.call({"", 0, 0, 20000, false}, 8000);
  ASSERT_TRUE(net.until([&] { return client.ended; }));
  EXPECT_EQ(client.status, CallStatus::kReplied) << client.text;
  EXPECT_EQ(client.right_sum, kAmount);
  EXPECT_EQ(server.ledger.executed, 1U);
  EXPECT_EQ(client.client->counters().requester.enlarged, 1U);
  const service::ServerCounters counters = server.server->counters();
  EXPECT_EQ(counters.responder.cant_reply, 1U);
  EXPECT_EQ(counters.duplicates.replayed, 1U);
  EXPECT_EQ(counters.calls.replayed, 1U);
  const std::vector<std::string> duplicates = emitted.take("duplicate ");
  ASSERT_EQ(duplicates.size(), 1U);
  EXPECT_THAT(duplicates[0],
              ::testing::EndsWith(": program 536871031, version 1, procedure 1, fate 1"));
}

// The connection that follows is cut as well, after each packet in turn.
TEST(Duplicates, TwoConnectionsAreLostInARow) {
  std::uint64_t dropped = 0;
  for (std::uint64_t packets = 0; packets < 20; ++packets) {
    Net net;
    LedgerServer server(net, {});
    LedgerClient client(net, {1, 1});
    ASSERT_TRUE(net.until([&] { return client.client->up() == 1; }));
    client.call({"", 3000, 3000, 0, true}, 0);
    const Time soon = net.clock + kMillisecond;
    ASSERT_TRUE(net.until([&] { return net.clock > soon; }));  // it is being executed
    for (int i = 0; i < 2 && !client.ended; ++i) {
      const int lost = client.lost;
      set_cut(net, client.host, Cut::kBoth, 1);
      ASSERT_TRUE(net.until([&] { return client.ended || client.lost > lost; }));
      set_cut(net, client.host, Cut::kBoth, 0);
      const std::uint64_t before = net.net.counters().delivered;
      ASSERT_TRUE(net.until(
          [&] { return client.ended || net.net.counters().delivered >= before + packets; }));
    }
    ASSERT_TRUE(net.until([&] { return client.ended; }));
    EXPECT_EQ(client.status, CallStatus::kReplied) << client.text;
    EXPECT_EQ(client.right_sum, kAmount) << packets;
    EXPECT_EQ(server.ledger.executed, 1U) << packets;
    dropped += server.server->counters().duplicates.dropped;
  }
  EXPECT_GT(dropped, 0U) << "a third Call takes the place of the second";
}

TEST(Duplicates, OneWayCallsOverALostConnection) {
  Net net;
  LedgerServer server(net, {});
  LedgerClient client(net, {1, 1});
  ASSERT_TRUE(net.until([&] { return client.client->up() == 1; }));
  for (std::uint64_t packets = 0; packets < 8; ++packets) {
    client.ended = false;
    const std::uint64_t before = net.net.counters().delivered;
    client.post();
    ASSERT_TRUE(net.until(
        [&] { return client.ended || net.net.counters().delivered - before >= packets; }));
    if (!client.ended) {
      const int lost = client.lost;
      set_cut(net, client.host, Cut::kBoth, 1);
      ASSERT_TRUE(net.until([&] { return client.ended || client.lost > lost; }));
      set_cut(net, client.host, Cut::kBoth, 0);
    }
    ASSERT_TRUE(net.until([&] { return client.ended; }));
    EXPECT_EQ(client.status, CallStatus::kSent) << client.text;
    ASSERT_TRUE(net.until([&] { return server.ledger.posts == packets + 1; })) << packets;
  }
  // Nothing comes later.
  const Time later = net.clock + kSecond;
  ASSERT_TRUE(net.until([&] { return net.clock > later; }));
  EXPECT_EQ(server.ledger.posts, 8U);
  EXPECT_EQ(client.client->counters().requester.timeouts, 0U);
}

TEST(Duplicates, ManyOneWayCalls) {
  Net net;
  service::ServerOptions options;
  options.responder.credits = 4;
  LedgerServer server(net, options);
  LedgerClient client(net, {1, 1});
  for (int i = 0; i < 500; ++i) client.post();
  ASSERT_TRUE(net.until([&] { return server.ledger.posts == 500; }));
  ASSERT_TRUE(net.until([&] { return client.client->counters().requester.one_way == 500; }));
  EXPECT_EQ(client.lost, 0);
  const service::ClientCounters counters = client.client->counters();
  EXPECT_GT(counters.requester.null_calls, 100U);
  EXPECT_EQ(counters.requester.timeouts, 0U);
  EXPECT_EQ(server.server->counters().calls.one_way, 500U);
  EXPECT_EQ(server.server->counters().responder.over_credit, 0U);
}

}  // namespace
}  // namespace rpcrdma::testing
