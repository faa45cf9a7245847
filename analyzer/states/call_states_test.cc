// Tests the states of outstanding Calls with hand-written trace events of each kind of source.
#include "support/trace_builder.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/session/session.h>
#include <rpcrdma/states/call_states.h>

namespace rpcrdma::states {
namespace {

using trace::EventSource;
using trace_reader::testing::Bytes;
using trace_reader::testing::emit_plain_connection;
using trace_reader::testing::plain_connection;
using trace_reader::testing::TraceBuilder;

constexpr std::uint8_t kHere = 0, kPeer = 1;

// A Call with a Read chunk of this handle (0: without chunks), or a Reply.
Bytes message(std::uint32_t xid, bool reply, std::uint32_t handle = 0) {
  std::vector<std::uint32_t> words{xid, 1, 32, 0};
  if (handle != 0) words.insert(words.end(), {1, 44, handle, 4096, 0, 0x1000});
  words.insert(words.end(), {0, 0, 0, xid, reply ? 1U : 0U});
  words.insert(words.end(),
               reply ? std::initializer_list<std::uint32_t>{0, 0, 0, 0}
                     : std::initializer_list<std::uint32_t>{2, 0x20525244, 1, 1, 0, 0, 0, 0});
  Bytes bytes;
  for (const std::uint32_t w : words) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(w >> shift));
  }
  return bytes;
}

class States : public ::testing::Test {
 protected:
  void begin(bool client = true, EventSource source = EventSource::kEndpoint,
             bool sees_operations = true) {
    trace_.begin("test", "role", 42, source);
    trace::Connection connection = plain_connection();
    connection.active = client ? 1 : 0;
    connection.sees_peer_operations = sees_operations ? 1 : 0;
    emit_plain_connection(trace_, 1, connection);
  }
  void feed() {
    for (const TraceBuilder::Frame& f : trace_.frames()) {
      capture::Frame frame;
      frame.time_ns = f.time_ns;
      frame.link = capture::LinkType::kUpperPdu;
      frame.data = f.data;
      frame.number = ++frames_;
      session_.pipeline().frame(frame);
    }
    trace_.frames().clear();
  }
  Counts now() {
    feed();
    return states_.counts(0);
  }
  void call(std::uint32_t xid, std::uint8_t side = kHere) {
    trace::Call c;
    c.xid = xid;
    c.side = side;
    trace_.emit(1, c);
  }
  void wait(std::uint32_t xid, bool begun) {
    trace_.emit(1, trace::CreditWait{xid, static_cast<std::uint8_t>(begun ? 1 : 0), 0, 0});
  }
  void send(std::uint8_t side, const Bytes& bytes) {
    trace::Message m;
    m.side = side;
    m.length = static_cast<std::uint32_t>(bytes.size());
    trace_.emit(1, m, bytes);
  }
  void read(std::uint64_t id, std::uint8_t side, std::uint32_t handle, std::uint32_t xid) {
    trace::Operation o;
    o.side = side;
    o.handle = handle;
    o.offset = 0x1000;
    o.length = 4096;
    o.xid = xid;
    o.id = id;
    trace_.emit(1, o);
  }
  void read_end(std::uint64_t id, std::uint8_t side) {
    trace::OperationEnd o;
    o.side = side;
    o.length = 4096;
    o.id = id;
    trace_.emit(1, o);
  }
  void call_end(std::uint32_t xid, std::uint8_t side = kHere) {
    trace::CallEnd e;
    e.xid = xid;
    e.side = side;
    trace_.emit(1, e);
  }
  void credits(std::uint32_t in_use, std::uint32_t waiting) {
    trace::Credits c;
    c.in_use = in_use;
    c.waiting = waiting;
    c.granted = c.requested = c.limit = 32;
    trace_.emit(1, c);
  }

  TraceBuilder trace_;
  std::uint64_t frames_ = 0;
  CallStates states_;
  session::Session session_{{.join_views = false},
                            {.after_rules = {&states_}, .events = {&states_}}};
};

// Counts by State.
using Row = std::array<std::uint32_t, kStates>;

