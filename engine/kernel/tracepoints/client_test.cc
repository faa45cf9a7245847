// The kernel's client: scenes that the recorded traces do not have.
#include "collected_events_for_tests.h"

#include <gmock/gmock.h>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::tracepoints {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Client : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(lines.bad, IsEmpty()); }

  void add(const std::string& what, int pid = 10) { lines.add(now += 10, pid, what); }
  void connect(unsigned send_cq = 1, unsigned receive_cq = 2) {
    add("rpc_clnt_new: client=00000000 peer=[10.0.0.1]:20049 program=nfs server=s");
    add("cq_alloc: cq.id=" + std::to_string(send_cq) + " nr_cqe=1", 90);
    add("cq_alloc: cq.id=" + std::to_string(receive_cq) + " nr_cqe=1", 90);
    add("xprtrdma_inline_thresh: 10.0.0.2:999 -> 10.0.0.1:20049 neg send/recv=4096/8192, calc "
        "send/recv=1/1",
        91);
    add("xprtrdma_connect: peer=[10.0.0.1]:20049 rc=0 connection status=1", 90);
  }
  static std::string task(unsigned n) { return "task:0000000" + std::to_string(n) + "@00000000"; }
  static std::string xid(unsigned n) { return " xid=0x0000000" + std::to_string(n); }
  void send(unsigned n, unsigned cq = 1) {
    add("rpc_request: " + task(n) + " nfsv3 GETATTR (sync)");
    add("xprt_reserve: " + task(n) + xid(n));
    add("xprt_get_cong: " + task(n) + " snd_task:00000001 cong=0 cwnd=256");
    marshal_and_post(n, cq);
  }
  void marshal_and_post(unsigned n, unsigned cq = 1) {
    add("xprtrdma_marshal: " + task(n) + xid(n) + " hdr=28 xdr=40/0/0 inline/inline");
    add("xprtrdma_post_send: " + task(n) + " cq.id=" + std::to_string(cq) + " cid=5 (2 SGEs) ");
  }
  void receive(unsigned length = 100, unsigned cq = 2, int pid = 20) {
    add("xprtrdma_wc_receive: cq.id=" + std::to_string(cq) +
            " cid=8 status=SUCCESS (0/0x0) received=" + std::to_string(length),
        pid);
  }
  void reply(unsigned n, unsigned credits = 32, int pid = 20) {
    add("xprtrdma_reply: " + task(n) + xid(n) + " credits=" + std::to_string(credits), pid);
  }
  void latency(unsigned n) {
    add("rpc_stats_latency: " + task(n) + xid(n) + " nfsv3 GETATTR backlog=1 rtt=2 execute=3");
  }

  CollectedEvents sink;
  Translator translator{sink};
  Lines lines{translator};
  std::int64_t now = 1'000'000;
};

