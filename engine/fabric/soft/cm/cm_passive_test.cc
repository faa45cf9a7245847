// The passive side, against a hand-made peer.
#include "cm_for_tests.h"

#include <optional>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::soft {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using enum CmEventType;

constexpr CmQueuePair kLocal = {0x31, 0xabcdef, 7, 5, 6, false};

class CmPassiveTest : public CmAlone {
 protected:
  CmPassiveTest() { cm.listen(kPort); }

  void give(const Bytes& mad, const Path& path = kFromB) { cm.receive(path, mad, now); }

  CmId request(const HandMadeReq& asked = {}) {
    give(asked.bytes());
    const auto events = events_of(cm);
    EXPECT_THAT(types(events), ElementsAre(kRequest));
    return events.empty() ? 0 : events[0].id;
  }

  CmId reply() {
    const CmId id = request();
    EXPECT_TRUE(cm.accept(id, kLocal, {}, now));
    EXPECT_THAT(names(sent_by(cm)), ElementsAre("REP"));
    return id;
  }

  CmId establish() {
    const CmId id = reply();
    give(mad_bytes(wire::CmRtu{req.m.local_comm_id, id, {}}));
    EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
    return id;
  }

  // The peer proves its address by another connection, so that messages to it are repeated.
  void prove() {
    HandMadeReq earlier;
    earlier.m.local_comm_id = 0xa0a0a0ff;
    earlier.m.local_qpn = 0xff;
    const CmId id = request(earlier);
    EXPECT_TRUE(cm.accept(id, kLocal, {}, now));
    EXPECT_THAT(names(sent_by(cm)), ElementsAre("REP"));
    give(mad_bytes(wire::CmRtu{earlier.m.local_comm_id, id, {}}));
    EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
  }

  // The REQ is rejected with a REJ at once.
  void expect_refused(const Bytes& mad, std::uint16_t reason, const Path& path = kFromB) {
    give(mad, path);
    EXPECT_THAT(events_of(cm), IsEmpty());
    const auto sent = sent_by(cm);
    ASSERT_THAT(names(sent), ElementsAre("REJ"));
    const auto rej = sent[0].as<wire::CmRej>();
    EXPECT_EQ(rej.reason, reason);
    EXPECT_EQ(rej.message_rejected, 0);
    EXPECT_EQ(rej.local_comm_id, 0U);
    EXPECT_EQ(rej.remote_comm_id, req.m.local_comm_id);
    EXPECT_EQ(sent[0].mad().header.transaction_id, 7U);
    EXPECT_EQ(sent[0].path.remote, path.remote);
  }

  const HandMadeReq req;
};

TEST_F(CmPassiveTest, RequestShowsOfThePeer) {
  HandMadeReq with;
  with.private_data[0] = 0xf6;
  with.private_data[55] = 0x77;
  give(with.bytes());
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kRequest));
  const CmEvent& event = events[0];
  EXPECT_NE(event.id, 0U);
  EXPECT_EQ(event.port, kPort);
  EXPECT_EQ(event.path.local, kAddressB);
  EXPECT_EQ(event.path.remote, kAddressA);
  EXPECT_EQ(event.path.udp_source_port, 0xf95c);  // from flow label 0x97979
  EXPECT_EQ(event.peer.qpn, 0x11U);
  EXPECT_EQ(event.peer.starting_psn, 0x123456U);
  EXPECT_EQ(event.peer.responder_resources, 4);
  EXPECT_EQ(event.peer.initiator_depth, 3);
  EXPECT_EQ(event.peer.rnr_retry_count, 2);
  EXPECT_FALSE(event.peer.flow_control);
  EXPECT_EQ(event.path_mtu, 3);
  EXPECT_EQ(event.retry_count, 6);
  EXPECT_EQ(event.local_ack_timeout, 19);
  ASSERT_THAT(event.private_data, SizeIs(56));
  EXPECT_EQ(event.private_data[0], 0xf6);
  EXPECT_EQ(event.private_data[55], 0x77);
  EXPECT_THAT(sent_by(cm), IsEmpty());
}

