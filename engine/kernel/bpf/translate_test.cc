#include "translate.h"

#include "event_log.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/fabric/work.h>

namespace rpcrdma::kernel {
namespace {

using Bytes = std::vector<std::uint8_t>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr scope_key kClient{0xffff888012340000, 17, SCOPE_CLIENT};
constexpr scope_key kServer{0xffff888056780000, 18, SCOPE_SERVER};

Bytes hex(std::string_view text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

template <typename Record>
Record make(scope_type type, const scope_key& key, std::uint64_t time) {
  Record record{};
  record.record.type = type;
  record.record.time = time;
  record.record.connection = key;
  return record;
}

template <typename Record>
Bytes bytes_of(const Record& record) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&record);
  return {begin, begin + sizeof record};
}

Bytes message(const scope_key& key, std::uint64_t time, std::uint32_t flags, const Bytes& data,
              std::uint32_t invalidate = 0, std::uint32_t problem = SCOPE_NO_PROBLEM) {
  auto record = make<scope_message>(SCOPE_MESSAGE, key, time);
  record.flags = flags;
  record.problem = problem;
  record.length = static_cast<std::uint32_t>(data.size());
  record.captured = record.length;
  record.invalidate = invalidate;
  record.requested = 128;
  record.in_use = 3;
  record.window = 64;
  record.waiting = 2;
  Bytes bytes = bytes_of(record);
  bytes.insert(bytes.end(), data.begin(), data.end());
  bytes.resize(bytes.size() + 40);  // the ring's entries have a few fixed sizes
  return bytes;
}

scope_connection connection(const scope_key& key, std::uint64_t time, std::uint32_t established) {
  auto record = make<scope_connection>(SCOPE_CONNECTION, key, time);
  const std::array<std::uint8_t, 16> local{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 77, 0, 2};
  const std::array<std::uint8_t, 16> peer{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 77, 0, 1};
  std::copy(local.begin(), local.end(), record.local.ip);
  std::copy(peer.begin(), peer.end(), record.peer.ip);
  record.local.port = 54019;
  record.peer.port = 20049;
  record.peer_qpn = 34;
  record.inline_send = 4096;
  record.inline_receive = 8192;
  record.granted = 1;
  record.established = established;
  return record;
}

// From the client of Linux 6.1: NULL, EXCHANGE_ID with a Reply chunk, and its Reply, which
// invalidates the chunk's handle.
const Bytes kNull = hex(
    "369f4488000000010000008000000000000000000000000000000000369f44880000000000000002000186a3000000"
    "040000000000000000000000000000000000000000");
const Bytes kNullReply = hex(
    "369f4488000000010000004000000000000000000000000000000000369f4488000000010000000000000000000000"
    "0000000000");
const Bytes kLongReply =
    hex("379f44880000000100000040000000010000000000000000000000010000000100000c6c00000064379f448884"
        "66a000");
constexpr std::uint32_t kNullXid = 0x369f4488;

class TranslateTest : public ::testing::Test {
 protected:
  void pass(const Bytes& record) { EXPECT_TRUE(translator.record(record, log)); }
  void refuse(const Bytes& record) {
    const std::size_t before = log.entries.size();
    EXPECT_FALSE(translator.record(record, log));
    EXPECT_EQ(log.entries.size(), before);
  }

