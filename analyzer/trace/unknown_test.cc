// What events of Linux, whose sources do not show everything, become in the model: what is unknown
// is absent, and stays out of sums and ledgers.
#include "support/trace_builder.h"

#include <gtest/gtest.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/model/content.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/trace_reader/event_decoder.h>
#include <rpcrdma/trace_reader/reader.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::trace_reader {
namespace {

using testing::Bytes;
using testing::TraceBuilder;

constexpr std::uint32_t kXid = 0x1234;

Bytes words_of(std::initializer_list<std::uint32_t> words) {
  Bytes bytes(words.size() * 4);
  std::size_t at = 0;
  for (const std::uint32_t word : words) {
    wire::store_be32(bytes.data() + at, word);
    at += 4;
  }
  return bytes;
}
// RDMA_MSG without chunks, and the first words of the RPC message.
Bytes call_fields(std::uint32_t credit = 0) {
  return words_of({kXid, 1, credit, 0, 0, 0, 0, kXid, 0, 2, 100003, 4, 1});
}
Bytes reply_fields(std::uint32_t credit = 0) {
  return words_of({kXid, 1, credit, 0, 0, 0, 0, kXid, 1});
}

struct Kept : model::Observer {
  std::vector<model::Message> messages;
  std::vector<std::size_t> payloads;
  void on_message(const model::MessageSeen& event) override {
    payloads.push_back(event.message.payload.size());
    messages.push_back(event.message);
  }
};

class UnknownValues : public ::testing::Test {
 protected:
  UnknownValues() {
    trace_.begin("kernel", "Linux", 0, trace::EventSource::kKernelTracepoints);
    connection_ = testing::plain_connection();
    connection_.private_data_unknown = 1;
    connection_.local_qpn = connection_.peer_qpn = 0;
    connection_.inline_send = connection_.inline_receive = 0;
    connection_.sees_peer_operations = 0;
  }

  void message(std::uint8_t side, std::uint16_t unknown, const Bytes& payload,
               std::uint32_t length = 200) {
    trace::Message event;
    event.side = side;
    event.unknown = static_cast<std::uint16_t>(unknown | trace::kBytesUnknown);
    event.length = length;
    trace_.emit(7, event, payload);
  }
  // A Call of this side and its Reply, as a client's tracepoints show them.
  void exchange() {
    message(0, trace::kCreditUnknown, call_fields());
    message(1, 0, reply_fields(64));
  }
  void play() {
    trace_.for_each([&](auto data, const roce::PacketMeta& meta) { reader_.frame(data, meta); });
  }
  const model::ConnectionModel& connection() { return model_.connection(0); }

