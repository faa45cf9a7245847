// Clients that break the protocol, or stop responding, harm only themselves: each gets its error or
// loses its connection, with a reason, while other clients' Calls continue.
#include "bad_peer.h"

#include <functional>

#include <gmock/gmock.h>

namespace rpcrdma::testing {
namespace {

using fabric::Access;
using fabric::EventType;
using fabric::Operation;
using protocol::testing::open;
using protocol::testing::OpenHeader;
using protocol::testing::payload_of;
using service::CloseReason;
using service::echo::Proc;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct BadClient : BadPeer {
  struct Options {
    std::span<const std::uint8_t> private_data = {};
    std::string_view faults = {};
    std::uint64_t receives = 60;
    std::uint8_t retry_count = 6;  // of both sides
  };
  explicit BadClient(const Options& options) : BadPeer(3, options.faults) {
    connection = connect(options);
    post_receives(options.receives);
  }
  std::unique_ptr<fabric::Connection> connect(const Options& options) const {
    fabric::ConnectionOptions o;
    o.private_data = options.private_data;
    o.retry_count = options.retry_count;
    return provider->connect(own_address(kServerHost), service::kDefaultPort, o).value();
  }
};

// Another client makes Calls all the time.
class BadClients : public ::testing::Test {
 protected:
  explicit BadClients(const service::ServerOptions& options = {},
                      const service::LoopOptions& loop_options = {})
      : server(options, {}, loop_options) {
    good.on_done = [this] {
      if (good.made < 100'000) good.call({Proc::kEchoBulk, 5000, 0, ++seed, 0});
    };
    good.call({Proc::kNull, 0, 0, 0, 0});
    EXPECT_TRUE(host.until([&] { return good.done.size() >= 2; }));
  }
  bool until(BadClient& bad, const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      bad.step();
      if (!bad.provider->arm()) continue;
      EXPECT_TRUE(host.loop->run_once(fabric::kMillisecond));
    }
    // Drives the bad client, too.
    bad.step();
    return true;
  }
  bool connect(BadClient& bad) {
    return until(bad, [&] { return bad.saw(EventType::kEstablished); });
  }
  // Returns the n-th message that it receives; all earlier ones have arrived.
  ByteVector answer(BadClient& bad, std::size_t n) {
    EXPECT_TRUE(until(bad, [&] { return bad.received() > n; })) << n;
    return bad.message(n);
  }
  // The other client is not affected.
  void check_good() {
    const std::size_t before = good.done.size();
    EXPECT_TRUE(host.until([&] { return good.done.size() >= before + 20; }));
    EXPECT_TRUE(good.all_right());
    EXPECT_TRUE(good.lost.empty());
    counters = server.stop();
    EXPECT_EQ(counters.calls.calls,
              counters.responder.replies + counters.calls.reply_refused + counters.calls.cancelled);
  }
  // Its connection was closed.
  void check_closed(CloseReason reason, const char* what) {
    check_good();
    ASSERT_EQ(server.emitted().closed.size(), 1U);
    EXPECT_EQ(server.emitted().closed[0].reason, reason);
    EXPECT_THAT(server.emitted().closed[0].what, HasSubstr(what));
  }