  Translator translator;
  EventLog log;
};

TEST_F(TranslateTest, ConnectionHasAddressesAndThresholds) {
  pass(bytes_of(connection(kClient, 5, 1)));
  ASSERT_THAT(log.entries, SizeIs(1));
  const auto event = log.entries[0].as<trace::Connection>();
  EXPECT_EQ(log.entries[0].header.time, 5);
  EXPECT_EQ(event.local[15], 2);
  EXPECT_EQ(event.peer[15], 1);
  EXPECT_EQ(event.port, 20049);
  EXPECT_EQ(event.local_qpn, 17U);
  EXPECT_EQ(event.peer_qpn, 34U);
  EXPECT_EQ(event.inline_send, 4096U);
  EXPECT_EQ(event.inline_receive, 8192U);
  EXPECT_EQ(event.active, 1);
  EXPECT_EQ(event.replayed, 0);
  EXPECT_EQ(event.private_data_unknown, 1);
  EXPECT_EQ(event.sent_private_data, 0);
}

TEST_F(TranslateTest, ServersPortIsTheLocalOne) {
  pass(bytes_of(connection(kServer, 5, 0)));
  const auto event = log.entries[0].as<trace::Connection>();
  EXPECT_EQ(event.active, 0);
  EXPECT_EQ(event.port, 54019);
  EXPECT_EQ(event.replayed, 1);
}

TEST_F(TranslateTest, MessagesKeepTheirBytes) {
  pass(bytes_of(connection(kClient, 5, 1)));
  pass(message(kClient, 6, SCOPE_HAS_CALL, kNull));
  pass(message(kClient, 7, SCOPE_RECEIVED | SCOPE_INVALIDATES, kLongReply, 0xc6c));
  const auto messages = log.of<trace::Message>();
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[0].as<trace::Message>().side, 0);
  EXPECT_EQ(messages[0].as<trace::Message>().has_invalidate, 0);
  EXPECT_EQ(messages[0].as<trace::Message>().length, kNull.size());
  EXPECT_EQ(messages[0].payload, kNull);
  EXPECT_EQ(messages[1].as<trace::Message>().side, 1);
  EXPECT_EQ(messages[1].as<trace::Message>().has_invalidate, 1);
  EXPECT_EQ(messages[1].as<trace::Message>().invalidate, 0xc6cU);
  EXPECT_EQ(messages[1].payload, kLongReply);
  EXPECT_EQ(messages[1].header.connection, log.entries[0].header.connection);
}

TEST_F(TranslateTest, UnknownConnectionStartsAtItsFirstRecord) {
  pass(message(kClient, 6, 0, kNull));
  ASSERT_THAT(log.entries, SizeIs(2));
  const auto event = log.entries[0].as<trace::Connection>();
  EXPECT_EQ(event.replayed, 1);
  EXPECT_EQ(event.local_qpn, 17U);
  EXPECT_EQ(event.active, 1);
  EXPECT_EQ(event.peer, (std::array<std::uint8_t, 16>{}));
}

TEST(RecordOrderTest, OpenConnectionPrecedesTheMessageThatShowsIt) {
  Bytes open = bytes_of(connection(kServer, 50, 0));
  EXPECT_EQ(Translator::order_of(open), 0);
  EXPECT_EQ(Translator::order_of(bytes_of(connection(kServer, 50, 1))), 50);
  EXPECT_EQ(Translator::order_of(message(kServer, 40, 0, kNull)), 40);
  EXPECT_EQ(Translator::order_of(Bytes(3)), 0);
  Translator::move_to(60, open);
  Translator::move_to(40, open);
  Translator translator;
  EventLog log;
  EXPECT_TRUE(translator.record(open, log));
  ASSERT_THAT(log.entries, SizeIs(1));
  EXPECT_EQ(log.entries[0].header.time, 40);
}

TEST_F(TranslateTest, RepeatedConnectionIsTheSame) {
  pass(bytes_of(connection(kClient, 5, 1)));
  pass(bytes_of(connection(kClient, 6, 0)));  // the kernel had dropped it from its table
  EXPECT_THAT(log.of<trace::Connection>(), SizeIs(1));
  EXPECT_EQ(log.numbers, 1U);
}

TEST_F(TranslateTest, ReusedObjectIsANewConnection) {
  pass(bytes_of(connection(kClient, 5, 1)));
  pass(bytes_of(connection(kClient, 6, 1)));
  EXPECT_THAT(log.of<trace::Connection>(), SizeIs(2));
  const auto ends = log.of<trace::ConnectionEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].header.connection, 1U);
  EXPECT_EQ(ends[0].text(), "its end was not seen");
}

