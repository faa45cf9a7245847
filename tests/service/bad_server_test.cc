// Servers that break the protocol: only memory that a client advertised for writing changes, each
// Call ends, and a server that accepts connections in vain is retried less and less often.
#include "bad_peer.h"

#include <functional>

#include <gmock/gmock.h>

namespace rpcrdma::testing {
namespace {

using fabric::EventType;
using fabric::Operation;
using fabric::Status;
using fabric::Time;
using protocol::CallStatus;
using protocol::testing::open;
using protocol::testing::OpenHeader;
using service::LinkState;
using service::echo::Proc;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct BadServer : BadPeer {
  BadServer() : BadPeer(kServerHost, {}) {
    listener = provider->listen(service::kDefaultPort, 0).value();
  }
  // Returns the first pending request.
  std::unique_ptr<fabric::Connection> request() {
    const auto found = std::ranges::find(events, EventType::kRequest, &fabric::Event::type);
    if (found == events.end()) return nullptr;
    auto wanted = std::move(found->request);
    events.erase(found);
    return wanted;
  }
  // Accepts it as `connection`, with Receives numbered from 20 times its number.
  void accept(std::unique_ptr<fabric::Connection> wanted,
              std::span<const std::uint8_t> private_data = {}, std::uint64_t receives = 20) {
    connection = std::move(wanted);
    post_receives(receives, 20 * accepted++);
    fabric::ConnectionOptions o;
    o.private_data = private_data;
    ASSERT_TRUE(connection->accept(o));
  }

  std::unique_ptr<fabric::Listener> listener;
  std::uint64_t accepted = 0;
};

// A client with Calls that have a Read chunk and a Write chunk in one block of memory, each with
// guard bytes 0xa5 around it.
class BadServers : public ::testing::Test, public service::ClientObserver {
 protected:
  static constexpr std::uint32_t kBlock = 16384;
  static constexpr std::uint32_t kArgument = 1000, kArgumentBytes = 5000;
  static constexpr std::uint32_t kResult = 8000, kResultBytes = 3000;

  BadServers() : block(host.loop->memory().acquire(kBlock).value()) {
    std::memset(block.data, 0xa5, kBlock);
    std::memset(block.data + kArgument, 0x11, kArgumentBytes);
    std::memset(block.data + kResult, 0x22, kResultBytes);
  }
  ~BadServers() override {
    client.reset();
    host.loop->memory().release(block);
  }

  void start(const service::ClientOptions& options = to_server()) {
    client = service::Client::create(*host.loop, options, *this).value();
  }
  bool until(const std::function<bool()>& condition) {
    return host.until(
        [&] {
          server.step();
          return condition();
        },
        fabric::kMillisecond);
  }
  // Connects all of the client's connections; the last one is `server.connection`.
  void connect(std::span<const std::uint8_t> private_data = {}) {
    for (std::uint32_t i = 1; i <= client->connections(); ++i) {
      std::unique_ptr<fabric::Connection> wanted;
      ASSERT_TRUE(until([&] { return (wanted = server.request()) != nullptr; }));
      if (server.connection != nullptr) others.push_back(std::move(server.connection));
      server.accept(std::move(wanted), private_data);
      ASSERT_TRUE(until([&] { return client->state(i - 1) == LinkState::kUp; }));
    }
  }
  std::uint32_t call_on(std::uint32_t connection, Time timeout = fabric::kNever) {
    const std::array<protocol::Piece, 2> message{
        header.piece(), {{block.data + kArgument, kArgumentBytes}, block.memory, true}};
    const std::array<protocol::ResultSpace, 1> space{
        {{block.data + kResult, kResultBytes, block.memory}}};
    protocol::CallSpec spec;
    spec.message = message;
    spec.results = space;
    spec.max_reply = 100;
    spec.timeout = timeout;
    return client->call_on(connection, spec).value();
  }
  // Returns the message in the server's n-th Receive.
  OpenHeader got(std::uint64_t n) {
    EXPECT_TRUE(until([&] { return server.completion(n) != nullptr; })) << n;
    return open(server.message(n));
  }
  static OpenHeader reply_header(std::uint32_t xid, std::uint32_t credit = 8) {
    OpenHeader h;
    h.header.xid = xid;
    h.header.credit = credit;
    return h;
  }
  static ByteVector reply_body(std::uint32_t xid) { return words(xid, 1, 0, 0, 0, 0, 0, 0); }
  // Returns its Reply, with all of the Write chunk unused.
  static ByteVector reply_to(const OpenHeader& call, std::uint32_t credit = 8) {
    OpenHeader h = reply_header(call.header.xid, credit);
    h.writes = call.writes;
    for (auto& chunk : h.writes) {
      for (wire::Segment& s : chunk) s.length = 0;
    }
    return h.encode(reply_body(call.header.xid));
  }
  // Checks that no write was outside the Write chunk, and that no data came from elsewhere.
  void check_memory(std::uint8_t result = 0x22) const {
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const bool argument = i >= kArgument && i < kArgument + kArgumentBytes;
      const bool in_result = i >= kResult && i < kResult + kResultBytes;
      ASSERT_EQ(block.data[i], argument ? 0x11 : in_result ? result : 0xa5) << i;
    }
  }

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
    ends.push_back(outcome.status);
  }
  void on_connected(const service::ConnectionInfo& info) override { connected.push_back(info); }
  void on_lost(std::uint32_t, std::string_view what, Time retry) override {
    lost.emplace_back(what);
    waits.push_back(retry == fabric::kNever ? retry : retry - host.loop->now());
  }

