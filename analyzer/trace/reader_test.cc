// Tests of trace_reader::Reader: the listener's calls for handmade recordings, complete, damaged
// and hostile.
#include "support/trace_builder.h"

#include <array>
#include <map>
#include <random>
#include <set>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/trace_reader/reader.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::trace_reader {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records every call, one per line.
struct Log : roce::Listener {
  std::vector<std::string> lines;
  bool want_data = true;

  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    lines.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  static std::string text(std::span<const std::uint8_t> data) { return {data.begin(), data.end()}; }
  static std::string name(const roce::Operation& op) {
    return fmt::format("{} of {} by {}", op.kind == roce::OpKind::kRead ? "read" : "write",
                       op.handle, op.initiator);
  }
  void on_open(const roce::Connection& c) override { add("open {}", c.index); }
  void on_close(const roce::Connection& c) override { add("close {}", c.index); }
  void on_evict(const roce::Connection& c) override { add("evict {}", c.index); }
  void on_send(const roce::Connection& c, const roce::SendMessage& s) override {
    add("{}: send by {} in {}: {}{}{}", c.index, s.sender, s.frame, text(s.data),
        s.complete ? "" : fmt::format(" of {}", s.wire_length),
        s.has_invalidate ? fmt::format(" inv {}", s.invalidate_handle) : "");
    EXPECT_FALSE(s.psn_known);
  }
  void on_call_recorded(const roce::IdentifiedCall& event) override {
    const roce::Procedure& p = event.procedure;
    add("{}: {:#x} of {} is {} v{} {}", event.connection.index, event.xid, event.caller, p.program,
        p.version, p.number);
  }
  void on_operation(const roce::Connection& c, roce::Operation& op) override {
    op.want_data = want_data;
    add("{}: {}, {} at {}", c.index, name(op), op.length, op.offset);
  }
  void on_data(const roce::OperationData& event) override {
    EXPECT_EQ(event.offset, 0U);
    add("data of {}: {}", name(event.op), text(event.data));
  }
  void on_operation_end(const roce::Connection&, const roce::Operation& op) override {
    add("end of {}: {}{}, {} to {}", name(op), op.bytes, op.complete ? "" : " incomplete",
        op.first_frame, op.last_frame);
  }
  void on_acknowledge(const roce::Acknowledgement& event) override {
    add("{}: {} {} by {} at {}", event.connection.index, event.aeth.is_rnr() ? "rnr" : "nak",
        event.aeth.value(), event.sender, event.psn);
  }
  void on_retransmission(const roce::Retransmission& event) override {
    add("{}: {} again by {}", event.connection.index, event.count, event.sender);
  }
};

struct Read {
  explicit Read(const TraceBuilder& trace, std::uint64_t stream = 0) { add(trace, stream); }
  void add(const TraceBuilder& trace, std::uint64_t stream = 0) {
    trace.for_each([&](auto data, const roce::PacketMeta& meta) {
      reader.frame(data, {++frames, meta.time_ns}, stream);
    });
  }
  [[nodiscard]] const roce::Connection& connection(std::uint32_t index = 0) const {
    return reader.connection(index);
  }
  // Without the first line, which reports the opening.
  [[nodiscard]] std::vector<std::string> behind_open() const {
    return {log.lines.begin() + 1, log.lines.end()};
  }

  std::uint64_t frames = 0;
  Log log;
  roce::ConnectionNumbers numbers;
  Reader reader{log, numbers};
};

TraceBuilder opened(std::uint32_t connection = 7) {
  TraceBuilder trace;
  trace.begin();
  emit_plain_connection(trace, connection);
  return trace;
}

trace::Message message(std::uint8_t side, std::uint32_t length) {
  trace::Message m;
  m.side = side;
  m.length = length;
  return m;
}

trace::Operation operation(trace::Transfer kind, std::uint8_t side, std::uint32_t handle,
                           std::uint32_t length, std::uint64_t id) {
  trace::Operation op;
  op.kind = kind;
  op.side = side;
  op.handle = handle;
  op.length = length;
  op.id = id;
  return op;
}

trace::OperationEnd operation_end(trace::Transfer kind, std::uint8_t side, std::uint32_t length,
                                  std::uint64_t id, std::uint8_t status = 0) {
  trace::OperationEnd end;
  end.kind = kind;
  end.side = side;
  end.length = length;
  end.id = id;
  end.status = status;
  return end;
}

constexpr auto kRead = trace::Transfer::kRead;
constexpr auto kWrite = trace::Transfer::kWrite;

TEST(TraceReader, AConnectionOfTheActiveSide) {
  const Read read(opened());
  EXPECT_THAT(read.log.lines, ElementsAre("open 0"));
  const roce::Connection& c = read.connection();
  EXPECT_EQ(c.setup, roce::Setup::kCm);
  EXPECT_TRUE(c.recorded);
  EXPECT_EQ(c.side[0].address.to_string(), "192.0.2.1");
  EXPECT_EQ(c.side[1].address.to_string(), "192.0.2.2");
  EXPECT_EQ(c.side[0].qpn, 0x100U);
  EXPECT_EQ(c.side[1].qpn, 0x200U);
  EXPECT_EQ(wire::service_port(c.service_id), 20049);
  EXPECT_EQ(c.side[0].cm.private_data, plain_private_data());
  EXPECT_EQ(c.side[1].cm.private_data, plain_private_data());
  EXPECT_FALSE(c.side[0].cm.retries_known);
  EXPECT_FALSE(c.side[1].operations_unseen);
  EXPECT_EQ(c.first_frame, 2U);
}

