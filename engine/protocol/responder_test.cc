// The responder against a scripted peer: what is read and written and in which order, credits, and
// the answers to hostile Calls.
#include "support/channel_ends.h"

#include <functional>
#include <set>
#include <tuple>

#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/responder.h>

namespace rpcrdma::protocol {
namespace {

using fabric::Operation;
using testing::Buffer;
using ::testing::ElementsAre;
using testing::encode;
using testing::FakeFabric;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::open;
using testing::OpenHeader;
using testing::options_with;
using testing::words;

struct Seen {
  std::uint64_t id;
  std::uint32_t xid;
  Buffer stream;
  std::vector<std::pair<std::uint32_t, Buffer>> items;
  fabric::Time received, pulled;
};

class ResponderTest : public testing::ChannelTest, public ResponderOwner {
 protected:
  explicit ResponderTest(const MemoryPool::Options& pool_options = {})
      : ChannelTest(pool_options), memory_bytes(100'000) {
    memory = {memory_bytes.data(), memory_bytes.size(), 7};
    for (std::size_t i = 0; i < memory_bytes.size(); ++i) {
      memory_bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    }
  }
  ~ResponderTest() override { channel.reset(); }

  void make(const ResponderOptions& options = {.credits = 8},
            const ChannelOptions& channel_options = {}) {
    channel.reset();
    responder.emplace(*this, options);
    start(nullptr, &*responder, channel_options);
  }

  void on_call(const IncomingCall& c) override {
    Seen& s = seen.emplace_back(
        Seen{c.id, c.xid, Buffer(c.stream.begin(), c.stream.end()), {}, c.received, c.pulled});
    for (const Placed& p : c.items) {
      s.items.emplace_back(p.position, Buffer(p.bytes.begin(), p.bytes.end()));
    }
    if (at_once) reply(c.id);
  }
  void on_sent(std::uint64_t id) override { sent_ids.push_back(id); }
  void on_cancelled(std::uint64_t id) override {
    cancelled.push_back(id);
    if (at_cancel) at_cancel();
  }

  static Buffer call_stream(std::uint32_t xid) { return words({xid, 0, 2, 3, 4}); }
  static Buffer call(std::uint32_t xid, std::uint32_t credits = 8) {
    wire::Header h;
    h.xid = xid;
    h.credit = credits;
    return encode(h, call_stream(xid));
  }
  static OpenHeader open_call(std::uint32_t xid) {
    OpenHeader o;
    o.header.xid = xid;
    o.header.credit = 8;
    return o;
  }
  // With a Read chunk after the stream, whose handle is the XID.
  static OpenHeader bulk_call(std::uint32_t xid, std::uint32_t bytes) {
    OpenHeader o = open_call(xid);
    o.reads = {{20, {xid, bytes, 1000}}};
    return o;
  }
  fabric::Expected<void> reply(std::uint64_t id) {
    const Buffer bytes = words({0xdead, 1, 5, 6});
    const std::array<Piece, 1> message{Piece{bytes, nullptr, false}};
    return responder->reply(id, message, now);
  }
  fabric::Expected<void> reply(std::uint64_t id, const std::vector<Piece>& message) {
    auto done = responder->reply(id, message, now);
    channel->flush(now);
    return done;
  }
  // The first Reply, so that the peer has its credits.
  void greet() {
    arrive(call(0xffff));
    ASSERT_FALSE(seen.empty());
    ASSERT_TRUE(reply(seen.back().id));
    channel->flush(now);
    complete_posted();
    seen.clear();
    sent_ids.clear();
  }
  // Fills the memory of a Read with this byte.
  static void fill(const FakeFabric::Posted& read, std::uint8_t with) {
    for (const fabric::Slice& s : read.local) std::memset(s.data, with, s.length);
  }

  std::optional<Responder> responder;
  std::vector<Seen> seen;
  std::vector<std::uint64_t> sent_ids;
  std::vector<std::uint64_t> cancelled;
  bool at_once = false;
  std::function<void()> at_cancel;
  Buffer memory_bytes;
  fabric::Memory memory;
};

TEST_F(ResponderTest, AReplyThatTheFabricCopiesIsDoneWhenItIsPosted) {
  fabric.copied_send = 256;
  make({.credits = 2});
  for (std::uint32_t xid = 1; xid < 20; ++xid) {
    arrive(call(xid));
    ASSERT_EQ(seen.size(), xid);
    ASSERT_TRUE(reply(seen.back().id));
    EXPECT_EQ(sent_ids.size(), xid - 1);
    channel->flush(now);
    EXPECT_FALSE(fabric.posted.back().signaled);
    ASSERT_EQ(sent_ids.size(), xid);
    EXPECT_EQ(sent_ids.back(), seen.back().id);
  }
  // Nothing is left to make progress.
  EXPECT_EQ(channel->deadline(), fabric::kNever);
  channel->disconnected(now);
  EXPECT_EQ(responder->counters().unacknowledged, 0U);
}

TEST_F(ResponderTest, AReplyAfterWritesHasACompletion) {
  fabric.copied_send = 256;
  make();
  greet();
  OpenHeader o = open_call(5);
  o.writes = {{{77, 1000, 0}}};
  arrive(o.encode(call_stream(5)));
  ASSERT_EQ(seen.size(), 1U);
  fabric.posted.clear();
  const Buffer head = words({0xdead, 1, 5, 6});
  ASSERT_TRUE(
      reply(seen[0].id, {{head, nullptr, false}, {{memory_bytes.data(), 1000}, &memory, true}}));
  ASSERT_EQ(fabric.posted.size(), 2U);
  EXPECT_FALSE(fabric.posted[0].signaled);
  EXPECT_TRUE(fabric.posted[1].signaled);
  EXPECT_THAT(sent_ids, IsEmpty());
  complete_posted();
  EXPECT_EQ(sent_ids.size(), 1U);
}

TEST_F(ResponderTest, SpareReceivesArePostedTogether) {
  make({.credits = 16}, {.receives_at_once = 4});
  const std::size_t all = fabric.receives.size();
  EXPECT_EQ(channel->depths().receive, all);
  const std::size_t posts = fabric.receive_posts;
  for (std::uint32_t xid = 1; xid <= 8; ++xid) {
    arrive(call(xid));
    ASSERT_TRUE(reply(seen.back().id));
    channel->flush(now);
    // Enough for the credits, and for what has none.
    EXPECT_GE(fabric.receives.size(), 18U);
    EXPECT_EQ(fabric.receives.size(), all - xid % 4);
  }
  EXPECT_EQ(fabric.receive_posts, posts + 2);
}

TEST_F(ResponderTest, FewCreditsHaveFewSpareReceives) {
  make({.credits = 3}, {.receives_at_once = 8});
  EXPECT_EQ(fabric.receives.size(), 8U);
  make({.credits = 3});
  EXPECT_EQ(fabric.receives.size(), 5U);
  arrive(call(1));
  EXPECT_EQ(fabric.receives.size(), 5U);
}

TEST_F(ResponderTest, AnInlineCallAndItsReply) {
  Durations durations;
  make({.credits = 8, .durations = &durations});
  const std::size_t receives = fabric.receives.size();
  EXPECT_GE(receives, 9U);
  EXPECT_EQ(channel->depths().receive, receives);
  arrive(call(5));
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].xid, 5U);
  EXPECT_EQ(seen[0].stream, call_stream(5));
  EXPECT_EQ(seen[0].received, now);
  EXPECT_EQ(seen[0].pulled, now);
  EXPECT_EQ(fabric.receives.size(), receives);
  EXPECT_EQ(responder->outstanding(), 1U);
  now += 3 * fabric::kMicrosecond;
  EXPECT_EQ(durations.count(), 0U);
  ASSERT_TRUE(reply(seen[0].id));
  EXPECT_EQ(responder->outstanding(), 0U);
  channel->flush(now);
  ASSERT_EQ(fabric.posted.size(), 1U);
  EXPECT_TRUE(fabric.posted[0].signaled);
  const OpenHeader h = open(sent());
  EXPECT_EQ(h.header.xid, 5U);
  EXPECT_EQ(h.header.vers, 1U);
  EXPECT_EQ(h.header.credit, 8U);
  EXPECT_EQ(testing::payload_of(sent()), words({5, 1, 5, 6}));
  EXPECT_THAT(sent_ids, IsEmpty());
  now += fabric::kMicrosecond;
  complete_posted();
  EXPECT_EQ(durations.count(), 1U);
  EXPECT_EQ(durations.sum(), 3000U);
  EXPECT_THAT(sent_ids, ElementsAre(seen[0].id));
  // It has ended.
  EXPECT_EQ(reply(seen[0].id).error().code, fabric::Errc::kNotConnected);
}