// The REQ of a Linux NFS client, taken from linux-nfs41.pcap.
TEST_F(CmPassiveTest, RequestOfLinux) {
  Bytes mad =
      hex("0107020300000000000000022e6f5dfa0010000000000000"
          "fa5d6f2e000000000000000001064e51505400fffe7700020000000000000000"
          "0000118000000000000000a0c9b747a6ffff30f0ffffffff"
          "00000000000000000000ffff0a4d0002"
          "00000000000000000000ffff0a4d0001"
          "9797900000400098");
  mad.resize(164);
  const Bytes private_data =
      hex("0040cfd8"
          "0000000000000000000000000a4d0002"
          "0000000000000000000000000a4d0001"
          "f6ab0e1801010303");
  mad.insert(mad.end(), private_data.begin(), private_data.end());
  mad.resize(wire::kMadBytes);
  give(mad);
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kRequest));
  EXPECT_EQ(events[0].peer.qpn, 0x11U);
  EXPECT_EQ(events[0].peer.starting_psn, 0xc9b747U);
  EXPECT_EQ(events[0].peer.responder_resources, 128);
  EXPECT_EQ(events[0].retry_count, 6);
  EXPECT_THAT(std::span(events[0].private_data).first(8),
              ElementsAre(0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3));
}

TEST_F(CmPassiveTest, RequestOverIpv6) {
  const auto local = *fabric::parse_address("2001:db8::1");
  const auto remote = *fabric::parse_address("2001:db8::2");
  HandMadeReq with;
  with.m.primary.local_gid = with.ip.source = remote.bytes;
  with.m.primary.remote_gid = with.ip.destination = local.bytes;
  with.ip.ip_version = 6;
  give(with.bytes(), {local, remote});
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kRequest));
}

TEST_F(CmPassiveTest, AcceptSendsTheRep) {
  const CmId id = request();
  const Bytes private_data(196, 0x5a);
  ASSERT_TRUE(cm.accept(id, kLocal, private_data, now));
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("REP"));
  EXPECT_EQ(sent[0].mad().header.transaction_id, 7U);
  const auto rep = sent[0].as<wire::CmRep>();
  EXPECT_EQ(rep.local_comm_id, id);
  EXPECT_EQ(rep.remote_comm_id, req.m.local_comm_id);
  EXPECT_EQ(rep.local_qpn, 0x31U);
  EXPECT_EQ(rep.starting_psn, 0xabcdefU);
  EXPECT_EQ(rep.responder_resources, 7);
  EXPECT_EQ(rep.initiator_depth, 5);
  EXPECT_EQ(rep.rnr_retry_count, 6);
  EXPECT_FALSE(rep.end_to_end_flow_control);
  EXPECT_EQ(rep.target_ack_delay, 9);  // 2.1 ms: no ACK waits for longer
  EXPECT_FALSE(rep.srq);
  EXPECT_NE(rep.local_ca_guid, 0U);
  EXPECT_THAT(rep.private_data, Each(0x5a));
  EXPECT_EQ(cm.deadline(), now + kTimeout);
}

TEST_F(CmPassiveTest, AnswersThatCannotBe) {
  const CmId id = request();
  const Bytes longest(197);
  const auto code = [](const auto& result) {
    return result ? std::nullopt : std::optional(result.error().code);
  };
  EXPECT_EQ(code(cm.accept(id, kLocal, longest, now)), fabric::Errc::kBadArgument);
  EXPECT_EQ(code(cm.accept(id, {}, {}, now)), fabric::Errc::kBadArgument);
  EXPECT_EQ(code(cm.reject(id, 28, std::span(longest).first(149), now)),
            fabric::Errc::kBadArgument);
  EXPECT_EQ(code(cm.accept(id + 1, kLocal, {}, now)), fabric::Errc::kNotConnected);
  EXPECT_EQ(code(cm.reject(id + 1, 28, {}, now)), fabric::Errc::kNotConnected);
  EXPECT_EQ(code(cm.accept(id, kLocal, {}, now)), std::nullopt);
  EXPECT_EQ(code(cm.accept(id, kLocal, {}, now)), fabric::Errc::kNotConnected);
  EXPECT_EQ(code(cm.reject(id, 28, {}, now)), fabric::Errc::kNotConnected);
}