TEST_F(TranslateTest, EndsHaveTheirReason) {
  const auto end = [&](std::int32_t status, std::uint32_t established, std::uint32_t flushed) {
    if (established != 0) pass(bytes_of(connection(kClient, 5, 1)));
    auto record = make<scope_connection_end>(SCOPE_CONNECTION_END, kClient, 9);
    record.status = status;
    record.established = established;
    record.flushed = flushed;
    record.peer = connection(kClient, 0, 0).peer;
    pass(bytes_of(record));
    return log.entries.back();
  };
  EXPECT_EQ(end(1, 1, 0).text(), "disconnected by this side");
  EXPECT_EQ(log.entries.back().as<trace::ConnectionEnd>().failed, 0);
  EXPECT_EQ(end(-103, 1, 7).text(), "the peer disconnected");
  EXPECT_EQ(log.entries.back().as<trace::ConnectionEnd>().side, 1);
  EXPECT_EQ(end(-19, 1, 0).text(), "the RDMA device was removed");
  EXPECT_EQ(log.entries.back().as<trace::ConnectionEnd>().failed, 1);
  EXPECT_EQ(end(1, 1, 2).text(), "disconnected by this side after 2 failed completions");
  EXPECT_EQ(log.entries.back().as<trace::ConnectionEnd>().failed, 1);
  EXPECT_EQ(end(-111, 0, 0).text(), "the peer rejected the connection");
  const auto rejected = log.entries.back().as<trace::ConnectionEnd>();
  EXPECT_EQ(rejected.established, 0);
  EXPECT_EQ(rejected.side, 1);
  EXPECT_EQ(rejected.port, 20049);
  EXPECT_EQ(rejected.peer[15], 1);
  EXPECT_THAT(end(-110, 0, 0).text(), HasSubstr("timed out"));
}

TEST_F(TranslateTest, ServerThatCannotAcceptSaysSo) {
  auto record = make<scope_connection_end>(SCOPE_CONNECTION_END, kServer, 9);
  record.status = -22;
  record.peer = connection(kServer, 0, 0).peer;
  record.local.port = 20049;
  pass(bytes_of(record));
  ASSERT_THAT(log.entries, SizeIs(1));
  const auto event = log.entries[0].as<trace::ConnectionEnd>();
  EXPECT_EQ(event.established, 0);
  EXPECT_EQ(event.active, 0);
  EXPECT_EQ(event.port, 20049);
  EXPECT_EQ(event.peer[15], 1);
  EXPECT_THAT(log.entries[0].text(),
              HasSubstr("could not accept the connection: Invalid argument"));
}

TEST_F(TranslateTest, EndComesOnce) {
  pass(bytes_of(connection(kServer, 5, 1)));
  ASSERT_THAT(translator.open_connections(), SizeIs(1));
  EXPECT_EQ(translator.open_connections()[0].object, kServer.object);
  auto record = make<scope_connection_end>(SCOPE_CONNECTION_END, kServer, 9);
  record.established = 1;
  pass(bytes_of(record));
  pass(bytes_of(record));
  EXPECT_THAT(log.of<trace::ConnectionEnd>(), SizeIs(1));
  EXPECT_THAT(translator.open_connections(), SizeIs(0));
}

TEST_F(TranslateTest, ClientsCreditsComeFromTheKernelAndTheReply) {
  pass(bytes_of(connection(kClient, 5, 1)));
  pass(message(kClient, 6, SCOPE_HAS_CALL, kNull));
  translator.end_of_batch(log);
  auto credits = log.of<trace::Credits>();
  ASSERT_THAT(credits, SizeIs(1));
  auto event = credits[0].as<trace::Credits>();
  EXPECT_EQ(event.side, 0);
  EXPECT_EQ(event.requested, 128U);
  EXPECT_EQ(event.granted, 1U);
  EXPECT_EQ(event.in_use, 3U);
  EXPECT_EQ(event.waiting, 2U);
  EXPECT_EQ(event.limit, 64U);

  pass(message(kClient, 7, SCOPE_RECEIVED, kNullReply));
  translator.end_of_batch(log);
  translator.end_of_batch(log);  // nothing has changed
  credits = log.of<trace::Credits>();
  ASSERT_THAT(credits, SizeIs(2));
  EXPECT_EQ(credits[1].as<trace::Credits>().granted, 64U);
  EXPECT_EQ(credits[1].header.time, 7);
}