TEST_F(States, AClientsCallOnItsWay) {
  begin();
  call(7);
  EXPECT_EQ(now().calls, (Row{0, 0, 1}));
  wait(7, true);
  EXPECT_EQ(now().calls, (Row{0, 1}));
  wait(7, false);
  EXPECT_EQ(now().calls, (Row{0, 0, 1}));
  send(kHere, message(7, false, 0x77));
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 1}));
  read(1, kPeer, 0x77, 0);
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 0, 0, 1}));
  read_end(1, kPeer);
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 0, 1}));
  send(kPeer, message(7, true));
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 0, 0, 0, 1}));
  call_end(7);
  const Counts counts = now();
  EXPECT_EQ(counts.outstanding(), 0U);
  EXPECT_FALSE(counts.uncertain);
  for (std::size_t i = 0; i < kStates; ++i) EXPECT_EQ(counts.of(static_cast<State>(i)), 0U) << i;
}

// A Reliable Connected queue pair delivers in order.
TEST_F(States, AnAnswerShowsThatEarlierSendsHaveArrived) {
  begin();
  for (std::uint32_t xid = 1; xid <= 5; ++xid) {
    call(xid);
    send(kHere, message(xid, false));
  }
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 5}));
  send(kPeer, message(4, true));
  call_end(4);
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 1, 3}));
  send(kPeer, message(1, true));
  call_end(1);
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 1, 2}));
}

TEST_F(States, AServersCallOnItsWay) {
  begin(false);
  send(kPeer, message(7, false, 0x77));
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 0, 1}));
  read(1, kHere, 0x77, 7);
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 0, 0, 1}));
  read_end(1, kHere);
  call(7, kPeer);
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 0, 1}));
  send(kHere, message(7, true));
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 0, 0, 0, 1}));
  call_end(7, kPeer);
  const Counts counts = now();
  EXPECT_EQ(counts.calls, Row{});
  // What the client does before its Sends arrive is not seen here.
  EXPECT_EQ(counts.of(State::kCredit), std::nullopt);
  EXPECT_EQ(counts.of(State::kPosted), std::nullopt);
  EXPECT_EQ(counts.of(State::kMoving), 0U);
}

TEST_F(States, WhatASourceDoesNotShowIsUnknown) {
  begin(true, EventSource::kKernelBpf, false);
  call(1);
  send(kHere, message(1, false));
  const Counts counts = now();
  EXPECT_EQ(counts.of(State::kSlot), std::nullopt);
  EXPECT_EQ(counts.of(State::kMoving), std::nullopt);
  EXPECT_EQ(counts.of(State::kPosted), 1U);
  EXPECT_EQ(counts.of(State::kCredit), 0U);
  Counts sum;
  add(sum, counts);
  add(sum, Counts{.calls = {2}, .visible = 1});
  EXPECT_EQ(sum.of(State::kSlot), 2U);
  EXPECT_TRUE(sum.at_least(State::kSlot));
  EXPECT_EQ(sum.of(State::kMoving), std::nullopt);
  EXPECT_FALSE(counts.at_least(State::kPosted));
}

// Its BPF programs do not see Replies' Sends end.
TEST_F(States, AKernelServersCallEndsWithItsReply) {
  begin(false, EventSource::kKernelBpf, false);
  send(kPeer, message(7, false));
  call(7, kPeer);
  EXPECT_EQ(now().of(State::kAtServer), 1U);
  send(kHere, message(7, true));
  EXPECT_EQ(now().outstanding(), 0U);
  EXPECT_EQ(now().of(State::kAnswered), std::nullopt);
}

TEST_F(States, AFilterHidesStates) {
  trace::Endpoint endpoint;
  endpoint.left_out = trace::type_bit(trace::EventType::kMessage);
  trace_.emit(0, endpoint);
  emit_plain_connection(trace_, 1);
  call(1);
  EXPECT_EQ(now().of(State::kPosted), std::nullopt);
  EXPECT_EQ(now().of(State::kCredit), 0U);
}

TEST_F(States, NothingIsKnownOfAConnectionThatIsNotInTheSample) {
  trace::Connection connection;
  connection.active = 1;
  connection.not_sampled = 1;
  trace_.emit(1, connection);
  EXPECT_EQ(now().of(State::kPosted), std::nullopt);
  EXPECT_EQ(now().of(State::kCredit), std::nullopt);
}

