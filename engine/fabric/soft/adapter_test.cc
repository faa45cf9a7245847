// The software adapter end to end: connections, work and memory between adapters without a network,
// refused requests, and trace events.
#include "rc/packet_fields.h"
#include "rc/qp_pair_for_tests.h"
#include "support/emitted_events.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>

#include <gmock/gmock.h>

#include <rpcrdma/soft/adapter.h>
#include <rpcrdma/trace/connection_tracer.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

using fabric::Errc;
using fabric::EventType;
using fabric::Operation;
using fabric::Status;
using ::testing::ElementsAre;

constexpr std::uint16_t kPort = 20049;
constexpr auto kRead = fabric::Access::kRemoteRead;
constexpr auto kWrite = fabric::Access::kRemoteWrite;

fabric::Address address(std::uint8_t last) {
  return fabric::make_ipv4(127, 0, 0, last);
}

// Adapters that exchange packets without delay; time advances only when none has anything to send.
class Net {
 public:
  Adapter& add(std::uint8_t last, AdapterOptions options = {}) {
    options.address = address(last);
    auto made = std::make_unique<Adapter>(options, last);
    Adapter& adapter = *made;
    adapters_[last] = std::move(made);
    return adapter;
  }
  void remove(std::uint8_t last) { adapters_.erase(last); }

  void run() {
    for (;;) {
      bool any = false;
      for (auto& [last, adapter] : adapters_) {
        OutPacket out;
        while (adapter->transmit(out, now)) {
          any = true;
          const std::vector<std::uint8_t> bytes = testing::bytes_of(out);
          if (record) sent.push_back(bytes);
          const Path path{out.path->remote, out.path->local, 4791};
          const auto to = adapters_.find(out.path->remote.bytes[3]);
          if (to != adapters_.end()) to->second->receive(path, bytes, now);
        }
      }
      if (any) continue;
      fabric::Time next = fabric::kNever;
      for (auto& [last, adapter] : adapters_) next = std::min(next, adapter->deadline());
      if (next > limit) return;
      now = std::max(now, next);
      for (auto& [last, adapter] : adapters_) adapter->expire(now);
    }
  }

  fabric::Time now = 0;
  fabric::Time limit = 0;  // later timers do not run
  bool record = false;
  std::vector<std::vector<std::uint8_t>> sent;  // while `record`

 private:
  std::map<std::uint8_t, std::unique_ptr<Adapter>> adapters_;
};

AdapterEvent next(Adapter& a) {
  AdapterEvent e;
  EXPECT_TRUE(a.poll(e)) << "no event";
  return e;
}
bool silent(Adapter& a) {
  AdapterEvent e;
  return !a.poll(e);
}

fabric::ConnectionOptions with_cookie(std::uint64_t cookie) {
  fabric::ConnectionOptions o;
  o.cookie = cookie;
  return o;
}

struct Connected {
  ConnectionId client = 0;
  ConnectionId server = 0;
};

Connected connect(Net& net, Adapter& a, Adapter& b, std::uint8_t b_last) {
  Connected c;
  c.client = a.connect(address(b_last), kPort, with_cookie(1), net.now).value();
  net.run();
  const AdapterEvent request = next(b);
  EXPECT_EQ(request.type, EventType::kRequest);
  c.server = request.connection;
  EXPECT_TRUE(b.accept(c.server, with_cookie(2), net.now));
  net.run();
  EXPECT_EQ(next(a).type, EventType::kEstablished);
  EXPECT_EQ(next(b).type, EventType::kEstablished);
  return c;
}