  BadServer server;
  std::vector<std::unique_ptr<fabric::Connection>> others;
  ClientHost host;
  protocol::Block block;
  const service::CallHeader header{service::echo::kProgram, 1, 4};
  std::unique_ptr<service::Client> client;
  std::vector<CallStatus> ends;
  std::vector<service::ConnectionInfo> connected;
  std::vector<std::string> lost;
  std::vector<Time> waits;
};

// ----- memory

struct Trespass {
  const char* name;
  Operation operation;
  // Given the chunks of a Call, and those of a Call on another connection.
  fabric::MemoryRegion (*where)(const OpenHeader& call, const OpenHeader& other);
};

fabric::MemoryRegion at(const wire::Segment& segment, std::int64_t beyond = 0) {
  return {segment.handle, segment.offset + static_cast<std::uint64_t>(beyond)};
}

class TrespassTest : public BadServers, public ::testing::WithParamInterface<Trespass> {};

TEST_P(TrespassTest, EndsTheConnectionAndChangesNothing) {
  constexpr std::size_t kBytes = 100;
  service::ClientOptions options = to_server();
  options.connections = 2;
  start(options);
  ASSERT_NO_FATAL_FAILURE(connect());
  call_on(0);
  const OpenHeader other = got(0);
  call_on(1);
  const OpenHeader call = got(20);
  const auto mine = server.buffer.begin() + BadPeer::kChunkArea;
  std::fill(mine, mine + kBytes, std::uint8_t{0x77});
  server.post(GetParam().operation, 500, BadPeer::kChunkArea, kBytes,
              GetParam().where(call, other));
  ASSERT_TRUE(until([&] { return server.completion(500) != nullptr; }));
  EXPECT_EQ(server.completion(500)->status, Status::kRemoteAccess);
  ASSERT_TRUE(until([&] { return !lost.empty(); }));
  EXPECT_EQ(lost[0], GetParam().operation == Operation::kWrite
                         ? "a Write outside the memory advertised to it"
                         : "a Read outside the memory advertised to it");
  EXPECT_EQ(client->state(0), LinkState::kUp);
  check_memory();
  EXPECT_EQ(std::count(mine, mine + kBytes, 0x77), std::ptrdiff_t{kBytes});
  EXPECT_THAT(ends, IsEmpty());  // it is resent
}

INSTANTIATE_TEST_SUITE_P(All, TrespassTest,
                         ::testing::Values(Trespass{"WriteBeyondTheWriteChunk", Operation::kWrite,
                                                    [](const OpenHeader& call, const OpenHeader&) {
                                                      return at(call.writes[0][0], 2901);
                                                    }},
                                           Trespass{"WriteBeforeTheWriteChunk", Operation::kWrite,
                                                    [](const OpenHeader& call, const OpenHeader&) {
                                                      return at(call.writes[0][0], -1);
                                                    }},
                                           Trespass{"WriteToTheReadChunk", Operation::kWrite,
                                                    [](const OpenHeader& call, const OpenHeader&) {
                                                      return at(call.reads[0].target);
                                                    }},
                                           Trespass{"ReadOfTheWriteChunk", Operation::kRead,
                                                    [](const OpenHeader& call, const OpenHeader&) {
                                                      return at(call.writes[0][0]);
                                                    }},
                                           Trespass{"ReadBeyondTheReadChunk", Operation::kRead,
                                                    [](const OpenHeader& call, const OpenHeader&) {
                                                      return at(call.reads[0].target, 4901);
                                                    }},
                                           Trespass{"WriteToNoHandle", Operation::kWrite,
                                                    [](const OpenHeader&, const OpenHeader&) {
                                                      return fabric::MemoryRegion{0xbad, 0};
                                                    }},
                                           Trespass{"WriteToAnotherConnections", Operation::kWrite,
                                                    [](const OpenHeader&, const OpenHeader& other) {
                                                      return at(other.writes[0][0]);
                                                    }},
                                           Trespass{"ReadOfAnotherConnections", Operation::kRead,
                                                    [](const OpenHeader&, const OpenHeader& other) {
                                                      return at(other.reads[0].target);
                                                    }}),
                         [](const auto& test) { return test.param.name; });