TEST_F(TranslateTest, ReverseCallGrantsNothing) {
  pass(message(kClient, 6, SCOPE_RECEIVED, kNullReply));
  Bytes reverse = kNull;
  reverse[11] = 2;  // credits
  pass(message(kClient, 7, SCOPE_RECEIVED | SCOPE_HAS_CALL, reverse));
  translator.end_of_batch(log);
  const auto credits = log.of<trace::Credits>();
  ASSERT_THAT(credits, SizeIs(1));
  EXPECT_EQ(credits[0].as<trace::Credits>().granted, 64U);
}

TEST_F(TranslateTest, ServerCountsCallsWithoutReply) {
  pass(message(kServer, 6, SCOPE_RECEIVED | SCOPE_HAS_CALL, kNull));
  translator.end_of_batch(log);
  pass(message(kServer, 7, 0, kNullReply));
  translator.end_of_batch(log);
  const auto credits = log.of<trace::Credits>();
  ASSERT_THAT(credits, SizeIs(2));
  EXPECT_EQ(credits[0].as<trace::Credits>().side, 1);
  EXPECT_EQ(credits[0].as<trace::Credits>().requested, 128U);
  EXPECT_EQ(credits[0].as<trace::Credits>().in_use, 1U);
  EXPECT_EQ(credits[1].as<trace::Credits>().granted, 64U);
  EXPECT_EQ(credits[1].as<trace::Credits>().in_use, 0U);
  EXPECT_EQ(credits[1].as<trace::Credits>().in_use_most, 1U);
}

TEST_F(TranslateTest, ErrorReplyEndsTheCallToo) {
  pass(message(kServer, 6, SCOPE_RECEIVED | SCOPE_HAS_CALL, kNull));
  Bytes error = kNullReply;
  error[15] = 4;  // RDMA_ERROR
  pass(message(kServer, 7, SCOPE_BAD, error));
  translator.end_of_batch(log);
  EXPECT_EQ(log.entries.back().as<trace::Credits>().in_use, 0U);
  EXPECT_EQ(log.entries.back().as<trace::Credits>().in_use_most, 1U);
}

TEST_F(TranslateTest, ServersReplyEndsItsCall) {
  Bytes reply = message(kServer, 70, SCOPE_HAS_CALL, kNullReply);
  scope_message record;
  std::memcpy(&record, reply.data(), sizeof record);
  record.called = 50;
  record.started = 60;
  std::memcpy(reply.data(), &record, sizeof record);
  pass(reply);
  const auto ends = log.of<trace::CallEnd>();
  ASSERT_THAT(ends, SizeIs(1));
  const auto event = ends[0].as<trace::CallEnd>();
  EXPECT_EQ(event.xid, kNullXid);
  EXPECT_EQ(event.side, 1);
  EXPECT_EQ(event.called, 50);
  EXPECT_EQ(event.sent, 60);
  EXPECT_EQ(event.replied, 70);
}

TEST_F(TranslateTest, UnusableMessageIsAnErrorToo) {
  pass(message(kServer, 6, SCOPE_RECEIVED | SCOPE_BAD, kNull, 0, SCOPE_BAD_VERSION));
  const auto errors = log.of<trace::Error>();
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].as<trace::Error>().xid, kNullXid);
  EXPECT_EQ(errors[0].as<trace::Error>().side, 1);
  EXPECT_THAT(errors[0].text(), HasSubstr("version"));
  EXPECT_THAT(log.of<trace::Message>(), SizeIs(1));
}

scope_call_end call_end(std::int32_t status, std::uint32_t replied) {
  auto record = make<scope_call_end>(SCOPE_CALL_END, kClient, 100);
  record.xid = kNullXid;
  record.status = status;
  record.attempts = 2;
  record.replied = replied;
  record.called = 10;
  record.sent = 40;
  record.reply = 90;
  record.slot_wait = 3;
  record.credit_wait = 7;
  record.marshal = 11;
  record.post = 1;
  return record;
}

TEST_F(TranslateTest, CallEndHasItsSteps) {
  pass(bytes_of(call_end(-2, 1)));  // the Reply says NFS3ERR_NOENT: it is a Reply
  const auto event = log.entries.back().as<trace::CallEnd>();
  EXPECT_EQ(event.status, 0);
  EXPECT_EQ(event.attempts, 2);
  EXPECT_EQ(event.called, 10);
  EXPECT_EQ(event.sent, 40);
  EXPECT_EQ(event.replied, 90);
  EXPECT_EQ(event.ended, 100);
  EXPECT_EQ(event.slot_wait, 3);
  EXPECT_EQ(event.credit_wait, 7);
  EXPECT_EQ(event.marshal, 11);
  EXPECT_EQ(event.post, 1);
}