TEST_F(CmPassiveTest, RepeatedReqWhileTheOwnerThinks) {
  const CmId id = request();
  give(req.bytes());
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("MRA"));
  const auto mra = sent[0].as<wire::CmMra>();
  EXPECT_EQ(mra.local_comm_id, id);
  EXPECT_EQ(mra.remote_comm_id, req.m.local_comm_id);
  EXPECT_EQ(mra.message_mraed, 0);
  EXPECT_EQ(mra.service_timeout, 20);
  EXPECT_THAT(events_of(cm), IsEmpty());
  EXPECT_EQ(cm.counters().duplicates, 1U);
  EXPECT_TRUE(cm.accept(id, kLocal, {}, now));
}

TEST_F(CmPassiveTest, RepeatedReqGetsTheRepAgain) {
  const CmId id = request();
  ASSERT_TRUE(cm.accept(id, kLocal, {}, now));
  const auto first = sent_by(cm);
  give(req.bytes());
  give(req.bytes());
  const auto again = sent_by(cm);
  ASSERT_THAT(names(again), ElementsAre("REP"));
  EXPECT_EQ(again[0].bytes, first.at(0).bytes);
  EXPECT_THAT(events_of(cm), IsEmpty());
}

TEST_F(CmPassiveTest, RepeatedReqAfterTheRtuIsOld) {
  establish();
  give(req.bytes());
  expect_nothing();
  EXPECT_EQ(cm.counters().duplicates, 1U);
}

TEST_F(CmPassiveTest, RejectedAgain) {
  const CmId id = request();
  const Bytes private_data(148, 0x5a);
  ASSERT_TRUE(cm.reject(id, 28, private_data, now));
  const auto first = sent_by(cm);
  ASSERT_THAT(names(first), ElementsAre("REJ"));
  const auto rej = first[0].as<wire::CmRej>();
  EXPECT_EQ(rej.reason, 28);
  EXPECT_EQ(rej.message_rejected, 0);
  EXPECT_EQ(rej.local_comm_id, id);
  EXPECT_EQ(rej.remote_comm_id, req.m.local_comm_id);
  EXPECT_THAT(rej.private_data, Each(0x5a));
  // It stays known for as long as the peer may retransmit: its time-out is 4.3 s.
  now += 5 * fabric::kSecond;
  cm.expire(now);
  give(req.bytes());
  const auto again = sent_by(cm);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].bytes, first[0].bytes);
  EXPECT_THAT(events_of(cm), IsEmpty());
  to_deadline();
  EXPECT_EQ(cm.connections(), 0U);
}

TEST_F(CmPassiveTest, NobodyListens) {
  HandMadeReq other;
  other.m.service_id = wire::kServiceIdRdmaTcp | (kPort + 1);
  expect_refused(other.bytes(), 8);
  other.m.service_id = 0x0000000001110000 | kPort;  // RDMA_PS_UDP
  expect_refused(other.bytes(), 8);
  other.m.service_id = 0x1000000001060000 | kPort;
  expect_refused(other.bytes(), 8);
  cm.unlisten(kPort);
  expect_refused(req.bytes(), 8);
  EXPECT_EQ(cm.connections(), 0U);
}

TEST_F(CmPassiveTest, OfWhatWasEmittedBeforeListeningEnds) {
  const CmId id = request();
  cm.unlisten(kPort);
  give(req.bytes());
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("MRA"));
  EXPECT_TRUE(cm.accept(id, kLocal, {}, now));
}