TEST(Adapter, ConnectsWithPrivateDataBothWays) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 77));
  const std::vector<std::uint8_t> hello{1, 2, 3};
  fabric::ConnectionOptions o = with_cookie(5);
  o.private_data = hello;
  o.initiator_depth = 3;
  o.responder_resources = 9;
  ASSERT_TRUE(a.connect(address(2), kPort, o, net.now));
  net.run();
  const AdapterEvent request = next(b);
  ASSERT_EQ(request.type, EventType::kRequest);
  EXPECT_EQ(request.cookie, 77U);
  EXPECT_EQ(request.peer, address(1));
  EXPECT_EQ(request.initiator_depth, 9);
  EXPECT_EQ(request.responder_resources, 3);
  ASSERT_EQ(request.private_data.size(), fabric::kMaxRequestPrivateData);
  EXPECT_EQ(request.private_data[0], 1);
  EXPECT_EQ(request.private_data[2], 3);
  const std::vector<std::uint8_t> answer{9};
  fabric::ConnectionOptions accepting = with_cookie(6);
  accepting.private_data = answer;
  ASSERT_TRUE(b.accept(request.connection, accepting, net.now));
  net.run();
  const AdapterEvent client = next(a);
  EXPECT_EQ(client.type, EventType::kEstablished);
  EXPECT_EQ(client.cookie, 5U);
  EXPECT_EQ(client.private_data[0], 9);
  EXPECT_EQ(client.initiator_depth, 3);
  EXPECT_EQ(client.responder_resources, 9);
  EXPECT_EQ(client.local, address(1));
  EXPECT_EQ(client.peer, address(2));
  const AdapterEvent server = next(b);
  EXPECT_EQ(server.local, address(2));
  EXPECT_EQ(server.peer, address(1));
  EXPECT_EQ(server.local_qpn, request.connection);
  EXPECT_EQ(server.peer_qpn, client.connection);
  EXPECT_EQ(client.local_qpn, client.connection);
  EXPECT_EQ(client.peer_qpn, server.connection);
  EXPECT_EQ(server.type, EventType::kEstablished);
  EXPECT_EQ(server.cookie, 6U);
  EXPECT_EQ(server.initiator_depth, 9);
  EXPECT_EQ(server.responder_resources, 3);
}

// By the owner's number for the connection, and not at all without one.
TEST(Adapter, ShowsOfAConnectionByItsNumber) {
  Net net;
  trace::testing::Emitted of_a(0), of_b(0);
  AdapterOptions a_options, b_options;
  a_options.tracer = &of_a.tracer;
  b_options.tracer = &of_b.tracer;
  Adapter& a = net.add(1, a_options);
  Adapter& b = net.add(2, b_options);
  ASSERT_TRUE(b.listen(kPort, 0));
  const Connected nameless = connect(net, a, b, 2);
  fabric::ConnectionOptions o = with_cookie(1);
  o.trace_connection = 7;
  const ConnectionId client = a.connect(address(2), kPort, o, net.now).value();
  net.run();
  const ConnectionId server = next(b).connection;
  o.trace_connection = 8;
  ASSERT_TRUE(b.accept(server, o, net.now));
  net.run();
  EXPECT_EQ(next(b).type, EventType::kEstablished);
  fabric::SendRequest nothing;
  nothing.operation = Operation::kWrite;
  ASSERT_TRUE(a.post_send(nameless.client, {&nothing, 1}));
  ASSERT_TRUE(a.post_send(client, {&nothing, 1}));
  ASSERT_TRUE(b.post_send(server, {&nothing, 1}));
  net.run();
  EXPECT_THAT(of_a.take(), ElementsAre("[7] write 1 #1: 0 at 0, 0 bytes, xid 0"));
  EXPECT_THAT(of_b.take(), ElementsAre("[8] write 1 #1: 0 at 0, 0 bytes, xid 0"));

  const Path to_b{address(1), address(2), 4791};
  EXPECT_EQ(a.trace_connection(FaultDirection::kIn, to_b, client), 7U);
  EXPECT_EQ(a.trace_connection(FaultDirection::kOut, to_b, server), 7U);
  EXPECT_EQ(a.trace_connection(FaultDirection::kOut, to_b, nameless.server), 0U);
  EXPECT_EQ(a.trace_connection(FaultDirection::kOut, to_b, wire::kGsiQp), 0U);
  EXPECT_EQ(a.trace_connection(FaultDirection::kIn, {address(1), address(3), 4791}, client), 0U);
}