TEST_F(ResponderTest, ReadChunksAreReadWholeBeforeTheCallIsHandedUp) {
  make();
  OpenHeader h = open_call(5);
  h.reads = {{12, {1, 100, 1000}}, {12, {2, 51, 2000}}, {20, {3, 7, 1ULL << 63}}};
  // By the peer's mistake the second chunk's position lies beyond the first.
  arrive(h.encode(call_stream(5)));
  EXPECT_EQ(open(sent()).header.error, wire::RdmaErr::kChunk);
  complete_posted();

  h.reads[2].position = 12 + 152 + 4;
  now = 2000;
  arrive(h.encode(call_stream(5)));
  ASSERT_EQ(fabric.posted.size(), 3U);
  for (const auto& p : fabric.posted) EXPECT_EQ(p.operation, Operation::kRead);
  EXPECT_EQ(fabric.posted[0].handle, 1U);
  EXPECT_EQ(fabric.posted[0].offset, 1000U);
  EXPECT_EQ(fabric.posted[0].local[0].length, 100U);
  EXPECT_EQ(fabric.posted[1].handle, 2U);
  EXPECT_EQ(fabric.posted[1].local[0].length, 51U);
  EXPECT_EQ(fabric.posted[2].offset, 1ULL << 63);
  EXPECT_FALSE(fabric.posted[0].signaled);
  EXPECT_FALSE(fabric.posted[1].signaled);
  EXPECT_TRUE(fabric.posted[2].signaled);
  for (std::uint8_t i = 0; i < 3; ++i) fill(fabric.posted[i], i);
  EXPECT_THAT(seen, IsEmpty());
  EXPECT_EQ(responder->outstanding(), 1U);
  now = 3000;
  complete_posted();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].stream, call_stream(5));
  Buffer first(100, 0);
  first.resize(151, 1);
  EXPECT_THAT(seen[0].items, ElementsAre(std::pair(12U, first), std::pair(168U, Buffer(7, 2))));
  EXPECT_EQ(seen[0].received, 2000);
  EXPECT_EQ(seen[0].pulled, 3000);
  EXPECT_EQ(responder->counters().bytes.read_chunks, 158U);
}

TEST_F(ResponderTest, LongSegmentsAreReadInPartsThatTheFabricDoesAtOnce) {
  make({.credits = 8}, {.max_transfer = 100});
  OpenHeader h = open_call(5);
  h.reads = {{12, {1, 250, 1000}}, {12, {2, 100, 2000}}, {20, {3, 101, 1ULL << 63}}};
  h.reads[2].position = 12 + 352;
  arrive(h.encode(call_stream(5)));
  using Part = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;
  std::vector<Part> reads;
  std::set<std::uint64_t> ids;
  for (const auto& p : fabric.posted) {
    EXPECT_EQ(p.operation, Operation::kRead);
    EXPECT_EQ(p.signaled, reads.size() == 5);
    fill(p, static_cast<std::uint8_t>(reads.size()));
    reads.emplace_back(p.handle, p.offset, p.local[0].length);
    ids.insert(p.id);
  }
  const std::uint64_t high = 1ULL << 63;
  EXPECT_THAT(reads, ElementsAre(Part{1, 1000, 100}, Part{1, 1100, 100}, Part{1, 1200, 50},
                                 Part{2, 2000, 100}, Part{3, high, 100}, Part{3, high + 100, 1}));
  EXPECT_THAT(ids, ::testing::SizeIs(6));
  complete_posted();
  ASSERT_EQ(seen.size(), 1U);
  Buffer first(100, 0);
  first.resize(200, 1);
  first.resize(250, 2);
  first.resize(350, 3);
  Buffer second(100, 4);
  second.resize(101, 5);
  EXPECT_THAT(seen[0].items, ElementsAre(std::pair(12U, first), std::pair(364U, second)));
}

TEST_F(ResponderTest, LongSegmentsAreWrittenInPartsThatTheFabricDoesAtOnce) {
  make({.credits = 8}, {.max_transfer = 100});
  OpenHeader h = open_call(5);
  h.writes = {{{1, 250, 1000}, {2, 1000, 5000}}};
  h.reply = {{3, 2000, 9000}};
  arrive(h.encode(call_stream(5)));
  const Buffer head = words({0, 1, 400});
  ASSERT_TRUE(reply(seen[0].id, {{head, nullptr, false},
                                 {{memory_bytes.data(), 400}, &memory, true},
                                 {{memory_bytes.data(), 1100}, &memory, false}}));
  std::map<std::uint32_t, Buffer> written;
  const std::map<std::uint32_t, std::uint64_t> begins{{1, 1000}, {2, 5000}, {3, 9000}};
  for (const auto& p : fabric.posted) {
    if (p.operation != Operation::kWrite) continue;
    Buffer& there = written[p.handle];
    EXPECT_EQ(p.offset, begins.at(p.handle) + there.size());
    EXPECT_LE(p.bytes.size(), 100U);
    there.insert(there.end(), p.bytes.begin(), p.bytes.end());
  }
  EXPECT_EQ(written[1], Buffer(memory_bytes.begin(), memory_bytes.begin() + 250));
  EXPECT_EQ(written[2], Buffer(memory_bytes.begin() + 250, memory_bytes.begin() + 400));
  EXPECT_EQ(written[3].size(), 12U + 1100U);
  EXPECT_EQ(fabric.posted.back().operation, Operation::kSend);
  EXPECT_EQ(open(sent()).writes,
            (std::vector<std::vector<wire::Segment>>{{{1, 250, 1000}, {2, 150, 5000}}}));
}

