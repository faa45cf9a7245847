// The kernel's server: scenes that the recorded traces do not have.
#include "collected_events_for_tests.h"

#include <gmock/gmock.h>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::tracepoints {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Server : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(lines.bad, IsEmpty()); }

  void add(const std::string& what, int pid = 10) { lines.add(now += 10, pid, what); }
  static std::string cid(unsigned cq, unsigned id) {
    return "cq.id=" + std::to_string(cq) + " cid=" + std::to_string(id);
  }
  static std::string xid(unsigned n) { return "xid=0x0000000" + std::to_string(n); }
  void receive(unsigned n, unsigned cq = 2, unsigned length = 100) {
    add("svcrdma_wc_recv: " + cid(cq, n) + " received=" + std::to_string(length), 20);
  }
  void decode(unsigned n, unsigned hdrlen = 28, unsigned cq = 2, int pid = 10) {
    add("svcrdma_decode_rqst: " + cid(cq, n) + " " + xid(n) +
            " vers=1 credits=64 proc=RDMA_MSG hdrlen=" + std::to_string(hdrlen),
        pid);
  }
  void process(unsigned n, int pid = 10) {
    add("svc_process: addr=10.0.0.2 " + xid(n) + " service=nfsd vers=3 proc=WRITE", pid);
  }
  void answer(unsigned n, int pid = 10, unsigned cq = 1, unsigned inv = 0) {
    add("svc_xdr_sendto: " + xid(n) + " head=[0xff,40] page=0(0) tail=[(nil),0] len=40", pid);
    add("svc_stats_latency: " + xid(n) +
            " server=10.0.0.1:20049 client=10.0.0.2:0 proc=WRITE execute-us=5",
        pid);
    add("svcrdma_post_send: " + cid(cq, 70) + " num_sge=1 inv_rkey=0x0000000" + std::to_string(inv),
        pid);
  }

  CollectedEvents sink;
  Translator translator{sink};
  Lines lines{translator};
  std::int64_t now = 1'000'000;
};

TEST_F(Server, ACallHasAllItsEvents) {
  receive(1);
  decode(1);
  process(1);
  answer(1);
  add("svcrdma_wc_send: " + cid(1, 70), 20);
  const auto connections = sink.of<trace::Connection>();
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].event.active, 0);
  EXPECT_EQ(connections[0].event.replayed, 1);
  EXPECT_EQ(connections[0].event.port, 20049);
  EXPECT_EQ(connections[0].event.local[15], 1);
  EXPECT_EQ(connections[0].event.peer[15], 2);
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[0].event.side, 1);
  EXPECT_EQ(messages[0].event.length, 100U);
  EXPECT_THAT(messages[0].payload, SizeIs(28 + 24));
  const auto header = wire::decode_header(messages[0].payload);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->credit, 64U);
  EXPECT_EQ(messages[1].event.side, 0);
  EXPECT_EQ(messages[1].event.length, 68U);
  EXPECT_EQ(messages[1].event.unknown, trace::kBytesUnknown | trace::kCreditUnknown);
  const auto calls = sink.of<trace::Call>();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].event.side, 1);
  EXPECT_EQ(calls[0].event.program, 100003U);
  EXPECT_EQ(calls[0].event.procedure, 7U);
  const auto ends = sink.of<trace::CallEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].event.called, messages[0].header.time);
  EXPECT_EQ(ends[0].event.replied, messages[1].header.time);
}

TEST_F(Server, ReadsAreOperationsWithTheirEnd) {
  receive(1);
  add("svcrdma_decode_rseg: " + cid(2, 1) +
      " segno=0 position=112 1000@0x0000000000001000:0x00000005");
  add("svcrdma_decode_rseg: " + cid(2, 1) +
      " segno=1 position=112 24@0x0000000000002000:0x00000006");
  decode(1, 28 + 48);
  add("svcrdma_post_read_chunk: " + cid(1, 33) + " sqecount=2");
  add("svcrdma_wc_read: " + cid(1, 33) + " totalbytes=1024 latency-us=40", 20);
  process(1);
  answer(1);
  const auto operations = sink.of<trace::Operation>();
  ASSERT_THAT(operations, SizeIs(2));
  EXPECT_EQ(operations[0].event.kind, trace::Transfer::kRead);
  EXPECT_EQ(operations[0].event.handle, 5U);
  EXPECT_EQ(operations[0].event.length, 1000U);
  EXPECT_EQ(operations[0].event.xid, 1U);
  const auto ends = sink.of<trace::OperationEnd>();
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(ends[0].event.id, operations[0].event.id);
  EXPECT_EQ(ends[0].event.status, 0);
  EXPECT_EQ(ends[1].event.length, 24U);
}

