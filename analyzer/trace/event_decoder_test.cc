// Tests of the fields that each type of trace event reports.
#include "support/trace_builder.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/decode/json_sink.h>
#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/trace_reader/event_decoder.h>

namespace rpcrdma::trace_reader {
namespace {

using namespace testing;

// Decodes the events of a trace.
template <typename Function>
void for_each_event(const TraceBuilder& trace, Function&& f) {
  trace.for_each([&](auto data, const roce::PacketMeta& meta) {
    const auto view = trace::view_event(*trace::event_in_pdu(data));
    ASSERT_TRUE(view);
    f(Event{*view, meta, nullptr, 0});
  });
}

nlohmann::ordered_json decoded(const TraceBuilder& trace) {
  nlohmann::ordered_json all;
  for_each_event(trace, [&](const Event& event) {
    decode::JsonSink sink;
    decode_event(event, sink);
    all.push_back(sink.take());
  });
  return all;
}

TEST(EventDecoder, WhatAnEndpointIs) {
  const auto json = decoded(TraceBuilder().begin("nfsd", "server on 10.0.0.1", 42))[0];
  EXPECT_EQ(json["rpcrdma.trace.event"], "endpoint");
  EXPECT_EQ(json["rpcrdma.trace.name"], "nfsd");
  EXPECT_EQ(json["rpcrdma.trace.role"], "server on 10.0.0.1");
  EXPECT_EQ(json["rpcrdma.trace.process"], 42);
}

TEST(EventDecoder, AConnection) {
  TraceBuilder trace;
  emit_plain_connection(trace, 7);
  const auto json = decoded(trace)[0];
  EXPECT_EQ(json["rpcrdma.trace.connection"], 7);
  EXPECT_EQ(json["rpcrdma.trace.thread"], 1);
  EXPECT_EQ(json["rpcrdma.trace.local"], "192.0.2.1");
  EXPECT_EQ(json["rpcrdma.trace.peer"], "192.0.2.2");
  EXPECT_EQ(json["rpcrdma.trace.peer.qpn"], 0x200);
  EXPECT_EQ(json["rpcrdma.trace.active"], true);
  EXPECT_EQ(json["rpcrdma.trace.private_data.received"], "f6ab0e1801010303");
}

TEST(EventDecoder, WhenAConnectionBeganThatWasThereBefore) {
  for (const std::uint8_t replay : {std::uint8_t{0}, std::uint8_t{1}}) {
    TraceBuilder trace;
    trace::Connection recorded = plain_connection();
    recorded.replayed = replay;
    trace.emit(7, recorded);
    roce::Connection connection;
    connection.first_ns = 1'800'000'000'000'000'000;
    trace.for_each([&](auto data, const roce::PacketMeta& meta) {
      decode::JsonSink sink;
      decode_event({*trace::view_event(*trace::event_in_pdu(data)), meta, &connection, 0}, sink);
      const auto json = sink.take();
      EXPECT_EQ(json.contains("rpcrdma.trace.connection.since"), replay == 1) << json;
      if (replay == 1) {
        EXPECT_EQ(json["rpcrdma.trace.connection.since"], connection.first_ns);
      }
    });
  }
}

TEST(EventDecoder, WhoRefusedAConnection) {
  TraceBuilder trace;
  trace::ConnectionEnd end;
  trace.emit(7, end);  // as before these fields existed
  end.peer = plain_connection().peer;
  end.port = 20049;
  end.active = 1;
  trace.emit(7, end);
  const auto json = decoded(trace);
  EXPECT_FALSE(json[0].contains("rpcrdma.trace.peer"));
  EXPECT_EQ(json[1]["rpcrdma.trace.peer"], "192.0.2.2");
  EXPECT_EQ(json[1]["rpcrdma.trace.port"], 20049);
  EXPECT_EQ(json[1]["rpcrdma.trace.active"], true);
}

TEST(EventDecoder, ARejectionWithItsPrivateData) {
  TraceBuilder trace;
  const std::vector<std::uint8_t> why = {'f', 'u', 'l', 'l'};
  const std::vector<std::uint8_t> data = {0xf6, 0xab};
  trace::ConnectionEnd end;
  end.side = 1;
  end.reject_reason = 28;
  end.private_data = 2;
  trace.emit(7, end, why, data);
  end.side = 0;
  trace.emit(7, end, why, data);
  end.private_data = 100;  // more than there are
  trace.emit(7, end, why, data);
  end.private_data = 0;  // as before this field existed
  trace.emit(7, end, why);
  const auto json = decoded(trace);
  EXPECT_EQ(json[0]["rpcrdma.trace.reason"], "full");
  EXPECT_EQ(json[0]["rpcrdma.trace.private_data.received"], "f6ab");
  EXPECT_EQ(json[1]["rpcrdma.trace.private_data.sent"], "f6ab");
  EXPECT_FALSE(json[2].contains("rpcrdma.trace.reason"));
  EXPECT_EQ(json[2]["rpcrdma.trace.private_data.sent"], "66756c6cf6ab");
  EXPECT_EQ(json[3]["rpcrdma.trace.reason"], "full");
  EXPECT_FALSE(json[3].contains("rpcrdma.trace.private_data.sent"));
}

TEST(EventDecoder, TimesOfACall) {
  TraceBuilder trace;
  trace::CallEnd end;
  end.xid = 5;
  end.attempts = 1;
  end.called = 1000;
  end.sent = 1200;
  end.replied = 1900;
  end.ended = 2000;
  trace.emit(7, end);
  end.side = 1;
  end.sent = 0;  // no Read chunks
  trace.emit(7, end);
  const auto json = decoded(trace);
  EXPECT_EQ(json[0]["rpcrdma.xid"], 5);
  EXPECT_EQ(json[0]["rpcrdma.trace.call_status_name"], "replied");
  EXPECT_EQ(json[0]["rpcrdma.trace.sending"], 200);
  EXPECT_EQ(json[0]["rpcrdma.trace.response"], 700);
  EXPECT_EQ(json[0]["rpcrdma.trace.completion"], 100);
  EXPECT_EQ(json[0]["rpcrdma.trace.total"], 1000);
  EXPECT_FALSE(json[1].contains("rpcrdma.trace.sending"));
  EXPECT_FALSE(json[1].contains("rpcrdma.trace.call_status"));
  EXPECT_EQ(json[1]["rpcrdma.trace.response"], 900);
}

TEST(EventDecoder, WordsOfTheSchema) {
  TraceBuilder trace;
  trace.emit(7, trace::CreditWait{5, 1, {}});
  trace.emit(7, trace::Invalidate{9, 1, {}});
  trace.emit(7, trace::Operation{.kind = trace::Transfer::kWrite, .length = 10});
  trace::Error error;
  error.side = 1;
  trace.emit(7, error, bytes_of("too long\n"));
  trace::Fault fault;
  fault.action = 1;
  trace.emit(0, fault, bytes_of("drop op=send"));
  trace.lose(2).emit_loss();
  const auto json = decoded(trace);
  EXPECT_EQ(json[0]["rpcrdma.trace.wait"], "begins");
  EXPECT_EQ(json[1]["rpcrdma.trace.by"], "peer");
  EXPECT_EQ(json[1]["rpcrdma.segment.handle"], 9);
  EXPECT_EQ(json[2]["rpcrdma.op.kind"], "RDMA WRITE");
  EXPECT_EQ(json[3]["rpcrdma.trace.reason"], "too long\n");
  EXPECT_EQ(json[4]["rpcrdma.trace.fault.action_name"], "drop");
  EXPECT_EQ(json[4]["rpcrdma.trace.fault.rule"], "drop op=send");
  EXPECT_EQ(json[5]["rpcrdma.trace.lost"], 2);
  for (const auto& event : json) EXPECT_TRUE(event.contains("rpcrdma.trace.event"));
}

// Records the offset of each number.
struct Places : decode::Sink {
  std::span<const std::uint8_t> event;
  std::size_t fields = 0;