TEST_F(Client, ACallHasAllItsEvents) {
  connect();
  send(1);
  receive();
  reply(1);
  latency(1);
  const auto connections = sink.of<trace::Connection>();
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].event.inline_send, 4096U);
  EXPECT_EQ(connections[0].event.inline_receive, 8192U);
  EXPECT_EQ(connections[0].event.replayed, 0);
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[0].event.side, 0);
  EXPECT_EQ(messages[0].event.length, 68U);
  EXPECT_EQ(messages[0].event.unknown, trace::kBytesUnknown | trace::kCreditUnknown);
  EXPECT_THAT(messages[0].payload, SizeIs(28 + 24));
  EXPECT_EQ(messages[1].event.side, 1);
  EXPECT_EQ(messages[1].event.length, 100U);
  EXPECT_EQ(messages[1].event.unknown, trace::kBytesUnknown);
  const auto header = wire::decode_header(messages[1].payload);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->credit, 32U);
  const auto ends = sink.of<trace::CallEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].event.status, 0);
  EXPECT_EQ(ends[0].event.slot_wait, 10'000);
  EXPECT_EQ(ends[0].event.credit_wait, 0);
  EXPECT_EQ(ends[0].event.marshal, 10'000);
  EXPECT_EQ(ends[0].event.post, 10'000);
}

TEST_F(Client, WaitingForACreditIsMeasured) {
  connect();
  send(9);
  add("rpc_request: " + task(1) + " nfsv3 GETATTR (sync)");
  add("xprt_reserve: " + task(1) + xid(1));
  add("xprt_get_cong: " + task(1) + " snd_task:00000001 cong=256 cwnd=256 (wait)");
  now += 500;
  add("xprt_get_cong: " + task(1) + " snd_task:00000001 cong=0 cwnd=256");
  marshal_and_post(1);
  receive();
  reply(1);
  latency(1);
  const auto ends = sink.of<trace::CallEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].event.credit_wait, 510'000);
  const auto waits = sink.of<trace::CreditWait>();
  ASSERT_THAT(waits, SizeIs(2));
  EXPECT_EQ(waits[0].event.xid, 1U);
  EXPECT_EQ(waits[0].event.begun, 1);
  EXPECT_EQ(waits[1].event.begun, 0);
  EXPECT_EQ(waits[1].header.time - waits[0].header.time, 510'000);
  EXPECT_EQ(waits[0].header.connection, 1U);
}

TEST_F(Client, ARepeatedCallIsSentAgainOnANewConnection) {
  connect();
  send(1);
  add("xprtrdma_disconnect: peer=[10.0.0.1]:20049 rc=0 connection status=1", 90);
  connect(3, 4);
  add("xprt_retransmit: " + task(1) + xid(1) + " nfsv3 GETATTR ntrans=2 timeout=100");
  marshal_and_post(1, 3);
  receive(100, 4);
  reply(1);
  latency(1);
  EXPECT_THAT(sink.of<trace::Connection>(), SizeIs(2));
  EXPECT_THAT(sink.of<trace::ConnectionEnd>(), SizeIs(1));
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(3));
  EXPECT_EQ(messages[0].header.connection, 1U);
  EXPECT_EQ(messages[1].header.connection, 2U);
  EXPECT_EQ(messages[2].header.connection, 2U);
  EXPECT_EQ(sink.of<trace::CallEnd>()[0].event.attempts, 2);
  EXPECT_EQ(sink.of<trace::Error>()[0].text(), "the Call is sent again");
}

TEST_F(Client, WithSeveralConnectionsAFlushShowsWhichEnds) {
  connect(1, 2);
  connect(3, 4);
  add("xprtrdma_disconnect: peer=[10.0.0.1]:20049 rc=0 connection status=1", 90);
  EXPECT_THAT(sink.of<trace::ConnectionEnd>(), IsEmpty());
  add("xprtrdma_wc_receive: cq.id=4 cid=8 status=WR_FLUSH_ERR (5/0x0) received=0", 20);
  const auto ends = sink.of<trace::ConnectionEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].header.connection, 2U);
  EXPECT_EQ(ends[0].event.established, 1);
}

TEST_F(Client, AFailedConnectionHasItsReason) {
  add("xprtrdma_connect: peer=[10.0.0.1]:20049 rc=-111 connection status=-111", 90);
  const auto ends = sink.of<trace::ConnectionEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].event.established, 0);
  EXPECT_EQ(ends[0].event.active, 1);
  EXPECT_EQ(ends[0].event.port, 20049);
  EXPECT_EQ(ends[0].text(), "connecting failed: Connection refused");
}

TEST_F(Client, RdmaErrorsAreReplies) {
  connect();
  send(1);
  receive(28);
  reply(1);
  add("xprtrdma_err_vers: " + task(1) + xid(1) + " versions=[2, 3]", 20);
  add("cq_drain_complete: cq.id=77", 20);
  send(2);
  receive(20);
  reply(2);
  add("xprtrdma_err_chunk: " + task(2) + xid(2), 20);
  latency(1);
  latency(2);
  std::vector<wire::HeaderView> errors;
  const auto messages = sink.of<trace::Message>();
  for (const auto& m : messages) {
    const auto header = wire::decode_header(m.payload);
    ASSERT_TRUE(header);
    if (header->proc == wire::Proc::kError) {
      errors.push_back(*header);
      EXPECT_EQ(m.event.length, m.payload.size());
    }
  }
  ASSERT_THAT(errors, SizeIs(2));
  EXPECT_EQ(errors[0].error, wire::RdmaErr::kVers);
  EXPECT_EQ(errors[0].vers_low, 2U);
  EXPECT_EQ(errors[0].vers_high, 3U);
  EXPECT_EQ(errors[1].error, wire::RdmaErr::kChunk);
  const auto ends = sink.of<trace::CallEnd>();
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(ends[0].event.status, 2);
  EXPECT_EQ(ends[1].event.status, 3);
}