// Since Linux 6.3 another thread continues when the Reads are complete.
TEST_F(Server, AnotherThreadContinuesAfterReads) {
  receive(1);
  add("svcrdma_decode_rseg: " + cid(2, 1) +
      " segno=0 position=112 1000@0x0000000000001000:0x00000005");
  decode(1, 28 + 24, 2, 10);
  add("svcrdma_post_read_chunk: " + cid(1, 33) + " sqecount=2", 10);
  receive(2);
  decode(2, 28, 2, 10);
  process(2, 10);
  add("svcrdma_wc_read: " + cid(1, 33) + " totalbytes=1000 latency-us=40", 20);
  add("svcrdma_read_finished: " + cid(2, 1), 11);
  process(1, 11);
  answer(2, 10);
  answer(1, 11);
  std::vector<std::pair<int, std::uint32_t>> order;
  for (const auto& m : sink.of<trace::Message>()) {
    const auto prefix = wire::decode_prefix(m.payload);
    ASSERT_TRUE(prefix);
    order.emplace_back(m.event.side, prefix->xid);
    if (m.event.side == 1) {
      EXPECT_THAT(m.payload, SizeIs(24 + (prefix->xid == 1 ? 52U : 28U)));
    }
  }
  EXPECT_THAT(order,
              ElementsAre(std::pair(1, 1U), std::pair(1, 2U), std::pair(0, 2U), std::pair(0, 1U)));
}

TEST_F(Server, FailedReadsHaveAStatus) {
  receive(1);
  add("svcrdma_decode_rseg: " + cid(2, 1) +
      " segno=0 position=112 1000@0x0000000000001000:0x00000005");
  decode(1, 28 + 24);
  add("svcrdma_post_read_chunk: " + cid(1, 33) + " sqecount=2");
  add("svcrdma_wc_read_err: " + cid(1, 33) + " status=REM_ACCESS_ERR (10/0x0)", 20);
  translator.finish();
  const auto ends = sink.of<trace::OperationEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].event.status, 6);
  EXPECT_EQ(ends[0].event.length, 0U);
  EXPECT_THAT(sink.of<trace::Error>()[0].text(),
              HasSubstr("failed: remote access error (IB_WC_REM_ACCESS_ERR)"));
}

TEST_F(Server, WritesHaveTheLengthsOfTheReply) {
  receive(1);
  add("svcrdma_decode_wseg: " + cid(2, 1) + " segno=0 500@0x0000000000001000:0x00000005");
  add("svcrdma_decode_wseg: " + cid(2, 1) + " segno=1 500@0x0000000000002000:0x00000006");
  add("svcrdma_decode_wseg: " + cid(2, 1) + " segno=0 900@0x0000000000003000:0x00000007");
  decode(1, 28 + 8 + 32 + 4 + 16);
  process(1);
  add("svcrdma_post_write_chunk: " + cid(1, 40) + " sqecount=1");
  add("svcrdma_post_reply_chunk: " + cid(1, 41) + " sqecount=1");
  add("svcrdma_encode_wseg: " + cid(1, 70) + " segno=0 400@0x0000000000001000:0x00000005");
  add("svcrdma_encode_wseg: " + cid(1, 70) + " segno=1 0@0x0000000000002000:0x00000006");
  add("svcrdma_encode_wseg: " + cid(1, 70) + " segno=0 140@0x0000000000003000:0x00000007");
  answer(1, 10, 1, 5);
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[0].event.unknown & trace::kChunksUnknown, 0);
  const auto call = wire::decode_header(messages[0].payload);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->writes.size(), 1U);
  ASSERT_TRUE(call->reply);
  EXPECT_EQ(messages[1].event.unknown, trace::kBytesUnknown | trace::kCreditUnknown);
  EXPECT_EQ(messages[1].event.has_invalidate, 1);
  EXPECT_EQ(messages[1].event.invalidate, 5U);
  const auto reply = wire::decode_header(messages[1].payload);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->proc, wire::Proc::kNomsg);
  EXPECT_EQ(messages[1].event.length, reply->length);
  const auto operations = sink.of<trace::Operation>();
  ASSERT_THAT(operations, SizeIs(2));
  EXPECT_EQ(operations[0].event.kind, trace::Transfer::kWrite);
  EXPECT_EQ(operations[0].event.handle, 5U);
  EXPECT_EQ(operations[0].event.length, 400U);
  EXPECT_EQ(operations[1].event.handle, 7U);
  EXPECT_EQ(operations[1].event.length, 140U);
}