TEST_F(TranslateTest, CallEndsForItsFailure) {
  const auto status = [&](std::int32_t tk_status) {
    pass(bytes_of(call_end(tk_status, 0)));
    return log.entries.back().as<trace::CallEnd>().status;
  };
  EXPECT_EQ(status(-110), 1);  // timed out
  EXPECT_EQ(status(-5), 6);    // closed
  Bytes error = kNullReply;
  error[15] = 4;  // RDMA_ERROR
  error[19] = 2;  // ERR_CHUNK
  pass(message(kClient, 7, SCOPE_RECEIVED | SCOPE_BAD, error));
  EXPECT_EQ(status(-5), 3);
  EXPECT_EQ(status(-5), 6);  // of the next Call with this XID, nothing is known
  error[19] = 1;             // ERR_VERS
  pass(message(kClient, 7, SCOPE_RECEIVED | SCOPE_BAD, error));
  EXPECT_EQ(status(-5), 2);

  auto bad = make<scope_error>(SCOPE_ERROR, kClient, 8);
  bad.kind = SCOPE_BAD_REPLY_HEADER;
  bad.xid = kNullXid;
  pass(bytes_of(bad));
  EXPECT_THAT(log.entries.back().text(), HasSubstr("cannot use the Reply"));
  EXPECT_EQ(status(-5), 4);
}

scope_operations operations(std::uint32_t write, std::uint32_t segments) {
  auto record = make<scope_operations>(SCOPE_OPERATIONS, kServer, 20);
  record.write = write;
  record.xid = kNullXid;
  record.queue = 1;
  record.completion = 77;
  record.segments = segments;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(segments, SCOPE_SEGMENTS); ++i) {
    record.segment[i] = {.offset = 0x1000 * (segments - i), .handle = 0xabc, .length = 100 + i};
  }
  return record;
}

Bytes used(const scope_operations& record) {
  Bytes bytes = bytes_of(record);
  bytes.resize(offsetof(scope_operations, segment) + record.segments * sizeof(scope_segment));
  return bytes;
}

scope_operation_end operation_end(std::uint32_t write, std::uint32_t status) {
  auto record = make<scope_operation_end>(SCOPE_OPERATION_END, kServer, 30);
  record.write = write;
  record.status = status;
  record.queue = 1;
  record.completion = 77;
  return record;
}

TEST_F(TranslateTest, OperationsComeInTheOrderOfTheQueue) {
  pass(used(operations(0, 3)));
  pass(bytes_of(operation_end(0, 0)));
  const auto begun = log.of<trace::Operation>();
  const auto ended = log.of<trace::OperationEnd>();
  ASSERT_THAT(begun, SizeIs(3));
  ASSERT_THAT(ended, SizeIs(3));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto operation = begun[i].as<trace::Operation>();
    const auto end = ended[i].as<trace::OperationEnd>();
    EXPECT_EQ(operation.kind, trace::Transfer::kRead);
    EXPECT_EQ(operation.offset, 0x1000U * (i + 1));
    EXPECT_EQ(operation.length, 102 - i);
    EXPECT_EQ(operation.xid, kNullXid);
    EXPECT_EQ(end.id, operation.id);
    EXPECT_EQ(end.length, operation.length);
    EXPECT_EQ(end.status, 0);
  }
  pass(bytes_of(operation_end(0, 0)));  // the chunk is forgotten
  EXPECT_THAT(log.of<trace::OperationEnd>(), SizeIs(3));
}

TEST_F(TranslateTest, OnlyFailedWritesHaveAnEnd) {
  pass(used(operations(1, 2)));
  pass(bytes_of(operation_end(1, 0)));
  EXPECT_THAT(log.of<trace::OperationEnd>(), SizeIs(0));
  pass(used(operations(1, 2)));
  pass(bytes_of(operation_end(1, 10)));
  const auto ended = log.of<trace::OperationEnd>();
  ASSERT_THAT(ended, SizeIs(2));
  EXPECT_EQ(ended[1].as<trace::OperationEnd>().status,
            static_cast<std::uint8_t>(fabric::Status::kRemoteAccess));
  EXPECT_EQ(ended[1].as<trace::OperationEnd>().length, 0U);
  const auto errors = log.of<trace::Error>();
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].as<trace::Error>().side, 1);
  EXPECT_THAT(errors[0].text(), HasSubstr("RDMA Write failed: remote access error (IB_WC_REM_"));
}