// Rejected requests are traced although their owner gets no event.
TEST(Adapter, ShowsOfWhomItRefuses) {
  Net net;
  trace::testing::Emitted emitted(0);
  AdapterOptions small;
  small.tracer = &emitted.tracer;
  small.mtu = 1024;
  small.max_connections = 2;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2, small);
  const auto ask = [&](Adapter& from, std::uint16_t port) {
    EXPECT_TRUE(from.connect(address(2), port, with_cookie(1), net.now));
    net.run();
  };
  ask(a, kPort);
  EXPECT_THAT(emitted.take(), ElementsAre("connection end by 0, was not up, reason 8: 127.0.0.1: "
                                          "rejected, reason 8 (invalid service ID): no listener "
                                          "on that port"));
  ASSERT_TRUE(b.listen(kPort, 0));
  ask(a, kPort);
  EXPECT_THAT(emitted.take(),
              ElementsAre("connection end by 0, was not up, reason 26: 127.0.0.1: "
                          "rejected, reason 26 (invalid path MTU): it is larger than "
                          "the MTU here"));
  AdapterOptions as_small;
  as_small.mtu = 1024;
  Adapter& c = net.add(3, as_small);
  for (int i = 0; i < 3; ++i) ask(c, kPort);
  EXPECT_THAT(emitted.take(), ElementsAre("connection end by 0, was not up, reason 3: 127.0.0.3: "
                                          "rejected, reason 3 (no resources available): connection "
                                          "limit reached"));
  // One request was accepted by the CM and belongs to its owner.
  ASSERT_EQ(next(b).type, EventType::kRequest);
  b.unlisten(kPort, net.now);
  EXPECT_THAT(emitted.take(), ElementsAre("connection end by 0, was not up, reason 28: 127.0.0.3: "
                                          "rejected, reason 28 (consumer reject): the listener is "
                                          "gone"));
  // Without a reader, refusals are not emitted.
  const std::uint64_t before = emitted.tracer.ring().emitted();
  emitted.tracer.listen(false);
  ask(a, kPort);
  EXPECT_EQ(emitted.tracer.ring().emitted(), before);
}

// A message that arrives postpones the ACK, and with it the deadline.
TEST(Adapter, APostponedDeadlineIsUpdatedWhenItIsNear) {
  constexpr fabric::Time kUs = fabric::kMicrosecond;
  Net net;
  AdapterOptions options;
  options.ack_hold = 10 * kUs;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2, options);
  ASSERT_TRUE(b.listen(kPort, 0));
  const Connected c = connect(net, a, b, 2);
  const auto send = [&] {
    const fabric::ReceiveRequest receive{1, {}};
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(b.post_receive(c.server, {&receive, 1}));
    fabric::SendRequest nothing;
    nothing.operation = Operation::kSend;
    ASSERT_TRUE(a.post_send(c.client, {&nothing, 1}));
    net.run();
  };
  send();  // its ACK is urgent: the peer knows of no Receive
  const fabric::Time begin = net.now;
  for (const fabric::Time at : {0 * kUs, 6 * kUs}) {
    net.now = net.limit = begin + at;
    send();
    EXPECT_EQ(b.deadline(), begin + 10 * kUs);
  }
  b.update_deadlines(begin + 10 * kUs);
  EXPECT_EQ(b.deadline(), begin + 10 * kUs);
  b.update_deadlines(begin + 11 * kUs);
  EXPECT_EQ(b.deadline(), begin + 16 * kUs);
  b.update_deadlines(begin + 100 * kUs);
  EXPECT_EQ(b.deadline(), begin + 16 * kUs);
}

TEST(Adapter, ShowsWhomAndWhereItRefused) {
  Net net;
  trace::Tracer tracer(5, 4096);
  tracer.listen(true);
  AdapterOptions options;
  options.tracer = &tracer;
  Adapter& a = net.add(1);
  net.add(2, options);
  ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(1), net.now));
  net.run();
  int events = 0;
  tracer.ring().read([&](const trace::EventHeader& h, std::span<const std::uint8_t> bytes) {
    ++events;
    EXPECT_EQ(h.connection, 0x05000000U);
    const auto end = trace::read_event<trace::ConnectionEnd>(*trace::view_event(bytes));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->peer, address(1).gid());
    EXPECT_EQ(end->port, kPort);
    EXPECT_EQ(end->side, trace::kHere);
    EXPECT_EQ(end->active, 0);
    EXPECT_EQ(end->established, 0);
    EXPECT_EQ(end->private_data, 0);
  });
  EXPECT_EQ(events, 1);
}

TEST(Adapter, ListensOnceOnAPort) {
  Net net;
  Adapter& a = net.add(1);
  EXPECT_EQ(a.listen(0, 1).error().code, Errc::kBadArgument);
  ASSERT_TRUE(a.listen(kPort, 1));
  EXPECT_EQ(a.listen(kPort, 2).error().code, Errc::kBadArgument);
  a.unlisten(kPort, net.now);
  EXPECT_TRUE(a.listen(kPort, 2));
}