TEST_F(CmPassiveTest, Refused) {
  const auto with = [](auto change) {
    HandMadeReq other;
    change(other);
    return other.bytes();
  };
  for (const std::uint8_t service : Bytes{1, 2, 3}) {
    expect_refused(with([&](auto& r) { r.m.transport_service = service; }), 9);
  }
  for (const std::uint8_t mtu : Bytes{0, 6, 15}) {
    expect_refused(with([&](auto& r) { r.m.path_mtu = mtu; }), 26);
  }
  for (const std::uint32_t qpn : {0U, 1U, 0xffffffU}) {
    expect_refused(with([&](auto& r) { r.m.local_qpn = qpn; }), 5);
  }
  expect_refused(with([](auto& r) { r.m.pkey = 0x8001; }), 5);
  expect_refused(with([](auto& r) { r.m.primary.remote_gid[15] ^= 1; }), 12);
  expect_refused(with([](auto& r) { r.m.primary.local_gid[15] ^= 1; }), 5);
  expect_refused(with([](auto& r) { r.ip.version = 1; }), 5);
  expect_refused(with([](auto& r) { r.ip.ip_version = 6; }), 5);
  expect_refused(with([](auto& r) { r.ip.ip_version = 5; }), 5);
  expect_refused(with([](auto& r) { r.ip.source[15] ^= 1; }), 5);
  expect_refused(with([](auto& r) { r.ip.destination[12] ^= 1; }), 5);
  EXPECT_EQ(cm.connections(), 0U);
  // Reserved fields are ignored.
  request([] {
    HandMadeReq fine;
    fine.ip.source[0] = fine.ip.destination[11] = 0xff;
    return fine;
  }());
}

TEST_F(CmPassiveTest, ShowsWhomItRefusedAndWhy) {
  const auto expect_emitted = [&](const Bytes& mad, std::uint16_t port, std::uint16_t reason,
                                  std::string_view why = "") {
    expect_refused(mad, reason);
    const CmRefusal* const emitted = cm.refusal();
    ASSERT_NE(emitted, nullptr);
    EXPECT_EQ(emitted->peer, kAddressA);
    EXPECT_EQ(emitted->port, port);
    EXPECT_EQ(emitted->reason, reason);
    EXPECT_EQ(emitted->why, why);
  };
  HandMadeReq other;
  other.m.service_id = wire::kServiceIdRdmaTcp | (kPort + 1);
  EXPECT_EQ(cm.refusal(), nullptr);
  expect_emitted(other.bytes(), kPort + 1, 8);
  now += fabric::kSecond;
  // Its REJ was lost: the same REQ arrives again and is answered.
  for (int i = 0; i < 3; ++i) {
    now += fabric::kSecond;
    expect_refused(other.bytes(), 8);
    EXPECT_EQ(cm.refusal(), nullptr);
  }
  // No peer retransmits for so long.
  now += 60 * fabric::kSecond;
  expect_emitted(other.bytes(), kPort + 1, 8);

  const auto others = [&](std::uint64_t transaction_id, std::uint16_t port,
                          const HandMadeReq& asked) {
    give(asked.bytes(transaction_id));
    static_cast<void>(sent_by(cm));
    return cm.refusal() != nullptr && cm.refusal()->port == port;
  };
  EXPECT_TRUE(others(8, kPort + 1, other));
  EXPECT_FALSE(others(8, kPort + 1, other));
  ++other.m.local_comm_id;
  EXPECT_TRUE(others(8, kPort + 1, other));
  other.m.service_id = 0x0000000001110000 | kPort;  // RDMA_PS_UDP
  EXPECT_TRUE(others(9, 0, other));
  EXPECT_STREQ(cm.refusal()->why, "it is not in RDMA_PS_TCP");

  // Accepted requests are not refusals, nor are those that the owner rejects.
  const CmId id = request();
  EXPECT_EQ(cm.refusal(), nullptr);
  ASSERT_TRUE(cm.reject(id, 28, {}, now));
  give(req.bytes());
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("REJ"));
  EXPECT_EQ(cm.refusal(), nullptr);
}