TEST_F(TranslateTest, OperationsThatDoNotFitAreLost) {
  auto record = operations(1, SCOPE_SEGMENTS);
  record.more = 5;
  pass(bytes_of(record));
  EXPECT_THAT(log.of<trace::Operation>(), SizeIs(SCOPE_SEGMENTS));
  EXPECT_EQ(log.lost_count, 5U);
}

TEST_F(TranslateTest, MemoryIsAdvertisedAndInvalidated) {
  auto record = make<scope_memory>(SCOPE_MEMORY, kClient, 20);
  record.handle = 0xc6c;
  record.offset = 0x379f44888466a000;
  record.length = 4240;
  record.xid = kNullXid;
  record.writable = 1;
  pass(bytes_of(record));
  const auto advertise = log.entries.back().as<trace::Advertise>();
  EXPECT_EQ(advertise.handle, 0xc6cU);
  EXPECT_EQ(advertise.offset, 0x379f44888466a000U);
  EXPECT_EQ(advertise.length, 4240U);
  EXPECT_EQ(advertise.access, static_cast<std::uint8_t>(fabric::Access::kRemoteWrite));
  record.action = SCOPE_INVALIDATED_BY_PEER;
  pass(bytes_of(record));
  EXPECT_EQ(log.entries.back().as<trace::Invalidate>().side, 1);
  record.action = SCOPE_INVALIDATED;
  pass(bytes_of(record));
  EXPECT_EQ(log.entries.back().as<trace::Invalidate>().side, 0);
  EXPECT_EQ(log.entries.back().as<trace::Invalidate>().handle, 0xc6cU);
}

TEST_F(TranslateTest, FlushesAfterTheEndAreSilent) {
  auto error = make<scope_error>(SCOPE_ERROR, kClient, 20);
  error.kind = SCOPE_COMPLETION_SEND;
  error.status = 5;
  error.xid = kNullXid;
  pass(bytes_of(error));
  EXPECT_THAT(log.entries.back().text(), HasSubstr("Send failed: flushed (IB_WC_WR_FLUSH_ERR)"));
  auto end = make<scope_connection_end>(SCOPE_CONNECTION_END, kClient, 21);
  end.established = 1;
  pass(bytes_of(end));
  pass(bytes_of(error));
  EXPECT_THAT(log.of<trace::Error>(), SizeIs(1));
  error.status = 12;  // not only flushed
  pass(bytes_of(error));
  EXPECT_THAT(log.of<trace::Error>(), SizeIs(2));
  EXPECT_EQ(log.entries.back().as<trace::Error>().side, 1);
}

TEST_F(TranslateTest, CallsAndWaits) {
  auto call = make<scope_call>(SCOPE_CALL, kServer, 20);
  call.xid = kNullXid;
  call.program = 100003;
  call.version = 4;
  call.procedure = 1;
  pass(bytes_of(call));
  EXPECT_EQ(log.entries.back().as<trace::Call>().side, 1);
  EXPECT_EQ(log.entries.back().as<trace::Call>().program, 100003U);
  auto wait = make<scope_credit_wait>(SCOPE_CREDIT_WAIT, kClient, 21);
  wait.xid = kNullXid;
  wait.begun = 1;
  pass(bytes_of(wait));
  EXPECT_EQ(log.entries.back().as<trace::CreditWait>().begun, 1);
}