TEST_F(Server, HeadersThatCannotBeDecodedAreAnswered) {
  receive(1);
  decode(1);
  process(1);
  answer(1);
  receive(2);
  add("svcrdma_decode_badvers_err: " + cid(2, 2) + " " + xid(2) + " vers=9 credits=7 proc=0");
  add("svcrdma_err_vers: " + xid(2));
  add("svcrdma_post_send: " + cid(1, 71) + " num_sge=1 inv_rkey=0x00000000");
  receive(3);
  add("svcrdma_decode_parse_err: " + cid(2, 3) + " " + xid(3) + " vers=1 credits=7 proc=0");
  add("svcrdma_err_chunk: " + xid(3));
  add("svcrdma_post_send: " + cid(1, 72) + " num_sge=1 inv_rkey=0x00000000");
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(6));
  const auto bad = wire::decode_prefix(messages[2].payload);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->vers, 9U);
  EXPECT_EQ(bad->credit, 7U);
  EXPECT_EQ(messages[2].event.unknown & trace::kChunksUnknown, trace::kChunksUnknown);
  const auto version = wire::decode_header(messages[3].payload);
  ASSERT_TRUE(version);
  EXPECT_EQ(version->proc, wire::Proc::kError);
  EXPECT_EQ(version->error, wire::RdmaErr::kVers);
  EXPECT_EQ(version->xid, 2U);
  EXPECT_EQ(version->vers, 9U);
  EXPECT_EQ(messages[3].event.length, 28U);
  const auto chunk = wire::decode_header(messages[5].payload);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->error, wire::RdmaErr::kChunk);
  EXPECT_EQ(chunk->vers, 1U);
  EXPECT_EQ(messages[5].event.length, 20U);
  std::vector<std::string> errors;
  for (const auto& e : sink.of<trace::Error>()) {
    errors.push_back(e.text());
    EXPECT_EQ(e.event.side, 1);
  }
  EXPECT_THAT(errors, ElementsAre("the version is not supported", "the header is invalid"));
}

TEST_F(Server, AnAcceptedConnectionIsKnownFromItsBeginning) {
  add("cq_alloc: cq.id=5 nr_cqe=1", 30);
  add("cq_alloc: cq.id=6 nr_cqe=1", 30);
  add("svc_xprt_accept: server=10.0.0.1:20049 client=10.0.0.9:0 flags=CONN protocol=rdma "
      "service=nfsd",
      30);
  receive(1, 6);
  decode(1, 28, 6);
  process(1);
  answer(1, 10, 5);
  add("svcrdma_wc_recv_flush: " + cid(6, 9) + " status=WR_FLUSH_ERR (5/0x0)", 20);
  add("svc_xprt_close: server=10.0.0.1:20049 client=10.0.0.9:0 flags=CLOSE", 31);
  const auto connections = sink.of<trace::Connection>();
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].event.replayed, 0);
  EXPECT_EQ(connections[0].event.peer[15], 9);
  EXPECT_THAT(sink.of<trace::Message>(), SizeIs(2));
  const auto ends = sink.of<trace::ConnectionEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].event.side, 1);
}

TEST_F(Server, RefusedConnections) {
  add("svcrdma_accept_err: addr=10.0.0.9 status=-22", 30);
  const auto ends = sink.of<trace::ConnectionEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].event.established, 0);
  EXPECT_EQ(ends[0].event.active, 0);
  EXPECT_THAT(ends[0].text(), HasSubstr("Invalid argument"));
}