TEST_F(BadServers, WhatWasOfferedIsInvalidatedBeforeTheOutcomeIsEmitted) {
  start();
  ASSERT_NO_FATAL_FAILURE(connect());
  call_on(0);
  const OpenHeader call = got(0);
  const auto mine = server.buffer.begin() + BadPeer::kChunkArea;
  std::fill(mine, mine + kResultBytes, std::uint8_t{0x33});
  server.post(Operation::kWrite, 500, BadPeer::kChunkArea, kResultBytes, at(call.writes[0][0]));
  OpenHeader h = reply_header(call.header.xid);
  h.writes = call.writes;
  server.send(0, h.encode(reply_body(call.header.xid)));
  ASSERT_TRUE(until([&] { return ends.size() == 1; }));
  EXPECT_EQ(ends[0], CallStatus::kReplied);
  check_memory(0x33);
  std::fill(mine, mine + kResultBytes, std::uint8_t{0x77});
  server.post(Operation::kWrite, 501, BadPeer::kChunkArea, 1, at(call.writes[0][0]));
  ASSERT_TRUE(until([&] { return server.completion(501) != nullptr; }));
  EXPECT_EQ(server.completion(501)->status, Status::kRemoteAccess);
  check_memory(0x33);
}

// ----- messages

TEST_F(BadServers, WhatIsNobodysReplyChangesNothing) {
  start();
  ASSERT_NO_FATAL_FAILURE(connect());
  call_on(0);
  const OpenHeader call = got(0);
  const std::uint32_t xid = call.header.xid;
  std::uint64_t n = 0;
  server.send(n++, ByteVector{1, 2, 3});
  server.send(n++, reply_header(xid + 1).encode(reply_body(xid + 1)));
  server.send(n++, words(xid + 2, 1, 8, 4, 2));
  server.send(n++, reply_header(xid).encode(echo_call(xid, Proc::kNull)));
  server.send(n++, reply_to(call));
  server.send(n++, reply_to(call));
  ASSERT_TRUE(until([&] { return client->counters().requester.unmatched == 3 && !ends.empty(); }));
  EXPECT_THAT(ends, ::testing::ElementsAre(CallStatus::kReplied));
  // A message that is too short, and a reverse Call.
  EXPECT_EQ(client->counters().reverse.ignored, 1U);
  EXPECT_EQ(client->counters().reverse_calls.prog_unavail, 1U);
  EXPECT_EQ(client->counters().requester.malformed, 0U);
  EXPECT_THAT(lost, IsEmpty());
  check_memory();
}

TEST_F(BadServers, ErrorsAndRepliesThatBreakARuleEndTheirCallAlone) {
  start();
  ASSERT_NO_FATAL_FAILURE(connect());
  std::uint64_t n = 0;
  const auto answer = [&](const std::function<ByteVector(const OpenHeader&)>& with) {
    call_on(0);
    server.send(n, with(got(n)));
    ++n;
    EXPECT_TRUE(until([&] { return ends.size() == n; }));
    return ends.back();
  };
  EXPECT_EQ(answer([](const OpenHeader& c) { return words(c.header.xid, 1, 8, 4, 2); }),
            CallStatus::kErrorChunk);
  EXPECT_EQ(answer([](const OpenHeader& c) { return words(c.header.xid, 2, 8, 4, 1, 1, 2); }),
            CallStatus::kErrorVersion);
  EXPECT_EQ(answer([](const OpenHeader& c) {
              OpenHeader h = reply_header(c.header.xid);
              h.writes = c.writes;
              h.writes[0][0].length += 1;
              return h.encode(reply_body(c.header.xid));
            }),
            CallStatus::kBadReply);
  // With no grant, one Call at a time continues.
  EXPECT_EQ(answer([](const OpenHeader& c) { return reply_to(c, 0); }), CallStatus::kReplied);
  EXPECT_EQ(answer([](const OpenHeader& c) { return reply_to(c, 0); }), CallStatus::kReplied);
  EXPECT_EQ(client->counters().requester.zero_grants, 2U);
  EXPECT_THAT(lost, IsEmpty());
  check_memory();
}

TEST_F(BadServers, PrivateDataOfAnotherProtocolIsNone) {
  start();
  const ByteVector other(196, 0x5a);
  ASSERT_NO_FATAL_FAILURE(connect(other));
  EXPECT_EQ(connected[0].thresholds, service::Thresholds{});
  call_on(0);
  server.send(0, reply_to(got(0)));
  ASSERT_TRUE(until([&] { return ends.size() == 1; }));
  EXPECT_EQ(ends[0], CallStatus::kReplied);
}

// ----- connections