TEST_F(TranslateTest, ShortRecordsAreRefused) {
  const std::vector<Bytes> records{
      bytes_of(connection(kClient, 5, 1)),
      bytes_of(make<scope_connection_end>(SCOPE_CONNECTION_END, kClient, 1)),
      bytes_of(make<scope_message>(SCOPE_MESSAGE, kClient, 1)),
      bytes_of(operation_end(1, 0)),
      bytes_of(make<scope_memory>(SCOPE_MEMORY, kClient, 1)),
      bytes_of(make<scope_credit_wait>(SCOPE_CREDIT_WAIT, kClient, 1)),
      bytes_of(make<scope_call>(SCOPE_CALL, kClient, 1)),
      bytes_of(call_end(0, 1)),
      bytes_of(make<scope_error>(SCOPE_ERROR, kClient, 1)),
      used(operations(1, 3)),
  };
  for (const Bytes& record : records) {
    for (std::size_t bytes = 0; bytes < record.size(); ++bytes) {
      refuse(Bytes(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(bytes)));
    }
  }
  EXPECT_EQ(translator.connections(), 0U);
}

TEST_F(TranslateTest, LengthsBeyondTheRecordAreRefused) {
  Bytes record = message(kClient, 6, 0, kNull);
  scope_message head;
  std::memcpy(&head, record.data(), sizeof head);
  head.captured = static_cast<std::uint32_t>(record.size() - sizeof head + 1);
  std::memcpy(record.data(), &head, sizeof head);
  refuse(record);
  head.captured = 0xffffffff;
  std::memcpy(record.data(), &head, sizeof head);
  refuse(record);
  auto many = operations(1, 3);
  many.segments = SCOPE_SEGMENTS + 1;
  refuse(bytes_of(many));
  auto unknown = make<scope_error>(SCOPE_ERROR, kClient, 1);
  unknown.record.type = 99;
  refuse(bytes_of(unknown));
}

TEST_F(TranslateTest, ConnectionsAreBounded) {
  scope_key key = kClient;
  const auto count = static_cast<std::uint32_t>(Translator::kMostConnections) + 10;
  for (std::uint32_t i = 0; i < count; ++i) {
    key.qpn = 100 + i;
    pass(bytes_of(connection(key, i, 1)));
  }
  EXPECT_EQ(translator.connections(), Translator::kMostConnections);
  key.qpn = 100;  // the oldest one is forgotten, and starts again
  pass(message(key, count, 0, kNull));
  const auto again = log.of<trace::Connection>().back();
  EXPECT_EQ(again.header.connection, count + 1);
  EXPECT_EQ(again.as<trace::Connection>().replayed, 1);
}

TEST_F(TranslateTest, CallsAndChunksAreBounded) {
  Bytes call = kNull;
  for (std::uint32_t i = 0; i < 2 * Translator::kMostCalls; ++i) {
    call[1] = static_cast<std::uint8_t>(i >> 16U);
    call[2] = static_cast<std::uint8_t>(i >> 8U);
    call[3] = static_cast<std::uint8_t>(i);
    pass(message(kServer, i, SCOPE_RECEIVED | SCOPE_HAS_CALL, call));
    auto chunk = operations(0, 1);
    chunk.completion = static_cast<std::int32_t>(i);
    pass(used(chunk));
  }
  translator.end_of_batch(log);
  EXPECT_EQ(log.entries.back().as<trace::Credits>().in_use, Translator::kMostCalls);
}

TEST_F(TranslateTest, RandomRecordsAreHarmless) {
  std::mt19937 random(1);
  const auto number = [&](std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(0, most)(random);
  };
  for (int i = 0; i < 20000; ++i) {
    Bytes record(number(400));
    std::generate(record.begin(), record.end(),
                  [&] { return static_cast<std::uint8_t>(number(255)); });
    if (record.size() >= sizeof(scope_record)) {
      scope_record head;
      std::memcpy(&head, record.data(), sizeof head);
      head.type = number(SCOPE_ERROR + 1);
      head.connection = {number(1), number(2), number(3)};
      std::memcpy(record.data(), &head, sizeof head);
      if (head.type == SCOPE_MESSAGE && record.size() >= sizeof(scope_message)) {
        const std::uint32_t captured = number(300);
        std::memcpy(record.data() + offsetof(scope_message, captured), &captured, sizeof captured);
      }
    }
    translator.record(record, log);
  }
  translator.end_of_batch(log);
  EXPECT_LE(translator.connections(), 24U);
  EXPECT_FALSE(log.entries.empty());
}

}  // namespace
}  // namespace rpcrdma::kernel