TEST_F(CmPassiveTest, PeerWithoutResponderResourcesIsTheOwnersDecision) {
  HandMadeReq none;
  none.m.responder_resources = 0;
  give(none.bytes());
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kRequest));
  EXPECT_EQ(events[0].peer.responder_resources, 0);
}

TEST_F(CmPassiveTest, RtuOnceAndAgain) {
  const CmId id = establish();
  EXPECT_EQ(cm.deadline(), fabric::kNever);
  give(mad_bytes(wire::CmRtu{req.m.local_comm_id, id, {}}));
  expect_nothing();
  EXPECT_EQ(cm.counters().duplicates, 1U);
}

TEST_F(CmPassiveTest, RtuThatDoesNotFitIsDropped) {
  const CmId id = reply();
  give(mad_bytes(wire::CmRtu{req.m.local_comm_id + 1, id, {}}));
  give(mad_bytes(wire::CmRtu{req.m.local_comm_id, id + 1, {}}));
  give(mad_bytes(wire::CmRtu{req.m.local_comm_id, id, {}}),
       {kAddressB, fabric::make_ipv4(10, 77, 0, 9)});
  expect_nothing();
  EXPECT_EQ(cm.counters().dropped, 3U);
}

TEST_F(CmPassiveTest, DataIsAsGoodAsTheRtu) {
  const CmId id = reply();
  cm.data_came(id, now);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
  EXPECT_EQ(cm.deadline(), fabric::kNever);
  cm.data_came(id, now);
  give(mad_bytes(wire::CmRtu{req.m.local_comm_id, id, {}}));
  expect_nothing();
}

TEST_F(CmPassiveTest, RepIsRepeatedAndThenGivenUp) {
  prove();
  const CmId id = reply();
  for (int i = 0; i < 7; ++i) {
    to_deadline();
    EXPECT_THAT(names(sent_by(cm)), ElementsAre("REP"));
  }
  to_deadline();
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kTimedOut));
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("REJ"));
  const auto rej = sent[0].as<wire::CmRej>();
  EXPECT_EQ(rej.reason, 4);
  EXPECT_EQ(rej.local_comm_id, id);
  EXPECT_EQ(rej.remote_comm_id, req.m.local_comm_id);
  EXPECT_EQ(rej.additional_info.size(), 8U);
  EXPECT_THAT(rej.private_data, Each(0));
  // A REQ is still retransmitted: the REJ must not presume that the REP arrived.
  give(req.bytes());
  const auto again = sent_by(cm);
  ASSERT_THAT(names(again), ElementsAre("REJ"));
  EXPECT_EQ(again[0].as<wire::CmRej>().reason, 10);
  EXPECT_EQ(again[0].as<wire::CmRej>().message_rejected, 0);
}

TEST_F(CmPassiveTest, MraOfTheRepPutsItsRepetitionOff) {
  const CmId id = reply();
  give(mad_bytes(wire::CmMra{req.m.local_comm_id, id, 0, 24, {}}));
  give(mad_bytes(wire::CmMra{req.m.local_comm_id + 1, id, 1, 24, {}}));
  EXPECT_EQ(cm.deadline(), now + kTimeout);
  give(mad_bytes(wire::CmMra{req.m.local_comm_id, id, 1, 24, {}}));
  EXPECT_EQ(cm.deadline(), now + (fabric::Time{4096} << 24) + kTimeout);
}

TEST_F(CmPassiveTest, RepIsRejected) {
  const CmId id = reply();
  give(mad_bytes(wire::CmRej{req.m.local_comm_id + 1, id, 1, 28, {}, {}}));
  expect_nothing();
  give(mad_bytes(wire::CmRej{req.m.local_comm_id, id, 1, 28, {}, {}}));
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kRejected));
  EXPECT_EQ(events[0].reason, 28);
  to_deadline();
  EXPECT_EQ(cm.connections(), 0U);
}