// The fields of these records differ between Linux 6.1 and 6.12.
TEST_F(Server, StallsOfTheSendQueue) {
  receive(1);
  decode(1);
  process(1);
  answer(1);
  add("svcrdma_sq_full: addr=10.0.0.2 sc_sq_avail=0/2184");
  add("svcrdma_sq_full: " + cid(1, 70) + " sc_sq_avail=0/2184");
  const auto errors = sink.of<trace::Error>();
  ASSERT_THAT(errors, SizeIs(2));
  for (const auto& e : errors) {
    EXPECT_EQ(e.event.side, 0);
    EXPECT_EQ(e.text(), "the send queue is full: 0 of 2184 free");
  }
}

TEST_F(Server, ReverseCallsAndReplies) {
  receive(1);
  decode(1);
  process(1);
  answer(1);
  const std::string task = "task:00000003@00000001";
  add("rpc_request: " + task + " nfs4_cbv1 CB_COMPOUND (async)", 40);
  add("xprt_reserve: " + task + " xid=0x000000bb", 40);
  add("svcrdma_post_send: " + cid(1, 71) + " num_sge=1 inv_rkey=0x00000000", 40);
  add("xprt_transmit: " + task + " xid=0x000000bb seqno=0 status=0", 40);
  add("svcrdma_wc_recv: " + cid(2, 5) + " received=60", 20);
  add("svcrdma_decode_rqst: " + cid(2, 5) +
      " xid=0x000000bb vers=1 credits=16 proc=RDMA_MSG hdrlen=28");
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(4));
  EXPECT_EQ(messages[2].event.side, 0);
  EXPECT_EQ(messages[2].payload[35], 0);  // a Call
  EXPECT_THAT(messages[2].payload, SizeIs(28 + 24));
  EXPECT_EQ(messages[3].event.side, 1);
  EXPECT_EQ(messages[3].payload[35], 1);  // a Reply
  EXPECT_EQ(messages[3].event.length, 60U);
}

TEST_F(Server, AReplyToACallBeforeTheTrace) {
  receive(1);
  decode(1);
  process(1);
  answer(1);
  answer(9, 11);
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(3));
  EXPECT_EQ(messages[2].event.unknown, trace::kBytesUnknown | trace::kCreditUnknown |
                                           trace::kChunksUnknown | trace::kLengthUnknown);
}

TEST_F(Server, WithoutTheCallTheOperationsShowTheListOfAReply) {
  receive(1);
  decode(1);
  process(1);
  answer(1);
  for (const std::string list : {"write", "reply"}) {
    add("svc_xdr_sendto: " + xid(9) + " head=[0xff,40] page=0(0) tail=[(nil),0] len=40");
    add("svcrdma_post_" + list + "_chunk: " + cid(1, 40) + " sqecount=1");
    add("svcrdma_encode_wseg: " + cid(1, 70) + " segno=0 400@0x0000000000001000:0x00000005");
    add("svcrdma_post_send: " + cid(1, 70) + " num_sge=1 inv_rkey=0x00000000");
    add("svc_send: " + xid(9) + " server=10.0.0.1:20049 client=10.0.0.2:0 status=0 flags=SECURE");
  }
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(4));
  const auto with_write_list = wire::decode_header(messages[2].payload);
  ASSERT_TRUE(with_write_list);
  EXPECT_EQ(with_write_list->proc, wire::Proc::kMsg);
  EXPECT_EQ(with_write_list->writes.size(), 1U);
  EXPECT_NE(messages[2].event.unknown & trace::kChunksUnknown, 0);
  const auto through_reply_chunk = wire::decode_header(messages[3].payload);
  ASSERT_TRUE(through_reply_chunk);
  EXPECT_EQ(through_reply_chunk->proc, wire::Proc::kNomsg);
  EXPECT_TRUE(through_reply_chunk->reply);
}

