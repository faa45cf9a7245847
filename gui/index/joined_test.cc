// Both ends of a connection, attached: one connection and one row for each message, as the client
// shows it, and both views of a selected message.
#include "index_for_tests.h"
#include "support/trace_builder.h"

#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <rpcrdma/index/excerpt.h>

namespace rpcrdma::index {
namespace {

using ::testing::ElementsAre;
using trace_reader::testing::EventSource;
using Bytes = std::vector<std::uint8_t>;

Bytes stream_of(const std::string& name, const EventSource::Options& options) {
  std::ifstream in(testing::capture(name), std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), {});
  return trace_reader::testing::events_of_capture(
             {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, options)
      .pcapng();
}

struct Ends {
  Ends(std::size_t count, bool join = true) {
    std::vector<Loading::Stream> streams;
    for (std::size_t i = 0; i < count; ++i) {
      std::array<int, 2> ends{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
      endpoints.emplace_back(ends[0]);
      streams.push_back({"endpoint " + std::to_string(i), base::FileDescriptor(ends[1])});
    }
    LoadOptions options;
    options.folder = ::testing::TempDir();
    options.join_views = join;
    auto made = Loading::endpoints(store, std::move(streams), options, watch.changed());
    EXPECT_TRUE(made);
    loading = std::move(*made);
  }
  void send(std::size_t end, const Bytes& bytes, std::size_t from = 0) {
    while (from < bytes.size()) {
      const ssize_t n =
          ::send(endpoints[end].get(), bytes.data() + from, bytes.size() - from, MSG_NOSIGNAL);
      ASSERT_GT(n, 0);
      from += static_cast<std::size_t>(n);
    }
  }
  void hang_up() {
    for (base::FileDescriptor& end : endpoints) end.reset();
  }
  [[nodiscard]] std::vector<ConnectionInfo> connections() const {
    return store.read([](const Content& c) {
      std::vector<ConnectionInfo> all;
      for (std::uint32_t i = 0; i < c.connections.size(); ++i) {
        if (c.connection(i) != nullptr && c.canonical(i) == i) all.push_back(c.connections[i]);
      }
      return all;
    });
  }
  [[nodiscard]] std::vector<std::int64_t> latencies() const {
    return store.read([](const Content& c) {
      std::vector<std::int64_t> all;
      for (std::size_t i = 0; i < c.rows.size(); ++i) all.push_back(c.rows[i].latency_ns);
      return all;
    });
  }

  Store store;
  testing::Watch watch{store};
  std::vector<base::FileDescriptor> endpoints;
  std::unique_ptr<Loading> loading;
};

class BothEnds : public ::testing::TestWithParam<const char*> {
 protected:
  const Bytes client = stream_of(GetParam(), {.side = 0, .process = 1});
  const Bytes server = stream_of(GetParam(), {.side = 1, .process = 2});
};

// Whatever came first: the window reads endpoints in the order in which the user named them.
TEST_P(BothEnds, AreOneConnectionAsTheClientShowsIt) {
  Ends alone(1);
  alone.send(0, client);
  alone.hang_up();
  ASSERT_TRUE(alone.watch.until_finished());
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    Ends both(2);
    std::thread other([&] { both.send(1 - first, first == 0 ? client : server); });
    both.send(first, first == 0 ? server : client);
    other.join();
    both.hang_up();
    ASSERT_TRUE(both.watch.until_finished());
    EXPECT_EQ(both.latencies(), alone.latencies());
    const auto connections = both.connections();
    ASSERT_EQ(connections.size(), alone.connections().size());
    for (const ConnectionInfo& c : connections) {
      EXPECT_EQ(c.observer, SeenBy::kClient);
      EXPECT_THAT(c.other_observers, ElementsAre(SeenBy::kServer));
    }
    // Nobody's numbers are mixed.
    both.store.read([&](const Content& c) {
      alone.store.read([&](const Content& expected) {
        ASSERT_EQ(c.times.size(), expected.times.size());
        for (const auto& [key, times] : expected.times) {
          EXPECT_EQ(c.times.at(key).calls, times.calls);
          EXPECT_EQ(c.times.at(key).total.sum(), times.total.sum());
          EXPECT_EQ(c.times.at(key).turn.count(), times.turn.count());
        }
        EXPECT_EQ(c.report->messages.kinds, expected.report->messages.kinds);
      });
    });
  }
}

TEST_P(BothEnds, AreTwoIfEachIsWanted) {
  Ends both(2, false);
  std::thread other([&] { both.send(1, client); });
  both.send(0, server);
  other.join();
  both.hang_up();
  ASSERT_TRUE(both.watch.until_finished());
  const auto connections = both.connections();
  ASSERT_EQ(connections.size() % 2, 0U);
  std::size_t of_client = 0;
  for (const ConnectionInfo& c : connections) {
    EXPECT_TRUE(c.other_observers.empty());
    of_client += c.observer == SeenBy::kClient;
  }
  EXPECT_EQ(of_client, connections.size() / 2);
}

TEST_P(BothEnds, AreBothInTheExcerptOfAMessage) {
  Ends both(2);
  std::thread other([&] { both.send(1, client); });
  both.send(0, server);
  other.join();
  both.hang_up();
  ASSERT_TRUE(both.watch.until_finished());
  const std::uint64_t count = both.store.read([](const Content& c) { return c.rows.size(); });
  ASSERT_GT(count, 20U);
  const std::atomic<bool> never{false};
  std::uint64_t answered = 0;
  for (std::uint64_t id = 1; id <= std::min<std::uint64_t>(count, 100); ++id) {
    const Stretch stretch = both.store.read([&](const Content& c) { return stretch_of(c, id); });
    const auto excerpt = read_excerpt(both.store, both.loading->frames(), stretch, never);
    ASSERT_TRUE(excerpt) << excerpt.error().message;
    const Excerpt::Message* const m = excerpt->find(id);
    ASSERT_NE(m, nullptr) << id;
    EXPECT_EQ(m->observer, SeenBy::kClient);
    const std::uint64_t match =
        both.store.read([&](const Content& c) { return c.rows[id - 1].match; });
    if (m->call == nullptr || match == 0) continue;
    ++answered;
    const Excerpt::Message* const there = excerpt->find_as(*m, SeenBy::kServer);
    ASSERT_NE(there, nullptr) << id;
    EXPECT_EQ(there->id, 0U);
    EXPECT_EQ(there->connection, m->connection);
    ASSERT_NE(there->call, nullptr) << id;
    EXPECT_EQ(there->call->message.xid, m->call->message.xid);
    EXPECT_NE(there->call, m->call);
  }
  EXPECT_NE(answered, 0U);
}

// The client is killed, or its events no longer come: what the server shows is not lost.
TEST_P(BothEnds, GoOnAsTheServerShowsItWhenTheClientsViewEnds) {
  Ends both(2);
  const auto half = [](const Bytes& all) {
    return Bytes(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  };
  both.send(0, half(client));
  both.send(1, half(server));
  ASSERT_TRUE(both.watch.until([](const Content& c) { return c.rows.size() > 10; }));
  both.endpoints[0].reset();
  ASSERT_TRUE(both.watch.until([](const Content& c) { return c.endpoints[0].ended; }));
  const std::uint64_t before = both.store.read([](const Content& c) { return c.rows.size(); });
  for (const ConnectionInfo& c : both.connections()) {
    EXPECT_EQ(c.observer, SeenBy::kClient);
    EXPECT_TRUE(c.endpoint_ended);
    EXPECT_FALSE(c.peer_ended);
  }
  both.send(1, server, server.size() / 2);
  both.hang_up();
  ASSERT_TRUE(both.watch.until_finished());
  EXPECT_GT(both.store.read([](const Content& c) { return c.rows.size(); }), before);
  const auto connections = both.connections();
  const auto of_server = std::count_if(
      connections.begin(), connections.end(),
      [](const ConnectionInfo& c) { return c.observer == SeenBy::kServer && c.messages != 0; });
  EXPECT_EQ(of_server, 1);
}

INSTANTIATE_TEST_SUITE_P(Captures, BothEnds,
                         ::testing::Values("linux-nfs41.pcap", "linux-nfs3.pcap"));

}  // namespace
}  // namespace rpcrdma::index