// The first event states that the recording excludes these types.
TraceBuilder without(std::uint64_t left_out) {
  TraceBuilder trace;
  trace::Endpoint endpoint;
  endpoint.left_out = left_out;
  trace.emit(0, endpoint);
  emit_plain_connection(trace, 1);
  trace::Operation write;
  write.kind = trace::Transfer::kWrite;
  write.length = 8;
  trace.emit(1, write);
  return trace;
}

TEST(TraceReader, WithoutOperationsAllOfThemAreUnseen) {
  for (const auto type : {trace::EventType::kMessage, trace::EventType::kOperation,
                          trace::EventType::kOperationEnd}) {
    const Read read(without(trace::type_bit(type)));
    EXPECT_TRUE(read.connection().side[0].operations_unseen);
    EXPECT_TRUE(read.connection().side[1].operations_unseen);
    EXPECT_THAT(read.log.lines, ElementsAre("open 0"));  // the Write cannot be checked
  }
}

TEST(TraceReader, AConnectionOutsideOfTheSampleHasNoMessages) {
  TraceBuilder trace;
  trace.emit(0, trace::Endpoint{});
  trace::Connection connection;
  connection.not_sampled = 1;
  trace.emit(1, connection);
  emit_plain_connection(trace, 2);
  const Read read(trace);
  EXPECT_EQ(read.connection(0).absent & roce::kAbsentUnlessSampled, roce::kAbsentUnlessSampled);
  EXPECT_EQ(read.connection(0).absent & roce::kAbsentSetup, 0);
  EXPECT_EQ(read.connection(1).absent & roce::kAbsentMessages, 0);
}

TEST(TraceReader, WhatIsLeftOutElseConcernsNoOperations) {
  const Read read(without(trace::type_bit(trace::EventType::kCredits)));
  EXPECT_FALSE(read.connection().side[0].operations_unseen);
  EXPECT_FALSE(read.connection().side[1].operations_unseen);
  EXPECT_EQ(read.log.lines.size(), 2U);
}

TEST(TraceReader, AConnectionOfThePassiveSide) {
  TraceBuilder trace;
  trace::Connection recorded = plain_connection();
  recorded.active = 0;
  recorded.sees_peer_operations = 0;
  recorded.responder_resources = 4;
  recorded.initiator_depth = 2;
  trace.emit(1, recorded);
  const Read read(trace);
  const roce::Connection& c = read.connection();
  EXPECT_EQ(c.side[1].address.to_string(), "192.0.2.1");
  EXPECT_EQ(c.side[1].qpn, 0x100U);
  EXPECT_TRUE(c.side[0].operations_unseen);
  EXPECT_FALSE(c.side[1].operations_unseen);
  EXPECT_FALSE(c.side[0].reads_recorded_at_start);
  EXPECT_TRUE(c.side[1].reads_recorded_at_start);
  EXPECT_EQ(c.side[1].cm.responder_resources, 4);
  EXPECT_EQ(c.side[0].cm.initiator_depth, 4);
  EXPECT_EQ(c.side[0].cm.responder_resources, 2);
  EXPECT_THAT(c.side[0].cm.private_data, IsEmpty());
}

TEST(TraceReader, Ipv6AndWhatIsNotKnown) {
  TraceBuilder trace;
  trace::Connection recorded = plain_connection();
  recorded.peer = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  recorded.peer_qpn = 0;
  recorded.replayed = 1;
  trace.emit(1, recorded);
  const Read read(trace);
  const roce::Connection& c = read.connection();
  EXPECT_EQ(c.side[1].address.to_string(), "2001:db8::1");
  EXPECT_FALSE(c.side[1].qpn_known);
  EXPECT_EQ(c.setup, roce::Setup::kInferred);
}

// It has the time at which it was first emitted.
TEST(TraceReader, AConnectionFromBeforeTheStream) {
  TraceBuilder trace;
  trace.begin();
  trace.now -= 100'000;
  emit_plain_connection(trace, 7);
  trace.now += 100'000;
  const Read read(trace);
  EXPECT_EQ(read.connection().setup, roce::Setup::kInferred);
}

// Its frame has the time at which the reader connected, or in older recordings the time of the
// first such event.
TEST(TraceReader, WhenAConnectionFromBeforeTheStreamBegan) {
  constexpr std::int64_t kBefore = 18'000'000'000;
  for (const bool at_reader : {true, false}) {
    TraceBuilder trace;
    trace.now = 2 * kBefore;
    trace.begin();
    const std::int64_t came = trace.frames().front().time_ns;
    const std::int64_t now = trace.now;
    trace.now = 2 * kBefore - kBefore;
    trace::Connection replay = plain_connection();
    replay.replayed = 1;
    trace.emit(7, replay);
    if (at_reader) trace.frames().back().time_ns = came;
    trace.now = now;
    trace.emit(7, message(0, 0));
    const Read read(trace);
    EXPECT_EQ(read.connection().first_ns, came - kBefore) << at_reader;
    EXPECT_FALSE(read.connection().clock_stepped_back);
  }
}

TEST(TraceReader, AConnectionFromBeforeTheEpochBeganWithItsFrame) {
  TraceBuilder trace;
  trace.wall = 0;
  trace.begin();
  trace.now = INT64_MIN / 2;
  emit_plain_connection(trace, 7);
  trace.frames().back().time_ns = trace.frames().front().time_ns;
  EXPECT_EQ(Read(trace).connection().first_ns, trace.frames().back().time_ns);
}