// IBA 12.7.31: a REQ or REP specifies the PSN at which its recipient must begin.
TEST(Adapter, BeginsWithThePsnThatThePeerNamed) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 0));
  net.record = true;
  const Connected c = connect(net, a, b, 2);
  fabric::SendRequest nothing;
  nothing.operation = Operation::kWrite;
  ASSERT_TRUE(a.post_send(c.client, {&nothing, 1}));
  net.run();
  ASSERT_TRUE(b.post_send(c.server, {&nothing, 1}));
  net.run();

  std::optional<wire::CmReq> req;
  std::optional<wire::CmRep> rep;
  std::vector<std::uint32_t> psns;  // of the Writes
  for (const std::vector<std::uint8_t>& bytes : net.sent) {
    wire::RocePacket p;
    ASSERT_TRUE(wire::decode_roce(bytes, bytes.size() + wire::kIcrcBytes, p));
    if (wire::opcode_info(p.bth.opcode).write) psns.push_back(p.bth.psn);
    if (p.bth.dest_qp != wire::kGsiQp) continue;
    const auto mad = wire::decode_cm(p.payload);
    ASSERT_TRUE(mad);
    if (const auto* m = std::get_if<wire::CmReq>(&mad->message)) req = *m;
    if (const auto* m = std::get_if<wire::CmRep>(&mad->message)) rep = *m;
  }
  ASSERT_TRUE(req && rep);
  EXPECT_THAT(psns, ElementsAre(rep->starting_psn, req->starting_psn));
}

TEST(Adapter, RefusesWithReason) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(5), net.now));
  net.run();
  const AdapterEvent nobody = next(a);
  EXPECT_EQ(nobody.type, EventType::kRejected);
  EXPECT_EQ(nobody.reject_reason, 8);  // invalid service ID
  EXPECT_TRUE(silent(b));

  ASSERT_TRUE(b.listen(kPort, 0));
  ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(6), net.now));
  net.run();
  const std::vector<std::uint8_t> why{42};
  ASSERT_TRUE(b.reject(next(b).connection, why, net.now));
  net.run();
  const AdapterEvent no = next(a);
  EXPECT_EQ(no.type, EventType::kRejected);
  EXPECT_EQ(no.cookie, 6U);
  EXPECT_EQ(no.reject_reason, 28);
  EXPECT_EQ(no.private_data[0], 42);
}

// Before accept(), no cookie is known that an event could carry.
TEST(Adapter, OfARequestNothingComesBeforeItIsAccepted) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 0));
  const ConnectionId given_up = a.connect(address(2), kPort, with_cookie(5), net.now).value();
  ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(6), net.now));
  ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(7), net.now));
  net.run();
  const std::array<ConnectionId, 3> asked{next(b).connection, next(b).connection,
                                          next(b).connection};
  const fabric::ReceiveRequest receive;
  for (const ConnectionId id : asked) ASSERT_TRUE(b.post_receive(id, {&receive, 1}));
  // Withdrawn by the peer; rejected; and left unanswered until the peer times out.
  a.destroy(given_up, net.now);
  ASSERT_TRUE(b.reject(asked[1], {}, net.now));
  net.limit = 3600 * fabric::kSecond;
  net.run();
  EXPECT_FALSE(b.anything_to_poll());
  for (const ConnectionId id : asked) {
    EXPECT_EQ(b.accept(id, with_cookie(1), net.now).error().code, Errc::kNotConnected);
    b.destroy(id, net.now);
  }
  EXPECT_EQ(b.connections(), 0U);
}

TEST(Adapter, ExposesWhenItIsEstablished) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 0));
  std::vector<std::uint8_t> bytes(100);
  const fabric::Memory n = b.register_memory(bytes).value();
  ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(5), net.now));
  net.run();
  const ConnectionId id = next(b).connection;
  const auto advertise = [&] { return b.advertise(id, n, bytes.data(), 100, kRead); };
  EXPECT_EQ(advertise().error().code, Errc::kNotConnected);
  ASSERT_TRUE(b.accept(id, with_cookie(1), net.now));
  EXPECT_EQ(advertise().error().code, Errc::kNotConnected);
  net.run();
  ASSERT_EQ(next(b).type, EventType::kEstablished);
  EXPECT_TRUE(advertise());
  b.disconnect(id, net.now);
  EXPECT_EQ(advertise().error().code, Errc::kNotConnected);
}