TEST_F(CmPassiveTest, RejOfWhatTheRtuEstablishedIsDropped) {
  const CmId id = establish();
  give(mad_bytes(wire::CmRej{req.m.local_comm_id, id, 1, 28, {}, {}}));
  expect_nothing();
  EXPECT_EQ(cm.counters().dropped, 1U);
}

// Linux withdraws a REQ like this: it does not know our ID.
TEST_F(CmPassiveTest, RequestIsTakenBack) {
  const Bytes guid = {0x50, 0x54, 0, 0xff, 0xfe, 0x77, 0, 2};
  const Bytes other = {0x50, 0x54, 0, 0xff, 0xfe, 0x77, 0, 3};
  const CmId id = request();
  const auto taken_back = [&](const Bytes& info) {
    return mad_bytes(wire::CmRej{req.m.local_comm_id, 0, 2, 4, info, {}});
  };
  give(taken_back(other));
  give(taken_back({}));
  give(taken_back(guid), {kAddressB, fabric::make_ipv4(10, 77, 0, 9)});
  expect_nothing();
  give(taken_back(guid));
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kRejected));
  EXPECT_EQ(events[0].id, id);
  EXPECT_EQ(events[0].reason, 4);
  EXPECT_FALSE(cm.accept(id, kLocal, {}, now));
  give(taken_back(guid));
  expect_nothing();
}

TEST_F(CmPassiveTest, RequestIsTakenBackByWhoKnowsOurId) {
  const CmId id = request();
  give(mad_bytes(wire::CmRej{req.m.local_comm_id, id, 2, 4, {}, {}}));
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kRejected));
}

// The peer's 16 REQs of 4.3 s each are more than we wait for.
TEST_F(CmPassiveTest, RequestThatIsNotAnsweredEnds) {
  const CmId id = request();
  EXPECT_EQ(cm.deadline(), now + 60 * fabric::kSecond);
  to_deadline();
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kTimedOut));
  EXPECT_EQ(events[0].id, id);
  EXPECT_FALSE(cm.accept(id, kLocal, {}, now));
  to_deadline();
  EXPECT_EQ(cm.connections(), 0U);
  EXPECT_EQ(cm.deadline(), fabric::kNever);
}

TEST_F(CmPassiveTest, RequestOfAnImpatientPeerEndsSooner) {
  HandMadeReq impatient;
  impatient.m.local_cm_response_timeout = 0;
  impatient.m.max_cm_retries = 0;
  request(impatient);
  EXPECT_EQ(cm.deadline(), now + fabric::kSecond);
}

// However often the peer retransmits.
TEST_F(CmPassiveTest, RequestDoesNotWaitForever) {
  request();
  const fabric::Time began = now;
  std::vector<CmEvent> events;
  while (events.empty() && now < began + 1000 * fabric::kSecond) {
    now += fabric::kSecond;
    cm.expire(now);
    events = events_of(cm);
    if (events.empty()) give(req.bytes());
  }
  EXPECT_THAT(types(events), ElementsAre(kTimedOut));
  EXPECT_EQ(now, began + 120 * fabric::kSecond);
}

TEST_F(CmPassiveTest, GivenUpByTheOwner) {
  prove();
  CmId id = request();
  cm.disconnect(id, now);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("REJ"));
  EXPECT_EQ(sent[0].as<wire::CmRej>().reason, 28);
  EXPECT_EQ(sent[0].as<wire::CmRej>().message_rejected, 0);
  EXPECT_FALSE(cm.accept(id, kLocal, {}, now));

  HandMadeReq second;
  second.m.local_comm_id += 1;
  id = request(second);
  ASSERT_TRUE(cm.accept(id, kLocal, {}, now));
  static_cast<void>(sent_by(cm));
  cm.disconnect(id, now);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("REJ"));
  EXPECT_EQ(sent[0].as<wire::CmRej>().reason, 28);
  EXPECT_EQ(sent[0].as<wire::CmRej>().message_rejected, 2);
  EXPECT_EQ(sent[0].as<wire::CmRej>().remote_comm_id, second.m.local_comm_id);
}