TEST_F(Client, ACallWithoutAReplyTimedOut) {
  connect();
  send(1);
  latency(1);
  const auto ends = sink.of<trace::CallEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].event.status, 1);
  EXPECT_EQ(ends[0].event.replied, 0);
}

TEST_F(Client, ErrorsOfCompletionsNameTheirStatus) {
  connect();
  send(1);
  add("xprtrdma_wc_send: cq.id=1 cid=5 status=RETRY_EXC_ERR (12/0x81)", 20);
  const auto errors = sink.of<trace::Error>();
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].header.connection, 1U);
  EXPECT_EQ(
      errors[0].text(),
      "a Send or memory operation failed: retries exceeded (IB_WC_RETRY_EXC_ERR), vendor error "
      "0x81");
}

TEST_F(Client, ATraceThatBeginsMidStream) {
  // A Reply before the first Call: its connection is unknown.
  receive();
  reply(7);
  // A Call of which only the end of encoding was recorded.
  add("xprtrdma_marshal: " + task(1) + xid(1) + " hdr=28 xdr=40/0/0 inline/inline");
  add("xprtrdma_post_send: " + task(1) + " cq.id=1 cid=5 (2 SGEs) ");
  receive();
  reply(1);
  // A Call before the trace, and a Reply on the connection that is known by now.
  receive();
  reply(2);
  latency(1);
  latency(2);
  translator.finish();
  const auto connections = sink.of<trace::Connection>();
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].event.replayed, 1);
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(3));
  // The program of the first is unknown: XID and direction remain.
  EXPECT_THAT(messages[0].payload, SizeIs(28 + 8));
  EXPECT_EQ(messages[2].event.unknown,
            trace::kBytesUnknown | trace::kChunksUnknown | trace::kInvalidationUnknown);
  const auto ends = sink.of<trace::CallEnd>();
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(ends[0].event.slot_wait, -1);
  EXPECT_EQ(ends[0].event.marshal, -1);
  EXPECT_EQ(ends[0].event.ended - ends[0].event.called, 3000);
}

TEST_F(Client, ChunksWithoutTheirRecordsAreUnknown) {
  connect();
  add("rpc_request: " + task(1) + " nfsv3 READ (sync)");
  add("xprt_reserve: " + task(1) + xid(1));
  add("xprtrdma_marshal: " + task(1) + xid(1) + " hdr=52 xdr=40/0/0 inline/write list");
  add("xprtrdma_post_send: " + task(1) + " cq.id=1 cid=5 (2 SGEs) ");
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].event.unknown & trace::kChunksUnknown, trace::kChunksUnknown);
  EXPECT_EQ(messages[0].event.length, 92U);
}

TEST_F(Client, AWriteChunkHasItsPaddingAsASegment) {
  connect();
  add("rpc_request: " + task(1) + " nfsv3 READ (sync)");
  add("xprt_reserve: " + task(1) + xid(1));
  add("xprtrdma_chunk_write: " + task(1) + " 1001@0x0000000000001000:0x00000005 (last)");
  add("xprtrdma_chunk_wp: " + task(1) + " 3@0x0000000000002000:0x00000006 (last)");
  add("xprtrdma_marshal: " + task(1) + xid(1) + " hdr=68 xdr=40/0/0 inline/write list");
  add("xprtrdma_post_send: " + task(1) + " cq.id=1 cid=5 (2 SGEs) ");
  receive(80);
  reply(1);
  add("xprtrdma_mr_reminv: " + task(1) +
          " mr.id=1 nents=1 1001@0x0000000000001000:0x00000005 (FROM_DEVICE)",
      20);
  add("xprtrdma_decode_seg: 1001@0x0000000000001000:0x00000005", 20);
  add("xprtrdma_decode_seg: 0@0x0000000000002000:0x00000006", 20);
  latency(1);
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[0].event.unknown, trace::kBytesUnknown | trace::kCreditUnknown);
  const auto call = wire::decode_header(messages[0].payload);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->writes.size(), 1U);
  const auto answer = wire::decode_header(messages[1].payload);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->proc, wire::Proc::kMsg);
  EXPECT_EQ(answer->length, 68U);
  EXPECT_EQ(messages[1].event.has_invalidate, 1);
  EXPECT_EQ(messages[1].event.invalidate, 5U);
  EXPECT_THAT(sink.of<trace::Advertise>(), SizeIs(2));
  EXPECT_THAT(sink.of<trace::Invalidate>(), SizeIs(1));
}