TEST_F(States, CallsFromBeforeTheViewBegan) {
  begin();
  credits(2, 1);
  EXPECT_EQ(now().earlier, 3U);
  send(kPeer, message(1, true));
  EXPECT_EQ(now().earlier, 2U);
  wait(3, false);
  EXPECT_EQ(now().earlier, 1U);
  EXPECT_EQ(now().of(State::kPreparing), 1U);
  send(kHere, message(3, false));
  send(kPeer, message(3, true));
  EXPECT_EQ(now().earlier, 1U);
  credits(0, 0);
  EXPECT_EQ(now().outstanding(), 0U);
}

// An endpoint reports its credits with the first change after a reader came.
TEST_F(States, EarlierCallsShowInCreditsThatComeLater) {
  begin();
  call(9);
  send(kHere, message(9, false));
  credits(4, 0);
  EXPECT_EQ(now().earlier, 3U);
  credits(2, 0);
  EXPECT_EQ(now().earlier, 1U);
  credits(4, 0);
  EXPECT_EQ(now().earlier, 1U);
}

TEST_F(States, LostEventsMakeCountsUncertain) {
  begin();
  for (std::uint32_t xid = 1; xid <= 3; ++xid) {
    call(xid);
    send(kHere, message(xid, false));
  }
  EXPECT_FALSE(now().uncertain);
  trace_.lose(4);
  call(9);
  send(kHere, message(9, false));
  EXPECT_TRUE(now().uncertain);
  EXPECT_EQ(now().outstanding(), 4U);
  // Two of the four have ended unseen: the oldest.
  credits(2, 0);
  EXPECT_EQ(now().outstanding(), 2U);
  EXPECT_TRUE(now().uncertain);
  send(kPeer, message(9, true));
  call_end(9);
  credits(0, 0);
  EXPECT_EQ(now().outstanding(), 0U);
  EXPECT_FALSE(now().uncertain);
}

TEST_F(States, AClosedConnectionHasNoCalls) {
  begin();
  call(1);
  send(kHere, message(1, false));
  EXPECT_EQ(now().outstanding(), 1U);
  trace::ConnectionEnd end;
  end.established = 1;
  trace_.emit(1, end);
  EXPECT_EQ(now().outstanding(), 0U);
  EXPECT_EQ(states_.all().visible, 0U);
}

// Both directions may use the same XID at the same time.
TEST_F(States, ReverseCallsAreCountedApart) {
  begin();
  call(5);
  send(kHere, message(5, false));
  send(kPeer, message(5, false));
  call(5, kPeer);
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 1}));
  EXPECT_EQ(states_.counts(0, true).calls, (Row{0, 0, 0, 0, 1}));
  send(kHere, message(5, true));
  call_end(5, kPeer);
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 1}));
  EXPECT_EQ(states_.counts(0, true).outstanding(), 0U);
}

// An XID that is used again, before the end of the Call was seen, is one Call.
TEST_F(States, ACallThatIsSentAgainCountsOnce) {
  begin();
  call(1);
  send(kHere, message(1, false));
  send(kHere, message(1, false));
  EXPECT_EQ(now().calls, (Row{0, 0, 0, 1}));
  send(kPeer, message(1, true));
  call_end(1);
  EXPECT_EQ(now().outstanding(), 0U);
}

TEST_F(States, CallsBeyondTheLimitAreUncertain) {
  begin();
  for (std::uint32_t xid = 1; xid <= CallStates::kMostCalls + 1; ++xid) {
    call(xid);
    if (xid % 4096 == 0) feed();
  }
  const Counts counts = now();
  EXPECT_EQ(counts.outstanding(), CallStates::kMostCalls);
  EXPECT_TRUE(counts.uncertain);
}

TEST_F(States, TextsDiffer) {
  std::set<std::string> texts;
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    texts.insert({state_text(state), std::string("label ") + state_label(state),
                  std::string("key ") + state_key(state)});
    EXPECT_LE(std::string(state_label(state)).size(), 9U);
  }
  EXPECT_EQ(texts.size(), 3 * kStates);
}

}  // namespace
}  // namespace rpcrdma::states