  TraceBuilder trace_;
  trace::Connection connection_;
  Kept kept_;
  model::ObserverList observers_{&kept_};
  model::Model model_{observers_, {.keep_bytes = true}};
  roce::ConnectionNumbers numbers_;
  Reader reader_{model_, numbers_};
};

TEST_F(UnknownValues, LedgerHasTheValuesThatAreKnown) {
  trace_.emit(7, connection_);
  exchange();
  play();
  ASSERT_EQ(kept_.messages.size(), 2U);
  const model::Credits& credits = kept_.messages[1].credits;
  EXPECT_FALSE(credits.requested_known);
  EXPECT_TRUE(credits.granted_known);
  EXPECT_EQ(credits.granted, 64U);
  EXPECT_EQ(connection().caller[0].granted_min, 64U);
  EXPECT_EQ(connection().absent & (roce::kAbsentRequests | roce::kAbsentGrants),
            roce::kAbsentRequests);
}

// The other direction's credits are a matter of their own.
TEST_F(UnknownValues, ReverseDirectionDoesNotHideTheForwardOne) {
  trace_.emit(7, connection_);
  exchange();
  message(1, trace::kCreditUnknown, call_fields());
  message(0, trace::kCreditUnknown, reply_fields());
  play();
  EXPECT_EQ(connection().absent & (roce::kAbsentRequests | roce::kAbsentGrants),
            roce::kAbsentRequests);
  EXPECT_NE(connection().caller[1].absent & roce::kAbsentGrants, 0);
  EXPECT_EQ(connection().caller[1].granted_max, 0U);
  EXPECT_FALSE(connection().caller[1].credits.granted_known);
}

TEST_F(UnknownValues, BytesAreNoneAndTheProcedureIsKnown) {
  trace_.emit(7, connection_);
  exchange();
  play();
  ASSERT_EQ(kept_.messages.size(), 2U);
  for (const model::Message& m : kept_.messages) {
    EXPECT_TRUE(m.bytes.empty());
    EXPECT_FALSE(m.complete);
    EXPECT_FALSE(model::cut_short(m, *reader_.find(0)));
    EXPECT_TRUE(m.rpc.known);
    EXPECT_EQ(m.rpc.program, 100003U);
    EXPECT_FALSE(m.rpc.header_seen);
    EXPECT_FALSE(m.rpc.has_status);
    EXPECT_EQ(m.rpc.ops.announced, 0U);
  }
  EXPECT_EQ(kept_.payloads, (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(kept_.messages[1].match_frame, kept_.messages[0].frame);
}

TEST_F(UnknownValues, LengthsThatAreNotKnownAreNotAdded) {
  trace_.emit(7, connection_);
  message(0, trace::kCreditUnknown | trace::kLengthUnknown, call_fields(), 52);
  message(1, 0, reply_fields(64), 200);
  play();
  EXPECT_EQ(connection().inline_bytes, 200U);
  EXPECT_NE(connection().absent & roce::kAbsentLengths, 0);
}

TEST_F(UnknownValues, ThresholdsAreThoseThatTheSourceStates) {
  connection_.inline_send = 4096;
  connection_.inline_receive = 8192;
  trace_.emit(7, connection_);
  play();
  EXPECT_EQ(connection().thresholds.call, 4096U);
  EXPECT_EQ(connection().thresholds.reply, 8192U);
}

TEST_F(UnknownValues, ThresholdsAreNotThoseOfPeersWithoutPrivateData) {
  trace_.emit(7, connection_);
  play();
  EXPECT_EQ(connection().thresholds.call, 0U);
}

TEST_F(UnknownValues, OperationsOfTheKernelItselfAreUnseenUntilOneIs) {
  trace_.emit(7, connection_);
  exchange();
  play();
  EXPECT_TRUE(reader_.find(0)->side[0].operations_unseen);
  trace_.frames().clear();
  trace::Operation read;
  read.length = 1;
  trace_.emit(7, read);
  play();
  EXPECT_FALSE(reader_.find(0)->side[0].operations_unseen);
}

// Its first event is missing.
TEST_F(UnknownValues, RecordingFromTheMiddleIsKnownByItsMessages) {
  trace_.frames().clear();
  trace_.emit(7, connection_);
  exchange();
  play();
  EXPECT_EQ(reader_.find(0)->origin, roce::Origin::kKernelTracepoints);
  EXPECT_NE(reader_.find(0)->absent & roce::kAbsentPackets, 0);
}

std::string text_of(const model::Message& m) {
  std::string text;
  decode::TextSink sink(text, 0);
  model::decode_content(m, sink);
  return text;
}

TEST_F(UnknownValues, ContentHasNoValueThatIsNotKnown) {
  trace_.emit(7, connection_);
  exchange();
  message(0, trace::kCreditUnknown | trace::kChunksUnknown, call_fields());
  play();
  ASSERT_EQ(kept_.messages.size(), 3U);
  const std::string call = text_of(kept_.messages[0]);
  EXPECT_EQ(call.find("redit"), std::string::npos) << call;
  EXPECT_NE(call.find("XID 0x00001234"), std::string::npos) << call;
  EXPECT_NE(call.find("Call, NFS version 4 COMPOUND"), std::string::npos) << call;
  EXPECT_NE(text_of(kept_.messages[1]).find("credit 64"), std::string::npos);
  // Without the lists, their sizes are not known either.
  EXPECT_NE(call.find("Read segments: 0"), std::string::npos) << call;
  EXPECT_EQ(text_of(kept_.messages[2]).find("Read segments"), std::string::npos);
}

struct Names : Observer {
  std::string text;
  void on_event(const Event& event) override {
    decode::TextSink sink(text, 0);
    decode_event(event, sink);
  }
};

TEST(EventFields, OfLinux) {
  TraceBuilder trace;
  trace.begin("kernel", "Linux", 0, trace::EventSource::kKernelTracepoints);
  trace::CallEnd end;
  end.called = 1'000'000;
  end.sent = 1'100'000;
  end.slot_wait = 10'000;
  end.marshal = 30'000;
  trace.emit(1, end);
  trace::ProcedureSums sums;
  sums.program = 100003;
  sums.calls = 5;
  sums.replies = 2;
  sums.latency_ns = 4'000'000;
  trace.emit(1, sums);
  trace::ConnectionSums of;
  of.flushed = 3;
  trace.emit(1, of);
  Names names;
  model::ObserverList none;
  model::Model model(none, {});
  roce::ConnectionNumbers numbers;
  Reader reader(model, numbers, {&names});
  trace.for_each([&](auto data, const roce::PacketMeta& meta) { reader.frame(data, meta); });
  for (const char* const part : {"kernel tracepoints", "Slot wait", "Marshal",
                                 "Mean latency: 0.002", "Flushed: 3", "Calls: 5"}) {
    EXPECT_NE(names.text.find(part), std::string::npos) << part << "\n" << names.text;
  }
  for (const char* const part : {"Credit wait:", "Post:"}) {
    EXPECT_EQ(names.text.find(part), std::string::npos) << part << "\n" << names.text;
  }
}

}  // namespace
}  // namespace rpcrdma::trace_reader