TEST_F(Client, ACallThatCouldNotBeEncodedKeepsNoSegments) {
  connect();
  add("rpc_request: " + task(1) + " nfsv3 READDIR (sync)");
  add("xprt_reserve: " + task(1) + xid(1));
  add("xprtrdma_chunk_reply: " + task(1) + " 104@0x0000000000001000:0x00000005 (more)");
  add("xprtrdma_nomrs_err: " + task(1) + " peer=[10.0.0.1]:20049");
  add("xprtrdma_marshal_failed: " + task(1) + xid(1) + " ret=-11");
  add("xprtrdma_chunk_reply: " + task(1) + " 5000@0x0000000000001000:0x00000006 (last)");
  add("xprtrdma_marshal: " + task(1) + xid(1) + " hdr=48 xdr=40/0/0 inline/reply chunk");
  add("xprtrdma_post_send: " + task(1) + " cq.id=1 cid=5 (2 SGEs) ");
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].event.unknown & trace::kChunksUnknown, 0);
  const auto call = wire::decode_header(messages[0].payload);
  ASSERT_TRUE(call && call->reply);
  ASSERT_EQ(call->reply->size(), 1U);
  EXPECT_EQ((*call->reply)[0].handle, 6U);
}

TEST_F(Client, TheListOfAReplyWithoutItsCallShowsInItsLength) {
  connect();
  add("rpc_request: " + task(1) + " nfsv3 NULL (sync)");
  add("xprt_reserve: " + task(1) + xid(1));
  add("xprtrdma_marshal: " + task(1) + xid(1) + " hdr=28 xdr=40/0/0 inline/inline");
  add("xprtrdma_post_send: " + task(1) + " cq.id=1 cid=5 (2 SGEs) ");
  receive(52);
  reply(1);
  const std::string segment = "xprtrdma_decode_seg: 1000@0x0000000000001000:0x00000005";
  for (const auto& [number, length] : {std::pair{2U, 48U}, std::pair{3U, 48U + 24U}}) {
    receive(length);
    reply(number);
    add(segment, 20);
    latency(number);
  }
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(4));
  const auto through_reply_chunk = wire::decode_header(messages[2].payload);
  ASSERT_TRUE(through_reply_chunk);
  EXPECT_EQ(through_reply_chunk->proc, wire::Proc::kNomsg);
  EXPECT_TRUE(through_reply_chunk->reply);
  const auto with_write_list = wire::decode_header(messages[3].payload);
  ASSERT_TRUE(with_write_list);
  EXPECT_EQ(with_write_list->proc, wire::Proc::kMsg);
  EXPECT_EQ(with_write_list->writes.size(), 1U);
  EXPECT_EQ(messages[3].event.unknown & trace::kChunksUnknown, trace::kChunksUnknown);
}