TEST(Adapter, AcceptsWithQueuesThatHoldWhatIsPosted) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 0));
  ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(5), net.now));
  net.run();
  const ConnectionId id = next(b).connection;
  const std::array<fabric::ReceiveRequest, 3> receives;
  ASSERT_EQ(b.post_receive(id, receives).value(), 3U);
  fabric::ConnectionOptions o = with_cookie(1);
  o.depths.receive = 2;
  EXPECT_EQ(b.accept(id, o, net.now).error().code, Errc::kBadArgument);
  o.depths.receive = 3;
  EXPECT_TRUE(b.accept(id, o, net.now));
  net.run();
  EXPECT_EQ(next(a).type, EventType::kEstablished);
}

TEST(Adapter, WhoDoesNotAnswerIsUnreachable) {
  Net net;
  Adapter& a = net.add(1);
  ASSERT_TRUE(a.connect(address(9), kPort, with_cookie(5), net.now));
  net.limit = 3600 * fabric::kSecond;
  net.run();
  EXPECT_EQ(next(a).type, EventType::kUnreachable);
}

TEST(Adapter, MovesDataAndDisconnects) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 0));
  const Connected c = connect(net, a, b, 2);
  std::vector<std::uint8_t> here(100'000, 7);
  std::vector<std::uint8_t> there(100'000, 0);
  const fabric::Memory m = a.register_memory(here).value();
  const fabric::Memory n = b.register_memory(there).value();
  const fabric::MemoryRegion x = b.advertise(c.server, n, there.data(), 100'000, kWrite).value();
  const fabric::Slice s{here.data(), 100'000, m.local_key};
  fabric::SendRequest w;
  w.id = 3;
  w.operation = Operation::kWrite;
  w.local = {&s, 1};
  w.remote_handle = x.handle;
  w.remote_offset = x.offset;
  ASSERT_EQ(a.post_send(c.client, {&w, 1}).value(), 1U);
  net.run();
  std::array<fabric::Completion, 8> done;
  ASSERT_EQ(a.poll(done), 1U);
  EXPECT_EQ(done[0].id, 3U);
  EXPECT_EQ(done[0].connection, 1U);
  EXPECT_EQ(done[0].status, Status::kSuccess);
  EXPECT_EQ(there, here);

  const fabric::Slice r{there.data(), 100, n.local_key};
  const fabric::ReceiveRequest receive{8, {&r, 1}};
  ASSERT_TRUE(b.post_receive(c.server, {&receive, 1}));
  a.disconnect(c.client, net.now);
  EXPECT_EQ(next(a).type, EventType::kDisconnected);
  net.run();
  EXPECT_TRUE(silent(b)) << "before all completions were taken";
  ASSERT_EQ(b.poll(done), 1U);
  EXPECT_EQ(done[0].status, Status::kFlushed);
  EXPECT_EQ(done[0].connection, 2U);
  EXPECT_EQ(next(b).type, EventType::kDisconnected);
  EXPECT_EQ(a.post_send(c.client, {&w, 1}).error().code, Errc::kNotConnected);
  a.destroy(c.client, net.now);
  const QpCounters kept = a.queue_pairs();
  b.destroy(c.server, net.now);
  EXPECT_EQ(a.connections(), 0U);
  EXPECT_EQ(b.connections(), 0U);

  // A connection's counters outlive it, and the next one's are added.
  EXPECT_EQ(kept.bytes_out, 100'000U);
  EXPECT_EQ(kept.packets_out, 25U);
  EXPECT_EQ(b.queue_pairs().bytes_in, 100'000U);
  EXPECT_EQ(b.queue_pairs().packets_in, 25U);
  const Connected d = connect(net, a, b, 2);
  const fabric::MemoryRegion y = b.advertise(d.server, n, there.data(), 100'000, kWrite).value();
  w.remote_handle = y.handle;
  w.remote_offset = y.offset;
  ASSERT_TRUE(a.post_send(d.client, {&w, 1}));
  net.run();
  EXPECT_EQ(a.queue_pairs().bytes_out, 200'000U);
  EXPECT_EQ(b.queue_pairs().packets_in, 50U);
}

void post_receives(Adapter& a, ConnectionId id, std::size_t count) {
  const std::vector<fabric::ReceiveRequest> receives(count);
  ASSERT_EQ(a.post_receive(id, receives).value(), count);
}

TEST(Adapter, AnEndWaitsForTheCompletionsBeforeItAndForNoOthers) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 0));
  const Connected first = connect(net, a, b, 2);
  const Connected second = connect(net, a, b, 2);
  post_receives(b, first.server, 3);
  post_receives(b, second.server, 3);
  b.disconnect(first.server, net.now);
  b.disconnect(second.server, net.now);
  std::array<fabric::Completion, 2> two;
  EXPECT_EQ(b.poll(two), 2U);
  EXPECT_TRUE(silent(b));
  EXPECT_TRUE(b.anything_to_poll());
  EXPECT_EQ(b.poll(two), 2U);
  EXPECT_EQ(next(b).connection, first.server);
  EXPECT_TRUE(silent(b));
  EXPECT_EQ(b.poll(two), 2U);
  EXPECT_EQ(next(b).connection, second.server);
  EXPECT_FALSE(b.anything_to_poll());
}

TEST(Adapter, OfADestroyedConnectionNothingComesAndOthersEndAsEver) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 0));
  const Connected gone = connect(net, a, b, 2);
  const Connected stays = connect(net, a, b, 2);
  // Its completions are before, between and after those of the other.
  post_receives(b, gone.server, 2);
  post_receives(b, stays.server, 2);
  const Connected last = connect(net, a, b, 2);
  post_receives(b, last.server, 2);
  for (const Connected& c : {gone, stays, last}) b.disconnect(c.server, net.now);
  b.destroy(gone.server, net.now);
  b.destroy(last.server, net.now);
  EXPECT_TRUE(silent(b));
  std::array<fabric::Completion, 8> done;
  EXPECT_EQ(b.poll(done), 2U);
  EXPECT_EQ(next(b).connection, stays.server);
  EXPECT_TRUE(silent(b));
  EXPECT_FALSE(b.anything_to_poll());
}

TEST(Adapter, AListenerTakesItsRequestsThatNobodyTookWithIt) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 1));
  ASSERT_TRUE(b.listen(kPort + 1, 2));
  ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(1), net.now));
  net.run();
  const AdapterEvent taken = next(b);
  ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(2), net.now));
  ASSERT_TRUE(a.connect(address(2), kPort + 1, with_cookie(3), net.now));
  net.run();
  b.unlisten(kPort, net.now);
  net.run();
  const AdapterEvent refused = next(a);
  EXPECT_EQ(refused.type, EventType::kRejected);
  EXPECT_EQ(refused.cookie, 2U);
  EXPECT_EQ(next(b).cookie, 2U) << "the other listener's";
  EXPECT_TRUE(silent(b));
  ASSERT_TRUE(b.accept(taken.connection, with_cookie(4), net.now));
  net.run();
  EXPECT_EQ(next(a).cookie, 1U);
}