TEST(TraceReader, SendsOfBothSides) {
  TraceBuilder trace = opened();
  trace.emit(7, message(0, 4), bytes_of("call"));
  trace::Message reply = message(1, 100);
  reply.has_invalidate = 1;
  reply.invalidate = 9;
  trace.emit(7, reply, bytes_of("reply"));
  EXPECT_THAT(Read(trace).behind_open(),
              ElementsAre("0: send by 0 in 3: call", "0: send by 1 in 4: reply of 100 inv 9"));
}

TEST(TraceReader, AWriteEndsWithTheNextMessageOfItsSide) {
  TraceBuilder trace = opened();
  trace.emit(7, operation(kWrite, 1, 5, 4, 1), bytes_of("data"));
  trace.emit(7, message(0, 0));
  trace.emit(7, operation(kWrite, 1, 6, 2, 2));
  trace.emit(7, message(1, 0));
  EXPECT_THAT(Read(trace).behind_open(),
              ElementsAre("0: write of 5 by 1, 4 at 0", "data of write of 5 by 1: data",
                          "0: send by 0 in 4: ", "0: write of 6 by 1, 2 at 0",
                          "end of write of 5 by 1: 4, 3 to 6", "end of write of 6 by 1: 2, 5 to 6",
                          "0: send by 1 in 6: "));
}

TEST(TraceReader, AWriteThatFailed) {
  TraceBuilder trace = opened();
  trace.emit(7, operation(kWrite, 0, 5, 4, 1));
  trace.emit(7, operation_end(kWrite, 0, 0, 1, 6));
  trace.emit(7, message(0, 0));
  EXPECT_THAT(Read(trace).behind_open(),
              ElementsAre("0: write of 5 by 0, 4 at 0",
                          "end of write of 5 by 0: 0 incomplete, 3 to 4", "0: send by 0 in 5: "));
}

TEST(TraceReader, AReadHasItsDataAtItsEnd) {
  TraceBuilder trace = opened();
  trace.emit(7, operation(kRead, 1, 5, 4, 1));
  trace.emit(7, operation(kRead, 1, 6, 8, 2));
  trace.emit(7, message(1, 0));
  trace.emit(7, operation_end(kRead, 1, 4, 1), bytes_of("read"));
  trace.emit(7, operation_end(kRead, 1, 3, 2, 4), bytes_of("rea"));
  trace.emit(7, operation_end(kRead, 1, 3, 2));  // there is no such operation
  EXPECT_THAT(Read(trace).behind_open(),
              ElementsAre("0: read of 5 by 1, 4 at 0", "0: read of 6 by 1, 8 at 0",
                          "0: send by 1 in 5: ", "data of read of 5 by 1: read",
                          "end of read of 5 by 1: 4, 3 to 6", "data of read of 6 by 1: rea",
                          "end of read of 6 by 1: 3 incomplete, 4 to 7"));
}

TEST(TraceReader, DataIsGivenToWhoWantsIt) {
  TraceBuilder trace = opened();
  trace.emit(7, operation(kWrite, 0, 5, 4, 1), bytes_of("data"));
  trace.emit(7, operation(kRead, 0, 5, 4, 2));
  trace.emit(7, operation_end(kRead, 0, 4, 2), bytes_of("data"));
  Log log;
  log.want_data = false;
  roce::ConnectionNumbers numbers;
  Reader reader(log, numbers);
  trace.for_each([&](auto data, const roce::PacketMeta& meta) { reader.frame(data, meta); });
  for (const std::string& line : log.lines) EXPECT_EQ(line.find("data"), std::string::npos) << line;
}

trace::Call recorded_call(std::uint8_t side, std::uint32_t xid, std::uint32_t program = 100003) {
  trace::Call call;
  call.side = side;
  call.xid = xid;
  call.program = program;
  call.version = 3;
  call.procedure = 7;
  return call;
}

// The endpoint's own Calls are recorded before they are sent, and again on a new connection.
TEST(TraceReader, WhatCallsAskForIsReportedBehindTheirMessages) {
  TraceBuilder trace = opened();
  trace.emit(7, recorded_call(0, 0x61626364));
  trace.emit(7, recorded_call(0, 0x61626365, 0));  // the procedure is unknown
  trace.emit(7, recorded_call(0, 0x61626366));
  trace.emit(7, message(0, 8), bytes_of("abce...."));
  trace.emit(7, message(0, 8), bytes_of("abcd...."));
  trace.emit(7, message(0, 8), bytes_of("abcd...."));
  trace.emit(7, message(1, 8), bytes_of("abcf...."));
  trace.emit(7, recorded_call(1, 0x61626366));
  trace::CallEnd end;
  end.xid = 0x61626366;
  end.side = 1;
  trace.emit(7, end);
  trace.emit(7, message(0, 8), bytes_of("abcf...."));
  trace.emit(7, recorded_call(0, 0x61626367));
  end.xid = 0x61626367;
  end.side = 0;
  trace.emit(7, end);
  trace.emit(7, message(0, 8), bytes_of("abcg...."));
  trace.emit(7, message(0, 8), bytes_of("abc"));
  const Read read(trace);
  EXPECT_THAT(read.behind_open(),
              ElementsAre("0: send by 0 in 6: abce....", "0: send by 0 in 7: abcd....",
                          "0: 0x61626364 of 0 is 100003 v3 7", "0: send by 0 in 8: abcd....",
                          "0: send by 1 in 9: abcf....", "0: 0x61626366 of 1 is 100003 v3 7",
                          "0: send by 0 in 12: abcf....", "0: 0x61626366 of 0 is 100003 v3 7",
                          "0: send by 0 in 15: abcg....", "0: send by 0 in 16: abc of 8"));
}