TEST_F(Client, AReplyContinuesInTheThreadThatInvalidatedItsMemory) {
  connect();
  add("rpc_request: " + task(1) + " nfsv3 READDIR (sync)");
  add("xprt_reserve: " + task(1) + xid(1));
  add("xprtrdma_chunk_reply: " + task(1) + " 5000@0x0000000000001000:0x00000005 (last)");
  add("xprtrdma_marshal: " + task(1) + xid(1) + " hdr=48 xdr=40/0/0 inline/reply chunk");
  add("xprtrdma_post_send: " + task(1) + " cq.id=1 cid=5 (2 SGEs) ");
  receive(48);
  reply(1);
  add("xprtrdma_mr_localinv: " + task(1) +
          " mr.id=0 nents=1 5000@0x0000000000001000:0x00000005 (FROM_DEVICE)",
      20);
  // The thread of Receives goes to the next, that of Sends completes the first.
  receive(100);
  add("xprtrdma_wc_li_done: cq.id=1 mr.id=0 status=SUCCESS (0/0x0)", 21);
  add("xprtrdma_decode_seg: 700@0x0000000000001000:0x00000005", 21);
  latency(1);
  translator.finish();
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(2));
  const auto answer = wire::decode_header(messages[1].payload);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->proc, wire::Proc::kNomsg);
  ASSERT_TRUE(answer->reply);
  EXPECT_EQ(messages[1].event.length, 48U);
  EXPECT_EQ(messages[1].event.has_invalidate, 0);
  EXPECT_EQ(sink.of<trace::Invalidate>()[0].event.side, 0);
}

TEST_F(Client, ReverseCallsAndReplies) {
  connect();
  send(1);
  receive();
  reply(1);
  latency(1);
  receive(90);
  add("xprtrdma_cb_call: peer=[10.0.0.1]:20049 xid=0x000000aa", 20);
  add("xprtrdma_cb_reply: peer=[10.0.0.1]:20049 xid=0x000000aa", 30);
  add("xprtrdma_post_send: task:00000000@ffffffff cq.id=1 cid=6 (2 SGEs) ", 30);
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(4));
  EXPECT_EQ(messages[2].event.side, 1);
  EXPECT_EQ(messages[2].event.length, 90U);
  EXPECT_EQ(messages[2].payload[35], 0);  // a Call
  EXPECT_EQ(messages[3].event.side, 0);
  EXPECT_EQ(messages[3].payload[35], 1);  // a Reply
  EXPECT_EQ(messages[3].event.unknown,
            trace::kBytesUnknown | trace::kCreditUnknown | trace::kLengthUnknown);
}

TEST_F(Client, AfterLostRecordsNothingIsGuessed) {
  connect();
  send(1);
  receive();
  reply(1);
  add("rpc_request: " + task(2) + " nfsv3 GETATTR (sync)");
  add("xprt_reserve: " + task(2) + xid(2));
  translator.lost(5);
  EXPECT_EQ(sink.lost_events, 5U);
  // The rest of the second Call: its XID may be another by now.
  add("xprtrdma_post_send: " + task(2) + " cq.id=1 cid=5 (2 SGEs) ");
  latency(1);
  latency(2);
  translator.finish();
  // The Reply was still open: records of its chunks may be lost.
  EXPECT_THAT(sink.of<trace::Message>(), SizeIs(1));
  EXPECT_THAT(sink.of<trace::CallEnd>(), IsEmpty());
  // What follows is known again, on the same connection.
  send(3);
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[1].header.connection, 1U);
}

TEST_F(Client, TheStateIsBounded) {
  connect();
  Record r;
  r.time = now * 1000;
  for (std::uint32_t i = 0; i < 300'000; ++i) {
    r.clear();
    r.event = Event::kXprtReserve;
    r.pid = static_cast<std::int32_t>(i);
    r.set(Field::kTaskId, i);
    r.set(Field::kClientId, std::uint64_t{0});
    r.set(Field::kXid, i);
    translator.take(r);
    r.event = Event::kPostSend;
    r.set(Field::kCqId, i);
    translator.take(r);
    r.event = Event::kWcReceive;
    r.set(Field::kStatus, std::uint64_t{0});
    translator.take(r);
    if (sink.all.size() > 10000) sink.all.clear();
  }
  EXPECT_GT(translator.unplaced(), 0U);
}

TEST_F(Client, TimesThatStepBackOrOverflowAreHarmless) {
  connect();
  Record r;
  for (const std::int64_t time : {INT64_MAX, INT64_MIN, std::int64_t{0}, INT64_MAX - 1}) {
    r.clear();
    r.event = Event::kWcReceive;
    r.time = time;
    r.set(Field::kCqId, std::uint64_t{2});
    translator.take(r);
  }
  translator.finish();
}

}  // namespace
}  // namespace rpcrdma::tracepoints