TEST(Adapter, AFailedConnectionEndsOnBothSidesAndOthersLiveOn) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 0));
  const Connected bad = connect(net, a, b, 2);
  const Connected good = connect(net, a, b, 2);
  std::vector<std::uint8_t> here(1000, 7);
  std::vector<std::uint8_t> there(1000, 0);
  const fabric::Memory m = a.register_memory(here).value();
  const fabric::Memory n = b.register_memory(there).value();
  const fabric::MemoryRegion x =
      b.advertise(good.server, n, there.data(), 1000, kRead | kWrite).value();
  const fabric::Slice s{here.data(), 1000, m.local_key};
  fabric::SendRequest w;
  w.operation = Operation::kWrite;
  w.local = {&s, 1};
  w.remote_handle = x.handle;
  w.remote_offset = x.offset;
  // A handle of another connection.
  ASSERT_TRUE(a.post_send(bad.client, {&w, 1}));
  net.run();
  std::array<fabric::Completion, 8> done;
  ASSERT_EQ(a.poll(done), 1U);
  EXPECT_EQ(done[0].status, Status::kRemoteAccess);
  EXPECT_THAT(there, ::testing::Each(0));
  const AdapterEvent failed = next(a);
  EXPECT_EQ(failed.type, EventType::kDisconnected);
  EXPECT_TRUE(failed.failed);
  const AdapterEvent refused = next(b);
  EXPECT_EQ(refused.type, EventType::kDisconnected);
  EXPECT_TRUE(refused.failed);
  EXPECT_EQ(refused.connection, bad.server);
  EXPECT_EQ(refused.reason, "a Write outside the memory advertised to it");
  ASSERT_TRUE(a.post_send(good.client, {&w, 1}));
  net.run();
  ASSERT_EQ(a.poll(done), 1U);
  EXPECT_EQ(done[0].status, Status::kSuccess);
  EXPECT_EQ(there, here);
  EXPECT_TRUE(silent(a));
  EXPECT_TRUE(silent(b));
}