// The records of a Call's segments come before the one that names the Call, and may be lost alone.
// The header's length shows that they are missing.
TEST_F(Server, WithoutTheSegmentsOfTheCallTheReplyShowsItsLists) {
  const auto reply_to = [&](unsigned n, const std::string& list, const std::string& last) {
    receive(n);
    decode(n, 28 + 8 + 16);
    process(n);
    add("svc_xdr_sendto: " + xid(n) + " head=[0xff,104] page=500(0) tail=[(nil),0] len=604");
    add("svcrdma_post_" + list + "_chunk: " + cid(1, 40) + " sqecount=1");
    add("svcrdma_encode_wseg: " + cid(1, 70) + " segno=0 500@0x0000000000001000:0x00000005");
    if (!last.empty()) add(last);
    add("svcrdma_post_send: " + cid(1, 70) + " num_sge=1 inv_rkey=0x00000000");
    add("svc_send: " + xid(n) + " server=10.0.0.1:20049 client=10.0.0.2:0 status=0 flags=SECURE");
  };
  receive(9);
  decode(9);
  process(9);
  answer(9);  // shows the addresses
  reply_to(1, "write", "svcrdma_send_pullup: " + cid(1, 70) + " hdr=52 msg=104 (total 156)");
  reply_to(2, "write", "svcrdma_send_pullup: " + cid(1, 70) + " hdr=76 msg=104 (total 180)");
  reply_to(3, "write", "");
  reply_to(4, "reply", "");
  const auto messages = sink.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(10));
  EXPECT_NE(messages[2].event.unknown & trace::kChunksUnknown, 0);
  // Copied into one buffer: it is inline, and the lengths show whether all segments are known.
  const auto whole = wire::decode_header(messages[3].payload);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->proc, wire::Proc::kMsg);
  EXPECT_EQ(whole->writes.size(), 1U);
  EXPECT_FALSE(whole->reply);
  EXPECT_EQ(messages[3].event.length, 156U);
  EXPECT_EQ(messages[3].event.unknown, trace::kBytesUnknown | trace::kCreditUnknown);
  EXPECT_EQ(messages[5].event.length, 180U);
  EXPECT_EQ(messages[5].event.unknown,
            trace::kBytesUnknown | trace::kCreditUnknown | trace::kChunksUnknown);
  const auto mapped = wire::decode_header(messages[7].payload);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->writes.size(), 1U);
  EXPECT_EQ(messages[7].event.unknown, trace::kBytesUnknown | trace::kCreditUnknown |
                                           trace::kChunksUnknown | trace::kLengthUnknown);
  const auto through_reply_chunk = wire::decode_header(messages[9].payload);
  ASSERT_TRUE(through_reply_chunk);
  EXPECT_EQ(through_reply_chunk->proc, wire::Proc::kNomsg);
  EXPECT_TRUE(through_reply_chunk->reply);
  EXPECT_NE(messages[9].event.unknown & trace::kChunksUnknown, 0);
}

TEST_F(Server, AfterLostRecordsNothingIsGuessed) {
  receive(1);
  decode(1);
  process(1);
  translator.lost(3);
  answer(1);
  translator.finish();
  EXPECT_EQ(sink.lost_events, 3U);
  // The Call was complete; whether this is its Reply is not known.
  for (const auto& m : sink.of<trace::Message>()) {
    if (m.event.side == 0) {
      EXPECT_NE(m.event.unknown & trace::kChunksUnknown, 0);
    }
  }
}

TEST_F(Server, TheStateIsBounded) {
  Record r;
  r.time = now * 1000;
  for (std::uint32_t i = 0; i < 300'000; ++i) {
    r.clear();
    r.event = Event::kSvcWcRecv;
    r.pid = static_cast<std::int32_t>(i);
    r.set(Field::kCqId, i % 8192);
    r.set(Field::kCompletionId, i);
    translator.take(r);
    r.event = Event::kDecodeRqst;
    r.set(Field::kXid, i);
    translator.take(r);
    r.event = Event::kPostReadChunk;
    translator.take(r);
    r.event = Event::kSvcPostSend;
    translator.take(r);
    if (sink.all.size() > 10000) sink.all.clear();
  }
  EXPECT_GT(translator.unplaced(), 0U);
}

}  // namespace
}  // namespace rpcrdma::tracepoints