TEST(TraceReader, CallsThatAreNeverSentAreBounded) {
  TraceBuilder trace = opened();
  constexpr std::uint32_t kMost = 65536;
  for (std::uint32_t xid = 0; xid <= kMost; ++xid) trace.emit(7, recorded_call(0, xid));
  trace.emit(7, message(0, 4), std::array<std::uint8_t, 4>{0, 1, 0, 0});
  trace.emit(7, message(0, 4), std::array<std::uint8_t, 4>{0, 0, 0xff, 0xff});
  emit_plain_connection(trace, 8);
  trace.emit(7, trace::ConnectionEnd{});
  trace.emit(8, recorded_call(0, 0x61626364));
  trace.emit(8, message(0, 4), bytes_of("abcd"));
  const Read read(trace);
  std::vector<std::string> recorded;
  std::ranges::copy_if(read.log.lines, std::back_inserter(recorded),
                       [](const std::string& line) { return line.find(" is ") != line.npos; });
  EXPECT_THAT(recorded,
              ElementsAre("0: 0xffff of 0 is 100003 v3 7", "1: 0x61626364 of 0 is 100003 v3 7"));
}

TEST(TraceReader, PacketsBelow) {
  TraceBuilder trace = opened();
  trace::Fabric f;
  f.side = 1;
  f.psn = 0x1000012;
  f.count = 3;
  trace.emit(7, f);
  f.kind = trace::FabricKind::kNak;
  f.code = 2;
  trace.emit(7, f);
  f.kind = trace::FabricKind::kRnr;
  trace.emit(7, f);
  f.kind = trace::FabricKind::kTimeout;
  trace.emit(7, f);
  f.kind = static_cast<trace::FabricKind>(99);
  trace.emit(7, f);
  const Read read(trace);
  EXPECT_THAT(read.behind_open(),
              ElementsAre("0: 3 again by 1", "0: nak 2 by 1 at 18", "0: rnr 2 by 1 at 18"));
  const roce::SideCounters& n = read.connection().side[1].counters;
  EXPECT_EQ(n.retransmitted, 3U);
  EXPECT_EQ(n.naks[2], 1U);
  EXPECT_EQ(n.rnr, 1U);
  EXPECT_EQ(read.reader.stats().nak, 1U);
}

