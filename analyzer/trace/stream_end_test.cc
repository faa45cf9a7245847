#include "support/trace_builder.h"

#include <gtest/gtest.h>

#include <rpcrdma/trace_reader/stream_end.h>

namespace rpcrdma::trace_reader {
namespace {

using namespace testing;

bool in_order(const TraceBuilder& trace) {
  StreamEnd end;
  trace.for_each([&end](auto data, const roce::PacketMeta&) { end.frame(data); });
  return end.in_order();
}

trace::ConnectionEnd closed() {
  trace::ConnectionEnd end;
  end.established = 1;
  return end;
}

TEST(StreamEnd, InOrderIsClosedAndSummedUp) {
  TraceBuilder trace;
  EXPECT_TRUE(in_order(trace.begin()));
  emit_plain_connection(trace, 7);
  trace.emit(7, closed());
  EXPECT_FALSE(in_order(trace));
  EXPECT_TRUE(in_order(trace.end()));
}

// Nothing happened in its last second.
TEST(StreamEnd, AConnectionThatIsUpBehindTheLastSumIsNotInOrder) {
  TraceBuilder trace;
  trace.begin();
  emit_plain_connection(trace, 7);
  EXPECT_FALSE(in_order(trace.end()));
}

TEST(StreamEnd, OneThatWasNeverEstablishedIsNoneThatIsUp) {
  TraceBuilder trace;
  trace.begin();
  trace.emit(7, trace::ConnectionEnd{});
  emit_plain_connection(trace, 8);
  EXPECT_FALSE(in_order(trace.end()));
  trace.emit(8, closed());
  EXPECT_TRUE(in_order(trace.end()));
}

TEST(StreamEnd, AnEndThatMayBeAmongLostEventsAccusesNobody) {
  TraceBuilder trace;
  trace.begin();
  emit_plain_connection(trace, 7);
  trace.lose(1);
  EXPECT_TRUE(in_order(trace.end()));
}

TEST(StreamEnd, EachThreadHasItsOwnSums) {
  TraceBuilder one;
  one.begin();
  one.emit(0, trace::Registration{});
  TraceBuilder other;
  other.ring = 2;
  other.emit(0, trace::Registration{}).end();
  StreamEnd end;
  for (const TraceBuilder* trace : {&one, &other}) {
    trace->for_each([&end](auto data, const roce::PacketMeta&) { end.frame(data); });
  }
  EXPECT_FALSE(end.in_order());
}

TEST(StreamEnd, WhatIsNoEventIsPassedOver) {
  StreamEnd end;
  const std::array<std::uint8_t, 3> bytes{1, 2, 3};
  end.frame(bytes);
  EXPECT_TRUE(end.in_order());
}

}  // namespace
}  // namespace rpcrdma::trace_reader