TEST(Adapter, PacketsOfStrangersAreStrays) {
  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ASSERT_TRUE(b.listen(kPort, 0));
  const Connected c = connect(net, a, b, 2);
  wire::RocePacket p;
  p.bth.opcode = static_cast<std::uint8_t>(wire::Opcode::kSendOnly);
  p.bth.dest_qp = c.server;
  std::array<std::uint8_t, 64> bytes{};
  const std::size_t n = wire::encode_roce(p, bytes).value();
  b.receive({address(2), address(3), 4791}, wire::Bytes(bytes).first(n), net.now);
  EXPECT_EQ(b.counters().strays, 1U);
  p.bth.dest_qp = c.server + 1;
  (void)wire::encode_roce(p, bytes).value();
  b.receive({address(2), address(1), 4791}, wire::Bytes(bytes).first(n), net.now);
  EXPECT_EQ(b.counters().strays, 2U);
  b.receive({address(2), address(1), 4791}, wire::Bytes(bytes).first(7), net.now);
  EXPECT_EQ(b.counters().malformed, 1U);
  EXPECT_TRUE(silent(b));
}

TEST(Adapter, ManyConnectionsAtOnce) {
  Net net;
  Adapter& a = net.add(1);
  AdapterOptions few;
  few.max_connections = 300;
  Adapter& b = net.add(2, few);
  ASSERT_TRUE(b.listen(kPort, 0));
  for (std::uint64_t i = 0; i < 400; ++i) {
    ASSERT_TRUE(a.connect(address(2), kPort, with_cookie(i), net.now));
  }
  net.run();
  AdapterEvent e;
  std::size_t requests = 0;
  while (b.poll(e)) {
    ASSERT_EQ(e.type, EventType::kRequest);
    ASSERT_TRUE(b.accept(e.connection, with_cookie(e.connection), net.now));
    ++requests;
  }
  EXPECT_EQ(requests, 300U);
  net.run();
  std::size_t established = 0;
  std::size_t rejected = 0;
  while (a.poll(e)) ++(e.type == EventType::kEstablished ? established : rejected);
  EXPECT_EQ(established, 300U);
  EXPECT_EQ(rejected, 100U);
}

// A server, and packets to it that a test makes: on the same path as its client's.
class AdapterHalfOpen : public ::testing::Test {
 protected:
  AdapterHalfOpen() {
    EXPECT_TRUE(b.listen(kPort, 0));
    client = a.connect(address(2), kPort, with_cookie(1), net.now).value();
    net.run();
    server = next(b).connection;
    EXPECT_TRUE(b.accept(server, with_cookie(2), net.now));
    net.record = true;
    transmit_all();
    // The REP names the PSN. It does not reach the client.
    for (const std::vector<std::uint8_t>& bytes : net.sent) {
      wire::RocePacket p;
      EXPECT_TRUE(wire::decode_roce(bytes, bytes.size() + wire::kIcrcBytes, p));
      const auto mad = wire::decode_cm(p.payload);
      if (const auto* m = std::get_if<wire::CmRep>(&mad->message)) psn = m->starting_psn;
    }
  }

  void transmit_all() {
    OutPacket out;
    while (b.transmit(out, net.now)) net.sent.push_back(testing::bytes_of(out));
  }

  // A packet with one byte from `from` to a queue pair of the server.
  void give(wire::Opcode opcode, std::uint32_t qpn, std::uint32_t at, std::uint8_t from = 1) {
    wire::RocePacket p;
    p.bth.opcode = static_cast<std::uint8_t>(opcode);
    p.bth.dest_qp = qpn;
    p.bth.psn = at;
    const std::array<std::uint8_t, 1> byte{0x5a};
    OutPacket out;
    out.payload[0] = byte;
    out.payload_parts = 1;
    out.payload_bytes = 1;
    const Path path{address(2), address(from), 4791};
    out.path = &path;
    put_headers(p, out);
    b.receive(path, testing::bytes_of(out), net.now);
  }

