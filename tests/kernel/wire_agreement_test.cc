// What tracepoints show equals the traffic, message by message: each Call and Reply, its XID, chunk
// segments, length, and the credits that its side shows.
#include "seen_messages.h"

#include <gmock/gmock.h>

namespace rpcrdma::kernel_test {
namespace {

using ::testing::IsEmpty;

const SeenMessages& wire() {
  static const SeenMessages kWire = SeenMessages::read(fixture("k61-wire.pcap.gz"));
  return kWire;
}

// All that a trace claims to know about a message is true.
void expect_same(const SeenMessage& traced, const SeenMessage& sent) {
  SCOPED_TRACE(sent.id());
  EXPECT_EQ(traced.length, sent.length);
  EXPECT_EQ(traced.proc, sent.proc);
  EXPECT_EQ(traced.reads, sent.reads);
  EXPECT_EQ(traced.writes, sent.writes);
  EXPECT_EQ(traced.write_counts, sent.write_counts);
  EXPECT_EQ(traced.has_reply_chunk, sent.has_reply_chunk);
  EXPECT_EQ(traced.reply_chunk, sent.reply_chunk);
}

void expect_procedure(const SeenMessages& trace, const SeenMessage& sent) {
  const auto it = trace.procedures.find(sent.xid);
  ASSERT_NE(it, trace.procedures.end()) << sent.id();
  EXPECT_EQ(it->second.program, sent.rpc.program) << sent.id();
  EXPECT_EQ(it->second.version, sent.rpc.version) << sent.id();
  EXPECT_EQ(it->second.procedure, sent.rpc.procedure) << sent.id();
}

std::size_t segments(const SeenMessages& seen, bool replies) {
  std::size_t n = 0;
  for (const SeenMessage& m : seen.messages) {
    if (m.reply == replies) n += m.reads.size() + m.writes.size() + m.reply_chunk.size();
  }
  return n;
}

TEST(WireAgreement, TheCaptureHoldsAllMessages) {
  ASSERT_EQ(wire().failure, "");
  EXPECT_EQ(wire().calls(), 78U);
  EXPECT_EQ(wire().replies(), 78U);
  EXPECT_EQ(segments(wire(), false), 35U);
}

class ClientAgreement : public ::testing::TestWithParam<const char*> {};

TEST_P(ClientAgreement, EachMessageEqualsTheWire) {
  const auto client = SeenMessages::read(fixture(GetParam()));
  ASSERT_EQ(client.failure, "");
  EXPECT_EQ(client.damage, "");
  EXPECT_EQ(client.calls(), 78U);
  EXPECT_EQ(client.replies(), 78U);
  EXPECT_EQ(segments(client, false), 35U);
  for (const SeenMessage& sent : wire().messages) {
    const SeenMessage* const traced = client.find(sent.reply, sent.xid);
    ASSERT_NE(traced, nullptr) << sent.id();
    expect_same(*traced, sent);
    if (!sent.reply) continue;
    EXPECT_EQ(traced->credit, sent.credit) << sent.id();
    EXPECT_EQ(traced->has_invalidate, sent.has_invalidate) << sent.id();
    EXPECT_EQ(traced->invalidate, sent.invalidate) << sent.id();
  }
  for (const std::uint16_t bits : client.unknown) {
    const bool reply = (bits & trace::kCreditUnknown) == 0;
    EXPECT_EQ(bits, reply ? trace::kBytesUnknown : trace::kBytesUnknown | trace::kCreditUnknown);
  }
}

TEST_P(ClientAgreement, EachCallHasItsProcedureAndTimes) {
  const auto client = SeenMessages::read(fixture(GetParam()));
  for (const SeenMessage& sent : wire().messages) {
    if (!sent.reply) expect_procedure(client, sent);
  }
  ASSERT_EQ(client.call_ends.size(), 78U);
  for (const trace::CallEnd& end : client.call_ends) {
    EXPECT_GT(end.called, 0);
    EXPECT_LE(end.called, end.sent);
    EXPECT_LE(end.sent, end.replied);
    EXPECT_LE(end.replied, end.ended);
    EXPECT_GE(end.slot_wait, 0);
    EXPECT_GE(end.credit_wait, 0);
    EXPECT_GE(end.marshal, 0);
    EXPECT_GE(end.post, 0);
    EXPECT_LE(end.slot_wait + end.credit_wait + end.marshal + end.post, end.sent - end.called);
    EXPECT_EQ(end.attempts, 1);
  }
}

TEST_P(ClientAgreement, ConnectionsHaveAddressesThresholdsAndEnds) {
  const auto client = SeenMessages::read(fixture(GetParam()));
  ASSERT_EQ(client.connections.size(), 2U);
  for (const trace::Connection& c : client.connections) {
    EXPECT_EQ(c.active, 1);
    EXPECT_EQ(c.port, 20049);
    EXPECT_EQ(c.replayed, 0);
    EXPECT_EQ(c.private_data_unknown, 1);
    EXPECT_EQ(c.inline_send, 4096U);
    EXPECT_EQ(c.inline_receive, 4096U);
    EXPECT_EQ(c.local[15], 2);
    EXPECT_EQ(c.peer[15], 1);
  }
  EXPECT_THAT(client.ends, ::testing::ElementsAre("disconnected", "disconnected"));
  EXPECT_THAT(client.errors, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Forms, ClientAgreement,
                         ::testing::Values("k61-client.dat", "k61-client.txt.gz"),
                         [](const auto& param) {
                           return std::string(param.param).find(".txt") != std::string::npos
                                      ? "Text"
                                      : "Binary";
                         });

class ServerAgreement : public ::testing::TestWithParam<const char*> {};

TEST_P(ServerAgreement, EachMessageEqualsTheWire) {
  const auto server = SeenMessages::read(fixture(GetParam()));
  ASSERT_EQ(server.failure, "");
  EXPECT_EQ(server.calls(), 73U);
  std::size_t compared = 0;
  for (const SeenMessage& traced : server.messages) {
    const SeenMessage* const sent = wire().find(traced.reply, traced.xid);
    ASSERT_NE(sent, nullptr) << traced.id();
    // The Reply to a Call before the trace.
    if (server.find(false, traced.xid) == nullptr) continue;
    ++compared;
    expect_same(traced, *sent);
    if (traced.reply) {
      EXPECT_EQ(traced.has_invalidate, sent->has_invalidate) << traced.id();
      EXPECT_EQ(traced.invalidate, sent->invalidate) << traced.id();
    } else {
      EXPECT_EQ(traced.credit, sent->credit) << traced.id();
      expect_procedure(server, *sent);
    }
  }
  EXPECT_EQ(compared, 146U);
}

TEST_P(ServerAgreement, OperationsAreThoseOfTheWire) {
  const auto server = SeenMessages::read(fixture(GetParam()));
  std::uint64_t read = 0, written = 0;
  for (const trace::Operation& o : server.operations) {
    EXPECT_EQ(o.side, 0);
    (o.kind == trace::Transfer::kRead ? read : written) += o.length;
  }
  std::uint64_t read_chunks = 0, write_chunks = 0;
  for (const SeenMessage& m : wire().messages) {
    if (server.find(m.reply, m.xid) == nullptr || server.find(false, m.xid) == nullptr) continue;
    if (!m.reply) {
      for (const wire::ReadSegment& r : m.reads) read_chunks += r.target.length;
      continue;
    }
    for (const wire::Segment& s : m.writes) write_chunks += s.length;
    for (const wire::Segment& s : m.reply_chunk) write_chunks += s.length;
  }
  EXPECT_EQ(read, read_chunks);
  EXPECT_EQ(written, write_chunks);
  EXPECT_EQ(server.call_ends.size(), 73U);
}

INSTANTIATE_TEST_SUITE_P(Forms, ServerAgreement,
                         ::testing::Values("k61-server.dat.gz", "k61-server.txt.gz"),
                         [](const auto& param) {
                           return std::string(param.param).find(".txt") != std::string::npos
                                      ? "Text"
                                      : "Binary";
                         });

}  // namespace
}  // namespace rpcrdma::kernel_test