// Only completions make room in the send queue, so some operations of each message are signaled.
TEST_F(ResponderTest, AnyNumberOfSegmentsIsReadAndWritten) {
  std::vector<std::string> refused;
  ResponderOptions options{.credits = 8};
  options.on_refused = [&](const RefusedCall& c) {
    refused.push_back(std::string(c.error) + ": " + std::string(c.why));
  };
  make(options, options_with(65536));
  constexpr std::uint32_t kReads = 100;
  constexpr std::uint32_t kWrites = 900;
  OpenHeader h = open_call(5);
  for (std::uint32_t i = 0; i < kReads; ++i) h.reads.push_back({20, {1, 4, 8 * i}});
  h.writes.resize(1);
  for (std::uint32_t i = 0; i < kWrites; ++i) h.writes[0].push_back({2, 5, 8 * i});
  arrive(h.encode(call_stream(5)));
  std::uint32_t read = 0;
  while (seen.empty()) {
    ASSERT_FALSE(fabric.posted.empty());
    EXPECT_LE(fabric.posted.size(), kUnsignaledRun);
    for (const auto& p : fabric.posted) {
      EXPECT_EQ(p.operation, Operation::kRead);
      EXPECT_EQ(p.offset, 8 * read);
      fill(p, static_cast<std::uint8_t>(read++));
    }
    complete_posted();
  }
  EXPECT_EQ(read, kReads);
  ASSERT_EQ(seen[0].items.size(), 1U);
  EXPECT_EQ(seen[0].items[0].second.size(), 4U * kReads);
  EXPECT_EQ(seen[0].items[0].second[4 * 77], 77);
  const Buffer head = words({0, 1, 5 * kWrites});
  ASSERT_TRUE(reply(seen[0].id,
                    {{head, nullptr, false}, {{memory_bytes.data(), 5 * kWrites}, &memory, true}}));
  Buffer written;
  std::uint32_t unsignaled = 0;
  Buffer message;
  while (!fabric.posted.empty()) {
    for (const auto& p : fabric.posted) {
      unsignaled = p.signaled ? 0 : unsignaled + 1;
      EXPECT_LT(unsignaled, kUnsignaledRun);
      if (p.operation == Operation::kWrite) {
        written.insert(written.end(), p.bytes.begin(), p.bytes.end());
      } else {
        message = p.bytes;
      }
    }
    complete_posted();
  }
  EXPECT_EQ(written, Buffer(memory_bytes.begin(), memory_bytes.begin() + 5 * kWrites));
  EXPECT_EQ(open(message).writes, h.writes);
  EXPECT_EQ(sent_ids.size(), 1U);
  // One more than is accepted: why is reported and counted.
  h.header.xid = 6;
  h.writes[0].resize(kAcceptedSegments - kReads + 1, {2, 5, 0});
  arrive(h.encode(call_stream(6)));
  EXPECT_THAT(refused, ElementsAre("ERR_CHUNK: the chunks have more segments than are accepted"));
  ASSERT_EQ(responder->counters().refusals.reasons().size(), 1U);
  EXPECT_EQ(responder->counters().refusals.reasons()[0].count, 1U);
  complete_posted();
}

// Write chunks beyond those that results can use are returned unused.
TEST_F(ResponderTest, ManyWriteChunks) {
  make({.credits = 8}, options_with(4096));
  OpenHeader h = open_call(5);
  for (std::uint32_t i = 0; i < 64; ++i) h.writes.push_back({{i, 100, 0}});
  arrive(h.encode(call_stream(5)));
  ASSERT_EQ(seen.size(), 1U);
  const Buffer head = words({0, 1, 5});
  std::vector<Piece> message{{head, nullptr, false}};
  for (int i = 0; i < 7; ++i) message.push_back({{memory_bytes.data(), 50}, &memory, true});
  ASSERT_TRUE(reply(seen[0].id, message));
  std::vector<std::vector<wire::Segment>> returned = open(sent()).writes;
  ASSERT_EQ(returned.size(), 64U);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(returned[i][0].length, i < 7 ? 50U : 0U);
  complete_posted();
}

TEST_F(ResponderTest, APositionZeroChunkIsTheStream) {
  make();
  OpenHeader h = open_call(5);
  h.header.proc = wire::Proc::kNomsg;
  h.reads = {{0, {1, 8, 0}}, {0, {2, 12, 0}}, {16, {3, 4, 0}}};
  for (const std::uint32_t xid : {5U, 6U}) {
    arrive(h.encode());
    ASSERT_EQ(fabric.posted.size(), 3U);
    const Buffer stream = call_stream(xid);
    std::memcpy(fabric.posted[0].local[0].data, stream.data(), 8);
    std::memcpy(fabric.posted[1].local[0].data, stream.data() + 8, 12);
    fill(fabric.posted[2], 9);
    complete_posted();
    if (xid == 5) {
      ASSERT_EQ(seen.size(), 1U);
      EXPECT_EQ(seen[0].stream, stream);
      EXPECT_THAT(seen[0].items, ElementsAre(std::pair(16U, Buffer(4, 9))));
      ASSERT_TRUE(reply(seen[0].id));
      channel->flush(now);
      complete_posted();
    }
  }
  // The second Call's RPC message has another XID than its header.
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_EQ(responder->counters().error_chunk, 1U);
  EXPECT_EQ(responder->outstanding(), 0U);
}

TEST_F(ResponderTest, AReplyThroughWriteChunks) {
  make();
  OpenHeader h = open_call(5);
  h.writes = {{{1, 100, 1000}, {2, 100, 2000}, {3, 50, 3000}}, {{4, 10, 0}}, {{5, 600, 77}}};
  arrive(h.encode(call_stream(5)));
  ASSERT_EQ(seen.size(), 1U);
  const Buffer head = words({0, 1, 150});
  const Buffer tail = words({8, 9});
  Buffer copied(37, 0x44);
  ASSERT_TRUE(reply(seen[0].id, {{head, nullptr, false},
                                 {{memory_bytes.data(), 150}, &memory, true},
                                 {tail, nullptr, false},
                                 {{}, nullptr, true},
                                 {copied, nullptr, true}}));
  std::fill(copied.begin(), copied.end(), 0);  // returned to the owner
  ASSERT_EQ(fabric.posted.size(), 4U);
  const auto& p = fabric.posted;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(p[i].operation, Operation::kWrite);
    EXPECT_FALSE(p[i].signaled);
  }
  EXPECT_EQ(p[0].handle, 1U);
  EXPECT_EQ(p[0].offset, 1000U);
  EXPECT_EQ(p[0].bytes, Buffer(memory_bytes.begin(), memory_bytes.begin() + 100));
  EXPECT_EQ(p[0].local[0].data, memory_bytes.data());
  EXPECT_EQ(p[1].handle, 2U);
  EXPECT_EQ(p[1].bytes, Buffer(memory_bytes.begin() + 100, memory_bytes.begin() + 150));
  EXPECT_EQ(p[2].handle, 5U);
  EXPECT_EQ(p[2].offset, 77U);
  EXPECT_EQ(p[2].bytes, Buffer(37, 0x44));
  EXPECT_EQ(p[3].operation, Operation::kSend);
  EXPECT_TRUE(p[3].signaled);
  const OpenHeader back = open(sent());
  EXPECT_EQ(back.header.proc, wire::Proc::kMsg);
  EXPECT_FALSE(back.reply);
  EXPECT_THAT(back.reads, IsEmpty());
  EXPECT_EQ(back.writes,
            (std::vector<std::vector<wire::Segment>>{
                {{1, 100, 1000}, {2, 50, 2000}, {3, 0, 3000}}, {{4, 0, 0}}, {{5, 37, 77}}}));
  EXPECT_EQ(testing::payload_of(sent()), words({5, 1, 150, 8, 9}));
  EXPECT_EQ(responder->counters().bytes.write_chunks, 187U);
  complete_posted();
  EXPECT_THAT(sent_ids, ElementsAre(seen[0].id));
}