// The peer restarted, and its request uses a queue pair that we believe connected (12.9.8.3). Only
// who receives the REP can prove that.
TEST_F(CmPassiveTest, StaleByQueuePair) {
  const CmId old = establish();
  HandMadeReq restarted;
  restarted.m.local_comm_id = 0xa0a0a777;
  const CmId id = request(restarted);
  ASSERT_TRUE(cm.accept(id, kLocal, {}, now));
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("REP"));
  give(mad_bytes(wire::CmRtu{restarted.m.local_comm_id, id, {}}));
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("DREQ"));
  EXPECT_EQ(sent[0].as<wire::CmDreq>().local_comm_id, old);
  EXPECT_EQ(sent[0].as<wire::CmDreq>().remote_comm_id, req.m.local_comm_id);
  give(mad_bytes(wire::CmDrep{req.m.local_comm_id, old, {}}));
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kDisconnect));
  EXPECT_EQ(events[0].id, old);
}

TEST_F(CmPassiveTest, StaleByCommunicationId) {
  const CmId old = establish();
  HandMadeReq restarted;
  restarted.m.local_qpn = 0x99;
  const CmId id = request(restarted);
  ASSERT_TRUE(cm.accept(id, kLocal, {}, now));
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("REP"));
  cm.data_came(id, now);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("DREQ"));
  EXPECT_EQ(sent[0].as<wire::CmDreq>().local_comm_id, old);
}

TEST_F(CmPassiveTest, StaleWhileItDisconnects) {
  const CmId old = establish();
  cm.disconnect(old, now);
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("DREQ"));
  HandMadeReq restarted;
  restarted.m.local_comm_id = 0xa0a0a777;
  const CmId id = request(restarted);
  ASSERT_TRUE(cm.accept(id, kLocal, {}, now));
  give(mad_bytes(wire::CmRtu{restarted.m.local_comm_id, id, {}}));
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kEstablished, kDisconnect));
  EXPECT_EQ(events[1].id, old);
}

TEST_F(CmPassiveTest, PeerThatBeginsAgainBeforeTheAnswer) {
  const CmId old = request();
  HandMadeReq restarted;
  restarted.m.starting_psn += 1;
  const CmId id = request(restarted);
  EXPECT_THAT(names(sent_by(cm)), IsEmpty());
  ASSERT_TRUE(cm.accept(id, kLocal, {}, now));
  give(mad_bytes(wire::CmRtu{restarted.m.local_comm_id, id, {}}));
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kEstablished, kDisconnect));
  EXPECT_EQ(events[1].id, old);
}

// Neither connection can be mistaken for the other.
TEST_F(CmPassiveTest, TwoPeersWithTheSameNumbers) {
  const CmId first = request();
  HandMadeReq other;
  other.come_from(fabric::make_ipv4(10, 77, 0, 3));
  give(other.bytes(), {kAddressB, fabric::make_ipv4(10, 77, 0, 3)});
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kRequest));
  EXPECT_NE(events[0].id, first);
  EXPECT_EQ(cm.connections(), 2U);
}

TEST_F(CmPassiveTest, OneManagerMayAskItself) {
  Path self{kAddressB, kAddressB};
  CmConnect to_self = connect_request();
  to_self.path = self;
  const auto active = cm.connect(to_self, now);
  ASSERT_TRUE(active.has_value());
  const auto pass_on = [&] {
    for (const Sent& sent : sent_by(cm)) cm.receive(sent.path, sent.bytes, now);
  };
  pass_on();
  auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kRequest));
  const CmId passive = events[0].id;
  ASSERT_TRUE(cm.accept(passive, kLocal, {}, now));
  pass_on();
  ASSERT_THAT(types(events_of(cm)), ElementsAre(kReply));
  cm.establish(*active, now);
  pass_on();
  ASSERT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
  cm.disconnect(passive, now);
  pass_on();
  pass_on();
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect, kDisconnect));
}

}  // namespace
}  // namespace rpcrdma::soft