  void open(decode::FieldId, std::size_t, std::size_t, std::string_view) override {}
  void close() override {}
  void number(decode::FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
              const char*) override {
    std::uint64_t there = 0;
    ASSERT_LE(offset + length, event.size());
    std::memcpy(&there, event.data() + offset, length);
    EXPECT_TRUE(length == 0 || there == value) << decode::spec(id).name;
    ++fields;
  }
  void bytes(decode::FieldId id, std::size_t offset, std::size_t length,
             wire::Bytes value) override {
    ASSERT_LE(offset + length, event.size());
    EXPECT_TRUE(std::ranges::equal(event.subspan(offset, length), value)) << decode::spec(id).name;
  }
  void text(decode::FieldId, std::size_t offset, std::size_t length, std::string_view) override {
    EXPECT_LE(offset + length, event.size());
  }
  void error(const wire::DecodeError&) override {}
};

TEST(EventDecoder, OffsetsAreThoseOfTheBytes) {
  TraceBuilder trace;
  trace.begin();
  emit_plain_connection(trace, 7);
  trace.emit(7, trace::Advertise{5, 6, 7, 8, 1, {}});
  trace.emit(7, trace::Credits{1, {}, 2, 3, 4, 5, 6, 7, 8});
  trace.emit(7, CreditsWithoutLimit{0, {}, 2, 3, 4, 5, 6});
  trace.emit(0, trace::Registration{1, 2, 3, {}});
  Places places;
  trace.for_each([&](auto data, const roce::PacketMeta& meta) {
    places.event = *trace::event_in_pdu(data);
    decode_event({*trace::view_event(places.event), meta, nullptr, 0}, places);
  });
  EXPECT_GT(places.fields, 20U);
}

TEST(EventDecoder, AGrantAndALimitAreTwoThings) {
  TraceBuilder trace;
  trace::Credits own;
  own.requested = 4;
  own.granted = 32;
  own.limit = 4;
  trace.emit(7, own);
  trace::Credits peers;
  peers.side = 1;
  peers.granted = 32;
  trace.emit(7, peers);
  trace.emit(7, CreditsWithoutLimit{0, {}, 4, 4, 1, 0, 0});
  trace.emit(7, CreditsWithoutLimit{1, {}, 4, 32, 1, 0, 0});
  const auto json = decoded(trace);
  EXPECT_EQ(json[0]["rpcrdma.credit.granted"], 32);
  EXPECT_EQ(json[0]["rpcrdma.trace.credit_limit"], 4);
  EXPECT_EQ(json[1]["rpcrdma.credit.granted"], 32);
  EXPECT_FALSE(json[1].contains("rpcrdma.trace.credit_limit"));
  // An older endpoint reported only the limit of its own Calls.
  EXPECT_FALSE(json[2].contains("rpcrdma.credit.granted"));
  EXPECT_EQ(json[2]["rpcrdma.trace.credit_limit"], 4);
  EXPECT_EQ(json[3]["rpcrdma.credit.granted"], 32);
  EXPECT_FALSE(json[3].contains("rpcrdma.trace.credit_limit"));
}

TEST(EventDecoder, MemoryThatIsRegistered) {
  TraceBuilder trace;
  trace.emit(0, trace::Registration{0x7f0000200000, 2U << 20, 1, {}});
  trace.emit(0, trace::Registration{0x7f0000200000, 2U << 20, 0, {}});
  const auto json = decoded(trace);
  EXPECT_EQ(json[0]["rpcrdma.trace.event"], "registration");
  EXPECT_FALSE(json[0].contains("rpcrdma.trace.connection"));
  EXPECT_EQ(json[0]["rpcrdma.trace.registration"], "registered");
  EXPECT_EQ(json[0]["rpcrdma.trace.memory.address"], 0x7f0000200000);
  EXPECT_EQ(json[0]["rpcrdma.trace.memory.length"], 2U << 20);
  EXPECT_EQ(json[1]["rpcrdma.trace.registration"], "deregistered");
}

TEST(EventDecoder, ACallThatCameAgain) {
  TraceBuilder trace;
  trace.emit(7, trace::Duplicate{5, 100003, 3, 12, trace::DuplicateFate::kReplayed, {}, {}, {}});
  const auto json = decoded(trace);
  EXPECT_EQ(json[0]["rpcrdma.trace.event"], "duplicate");
  EXPECT_EQ(json[0]["rpcrdma.xid"], 5);
  EXPECT_EQ(json[0]["rpcrdma.trace.duplicate"], 1);
  EXPECT_EQ(json[0]["rpcrdma.trace.duplicate_name"], "answered with the first Reply");
  for_each_event(trace, [](const Event& event) {
    EXPECT_TRUE(is_notable(event));
    EXPECT_EQ(xid_of(event), 5U);
  });
}

TEST(EventDecoder, WhichAreNotable) {
  TraceBuilder trace;
  trace.begin();
  emit_plain_connection(trace, 7);
  trace.emit(7, trace::Advertise{}).emit_loss();
  trace.lose(1).emit_loss();
  trace.emit(0, trace::Registration{});
  std::vector<bool> notable;
  for_each_event(trace, [&](const Event& event) { notable.push_back(is_notable(event)); });
  EXPECT_EQ(notable, (std::vector<bool>{true, true, false, false, true, true}));
}

TEST(EventDecoder, TheCallThatAnEventIsAbout) {
  TraceBuilder trace;
  trace.emit(7, trace::CreditWait{5, 1, {}});
  trace.emit(7, trace::Error{});
  trace.emit(7, trace::Invalidate{});
  std::vector<std::optional<std::uint32_t>> xids;
  for_each_event(trace, [&](const Event& event) { xids.push_back(xid_of(event)); });
  EXPECT_EQ(xids, (std::vector<std::optional<std::uint32_t>>{5, std::nullopt, std::nullopt}));
}

}  // namespace
}  // namespace rpcrdma::trace_reader