TEST_F(ResponderTest, RepliesThatNobodyAcknowledgedAreCounted) {
  for (const bool closes : {false, true}) {
    make();
    for (const std::uint32_t xid : {5U, 6U}) {
      OpenHeader h = open_call(xid);
      h.writes = {{{xid, 100, 0}}};
      arrive(h.encode(call_stream(xid)));
      const Buffer front = words({0xdead, 1, 90});
      ASSERT_TRUE(reply(seen.back().id, {Piece{front, nullptr, false},
                                         Piece{{memory_bytes.data(), 90}, &memory, true}}));
      if (xid == 5) complete_posted();
    }
    if (closes) channel->peer_closes();
    channel->disconnected(now);
    EXPECT_EQ(responder->counters().bytes.write_chunks, 180U);
    EXPECT_EQ(responder->counters().unacknowledged, closes ? 0U : 1U);
    EXPECT_EQ(responder->counters().unacknowledged_bytes, closes ? 0U : 90U);
  }
}

TEST_F(ResponderTest, ALongReply) {
  make();
  OpenHeader h = open_call(5);
  h.writes = {{{9, 30, 0}}};
  h.reply = {{1, 1000, 1000}, {2, 1000, 5000}, {3, 1000, 9000}};
  arrive(h.encode(call_stream(5)));
  const Buffer head = words({0, 1, 1101});
  const Buffer tail = words({8, 9});
  ASSERT_TRUE(reply(seen[0].id, {{head, nullptr, false},
                                 {{}, nullptr, true},
                                 {{memory_bytes.data(), 1101}, &memory, true},
                                 {tail, &memory, false}}));
  Buffer stream = words({5, 1, 1101});
  stream.insert(stream.end(), memory_bytes.begin(), memory_bytes.begin() + 1101);
  stream.resize(stream.size() + 3);
  stream.insert(stream.end(), tail.begin(), tail.end());
  Buffer written;
  std::map<std::uint32_t, std::size_t> by_handle;
  for (const auto& p : fabric.posted) {
    if (p.operation != Operation::kWrite) continue;
    EXPECT_EQ(p.offset, (p.handle == 1 ? 1000 : 5000) + by_handle[p.handle]);
    by_handle[p.handle] += p.bytes.size();
    written.insert(written.end(), p.bytes.begin(), p.bytes.end());
  }
  EXPECT_EQ(written, stream);
  EXPECT_EQ(by_handle[1], 1000U);
  EXPECT_EQ(by_handle.count(3), 0U);
  const OpenHeader back = open(sent());
  EXPECT_EQ(back.header.proc, wire::Proc::kNomsg);
  ASSERT_TRUE(back.reply);
  EXPECT_THAT(*back.reply,
              ElementsAre(wire::Segment{1, 1000, 1000},
                          wire::Segment{2, static_cast<std::uint32_t>(stream.size()) - 1000, 5000},
                          wire::Segment{3, 0, 9000}));
  EXPECT_EQ(back.writes[0][0].length, 0U);
  EXPECT_THAT(testing::payload_of(sent()), IsEmpty());
}

// The memory of the first piece is not written, and the Reply carries the Call's XID.
TEST_F(ResponderTest, ALongReplyWhoseFirstPieceIsRegistered) {
  make();
  OpenHeader h = open_call(5);
  h.reply = {{1, 5000, 1000}};
  arrive(h.encode(call_stream(5)));
  const Buffer before = memory_bytes;
  ASSERT_TRUE(reply(seen[0].id, {{{memory_bytes.data(), 2000}, &memory, false}}));
  Buffer stream = words({5});
  stream.insert(stream.end(), before.begin() + 4, before.begin() + 2000);
  EXPECT_EQ(fabric.posted[0].bytes, stream);
  EXPECT_EQ(memory_bytes, before);
}

TEST_F(ResponderTest, AReplyThatDoesNotFitIsAnErrorToBothSides) {
  make();
  OpenHeader h = open_call(5);
  h.writes = {{{1, 100, 1000}}};
  arrive(h.encode(call_stream(5)));
  const Buffer head = words({0, 1, 101});
  const auto done =
      reply(seen[0].id, {{head, nullptr, false}, {{memory_bytes.data(), 101}, &memory, true}});
  EXPECT_EQ(done.error().code, fabric::Errc::kNoRoom);
  ASSERT_EQ(fabric.posted.size(), 1U);
  EXPECT_EQ(sent(), words({5, 1, 8, 4, 2}));
  complete_posted();
  EXPECT_THAT(sent_ids, IsEmpty());
  EXPECT_EQ(responder->outstanding(), 0U);
  // Or one that cannot be parsed.
  arrive(call(6));
  EXPECT_EQ(reply(seen[1].id, {}).error().code, fabric::Errc::kBadArgument);
  EXPECT_EQ(sent(), words({6, 1, 8, 4, 2}));
  complete_posted();
  // Longer than the threshold, without a Reply chunk.
  arrive(call(7));
  const auto large = reply(seen[2].id, {{{memory_bytes.data(), 1000}, nullptr, false}});
  EXPECT_EQ(large.error().code, fabric::Errc::kNoRoom);
  EXPECT_EQ(responder->counters().error_chunk, 3U);
}

TEST_F(ResponderTest, ErrorsOfHeadersCopyTheXid) {
  make();
  Buffer bad = call(5);
  bad[7] = 2;
  arrive(bad);
  EXPECT_EQ(sent(), words({5, 2, 8, 4, 1, 1, 1}));
  complete_posted();
  bad = call(6);
  bad[15] = 9;
  arrive(bad);
  EXPECT_EQ(sent(), words({6, 1, 8, 4, 2}));
  complete_posted();
  bad = call(7);
  bad[31] = 8;  // of the RPC message
  arrive(bad);
  EXPECT_EQ(sent(), words({7, 1, 8, 4, 2}));
  complete_posted();
  EXPECT_EQ(responder->counters().error_version, 1U);
  EXPECT_EQ(responder->counters().error_chunk, 2U);
  EXPECT_EQ(responder->outstanding(), 0U);
  EXPECT_THAT(seen, IsEmpty());
  EXPECT_EQ(failure(), "");
}