  RunningServer server;
  ClientHost host;
  EchoClient good{host};
  std::uint32_t seed = 0;
  service::ServerCounters counters;
};

TEST_F(BadClients, PrivateDataOfAnotherProtocolIsNone) {
  const ByteVector other(56, 0x5a);
  BadClient bad({.private_data = other});
  ASSERT_TRUE(connect(bad));
  bad.send(0, null_call(77));
  const ByteVector reply = answer(bad, 0);
  EXPECT_EQ(open(reply).header.xid, 77U);
  EXPECT_EQ(payload_of(reply), words(77, 1, 0, 0, 0, 0));
  check_good();
}

TEST_F(BadClients, GarbageGetsErrorsAndNothingElse) {
  BadClient bad({});
  ASSERT_TRUE(connect(bad));
  // Another version; a list without end; no Call in it.
  bad.send(0, words(5, 9, 32, 0, 0, 0, 0));
  EXPECT_EQ(answer(bad, 0), words(5, 9, 32, 4, 1, 1, 2));
  bad.send(1, words(6, 1, 32, 0, 1, 0, 1, 4096, 0, 0, 1));
  EXPECT_EQ(answer(bad, 1), words(6, 1, 32, 4, 2));
  bad.send(2, words(7, 1, 32, 0, 0, 0, 0, 7, 0, 2));
  EXPECT_EQ(payload_of(answer(bad, 2)), words(7, 1, 0, 0, 0, 4));  // GARBAGE_ARGS
  // Not even a header, a Reply, an RDMA_ERROR, an RDMA_DONE: none of them is answered.
  bad.send(3, ByteVector{1, 2, 3});
  bad.send(4, words(1, 1, 32, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0));
  bad.send(5, words(1, 1, 32, 4, 2));
  bad.send(6, words(1, 1, 32, 3, 0, 0, 0));
  bad.send(7, null_call(8));
  EXPECT_EQ(open(answer(bad, 3)).header.xid, 8U);
  check_good();
  EXPECT_EQ(counters.responder.ignored, 4U);
}

TEST_F(BadClients, CallsBeyondTheGrantEndTheirConnection) {
  BadClient bad({});
  ASSERT_TRUE(connect(bad));
  // Before the first Reply, one Call may be in flight, and this one lasts a minute.
  bad.send(0, open_header(1).encode(echo_call(1, Proc::kSleep, 60'000'000)));
  for (std::uint32_t i = 1; i < 10; ++i) bad.send(i, null_call(i + 1));
  ASSERT_TRUE(until(bad, [&] { return bad.saw(EventType::kDisconnected); }));
  check_closed(CloseReason::kProtocol, "more Calls than it was granted");
  EXPECT_EQ(counters.responder.over_credit, 1U);
  EXPECT_EQ(counters.closed_protocol, 1U);
  EXPECT_EQ(counters.calls.cancelled, 1U);
}

TEST_F(BadClients, AMessageLongerThanItsReceiveEndsItsConnection) {
  BadClient bad({});
  ASSERT_TRUE(connect(bad));
  ByteVector longer = null_call(1);
  longer.resize(4100);
  bad.send(0, longer);
  ASSERT_TRUE(until(bad, [&] { return bad.saw(EventType::kDisconnected); }));
  check_closed(CloseReason::kPeer, "Receive failed: local length");
}

TEST_F(BadClients, TwoCallsWithOneXidAreTwoCalls) {
  BadClient bad({});
  ASSERT_TRUE(connect(bad));
  bad.send(0, null_call(5));
  (void)answer(bad, 0);
  bad.send(1, open_header(5).encode(echo_call(5, Proc::kSleep, 1000)));
  bad.send(2, null_call(5));
  (void)answer(bad, 2);
  EXPECT_EQ(bad.word(1, 0), 5U);
  EXPECT_EQ(bad.word(2, 0), 5U);
  check_good();
}

// ----- chunks

// Memory that a chunk names without access rights.
struct BadChunk {
  const char* name;
  // The handle and offset of a segment of 4096 bytes; `other` is another connection.
  fabric::MemoryRegion (*advertise)(BadClient& bad, fabric::Connection& other, Access wrong);
};

std::uint8_t* area(BadClient& bad) {
  return bad.buffer.data() + BadPeer::kChunkArea;
}

class ChunkOutside : public BadClients, public ::testing::WithParamInterface<BadChunk> {
 protected:
  // A Call with the chunk `bad`: only its connection is lost.
  void run(Access wrong, const std::function<ByteVector(const wire::Segment&)>& call,
           const char* operation) {
    BadClient bad({});
    const auto other = bad.connect({});
    ASSERT_TRUE(until(bad, [&] { return bad.count(EventType::kEstablished) == 2; }));
    const fabric::MemoryRegion e = GetParam().advertise(bad, *other, wrong);
    ASSERT_TRUE(until(bad, [&] { return bad.provider->arm(); }));
    bad.send(0, call({e.handle, 4096, e.offset}));
    ASSERT_TRUE(until(bad, [&] { return bad.saw(EventType::kDisconnected); }));
    EXPECT_EQ(bad.received(), 0U);
    // Nothing is written, not even where it would be permitted.
    EXPECT_EQ(std::count(area(bad), area(bad) + 16384, 0), 16384);
    check_closed(CloseReason::kPeer, operation);
  }
};

TEST_P(ChunkOutside, ToBeRead) {
  run(
      Access::kRemoteWrite,
      [](const wire::Segment& segment) {
        OpenHeader h = open_header(1);
        h.reads = {{48, segment}};
        return h.encode(echo_call(1, Proc::kSink, 0, 4096));
      },
      "Read failed: remote access");
}

TEST_P(ChunkOutside, ToBeWritten) {
  run(
      Access::kRemoteRead,
      [](const wire::Segment& segment) {
        OpenHeader h = open_header(1);
        h.writes = {{segment}};
        return h.encode(echo_call(1, Proc::kSource, 4096, 0));
      },
      "Write failed: remote access");
}

INSTANTIATE_TEST_SUITE_P(
    All, ChunkOutside,
    ::testing::Values(
        BadChunk{"OfNoHandle",
                 [](BadClient&, fabric::Connection&, Access) {
                   return fabric::MemoryRegion{0xbad, 0};
                 }},
        BadChunk{"BeyondItsEnd", [](BadClient& bad, fabric::Connection&,
                                    Access) { return bad.advertise(BadPeer::kChunkArea, 4095); }},
        BadChunk{"BeforeItsBegin",
                 [](BadClient& bad, fabric::Connection&, Access) {
                   fabric::MemoryRegion e = bad.advertise(BadPeer::kChunkArea + 1, 8192);
                   --e.offset;
                   return e;
                 }},
        BadChunk{"WithoutTheRight",
                 [](BadClient& bad, fabric::Connection&, Access wrong) {
                   return bad.connection->advertise(0, bad.memory, area(bad), 4096, wrong).value();
                 }},
        BadChunk{"Withdrawn",
                 [](BadClient& bad, fabric::Connection&, Access) {
                   const fabric::MemoryRegion e = bad.advertise(BadPeer::kChunkArea, 4096);
                   EXPECT_TRUE(bad.connection->invalidate(9, e.handle));
                   return e;
                 }},
        BadChunk{"OfAnotherConnection",
                 [](BadClient& bad, fabric::Connection& other, Access) {
                   return other
                       .advertise(0, bad.memory, area(bad), 4096,
                                  Access::kRemoteRead | Access::kRemoteWrite)
                       .value();
                 }}),
    [](const auto& test) { return test.param.name; });

TEST_F(BadClients, ChunksThatAreTooSmallOrMissingAreAnsweredErrChunk) {
  BadClient bad({});
  ASSERT_TRUE(connect(bad));
  const fabric::MemoryRegion e = bad.advertise(BadPeer::kChunkArea, 65536);
  OpenHeader h = open_header(1);
  h.writes = {{{e.handle, 4000, e.offset}, {e.handle, 999, e.offset + 4000}}};
  bad.send(0, h.encode(echo_call(1, Proc::kSource, 5000, 0)));
  EXPECT_EQ(answer(bad, 0), words(1, 1, 32, 4, 2));
  // The list of a hundred items of a hundred bytes.
  h = open_header(2);
  h.reply = {{e.handle, 10'000, e.offset}};
  bad.send(1, h.encode(echo_call(2, Proc::kList, 100, 100, 0)));
  EXPECT_EQ(answer(bad, 1), words(2, 1, 32, 4, 2));
  bad.send(2, open_header(3).encode(echo_call(3, Proc::kList, 100, 100, 0)));
  EXPECT_EQ(answer(bad, 2), words(3, 1, 32, 4, 2));
  EXPECT_EQ(std::count(area(bad), area(bad) + 65536, 0), 65536);
  (*h.reply)[0].length = 65536;
  bad.send(3, h.encode(echo_call(2, Proc::kList, 100, 100, 0)));
  EXPECT_EQ(open(answer(bad, 3)).header.proc, wire::Proc::kNomsg);
  check_good();
  EXPECT_EQ(counters.calls.reply_refused, 3U);
}

TEST_F(BadClients, SegmentsOfOneByteOfNoneAndOfFourGiB) {
  BadClient bad({});
  ASSERT_TRUE(connect(bad));
  for (std::size_t i = 0; i < 30; ++i) area(bad)[i] = static_cast<std::uint8_t>(i * 7);
  const std::uint32_t sum = service::echo::checksum({area(bad), 30});
  const fabric::MemoryRegion e = bad.advertise(BadPeer::kChunkArea, 65536);
  OpenHeader h = open_header(1);
  for (std::uint32_t i = 0; i < 30; ++i) h.reads.push_back({48, {e.handle, 1, e.offset + i}});
  bad.send(0, h.encode(echo_call(1, Proc::kSink, sum, 30)));
  ByteVector sunk = payload_of(answer(bad, 0));
  ASSERT_EQ(sunk.size(), 52U);
  EXPECT_EQ(wire::load_be32(sunk.data() + 24), 0U);  // ECHO_OK
  EXPECT_EQ(wire::load_be32(sunk.data() + 48), sum);

  // Every second segment is empty, and the last one has the maximum length.
  h = open_header(2);
  h.writes.emplace_back();
  for (std::uint32_t i = 0; i < 40; ++i) {
    h.writes[0].push_back({e.handle, i % 2, e.offset + 1000 + 2 * i});
  }
  h.writes[0].push_back({e.handle, UINT32_MAX, e.offset + 4000});
  h.writes[0].push_back({e.handle, UINT32_MAX, e.offset + 4000});  // and the same memory again
  bad.send(1, h.encode(echo_call(2, Proc::kSource, 30, 5)));
  const OpenHeader back = open(answer(bad, 1));
  ASSERT_THAT(back.writes, SizeIs(1));
  ASSERT_THAT(back.writes[0], SizeIs(42));
  ByteVector written;
  for (std::uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(back.writes[0][i].length, i % 2);
    if (i % 2 == 1) written.push_back(area(bad)[1000 + 2 * i]);
    EXPECT_EQ(area(bad)[1001 + 2 * i], 0);
  }
  ASSERT_EQ(back.writes[0][40].length, 10U);
  EXPECT_EQ(back.writes[0][41].length, 0U);
  written.insert(written.end(), area(bad) + 4000, area(bad) + 4010);
  EXPECT_EQ(area(bad)[4010], 0);
  const ByteVector reply = payload_of(answer(bad, 1));
  ASSERT_EQ(reply.size(), 52U);
  EXPECT_EQ(wire::load_be32(reply.data() + 44), service::echo::checksum(written));
  check_good();
}

// ----- clients that stop responding

class ImpatientServer : public BadClients {
 protected:
  ImpatientServer() : BadClients(options()) {}
  static service::ServerOptions options() {
    service::ServerOptions o;
    o.responder.patience = 300 * fabric::kMillisecond;
    return o;
  }
};

// Its fabric always answers that it has no Receive, and we allow unlimited retries.
TEST_F(ImpatientServer, RepliesThatAreNotTakenEndTheirConnection) {
  BadClient bad({.receives = 0});
  ASSERT_TRUE(connect(bad));
  bad.send(0, null_call(1));
  ASSERT_TRUE(until(bad, [&] { return bad.saw(EventType::kDisconnected); }));
  check_closed(CloseReason::kProtocol, "made progress for too long");
  EXPECT_EQ(counters.responder.replies, counters.calls.calls);
}

// It acknowledges data and answers no Read; the fabric's retries are limited.
TEST_F(BadClients, ReadsThatAreNotAnsweredEndTheirConnection) {
  BadClient bad({.faults = "drop op=read-response dir=out", .retry_count = 1});
  ASSERT_TRUE(connect(bad));
  const fabric::MemoryRegion e = bad.advertise(BadPeer::kChunkArea, 4096);
  OpenHeader h = open_header(1);
  h.reads = {{48, {e.handle, 4096, e.offset}}};
  bad.send(0, h.encode(echo_call(1, Proc::kSink, 0, 4096)));
  ASSERT_TRUE(until(bad, [&] { return bad.saw(EventType::kDisconnected); }));
  check_closed(CloseReason::kPeer, "Read failed: retries exceeded");
}

class SmallServer : public BadClients {
 protected:
  SmallServer() : BadClients(options(), loop_options()) {}
  static service::ServerOptions options() {
    service::ServerOptions o;
    o.responder.max_pulled_bytes = 2U << 20;
    return o;
  }
  static service::LoopOptions loop_options() {
    service::LoopOptions o;
    o.memory.limit = 16U << 20;
    return o;
  }
};

// All permitted Calls, each with a long Read chunk that cannot be read.
TEST_F(SmallServer, WhatIsHeldForOneIsNotTakenFromOthers) {
  BadClient bad({.faults = "drop op=read-response dir=out"});
  ASSERT_TRUE(connect(bad));
  bad.send(0, null_call(1));
  (void)answer(bad, 0);
  const fabric::MemoryRegion e = bad.advertise(BadPeer::kChunkArea, 1U << 20);
  OpenHeader h = open_header(1);
  h.reads = {{48, {e.handle, 1U << 20, e.offset}}};
  for (std::uint32_t i = 0; i < 32; ++i) {
    h.header.xid = i;
    bad.send(i + 1, h.encode(echo_call(i, Proc::kSink, 0, 1U << 20)));
  }
  ASSERT_TRUE(until(bad, [&] { return bad.succeeded(Operation::kSend) == 33; }));
  const std::size_t before = good.done.size();
  ASSERT_TRUE(until(bad, [&] { return good.done.size() >= before + 200; }));
  EXPECT_FALSE(bad.saw(EventType::kDisconnected));
  check_good();
  EXPECT_EQ(counters.responder.delayed, 30U);
  EXPECT_EQ(counters.responder.error_chunk, 0U);
}

// ----- connections that are not established, and closed ones

// A server in this thread, whose fabric never times out by itself.
class LonelyServer : public ::testing::Test {
 protected:
  static service::ServerOptions options() {
    service::ServerOptions o;
    o.handshake = 100 * fabric::kMillisecond;
    return o;
  }
  static soft::CmLimits patient() {
    soft::CmLimits cm;
    cm.response_timeout = 60 * fabric::kSecond;
    return cm;
  }
  bool until(BadClient& bad, const std::function<bool()>& condition) {
    const fabric::Time end = parts.loop->now() + 20 * fabric::kSecond;
    while (!condition()) {
      if (parts.loop->now() > end) return false;
      bad.step();
      if (!bad.provider->arm()) continue;
      EXPECT_TRUE(parts.loop->run_once(fabric::kMillisecond));
    }
    return true;
  }

  ServerParts parts{options(), {}, {}, patient()};
};

TEST_F(LonelyServer, AConnectionThatIsNeverEstablishedIsGivenUp) {
  BadClient bad({.faults = "drop op=cm-rtu dir=out"});
  ASSERT_TRUE(until(bad, [&] { return parts.provider->counters().adapter.half_open == 1; }));
  EXPECT_EQ(parts.server->connections(), 0U);  // it has no place
  ASSERT_TRUE(until(bad, [&] { return !parts.emitted.rejected.empty(); }));
  EXPECT_EQ(parts.server->counters().closed_handshake, 1U);
  EXPECT_EQ(parts.server->counters().accepted, 0U);
  EXPECT_THAT(parts.emitted.rejected, ElementsAre("never established"));
  EXPECT_THAT(parts.emitted.connected, SizeIs(0));
  EXPECT_THAT(parts.emitted.closed, SizeIs(0));
}

// Connections come and go, and leave nothing behind.
TEST(Steadiness, ConnectionsThatWereLeaveNothingBehind) {
  ServerParts parts;
  ClientHost host;
  const std::uint64_t idle = parts.loop->memory().in_use();
  std::uint64_t registered = 0;
  for (int round = 0; round < 30; ++round) {
    service::ClientOptions options = to_server();
    options.connections = 4;
    EchoClient echo(host, options);
    const auto both_until = [&](const std::function<bool()>& condition) {
      return host.until(
          [&] {
            EXPECT_TRUE(parts.loop->run_once(0));
            return condition();
          },
          fabric::kMillisecond);
    };
    ASSERT_TRUE(both_until([&] { return echo.client().up() == 4; }));
    for (int i = 0; i < 8; ++i) echo.call({Proc::kEchoBulk, 65536, 0, 1, 0});
    // Close it in the middle of Calls, or after them.
    ASSERT_TRUE(both_until([&] { return echo.done.size() >= (round % 2 == 0 ? 1U : 8U); }));
    echo.client().close();
    ASSERT_TRUE(both_until([&] { return parts.server->connections() == 0; }));
    EXPECT_EQ(parts.loop->memory().in_use(), idle);
    if (round == 2) registered = parts.loop->memory().registered();
  }
  EXPECT_EQ(parts.loop->memory().registered(), registered);
  EXPECT_THAT(parts.emitted.connected, SizeIs(120));
  EXPECT_THAT(parts.emitted.closed, SizeIs(120));
  // Slots are reused.
  service::LoopMember nobody;
  EXPECT_LT(static_cast<std::uint32_t>(parts.loop->add_cookie(nobody, 0)), 10U);
}

}  // namespace
}  // namespace rpcrdma::testing