  Net net;
  Adapter& a = net.add(1);
  Adapter& b = net.add(2);
  ConnectionId client = 0, server = 0;
  std::uint32_t psn = 0;
};

// From the right address, by somebody who has not seen the REP.
TEST_F(AdapterHalfOpen, PacketsWithAnotherNumberProveNothing) {
  for (unsigned bit = 0; bit < 24; ++bit) {
    give(wire::Opcode::kSendOnly, server, psn ^ 1U << bit);
    give(wire::Opcode::kSendOnly, server ^ 1U << bit, psn);
  }
  give(wire::Opcode::kAck, server, psn);
  give(wire::Opcode::kSendMiddle, server, psn);
  give(wire::Opcode::kSendOnly, server, psn, 3);
  EXPECT_TRUE(silent(b));
  EXPECT_EQ(b.counters().unproven, 26U);
  EXPECT_EQ(b.counters().strays, 25U);
  EXPECT_EQ(b.counters().half_open, 1U);
  net.sent.clear();
  transmit_all();
  EXPECT_TRUE(net.sent.empty());  // not even a NAK

  give(wire::Opcode::kSendOnly, server, psn);
  EXPECT_EQ(next(b).type, EventType::kEstablished);
  EXPECT_EQ(b.counters().half_open, 0U);
}

// The RTU is lost, and Sends arrive before the owner has posted a Receive.
TEST_F(AdapterHalfOpen, FirstMessagesWaitForTheOwner) {
  give(wire::Opcode::kSendOnly, server, psn);
  give(wire::Opcode::kSendOnly, server, psn_add(psn, 1));
  net.sent.clear();
  transmit_all();
  EXPECT_TRUE(net.sent.empty());
  ASSERT_EQ(next(b).type, EventType::kEstablished);
  EXPECT_EQ(b.deadline(), 0);
  std::vector<std::uint8_t> buffer(64);
  const fabric::Memory memory = b.register_memory(buffer).value();
  const fabric::Slice slice{buffer.data(), 64, memory.local_key};
  for (std::uint64_t id = 7; id < 9; ++id) {
    const fabric::ReceiveRequest request{id, {&slice, 1}};
    ASSERT_TRUE(b.post_receive(server, {&request, 1}));
  }
  transmit_all();
  std::array<fabric::Completion, 4> done;
  ASSERT_EQ(b.poll(done), 2U);
  EXPECT_EQ(done[0].id, 7U);
  EXPECT_EQ(done[0].status, Status::kSuccess);
  EXPECT_EQ(done[1].id, 8U);
  EXPECT_EQ(buffer[0], 0x5a);
  EXPECT_EQ(b.queue_pairs().rnr_out, 0U);
}

TEST_F(AdapterHalfOpen, FewMessagesWaitAndNoneForTheDead) {
  for (std::uint32_t i = 0; i < 100; ++i) give(wire::Opcode::kSendOnly, server, psn_add(psn, i));
  EXPECT_EQ(b.counters().no_memory, 36U);
  b.destroy(server, net.now);
  transmit_all();
  EXPECT_TRUE(silent(b));
  EXPECT_EQ(b.counters().half_open, 0U);
}

// One number does not reveal the next, and none repeats soon.
TEST(Adapter, QueuePairNumbersAndPsnsDoNotFollow) {
  AdapterOptions options;
  options.address = address(1);
  Adapter adapter(options, 1);
  std::set<std::uint32_t> numbers;
  std::uint32_t last = 0, in_order = 0;
  for (int i = 0; i < 5000; ++i) {
    const ConnectionId id = adapter.connect(address(2), kPort, {}, 0).value();
    EXPECT_TRUE(numbers.insert(id).second);
    in_order += id - last < 256 || last - id < 256;
    last = id;
    if (i % 2 == 0) adapter.destroy(id, 0);
  }
  EXPECT_LT(in_order, 20U);
  EXPECT_EQ(adapter.connections(), 2500U);
}

// Otherwise a restarted process looks like the previous one to a peer that remembers it.
TEST(Adapter, QueuePairNumbersBeginSomewhereElseEachTime) {
  std::set<std::uint32_t> numbers;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    AdapterOptions options;
    options.address = address(1);
    Adapter adapter(options, seed);
    numbers.insert(adapter.connect(address(2), kPort, {}, 0).value());
  }
  EXPECT_GT(numbers.size(), 32U);
}

}  // namespace
}  // namespace rpcrdma::soft