TEST_F(ResponderTest, WhatIsNoCallIsNotAnswered) {
  make();
  wire::Header h;
  h.xid = 5;
  h.proc = wire::Proc::kError;
  h.error = wire::RdmaErr::kChunk;
  arrive(encode(h));
  h.proc = wire::Proc::kDone;
  arrive(encode(h));
  h.proc = wire::Proc::kMsg;
  arrive(encode(h, words({5, 1, 0, 0})));
  arrive({});
  arrive(words({1, 1, 1}));
  EXPECT_THAT(fabric.posted, IsEmpty());
  EXPECT_EQ(responder->counters().ignored, 5U);
  EXPECT_EQ(responder->outstanding(), 0U);
  EXPECT_EQ(fabric.receives.size(), channel->depths().receive);
}

TEST_F(ResponderTest, CreditsAreKept) {
  make();
  // One before the first Reply.
  arrive(call(1));
  arrive(call(2));
  EXPECT_THAT(failure(), HasSubstr("credits"));
  EXPECT_EQ(responder->counters().over_credit, 1U);
  EXPECT_EQ(seen.size(), 1U);
}

TEST_F(ResponderTest, AsManyAsWereGrantedAndNotOneMore) {
  make();
  greet();
  for (std::uint32_t i = 0; i < 8; ++i) {
    arrive(call(i));
    EXPECT_GE(fabric.receives.size(), 9U);
  }
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(responder->outstanding(), 8U);
  // One is answered, so one may arrive.
  ASSERT_TRUE(reply(seen[3].id));
  arrive(call(20));
  EXPECT_EQ(failure(), "");
  arrive(call(21));
  EXPECT_NE(failure(), "");
}

TEST_F(ResponderTest, AnErrorCostsACreditToo) {
  make();
  greet();
  for (std::uint32_t i = 0; i < 8; ++i) arrive(call(i));
  Buffer bad = call(9);
  bad[7] = 2;
  arrive(bad);
  EXPECT_NE(failure(), "");
}

TEST_F(ResponderTest, ALowerGrantCanCrossCalls) {
  make();
  greet();
  responder->grant(2);
  arrive(call(1));
  ASSERT_TRUE(reply(seen[0].id));
  channel->flush(now);
  EXPECT_EQ(open(sent()).header.credit, 2U);
  for (std::uint32_t i = 10; i < 18; ++i) arrive(call(i));
  EXPECT_EQ(failure(), "");
  responder->grant(0);
  ASSERT_TRUE(reply(seen[1].id));
  channel->flush(now);
  EXPECT_EQ(open(sent()).header.credit, 1U);
  responder->grant(100);
  ASSERT_TRUE(reply(seen[2].id));
  channel->flush(now);
  EXPECT_EQ(open(sent()).header.credit, 8U);
}

TEST_F(ResponderTest, CallsWaitForSlotsWhoseSendsAreNotComplete) {
  make({.credits = 2});
  greet();
  at_once = true;
  // Four are answered, but the Sends of their Replies are not complete.
  for (std::uint32_t i = 0; i < 4; ++i) arrive(call(i));
  EXPECT_EQ(seen.size(), 4U);
  arrive(call(4));
  arrive(call(5));
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_EQ(responder->outstanding(), 2U);
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(fabric.receives.size(), channel->depths().receive);
  complete(fabric.posted[0].id, Operation::kSend);
  ASSERT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen[4].xid, 4U);
  complete(fabric.posted[1].id, Operation::kSend);
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen[5].stream, call_stream(5));
  EXPECT_EQ(responder->outstanding(), 0U);
  // Any more are too many.
  arrive(call(6));
  arrive(call(7));
  arrive(call(8));
  EXPECT_NE(failure(), "");
  channel->disconnected(now);
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST_F(ResponderTest, RepliesInAnyOrder) {
  make();
  greet();
  for (std::uint32_t i = 0; i < 8; ++i) arrive(call(i));
  for (const std::size_t i : {5U, 0U, 7U, 1U, 6U, 2U, 4U, 3U}) {
    ASSERT_TRUE(reply(seen[i].id));
    channel->flush(now);
    EXPECT_EQ(open(sent()).header.xid, i);
  }
  complete_posted();
  EXPECT_EQ(sent_ids.size(), 8U);
  EXPECT_THAT(fabric.receives, ::testing::SizeIs(channel->depths().receive));
}

// HDR-09 is the peer's responsibility: each Call is answered.
TEST_F(ResponderTest, TwoCallsWithOneXid) {
  make();
  greet();
  arrive(call(5));
  arrive(call(5));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_NE(seen[0].id, seen[1].id);
  EXPECT_EQ(responder->outstanding(), 2U);
  for (const Seen& s : seen) {
    ASSERT_TRUE(reply(s.id));
    channel->flush(now);
    EXPECT_EQ(open(sent()).header.xid, 5U);
  }
  complete_posted();
  EXPECT_EQ(sent_ids.size(), 2U);
  EXPECT_EQ(failure(), "");
}

TEST_F(ResponderTest, ACallIsAnsweredOnce) {
  make();
  arrive(call(5));
  ASSERT_TRUE(reply(seen[0].id));
  EXPECT_EQ(reply(seen[0].id).error().code, fabric::Errc::kNotConnected);
  channel->flush(now);
  EXPECT_EQ(reply(seen[0].id).error().code, fabric::Errc::kNotConnected);
  EXPECT_EQ(fabric.posted.size(), 1U);
  EXPECT_EQ(responder->outstanding(), 0U);
}

TEST_F(ResponderTest, WhatIsAnsweredWhileTheConnectionEndsHasNobodyToAnswer) {
  make();
  greet();
  for (std::uint32_t i = 0; i < 3; ++i) arrive(call(i));
  // From within the cancelling of one, the others are answered.
  at_cancel = [this] {
    for (const Seen& s : seen) {
      EXPECT_EQ(reply(s.id).error().code, fabric::Errc::kNotConnected);
    }
  };
  channel->disconnected(now);
  EXPECT_EQ(cancelled.size(), 1U);
  EXPECT_THAT(sent_ids, IsEmpty());
  EXPECT_EQ(responder->outstanding(), 0U);
}

TEST_F(ResponderTest, TheEndOfTheConnectionCancelsWhatIsNotAnswered) {
  make();
  greet();
  arrive(call(1));
  arrive(call(2));
  OpenHeader h = open_call(3);
  h.reads = {{12, {1, 100, 1000}}};
  arrive(h.encode(call_stream(3)));
  ASSERT_TRUE(reply(seen[0].id));
  channel->flush(now);
  const std::uint64_t read = fabric.posted[0].id;
  channel->disconnected(now);
  EXPECT_THAT(cancelled, ElementsAre(seen[1].id));
  EXPECT_THAT(sent_ids, ElementsAre(seen[0].id));
  EXPECT_EQ(responder->outstanding(), 0U);
  EXPECT_EQ(reply(seen[1].id).error().code, fabric::Errc::kNotConnected);
  EXPECT_EQ(pool.in_use(), 0U);
  // On the next connection, the ids of the last have no meaning, and credits start over.
  start(nullptr, &*responder);
  complete(read, Operation::kRead);
  arrive(call(1));
  EXPECT_NE(seen[2].id, seen[0].id);
  EXPECT_EQ(reply(seen[0].id).error().code, fabric::Errc::kNotConnected);
  arrive(call(2));
  EXPECT_NE(failure(), "");
}