// Without a valid path MTU, the smallest is assumed.
TEST(TraceReader, PacketsThatTheBytesNeedAtMost) {
  const auto packets = [](std::uint16_t mtu) {
    TraceBuilder trace;
    trace.begin();
    trace::Connection c = trace_reader::testing::plain_connection();
    c.path_mtu = mtu;
    emit_plain_connection(trace, 7, c);
    trace.emit(7, message(0, 10'000));
    trace.emit(7, operation(kWrite, 0, 5, 4096, 1));
    return Read(trace).connection().side[0].counters.packets_at_most;
  };
  EXPECT_EQ(packets(4096), 3U + 1U);
  EXPECT_EQ(packets(1024), 10U + 4U);
  for (const std::uint16_t unknown : std::array<std::uint16_t, 4>{0, 128, 1000, 8192}) {
    EXPECT_EQ(packets(unknown), 40U + 16U) << unknown;
  }
}

TEST(TraceReader, AConnectionEnds) {
  TraceBuilder trace = opened();
  trace.emit(7, operation(kWrite, 0, 5, 4, 1));
  trace::ConnectionEnd end;
  end.side = 1;
  end.established = 1;
  trace.emit(7, end, bytes_of("bye"));
  trace.emit(7, message(0, 0));
  const Read read(trace);
  EXPECT_THAT(read.behind_open(),
              ElementsAre("0: write of 5 by 0, 4 at 0",
                          "end of write of 5 by 0: 0 incomplete, 3 to 3", "close 0"));
  EXPECT_EQ(read.connection().state, roce::State::kClosed);
  EXPECT_EQ(read.connection().closed_by, 1);
  EXPECT_EQ(read.connection().closed_frame, 4U);
  EXPECT_EQ(read.reader.reader_stats().unplaced, 1U);
}

TEST(TraceReader, AConnectionFails) {
  trace::ConnectionEnd end;
  end.established = end.failed = 1;
  TraceBuilder trace = opened();
  trace.emit(7, end, bytes_of("no \x1b[1mACK"));
  EXPECT_EQ(Read(trace).connection().failure, "no \\x1b[1mACK");
  TraceBuilder wordless = opened();
  wordless.emit(7, end);
  EXPECT_NE(Read(wordless).connection().failure, "");
  TraceBuilder endless = opened();
  endless.emit(7, end, std::vector<std::uint8_t>(10'000, 'x'));
  EXPECT_THAT(Read(endless).connection().failure, ::testing::SizeIs(256));
  // As older endpoints recorded it: no failure is known.
  TraceBuilder older = opened();
  end.failed = 0;
  older.emit(7, end, bytes_of("Send failed"));
  EXPECT_EQ(Read(older).connection().failure, "");
}

// No other event mentions it.
TEST(TraceReader, AConnectionIsRefused) {
  TraceBuilder trace;
  trace.begin();
  trace::ConnectionEnd end;
  end.side = 1;
  end.reject_reason = 28;
  end.peer = plain_connection().peer;
  end.port = 20049;
  end.active = 1;
  end.private_data = 4;
  trace.emit(7, end, bytes_of("192.0.2.2: rejected"), bytes_of("full")).end();
  const Read read(trace);
  EXPECT_THAT(read.log.lines, ElementsAre("open 0", "close 0"));
  const roce::Connection& c = read.connection();
  EXPECT_TRUE(c.recorded);
  EXPECT_EQ(c.setup, roce::Setup::kCm);
  EXPECT_EQ(c.state, roce::State::kRejected);
  EXPECT_EQ(c.reject_reason, 28);
  EXPECT_EQ(c.closed_by, 1);
  EXPECT_EQ(c.closed_frame, 2U);
  EXPECT_EQ(c.failure, "192.0.2.2: rejected");
  EXPECT_EQ(c.side[0].address.to_string(), "-");
  EXPECT_EQ(c.side[1].address.to_string(), "192.0.2.2");
  EXPECT_EQ(wire::service_port(c.service_id), 20049);
  EXPECT_FALSE(c.side[0].operations_unseen || c.side[1].operations_unseen);
  EXPECT_EQ(read.reader.reader_stats().unplaced, 0U);
  EXPECT_EQ(read.reader.reader_stats().missing, 0U);
}

TEST(TraceReader, AServerRefusesAConnection) {
  trace::ConnectionEnd end;
  end.reject_reason = 28;
  end.peer = plain_connection().peer;
  TraceBuilder trace;
  trace.emit(7, end);
  const Read read(trace);
  EXPECT_EQ(read.connection().state, roce::State::kRejected);
  EXPECT_EQ(read.connection().closed_by, 1);
  EXPECT_EQ(read.connection().side[0].address.to_string(), "192.0.2.2");
}

// Its fabric refuses them; none of them gets a number of its own.
TEST(TraceReader, ManyConnectionsAreRefusedUnderOneNumber) {
  trace::ConnectionEnd end;
  end.reject_reason = 8;
  end.peer = plain_connection().peer;
  TraceBuilder trace;
  trace.begin();
  for (std::uint16_t port = 1; port <= 3; ++port) {
    end.port = port;
    trace.emit(0x01000000, end, bytes_of("192.0.2.2: rejected"));
  }
  trace.end();
  const Read read(trace);
  EXPECT_THAT(read.log.lines,
              ElementsAre("open 0", "close 0", "open 1", "close 1", "open 2", "close 2"));
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.connection(i).state, roce::State::kRejected);
    EXPECT_EQ(read.connection(i).reject_reason, 8);
    EXPECT_EQ(wire::service_port(read.connection(i).service_id), i + 1);
  }
  EXPECT_EQ(read.reader.reader_stats().unplaced, 0U);
  EXPECT_EQ(read.reader.reader_stats().missing, 0U);
}

// Registrations belong to no connection: they change none, and are missing on none.
TEST(TraceReader, MemoryThatIsRegisteredIsOfNoConnection) {
  TraceBuilder trace = opened();
  trace.emit(0, trace::Registration{0x7f0000200000, 2U << 20, 1, {}});
  trace.emit(7, message(0, 0)).end();
  const Read read(trace);
  EXPECT_EQ(read.behind_open().size(), 1U);
  EXPECT_EQ(read.connection().events_lost, 0U);
  const ReaderStats stats = read.reader.reader_stats();
  EXPECT_EQ(stats.events, 5U);  // includes those of the endpoint and the loss
  EXPECT_EQ(stats.unknown + stats.unplaced + stats.missing, 0U);
}

TEST(TraceReader, AConnectionCannotBeSetUp) {
  trace::ConnectionEnd end;
  end.active = 1;
  end.failed = 1;
  TraceBuilder trace;
  trace.emit(7, end, bytes_of("no answer in time"));
  const Read read(trace);
  EXPECT_EQ(read.connection().state, roce::State::kClosed);
  EXPECT_EQ(read.connection().closed_by, -1);
  EXPECT_EQ(read.connection().failure, "no answer in time");
  // It was requested.
  end.failed = 0;
  TraceBuilder given_up;
  given_up.emit(7, end, bytes_of("the client ends"));
  EXPECT_EQ(Read(given_up).connection().failure, "");
  end.side = 1;
  TraceBuilder unreachable;
  unreachable.emit(7, end, bytes_of("unreachable"));
  EXPECT_EQ(Read(unreachable).connection().failure, "unreachable");
}

TEST(TraceReader, TheRecordingEnds) {
  TraceBuilder trace = opened();
  emit_plain_connection(trace, 8);
  Read read(trace);
  read.reader.finish();
  EXPECT_THAT(read.log.lines, ElementsAre("open 0", "open 1", "close 0", "close 1"));
  EXPECT_EQ(read.connection().state, roce::State::kOpen);
}

TEST(TraceReader, ANumberIsGivenAgain) {
  TraceBuilder trace = opened();
  emit_plain_connection(trace, 7);
  const Read read(trace);
  EXPECT_THAT(read.log.lines, ElementsAre("open 0", "close 0", "open 1"));
  EXPECT_EQ(read.connection(0).state, roce::State::kClosed);
}

TEST(TraceReader, EmittedIsReceivedAndLost) {
  TraceBuilder trace = opened();
  trace.emit(7, message(0, 0));
  trace.lose(3);
  trace.emit(7, message(0, 0)).end();
  const Read read(trace);
  const ReaderStats s = read.reader.reader_stats();
  EXPECT_EQ(s.emitted, 6U);
  EXPECT_EQ(s.received, 3U);
  EXPECT_EQ(s.lost, 3U);
  EXPECT_EQ(s.missing, 0U);
  EXPECT_EQ(read.connection().events_lost, 3U);
}

TEST(TraceReader, WhatTheRecordingLacksIsMissing) {
  TraceBuilder trace = opened();
  for (int i = 0; i < 4; ++i) trace.emit(7, message(0, 0));
  trace.emit_loss();
  trace.emit(7, message(0, 0)).end();
  trace.frames().erase(trace.frames().begin() + 3, trace.frames().begin() + 5);
  const Read read(trace);
  const ReaderStats s = read.reader.reader_stats();
  EXPECT_EQ(s.emitted, s.received + s.lost + s.missing);
  EXPECT_EQ(s.missing, 2U);
  EXPECT_EQ(read.connection().events_lost, 2U);
}

std::uint64_t open_ends(const TraceBuilder& trace) {
  Read read(trace);
  read.reader.finish();
  EXPECT_EQ(read.reader.reader_stats().missing, 0U);
  return read.reader.reader_stats().open_ends;
}

// A killed endpoint writes no final sums, so further events may be missing.
TEST(TraceReader, AStreamThatEndsBehindItsSumsIsOpenAtItsEnd) {
  TraceBuilder trace = opened();
  trace.emit(7, message(0, 0));
  trace.emit_loss();
  EXPECT_EQ(open_ends(trace), 0U);
  trace.emit(7, message(0, 0));
  EXPECT_EQ(open_ends(trace), 1U);
  trace.end();
  EXPECT_EQ(open_ends(trace), 0U);
  // A recording that stopped before the first sums.
  EXPECT_EQ(open_ends(opened()), 1U);
}

// Counted at once, and only once.
TEST(TraceReader, WhatCannotBeReadIsMissing) {
  TraceBuilder trace = opened();
  trace.emit(7, message(0, 0));
  trace.emit(7, message(0, 0));
  Bytes& data = trace.frames().back().data;
  data[28] = data[29] = data[30] = data[31] = 0xff;  // in the header's last fields
  Read read(trace);
  EXPECT_EQ(read.connection().events_lost, 1U);
  TraceBuilder end = trace;
  end.frames().clear();
  end.emit(7, message(0, 0)).end();
  read.add(end);
  EXPECT_EQ(read.connection().events_lost, 1U);
  const ReaderStats s = read.reader.reader_stats();
  EXPECT_EQ(s.malformed, 1U);
  EXPECT_EQ(s.emitted, 4U);
  EXPECT_EQ(s.missing, 1U);
  // A connection that begins later misses nothing.
  end.frames().clear();
  emit_plain_connection(end, 8);
  read.add(end);
  EXPECT_EQ(read.connection(1).events_lost, 0U);
}

TEST(TraceReader, LossIsThatOfOneThreadsConnections) {
  TraceBuilder one = opened(1);
  one.lose(5);
  one.emit(1, message(0, 0));
  TraceBuilder two;
  two.ring = 2;
  emit_plain_connection(two, 2);
  two.emit(2, message(0, 0)).end();
  Read read(one);
  read.add(two);
  EXPECT_EQ(read.connection(0).events_lost, 5U);
  EXPECT_EQ(read.connection(1).events_lost, 0U);
  // Events lost before a connection do not count for it.
  one.emit(3, plain_connection());
  Read again(one);
  EXPECT_EQ(again.connection(1).events_lost, 0U);
}

TEST(TraceReader, TheNextFileOfARingGoesOn) {
  TraceBuilder first = opened();
  first.emit(7, operation(kRead, 0, 5, 4, 1)).end();
  TraceBuilder second;
  second.begin();
  trace::Connection replay = plain_connection();
  replay.replayed = 1;
  second.emit(7, replay);
  second.emit(7, operation_end(kRead, 0, 4, 1)).end();
  Read read(first, 1);
  read.add(second, 2);
  EXPECT_THAT(read.behind_open(),
              ElementsAre("0: read of 5 by 0, 4 at 0", "end of read of 5 by 0: 4, 3 to 7"));
  EXPECT_EQ(read.reader.reader_stats().endpoints, 1U);
  EXPECT_EQ(read.reader.reader_stats().missing, 0U);
  EXPECT_EQ(read.connection().events_lost, 0U);
  // The second stream repeats the remaining events of the first.
  TraceBuilder late;
  late.emit(7, message(0, 0));
  read.add(late, 1);
  EXPECT_EQ(read.reader.reader_stats().passed_over, 1U);
}

trace::Credits credits(std::uint8_t side, std::uint32_t granted) {
  trace::Credits recorded;
  recorded.side = side;
  recorded.granted = granted;
  return recorded;
}

// Events replayed by the next file have the time at which they were first emitted.
TEST(TraceReader, WhatIsReportedAgainIsNoStepOfTheClock) {
  TraceBuilder first = opened();
  const std::int64_t then = first.now;
  first.emit(7, credits(0, 4));
  first.now += 100'000;
  first.emit(7, message(0, 0)).end();
  TraceBuilder second;
  second.now = first.now;
  second.begin();
  const std::int64_t now = second.now;
  trace::Connection replay = plain_connection();
  replay.replayed = 1;
  second.now = then - 1000;
  second.emit(7, replay).emit(7, credits(0, 4));
  second.now = now;
  second.emit(7, message(1, 0)).end();
  Read read(first, 1);
  read.add(second, 2);
  EXPECT_FALSE(read.connection().clock_stepped_back);
  EXPECT_EQ(read.connection().setup, roce::Setup::kCm);
  // As if one file held everything.
  const ReaderStats s = read.reader.reader_stats();
  EXPECT_EQ(s.emitted, 4U);
  EXPECT_EQ(s.received, 4U);
  EXPECT_EQ(s.missing, 0U);
  EXPECT_FALSE(Read(second).connection().clock_stepped_back);
  EXPECT_EQ(Read(second).reader.reader_stats().emitted, 3U);
}

TEST(TraceReader, WhatHappensInAStreamShowsThatTheClockStepsBack) {
  TraceBuilder trace = opened();
  trace.emit(7, message(0, 0));
  trace.now -= 1500;
  trace.emit(7, message(1, 0));
  EXPECT_TRUE(Read(trace).connection().clock_stepped_back);
}

TEST(TraceReader, OtherEndpointsHaveTheirOwnNumbers) {
  TraceBuilder first = opened();
  TraceBuilder second;
  second.begin("other", "server", 43);
  emit_plain_connection(second, 7);
  Read read(first, 1);
  read.add(second, 2);
  EXPECT_THAT(read.log.lines, ElementsAre("open 0", "open 1"));
  // In the same stream: the previous endpoint has ended.
  read.add(first, 2);
  EXPECT_EQ(read.log.lines.back(), "open 2");
  EXPECT_EQ(read.log.lines[read.log.lines.size() - 2], "close 0");
}

TEST(TraceReader, UnknownTypesAreSkippedAndCounted) {
  TraceBuilder trace = opened();
  trace.emit(7, message(0, 0));
  Bytes& data = trace.frames().back().data;
  data[24] = 200;  // in the header's type field
  trace.emit(7, message(0, 0)).end();
  const Read read(trace);
  EXPECT_EQ(read.reader.reader_stats().unknown, 1U);
  EXPECT_EQ(read.behind_open().size(), 1U);
  // It was received nevertheless.
  EXPECT_EQ(read.reader.reader_stats().missing, 0U);
}

TEST(TraceReader, EventsOfNoConnectionThatWasReportedFor) {
  TraceBuilder trace;
  trace.emit(9, message(0, 0));
  trace.emit(9, operation(kRead, 0, 5, 4, 1));
  trace::ConnectionEnd end;
  end.established = 1;
  trace.emit(9, end);
  trace.emit(0, plain_connection());
  const Read read(trace);
  EXPECT_THAT(read.log.lines, IsEmpty());
  EXPECT_EQ(read.reader.reader_stats().unplaced, 3U);
}

// A writer of an older format has shorter structs, one of a newer one longer ones.
TEST(TraceReader, StructsOfOtherLengths) {
  TraceBuilder trace;
  const auto put = [&trace](trace::EventHeader header, Bytes body) {
    Bytes event(sizeof header);
    header.connection = 7;
    header.ring = 1;
    header.fixed = static_cast<std::uint16_t>(body.size());
    std::memcpy(event.data(), &header, sizeof header);
    event.insert(event.end(), body.begin(), body.end());
    trace.raw(event);
  };
  trace::EventHeader header;
  header.type = static_cast<std::uint16_t>(trace::EventType::kConnection);
  const trace::Connection recorded = plain_connection();
  Bytes body(sizeof recorded + 64, 0xff);
  std::memcpy(body.data(), &recorded, sizeof recorded);
  Bytes old = body;
  old.resize(40);  // addresses and QPNs
  put(header, old);
  header.type = static_cast<std::uint16_t>(trace::EventType::kMessage);
  put(header, {1, 0, 0, 0, 5, 0, 0, 0});
  put(header, {});
  header.type = static_cast<std::uint16_t>(trace::EventType::kConnection);
  put(header, body);
  const Read read(trace);
  EXPECT_THAT(read.log.lines, ElementsAre("open 0", "0: send by 0 in 2:  of 5",
                                          "0: send by 1 in 3: ", "close 0", "open 1"));
  EXPECT_EQ(read.connection(0).side[0].qpn, 0x200U);  // active is not recorded: passive
  EXPECT_EQ(read.connection(1).side[0].qpn, 0x100U);
}

TEST(TraceReader, EveryTruncation) {
  TraceBuilder trace = opened();
  trace.emit(7, message(0, 4), bytes_of("call"));
  const Bytes whole = trace.frames().back().data;
  trace.frames().pop_back();
  Read read(trace);
  for (std::size_t n = 0; n < whole.size() - 4; ++n) {  // the end is padding
    read.reader.frame(std::span(whole).first(n), {10, 0});
  }
  EXPECT_THAT(read.behind_open(), IsEmpty());
  EXPECT_GT(read.reader.reader_stats().malformed, 30U);
  read.reader.frame(whole, {10, 0});
  EXPECT_THAT(read.behind_open(), ElementsAre("0: send by 0 in 10: call"));
}

TEST(TraceReader, LengthsThatLie) {
  TraceBuilder trace = opened();
  trace.emit(7, message(0, 2), bytes_of("longer than it says"));
  trace.emit(7, operation(kWrite, 0, 5, 4, 1), bytes_of("longer than it says"));
  trace.emit(7, operation(kRead, 0, 5, 4, 2));
  trace.emit(7, operation_end(kRead, 0, UINT32_MAX, 2), bytes_of("longer than it says"));
  trace::Connection recorded = plain_connection();
  recorded.sent_private_data = UINT16_MAX;
  trace.emit(8, recorded, bytes_of("short"));
  const Read read(trace);
  EXPECT_THAT(
      read.behind_open(),
      ElementsAre("0: send by 0 in 3: lo", "0: write of 5 by 0, 4 at 0",
                  "data of write of 5 by 0: long", "0: read of 5 by 0, 4 at 0",
                  "data of read of 5 by 0: long", "end of read of 5 by 0: 4, 5 to 6", "open 1"));
  EXPECT_EQ(read.connection(1).side[0].cm.private_data, bytes_of("short"));
}

TEST(TraceReader, ConnectionsAreBounded) {
  TraceBuilder trace;
  const auto n = static_cast<std::uint32_t>(roce::kMaxConnections);
  for (std::uint32_t i = 1; i <= n; ++i) trace.emit(i, plain_connection());
  trace.emit(1, message(0, 0));
  trace.emit(3, trace::ConnectionEnd{});
  trace.emit(n + 1, plain_connection());
  trace.emit(n + 2, plain_connection());
  trace.emit(2, message(0, 0));
  const Read read(trace);
  // First the one that is over, then the one that was idle longest.
  EXPECT_EQ(read.log.lines[n], "0: send by 0 in 8193: ");
  EXPECT_THAT(std::vector(read.log.lines.begin() + n + 1, read.log.lines.end()),
              ElementsAre("close 2", "evict 2", fmt::format("open {}", n), "close 1", "evict 1",
                          fmt::format("open {}", n + 1)));
  EXPECT_EQ(read.reader.stats().evict, 2U);
  EXPECT_EQ(read.reader.find(2), nullptr);
  EXPECT_EQ(read.reader.reader_stats().unplaced, 1U);
}

TEST(TraceReader, OutstandingOperationsAreBounded) {
  TraceBuilder trace = opened();
  for (std::uint32_t i = 0; i < 300; ++i) {
    trace.emit(7, operation(i % 2 == 0 ? kWrite : kRead, 0, i, 1, i));
  }
  Read read(trace);
  std::size_t ends = 0;
  for (const std::string& line : read.log.lines) ends += line.starts_with("end of") ? 1 : 0;
  EXPECT_EQ(ends, 44U);
  EXPECT_EQ(read.log.lines[257], "end of write of 0 by 0: 1, 3 to 259");
  EXPECT_EQ(read.log.lines[259], "end of read of 1 by 0: 0 incomplete, 4 to 260");
}

TEST(TraceReader, ForeignFramesArePassedOver) {
  Read read((TraceBuilder()));
  read.reader.frame(bytes_of("anything at all"), {1, 0});
  read.reader.frame({}, {2, 0});
  EXPECT_FALSE(read.reader.reader_stats().any());
}

// For any bytes, connections are opened before they are used and closed once.
struct Judge : roce::Listener {
  std::set<std::uint32_t> open;
  std::map<std::uint64_t, std::uint32_t> operations;
  std::uint64_t next = 1;

  void on_open(const roce::Connection& c) override { EXPECT_TRUE(open.insert(c.index).second); }
  void on_close(const roce::Connection& c) override { EXPECT_EQ(open.erase(c.index), 1U); }
  void on_evict(const roce::Connection& c) override { EXPECT_EQ(open.count(c.index), 0U); }
  void on_send(const roce::Connection& c, const roce::SendMessage& s) override {
    EXPECT_EQ(open.count(c.index), 1U);
    EXPECT_LE(s.data.size(), s.wire_length);
  }
  void on_operation(const roce::Connection& c, roce::Operation& op) override {
    EXPECT_EQ(open.count(c.index), 1U);
    op.tag = next++;
    op.want_data = true;
    operations[op.tag] = c.index;
  }
  void on_data(const roce::OperationData& event) override {
    EXPECT_EQ(operations.count(event.op.tag), 1U);
    EXPECT_LE(event.data.size(), event.op.length);
  }
  void on_operation_end(const roce::Connection& c, const roce::Operation& op) override {
    EXPECT_EQ(operations[op.tag], c.index);
    EXPECT_EQ(operations.erase(op.tag), 1U);
    EXPECT_LE(op.bytes, op.length);
  }
};

TEST(TraceReader, RandomBytes) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t n) {
      return static_cast<std::uint32_t>(random() % n);
    };
    TraceBuilder trace;
    trace.begin();
    for (int i = 0; i < 300; ++i) {
      trace.ring = below(3);
      trace::EventHeader header;
      header.type = static_cast<std::uint16_t>(below(20));
      if (below(4) == 0) header.type = static_cast<std::uint16_t>(trace::EventType::kOperation);
      header.connection = below(5);
      header.ring = below(3);
      header.fixed = static_cast<std::uint16_t>(below(8) * 8);
      header.payload = below(30);
      Bytes event(trace::event_bytes(header));
      for (std::uint8_t& b : event) b = static_cast<std::uint8_t>(below(below(2) == 0 ? 3 : 256));
      std::memcpy(event.data(), &header, sizeof header);
      if (below(10) == 0) event.resize(below(static_cast<std::uint32_t>(event.size())));
      trace.raw(event);
    }
    Judge judge;
    roce::ConnectionNumbers numbers;
    Reader reader(judge, numbers);
    trace.for_each(
        [&](auto data, const roce::PacketMeta& meta) { reader.frame(data, meta, below(3)); });
    reader.finish();
    EXPECT_THAT(judge.open, IsEmpty());
    EXPECT_THAT(judge.operations, IsEmpty());
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace rpcrdma::trace_reader