TEST_F(BadServers, ARejectionIsEmittedAsFarAsItCanBeRead) {
  service::ClientOptions options = to_server();
  options.max_attempts = 1;
  start(options);
  std::unique_ptr<fabric::Connection> wanted;
  ASSERT_TRUE(until([&] { return (wanted = server.request()) != nullptr; }));
  const std::string text = "not\x1b[2Jtoday";
  ASSERT_TRUE(wanted->reject({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
  ASSERT_TRUE(until([&] { return client->closed(); }));
  EXPECT_THAT(lost, ::testing::ElementsAre(HasSubstr(": not")));
  EXPECT_EQ(lost[0].find_first_of("\x1b["), std::string::npos);
}

// Its fabric always answers that there is no Receive, and we allow unlimited retries.
TEST_F(BadServers, WhoTakesNoCallsIsLeft) {
  service::ClientOptions options = to_server();
  options.probe = 20 * fabric::kMillisecond;
  start(options);
  std::unique_ptr<fabric::Connection> wanted;
  ASSERT_TRUE(until([&] { return (wanted = server.request()) != nullptr; }));
  server.accept(std::move(wanted), {}, 0);
  ASSERT_TRUE(until([&] { return client->up() == 1; }));
  call_on(0);
  ASSERT_TRUE(until([&] { return !lost.empty(); }));
  EXPECT_EQ(lost[0], "no sign of life");
  EXPECT_EQ(client->counters().lost, 1U);
  EXPECT_THAT(ends, IsEmpty());  // it is resent
}

// Between three quarters of the time and all of it.
::testing::Matcher<Time> waited(Time wait) {
  return ::testing::AllOf(::testing::Ge(wait - wait / 4), ::testing::Le(wait));
}

constexpr Time kFirst = 1000 * fabric::kMicrosecond;

TEST_F(BadServers, WhoDropsEachConnectionIsAskedLessAndLessAndThenNoMore) {
  service::ClientOptions options = to_server();
  options.backoff_first = kFirst;
  // A connection that lasts this long counts as usable.
  options.backoff_most = 100 * fabric::kSecond;
  options.max_attempts = 5;
  start(options);
  call_on(0);
  // Each has received the Call.
  for (std::uint64_t i = 0; i < 5; ++i) {
    std::unique_ptr<fabric::Connection> wanted;
    ASSERT_TRUE(until([&] { return (wanted = server.request()) != nullptr; }));
    server.accept(std::move(wanted));
    (void)got(20 * i);
    server.connection->disconnect();
    ASSERT_TRUE(until([&] { return lost.size() == i + 1; }));
  }
  EXPECT_THAT(waits, ::testing::ElementsAre(waited(kFirst), waited(2 * kFirst), waited(4 * kFirst),
                                            waited(8 * kFirst), fabric::kNever));
  EXPECT_TRUE(client->closed());
  EXPECT_THAT(ends, ::testing::ElementsAre(CallStatus::kClosed));
  EXPECT_EQ(client->counters().given_up, 1U);
  EXPECT_EQ(client->counters().requester.resent, 4U);
}

TEST_F(BadServers, NoWaitIsLongerThanTheMost) {
  service::ClientOptions options = to_server();
  options.backoff_first = 60 * fabric::kMillisecond;
  options.backoff_most = 100 * fabric::kMillisecond;
  options.max_attempts = 3;
  start(options);
  for (std::uint64_t i = 0; i < 3; ++i) {
    std::unique_ptr<fabric::Connection> wanted;
    ASSERT_TRUE(until([&] { return (wanted = server.request()) != nullptr; }));
    ASSERT_TRUE(wanted->reject({}));
    ASSERT_TRUE(until([&] { return lost.size() == i + 1; }));
  }
  EXPECT_THAT(waits, ::testing::ElementsAre(waited(options.backoff_first),
                                            waited(options.backoff_most), fabric::kNever));
}

TEST_F(BadServers, AConnectionThatWasOfUseIsTriedAgainAtOnce) {
  service::ClientOptions options = to_server();
  options.backoff_first = kFirst;
  options.backoff_most = 100 * fabric::kSecond;
  options.max_attempts = 2;
  start(options);
  for (std::uint64_t i = 0; i < 4; ++i) {
    call_on(0);
    std::unique_ptr<fabric::Connection> wanted;
    ASSERT_TRUE(until([&] { return (wanted = server.request()) != nullptr; }));
    server.accept(std::move(wanted));
    server.send(i, reply_to(got(20 * i)));
    ASSERT_TRUE(until([&] { return ends.size() == i + 1; }));
    server.connection->disconnect();
    ASSERT_TRUE(until([&] { return lost.size() == i + 1; }));
  }
  EXPECT_THAT(waits, Each(waited(kFirst)));
}

}  // namespace
}  // namespace rpcrdma::testing