TEST_F(ResponderTest, ACallBeforeTheConnectionIsReportedFor) {
  channel.reset();
  responder.emplace(*this, ResponderOptions{});
  channel = std::make_unique<Channel>(pool, ChannelOptions{}, nullptr, &*responder);
  ASSERT_TRUE(channel->begin(fabric.connection()));
  at_once = true;
  arrive(call(1));
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_THAT(fabric.posted, IsEmpty());
  channel->established(now);
  channel->flush(now);
  EXPECT_EQ(fabric.posted.size(), 1U);
}

TEST_F(ResponderTest, ReadsAndWritesWaitForRoomInTheSendQueue) {
  make();
  OpenHeader h = open_call(5);
  for (std::uint32_t i = 0; i < 31; ++i) h.reads.push_back({12, {i, 4, i}});
  fabric.send_room = 7;
  // A header of that many entries is longer than the default threshold.
  make({.credits = 8}, options_with(4096));
  arrive(h.encode(call_stream(5)));
  EXPECT_EQ(fabric.posted.size(), 7U);
  for (int i = 0; i < 8; ++i) {
    fabric.send_room = 3;
    channel->flush(now);
  }
  ASSERT_EQ(fabric.posted.size(), 31U);
  for (std::uint32_t i = 0; i < 31; ++i) {
    EXPECT_EQ(fabric.posted[i].handle, i);
    EXPECT_EQ(fabric.posted[i].signaled, i == 30);
  }
  EXPECT_GT(channel->depths().send, kMaxSegments);
}

TEST_F(ResponderTest, AFailedReadEndsTheConnection) {
  make();
  OpenHeader h = open_call(5);
  h.reads = {{12, {1, 100, 1000}}, {12, {2, 100, 1000}}};
  arrive(h.encode(call_stream(5)));
  complete(fabric.posted[0].id, Operation::kRead, fabric::Status::kRemoteAccess);
  EXPECT_THAT(failure(), HasSubstr("Read failed"));
  EXPECT_THAT(seen, IsEmpty());
}

TEST_F(ResponderTest, ReadsThatDoNotEndInTimeEndTheConnection) {
  make({.credits = 8, .patience = 500});
  EXPECT_EQ(channel->deadline(), fabric::kNever);
  arrive(bulk_call(5, 100).encode(call_stream(5)));
  EXPECT_EQ(channel->deadline(), 1500);
  now = 1499;
  channel->expire(now);
  EXPECT_EQ(failure(), "");
  now = 1500;
  channel->expire(now);
  EXPECT_THAT(failure(), HasSubstr("too long"));
  EXPECT_EQ(channel->deadline(), fabric::kNever);
  channel->disconnected(now);
  EXPECT_THAT(seen, IsEmpty());
  EXPECT_THAT(cancelled, IsEmpty());
  EXPECT_EQ(channel->deadline(), fabric::kNever);
}

TEST_F(ResponderTest, RepliesThatAreNotTakenInTimeEndTheConnection) {
  make({.credits = 8, .patience = 500});
  greet();
  for (std::uint32_t i = 0; i < 3; ++i) arrive(call(i));
  // The upper layer has no time limit.
  EXPECT_EQ(channel->deadline(), fabric::kNever);
  now = 9000;
  for (const Seen& s : seen) {
    ASSERT_TRUE(reply(s.id));
    now += 100;
  }
  channel->flush(now);
  EXPECT_EQ(channel->deadline(), 9500);
  // Each completion extends the deadline.
  now = 9499;
  complete(fabric.posted[0].id, Operation::kSend);
  EXPECT_EQ(channel->deadline(), 9999);
  now = 9900;
  complete(fabric.posted[1].id, Operation::kSend);
  complete(fabric.posted[2].id, Operation::kSend);
  EXPECT_EQ(channel->deadline(), fabric::kNever);
  // An RDMA_ERROR must be received, too.
  Buffer bad = call(6);
  bad[15] = 9;
  arrive(bad);
  EXPECT_EQ(channel->deadline(), 10'400);
  now = 10'400;
  channel->expire(now);
  EXPECT_THAT(failure(), HasSubstr("too long"));
}

TEST_F(ResponderTest, WithoutEndOfPatienceThereIsNoDeadline) {
  make({.credits = 8, .patience = fabric::kNever, .pull_grace = fabric::kNever});
  arrive(bulk_call(5, 100).encode(call_stream(5)));
  EXPECT_EQ(channel->deadline(), fabric::kNever);
}

// The time is that of all Read chunks that are being pulled at the minimum rate.
TEST_F(ResponderTest, ReadChunksThatArriveInDripsEndTheConnection) {
  make({.credits = 8, .pull_grace = fabric::kSecond, .least_pull_rate = 4000}, options_with(4096));
  greet();
  const fabric::Time begun = now;
  OpenHeader h = open_call(1);
  for (std::uint32_t i = 0; i < 62; ++i) h.reads.push_back({20, {i, 100, 1000}});
  arrive(h.encode(call_stream(1)));
  EXPECT_EQ(channel->deadline(), begun + fabric::kSecond + 6200 * (fabric::kSecond / 4000));
  arrive(bulk_call(2, 4000).encode(call_stream(2)));
  // Progress does not help.
  now = begun + fabric::kSecond;
  ASSERT_EQ(fabric.posted.size(), 33U);
  complete(fabric.posted[31].id, Operation::kRead);
  // The second alone was in time.
  complete(fabric.posted[32].id, Operation::kRead);
  ASSERT_EQ(seen.size(), 1U);
  now = channel->deadline();
  EXPECT_EQ(now, begun + fabric::kSecond + 6200 * (fabric::kSecond / 4000));
  channel->expire(now - 1);
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(responder->counters().slow_pulls, 0U);
  channel->expire(now);
  EXPECT_THAT(failure(), HasSubstr("arrived too slowly"));
  EXPECT_EQ(responder->counters().slow_pulls, 1U);
  EXPECT_EQ(channel->deadline(), fabric::kNever);
}

TEST_F(ResponderTest, ReadChunksThatArriveInTimeHaveNoDeadlineAnyMore) {
  make({.credits = 8, .pull_grace = fabric::kSecond, .least_pull_rate = 4000});
  greet();
  const fabric::Time begun = now;
  arrive(bulk_call(1, 4000).encode(call_stream(1)));
  now += fabric::kSecond;
  arrive(bulk_call(2, 4000).encode(call_stream(2)));
  ASSERT_EQ(fabric.posted.size(), 2U);
  complete(fabric.posted[0].id, Operation::kRead);
  // That of the first was earlier; it finds that of the second.
  EXPECT_EQ(channel->deadline(), begun + 2 * fabric::kSecond);
  now = channel->deadline();
  channel->expire(now);
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(channel->deadline(), begun + 4 * fabric::kSecond);
  complete(fabric.posted[1].id, Operation::kRead);
  EXPECT_EQ(channel->deadline(), fabric::kNever);
  EXPECT_EQ(seen.size(), 2U);
}

TEST_F(ResponderTest, WhatIsPulledAtATimeIsLimited) {
  make({.credits = 8, .max_pulled_bytes = 8192});
  greet();
  for (std::uint32_t i = 0; i < 4; ++i) arrive(bulk_call(i, 4000).encode(call_stream(i)));
  EXPECT_EQ(fabric.posted.size(), 2U);
  EXPECT_EQ(responder->counters().delayed, 2U);
  EXPECT_EQ(fabric.receives.size(), channel->depths().receive);
  // Others do not wait for them.
  arrive(call(9));
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].xid, 9U);
  // In the order of arrival, as memory becomes free: with the Reply that was sent.
  complete_posted();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_THAT(fabric.posted, IsEmpty());
  ASSERT_TRUE(reply(seen[1].id));
  channel->flush(now);
  EXPECT_EQ(fabric.posted.size(), 1U);
  complete_posted();
  ASSERT_EQ(fabric.posted.size(), 1U);
  EXPECT_EQ(fabric.posted[0].handle, 2U);
  complete_posted();
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[3].stream, call_stream(2));
  for (const std::size_t i : {2U, 3U}) ASSERT_TRUE(reply(seen[i].id));
  channel->flush(now);
  complete_posted();
  EXPECT_EQ(fabric.posted.back().handle, 3U);
  complete_posted();
  ASSERT_TRUE(reply(seen[4].id));
  channel->flush(now);
  complete_posted();
  // A single one may have more.
  arrive(bulk_call(20, 50'000).encode(call_stream(20)));
  EXPECT_EQ(fabric.posted.size(), 1U);
  // Calls that wait when the connection ends leave nothing behind.
  arrive(bulk_call(21, 4000).encode(call_stream(21)));
  channel->disconnected(now);
  EXPECT_EQ(pool.in_use(), 0U);
  EXPECT_THAT(cancelled, ElementsAre(seen[0].id));
  start(nullptr, &*responder);
  arrive(bulk_call(30, 4000).encode(call_stream(30)));
  ASSERT_EQ(fabric.posted.size(), 1U);
  EXPECT_EQ(fabric.posted[0].handle, 30U);
}

// Memory pulled for a refused Call becomes free for others.
TEST_F(ResponderTest, ARefusedCallMakesRoomToo) {
  make({.credits = 8, .max_pulled_bytes = 4096});
  greet();
  OpenHeader h = bulk_call(1, 4000);
  h.header.proc = wire::Proc::kNomsg;
  h.reads[0].position = 0;
  arrive(h.encode());
  arrive(bulk_call(2, 4000).encode(call_stream(2)));
  ASSERT_EQ(fabric.posted.size(), 1U);
  fill(fabric.posted[0], 0);  // another XID
  complete_posted();
  EXPECT_EQ(responder->counters().error_chunk, 1U);
  ASSERT_EQ(fabric.posted.size(), 2U);
  EXPECT_EQ(fabric.posted[1].operation, Operation::kRead);
}

TEST_F(ResponderTest, AnInvalidationOfACallsEndsTheConnection) {
  make();
  arrive(call(1), 17);
  EXPECT_THAT(failure(), HasSubstr("invalidated"));
  EXPECT_THAT(seen, IsEmpty());
}

// With a share of the pool, of which other peers hold the rest.
class SharingResponderTest : public ResponderTest {
 protected:
  SharingResponderTest() : ResponderTest({.slab_bytes = 4096, .limit = 1U << 20}) {
    channel_options.share = &share;
  }
  ~SharingResponderTest() override { channel.reset(); }

  // All but less than 4 KiB of what is for Calls.
  Block others() {
    Block block = pool.acquire(512U << 10).value();
    while (shares.most() - pool.in_use() >= 4096) more.push_back(pool.acquire(2048).value());
    return block;
  }
  void release(const Block& block) {
    pool.release(block);
    for (const Block& b : std::exchange(more, {})) pool.release(b);
  }

  // A sixteenth of the pool for 4 connections is 16 KiB each.
  MemoryShares shares{pool, {.single = 0, .connections = 4}};
  MemoryShare share{shares, fabric::make_ipv4(10, 0, 0, 1)};
  ChannelOptions channel_options;
  std::vector<Block> more;
};

TEST_F(SharingResponderTest, CallsWaitForTheirShareUnlessTheirPartIsEnough) {
  make({.credits = 8}, channel_options);
  greet();
  const Block taken = others();
  arrive(bulk_call(1, 8000).encode(call_stream(1)));
  arrive(bulk_call(2, 8000).encode(call_stream(2)));
  arrive(bulk_call(3, 8000).encode(call_stream(3)));
  EXPECT_EQ(fabric.posted.size(), 2U);
  EXPECT_EQ(responder->counters().delayed, 1U);
  // The first Reply gives its room to the third Call.
  complete_posted();
  ASSERT_EQ(seen.size(), 2U);
  ASSERT_TRUE(reply(seen[0].id));
  channel->flush(now);
  complete_posted();
  ASSERT_EQ(fabric.posted.size(), 1U);
  EXPECT_EQ(fabric.posted[0].handle, 3U);
  // A longer one needs a share.
  arrive(bulk_call(4, 40'000).encode(call_stream(4)));
  EXPECT_EQ(fabric.posted.size(), 1U);
  release(taken);
  now = channel->deadline();
  channel->expire(now);
  channel->flush(now);
  EXPECT_EQ(fabric.posted.size(), 2U);
}

TEST_F(SharingResponderTest, CopiesOfAReplyNeedAShare) {
  make({.credits = 8}, channel_options);
  greet();
  for (std::uint32_t xid = 1; xid < 3; ++xid) {
    OpenHeader h = open_call(xid);
    h.writes = {{{1, 50'000, 1000}}};
    arrive(h.encode(call_stream(xid)));
  }
  ASSERT_EQ(seen.size(), 2U);
  const Buffer head = words({0, 1, 40'000});
  const std::vector<Piece> message{{head, nullptr, false},
                                   {{memory_bytes.data(), 40'000}, nullptr, true}};
  ASSERT_TRUE(reply(seen[0].id, message));
  complete_posted();
  const Block taken = others();
  EXPECT_EQ(reply(seen[1].id, message).error().code, fabric::Errc::kNoRoom);
  EXPECT_EQ(sent(), words({2, 1, 8, 4, 2}));
  EXPECT_EQ(failure(), "");
  release(taken);
}

class SmallPoolResponderTest : public ResponderTest {
 protected:
  SmallPoolResponderTest() : ResponderTest({.slab_bytes = 4096, .limit = 32U << 10}) {}
};

TEST_F(SmallPoolResponderTest, ChunksThatThereIsNoMemoryForAreRefused) {
  make({.credits = 4});
  OpenHeader h = open_call(5);
  h.reads = {{12, {1, 40'000, 1000}}};
  arrive(h.encode(call_stream(5)));
  EXPECT_EQ(sent(), words({5, 1, 4, 4, 2}));
  complete_posted();
  arrive(call(6));
  EXPECT_EQ(seen.size(), 1U);
  // Copies of a Reply.
  h = open_call(7);
  h.writes = {{{1, 50'000, 1000}}};
  arrive(h.encode(call_stream(7)));
  const Buffer head = words({0, 1, 40'000});
  EXPECT_EQ(reply(seen.back().id,
                  {{head, nullptr, false}, {{memory_bytes.data(), 40'000}, nullptr, true}})
                .error()
                .code,
            fabric::Errc::kNoRoom);
  EXPECT_EQ(sent(), words({7, 1, 4, 4, 2}));
}

// While others use it, a Call waits for it, but not for ever.
TEST_F(SmallPoolResponderTest, ReadChunksWaitForThePool) {
  make({.credits = 4, .patience = fabric::kSecond});
  Block others = pool.acquire(16'000).value();
  arrive(bulk_call(1, 3000).encode(call_stream(1)));
  EXPECT_THAT(fabric.posted, IsEmpty());
  EXPECT_EQ(responder->counters().delayed, 1U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(channel->deadline(), now + 5 * fabric::kMillisecond);
    now = channel->deadline();
    channel->expire(now);
    channel->flush(now);
    EXPECT_THAT(fabric.posted, IsEmpty());
  }
  pool.release(others);
  now = channel->deadline();
  channel->expire(now);
  channel->flush(now);
  ASSERT_EQ(fabric.posted.size(), 1U);
  EXPECT_EQ(fabric.posted[0].operation, Operation::kRead);
  EXPECT_EQ(channel->deadline(), now + fabric::kSecond);
  complete_posted();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(channel->deadline(), fabric::kNever);
  ASSERT_TRUE(reply(seen[0].id));
  channel->flush(now);
  complete_posted();

  others = pool.acquire(16'000).value();
  arrive(bulk_call(2, 3000).encode(call_stream(2)));
  const fabric::Time end = now + fabric::kSecond;
  while (fabric.posted.empty()) {
    ASSERT_LE(channel->deadline(), end);
    now = channel->deadline();
    channel->expire(now);
    channel->flush(now);
  }
  EXPECT_EQ(now, end);
  EXPECT_EQ(sent(), words({2, 1, 4, 4, 2}));
  EXPECT_EQ(failure(), "");
  pool.release(others);
}

// A quarter is left for what every Call needs.
TEST_F(SmallPoolResponderTest, ReadChunksLeaveSomeOfThePool) {
  make({.credits = 4});
  greet();
  for (std::uint32_t i = 0; i < 3; ++i) arrive(bulk_call(i, 7000).encode(call_stream(i)));
  EXPECT_EQ(fabric.posted.size(), 2U);
  arrive(call(3));
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_EQ(failure(), "");
}

TEST_F(SmallPoolResponderTest, WithoutMemoryForAnotherReceiveTheConnectionEnds) {
  make({.credits = 4});
  std::vector<Block> others;
  for (auto b = pool.acquire(1024); b; b = pool.acquire(1024)) others.push_back(*b);
  arrive(call(6));
  EXPECT_THAT(failure(), HasSubstr("no memory for a Receive"));
  EXPECT_EQ(seen.size(), 1U);
  channel->disconnected(now);
  EXPECT_EQ(cancelled.size(), 1U);
  for (const Block& b : others) pool.release(b);
}

// Both roles on one connection.
class BothRolesTest : public ResponderTest, public RequesterOwner {
 protected:
  BothRolesTest() {
    responder.emplace(*this, ResponderOptions{.credits = 4});
    requester.emplace(*this, RequesterOptions{.credits = 4, .first_xid = 5});
    start(&*requester, &*responder);
    const std::array<Piece, 1> message{Piece{stream, nullptr, false}};
    CallSpec spec;
    spec.message = message;
    spec.max_reply = 5000;
    EXPECT_EQ(requester->call(spec, now), 5U);
    channel->flush(now);
  }
  ~BothRolesTest() override { channel.reset(); }
  void on_outcome(const CallOutcome& o) override { outcomes.push_back(o.status); }

  Buffer stream = words({0, 0, 2});
  std::optional<Requester> requester;
  std::vector<CallStatus> outcomes;
};

TEST_F(BothRolesTest, CallsAndRepliesWithTheSameXid) {
  EXPECT_EQ(channel->depths().receive, 10U);
  arrive(call(5));
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_THAT(outcomes, IsEmpty());
  wire::Header h;
  h.xid = 5;
  h.credit = 3;
  arrive(encode(h, words({5, 1, 0, 0})));
  complete_invalidations();
  EXPECT_THAT(outcomes, ElementsAre(CallStatus::kReplied));
  EXPECT_EQ(requester->credit_limit(), 3U);
}

TEST_F(BothRolesTest, MessagesWithoutInlinePartGoByTheirChunks) {
  OpenHeader h = open_call(5);
  h.header.proc = wire::Proc::kNomsg;
  h.reads = {{0, {1, 20, 0}}};
  h.reply = {{1, 5000, 0}};
  arrive(h.encode());
  EXPECT_EQ(fabric.posted.back().operation, Operation::kRead);
  EXPECT_THAT(outcomes, IsEmpty());
  OpenHeader back = open(fabric.posted[0].bytes);
  ASSERT_TRUE(back.reply);
  back.header.proc = wire::Proc::kNomsg;
  (*back.reply)[0].length = 16;
  const Buffer reply_stream = words({5, 1, 0, 0});
  std::memcpy(fabric.advertised[(*back.reply)[0].handle].data, reply_stream.data(), 16);
  arrive(back.encode());
  complete_invalidations();
  EXPECT_THAT(outcomes, ElementsAre(CallStatus::kReplied));
}

TEST_F(BothRolesTest, AnErrorIsTheRequesters) {
  arrive(words({5, 1, 4, 4, 2}));
  complete_invalidations();
  EXPECT_THAT(outcomes, ElementsAre(CallStatus::kErrorChunk));
  EXPECT_EQ(responder->counters().ignored, 0U);
}

TEST_F(BothRolesTest, WhatCannotBeEmittedGoesByTheXid) {
  arrive(words({6, 1, 4, 0, 7}));
  EXPECT_EQ(responder->counters().error_chunk, 1U);
  complete_posted();
  arrive(words({5, 1, 4, 0, 7}));
  complete_invalidations();
  EXPECT_THAT(outcomes, ElementsAre(CallStatus::kBadReply));
  EXPECT_EQ(responder->counters().error_chunk, 1U);
}

}  // namespace
}  // namespace rpcrdma::protocol
