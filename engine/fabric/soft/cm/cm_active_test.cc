// The active side, against a hand-made peer.
#include "cm_for_tests.h"

#include <cstdint>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::soft {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;

using enum CmEventType;

class CmActiveTest : public CmAlone {
 protected:
  // Sends the REQ.
  void connect() {
    const auto connected = cm.connect(connect_request(), now);
    ASSERT_TRUE(connected.has_value());
    id = *connected;
    const auto sent = sent_by(cm);
    ASSERT_THAT(names(sent), ElementsAre("REQ"));
    req = sent[0];
  }

  [[nodiscard]] wire::CmRep rep() const {
    wire::CmRep m;
    m.local_comm_id = kPeerId;
    m.remote_comm_id = id;
    m.local_qpn = kPeerQpn;
    m.starting_psn = 0xfedcba;
    m.responder_resources = 4;
    m.initiator_depth = 2;
    m.rnr_retry_count = 3;
    m.local_ca_guid = 0x505400fffe770001;
    return m;
  }

  void give(const wire::CmMessage& m, const Path& path = kFromA) {
    cm.receive(path, mad_bytes(m, req.bytes.empty() ? 7 : req.mad().header.transaction_id), now);
  }

  void reply() {
    connect();
    give(rep());
    ASSERT_THAT(types(events_of(cm)), ElementsAre(kReply));
  }

  void establish() {
    reply();
    cm.establish(id, now);
    ASSERT_THAT(names(sent_by(cm)), ElementsAre("RTU"));
  }

  CmId id = 0;
  Sent req;
};

// Derived from IBA 12.6.5 and annex A11, with the field values that Linux uses.
TEST_F(CmActiveTest, ReqByteForByte) {
  CmConnect request = connect_request();
  const Bytes private_data = hex("f6ab0e18 01010303");
  request.private_data = private_data;
  ASSERT_TRUE(cm.connect(request, now));
  const auto sent = sent_by(cm);
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].path, kFromA);

  Bytes golden =
      hex("01 07 02 03 0000 0000 0000000000000000 0010 0000 00000000"
          "00000000 00000000"
          "0000000001064e51 0000000000000000"
          "00000000 00000000"  // QKey
          "000012 10"          // QPN; responder resources
          "000000 08"          // initiator depth
          "000000 89"          // response timeout 17, RC, flow control
          "c9b747 8d"          // PSN; response timeout 17, retry count 5
          "ffff 36 70"         // PKey; MTU 3, RNR retry 6; CM retries 7
          "ffff ffff"
          "00000000000000000000ffff0a4d0002"
          "00000000000000000000ffff0a4d0001"
          "01234000"     // flow label 0x1234, from UDP port 0xd234; rate 0
          "00 40 00 70"  // traffic class, hop limit 64, SL, ack timeout 14
          "0000 0000");
  golden.resize(164);  // no alternate path
  const Bytes ip_cm =
      hex("00 40 cfd8"
          "000000000000000000000000 0a4d0002"
          "000000000000000000000000 0a4d0001");
  golden.insert(golden.end(), ip_cm.begin(), ip_cm.end());
  golden.insert(golden.end(), private_data.begin(), private_data.end());
  golden.resize(256);

  // Random fields: the transaction ID and the communication ID; and the GUID.
  Bytes bytes = sent[0].bytes;
  EXPECT_NE(wire::load_be64(bytes.data() + 8), 0U);
  EXPECT_NE(wire::load_be32(bytes.data() + 24), 0U);
  EXPECT_NE(wire::load_be64(bytes.data() + 40), 0U);
  std::fill_n(bytes.begin() + 8, 8, std::uint8_t{0});
  std::fill_n(bytes.begin() + 24, 4, std::uint8_t{0});
  std::fill_n(bytes.begin() + 40, 8, std::uint8_t{0});
  EXPECT_THAT(bytes, ElementsAreArray(golden));
}

TEST_F(CmActiveTest, IpCmHeaderOfIpv6) {
  CmConnect request = connect_request();
  request.path.local = *fabric::parse_address("2001:db8::2");
  request.path.remote = *fabric::parse_address("2001:db8::1");
  ASSERT_TRUE(cm.connect(request, now));
  const auto sent = sent_by(cm);
  ASSERT_THAT(sent, SizeIs(1));
  const wire::Bytes header = wire::Bytes(sent[0].bytes).subspan(164, 36);
  EXPECT_THAT(header, ElementsAreArray(hex("00 60 cfd8"
                                           "20010db8000000000000000000000002"
                                           "20010db8000000000000000000000001")));
  EXPECT_EQ(sent[0].as<wire::CmReq>().primary.remote_gid, request.path.remote.bytes);
}

TEST_F(CmActiveTest, ReqIsRepeatedAsItIs) {
  connect();
  EXPECT_EQ(cm.deadline(), now + kTimeout);
  for (int i = 0; i < 7; ++i) {
    now += kTimeout - 1;
    cm.expire(now);
    expect_nothing();
    now += 1;
    cm.expire(now);
    const auto sent = sent_by(cm);
    ASSERT_THAT(sent, SizeIs(1));
    EXPECT_EQ(sent[0].bytes, req.bytes);
  }
  EXPECT_EQ(cm.counters().retried, 7U);
  to_deadline();
  const auto events = events_of(cm);
  EXPECT_THAT(types(events), ElementsAre(kTimedOut));
  EXPECT_EQ(events.at(0).id, id);
  // The peer may be waiting for our RTU: it finds the connection by the GUID in our REQ (12.6.7.2).
  const auto sent = sent_by(cm);
  ASSERT_THAT(sent, SizeIs(1));
  const auto rej = sent[0].as<wire::CmRej>();
  EXPECT_EQ(rej.reason, 4);
  EXPECT_EQ(rej.local_comm_id, id);
  EXPECT_EQ(rej.remote_comm_id, 0U);
  EXPECT_THAT(rej.additional_info, ElementsAreArray(wire::Bytes(req.bytes).subspan(40, 8)));
  to_deadline();
  EXPECT_EQ(cm.connections(), 0U);
}

TEST_F(CmActiveTest, BadArguments) {
  const auto fails = [&](const CmConnect& request) {
    const auto result = cm.connect(request, now);
    return !result && result.error().code == fabric::Errc::kBadArgument;
  };
  const Bytes private_data(57);
  CmConnect request = connect_request();
  request.private_data = private_data;
  EXPECT_TRUE(fails(request));
  request.private_data = std::span(private_data).first(56);
  EXPECT_FALSE(fails(request));
  request = connect_request();
  request.local.qpn = 0x1000000;
  EXPECT_TRUE(fails(request));
  request = connect_request();
  request.path_mtu = 6;
  EXPECT_TRUE(fails(request));
  request = connect_request();
  request.path.remote = *fabric::parse_address("::1");
  EXPECT_TRUE(fails(request));
}

TEST_F(CmActiveTest, ReplyShowsOfThePeer) {
  connect();
  wire::CmRep m = rep();
  const Bytes private_data = {1, 2, 3};
  m.private_data = private_data;
  m.end_to_end_flow_control = true;
  give(m);
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kReply));
  const CmEvent& event = events[0];
  EXPECT_EQ(event.id, id);
  EXPECT_EQ(event.peer.qpn, kPeerQpn);
  EXPECT_EQ(event.peer.starting_psn, 0xfedcbaU);
  EXPECT_EQ(event.peer.responder_resources, 4);
  EXPECT_EQ(event.peer.initiator_depth, 2);
  EXPECT_EQ(event.peer.rnr_retry_count, 3);
  EXPECT_TRUE(event.peer.flow_control);
  ASSERT_THAT(event.private_data, SizeIs(196));
  EXPECT_THAT(std::span(event.private_data).first(4), ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(cm.deadline(), fabric::kNever);
  EXPECT_THAT(sent_by(cm), IsEmpty());
}

TEST_F(CmActiveTest, EstablishSendsTheRtu) {
  reply();
  cm.establish(id, now);
  cm.establish(id, now);
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("RTU"));
  const auto rtu = sent[0].as<wire::CmRtu>();
  EXPECT_EQ(rtu.local_comm_id, id);
  EXPECT_EQ(rtu.remote_comm_id, kPeerId);
  EXPECT_EQ(sent[0].mad().header.transaction_id, req.mad().header.transaction_id);
  EXPECT_EQ(cm.deadline(), fabric::kNever);
}

TEST_F(CmActiveTest, EstablishBeforeTheReplyDoesNothing) {
  connect();
  cm.establish(id, now);
  cm.establish(id + 1, now);
  cm.data_came(id, now);
  expect_nothing();
}

TEST_F(CmActiveTest, RepeatedRepGetsAnMraUntilReady) {
  reply();
  give(rep());
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("MRA"));
  const auto mra = sent[0].as<wire::CmMra>();
  EXPECT_EQ(mra.local_comm_id, id);
  EXPECT_EQ(mra.remote_comm_id, kPeerId);
  EXPECT_EQ(mra.message_mraed, 1);
  EXPECT_EQ(mra.service_timeout, 20);
  EXPECT_THAT(events_of(cm), IsEmpty());
  EXPECT_EQ(cm.counters().duplicates, 1U);
}

TEST_F(CmActiveTest, RepeatedRepGetsTheRtuAgain) {
  establish();
  give(rep());
  give(rep());  // before the answer is sent: one is enough
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("RTU"));
  EXPECT_THAT(events_of(cm), IsEmpty());
}

TEST_F(CmActiveTest, RepThatDoesNotFitIsDropped) {
  connect();
  give(rep(), {kAddressA, fabric::make_ipv4(10, 77, 0, 9)});
  give(rep(), {fabric::make_ipv4(10, 77, 0, 9), kAddressB});
  wire::CmRep m = rep();
  m.local_comm_id = 0;
  give(m);
  for (const std::uint32_t qpn : {0U, 1U, 0xffffffU}) {
    m = rep();
    m.local_qpn = qpn;
    give(m);
  }
  expect_nothing();
  EXPECT_EQ(cm.counters().dropped, 6U);
  give(rep());
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kReply));
  // From another connection of the peer.
  m = rep();
  m.local_comm_id = kPeerId + 1;
  give(m);
  expect_nothing();
  EXPECT_EQ(cm.counters().dropped, 7U);
}

TEST_F(CmActiveTest, RepThatNobodyAskedForIsRejected) {
  connect();
  wire::CmRep m = rep();
  m.remote_comm_id = id + 1;
  give(m);
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("REJ"));
  const auto rej = sent[0].as<wire::CmRej>();
  EXPECT_EQ(rej.reason, 6);  // invalid communication ID
  EXPECT_EQ(rej.message_rejected, 1);
  EXPECT_EQ(rej.local_comm_id, id + 1);
  EXPECT_EQ(rej.remote_comm_id, kPeerId);
  EXPECT_THAT(events_of(cm), IsEmpty());
}

TEST_F(CmActiveTest, Rejected) {
  for (const std::uint8_t about : {std::uint8_t{0}, std::uint8_t{2}}) {
    connect();
    const Bytes private_data = {9, 8};
    give(wire::CmRej{0, id, about, 28, {}, private_data});
    const auto events = events_of(cm);
    ASSERT_THAT(types(events), ElementsAre(kRejected));
    EXPECT_EQ(events[0].reason, 28);
    ASSERT_THAT(events[0].private_data, SizeIs(148));
    EXPECT_EQ(events[0].private_data[1], 8);
    EXPECT_EQ(cm.connections(), 0U);
    expect_nothing();
  }
}

TEST_F(CmActiveTest, RejThatDoesNotFitIsDropped) {
  connect();
  give(wire::CmRej{0, id, 1, 28, {}, {}});  // to a REP, but we sent none
  give(wire::CmRej{0, id + 1, 0, 28, {}, {}});
  give(wire::CmRej{0, id, 0, 28, {}, {}}, {kAddressA, fabric::make_ipv4(10, 77, 0, 9)});
  expect_nothing();
  give(rep());
  static_cast<void>(events_of(cm));
  give(wire::CmRej{0, id, 0, 28, {}, {}});  // to the REQ, which already has its REP
  expect_nothing();
  EXPECT_EQ(cm.counters().dropped, 4U);
  give(wire::CmRej{kPeerId, id, 2, 4, {}, {}});  // the peer did not wait for the RTU
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kRejected));
}

TEST_F(CmActiveTest, RejAfterTheRtuIsADisconnect) {
  establish();
  give(wire::CmRej{kPeerId, id, 2, 4, {}, {}});
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  give(wire::CmRej{kPeerId, id, 2, 4, {}, {}});
  expect_nothing();
  to_deadline();
  EXPECT_EQ(cm.connections(), 0U);
}

TEST_F(CmActiveTest, MraPutsTheRepetitionOff) {
  connect();
  now += 100;
  give(wire::CmMra{kPeerId, id, 0, 20, {}});
  const fabric::Time until = now + 4'294'967'296 + kTimeout;
  EXPECT_EQ(cm.deadline(), until);
  // A second one for the same REQ does not.
  now += fabric::kSecond;
  give(wire::CmMra{kPeerId, id, 0, 20, {}});
  EXPECT_EQ(cm.deadline(), until);
  to_deadline();
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("REQ"));
  give(wire::CmMra{kPeerId, id, 0, 31, {}});
  EXPECT_EQ(cm.deadline(), now + 70 * fabric::kSecond + kTimeout);
}

TEST_F(CmActiveTest, MraDoesNotShortenTheWait) {
  connect();
  give(wire::CmMra{kPeerId, id, 0, 0, {}});
  EXPECT_GE(cm.deadline(), now + kTimeout);
}

TEST_F(CmActiveTest, MraThatDoesNotFitIsDropped) {
  connect();
  give(wire::CmMra{kPeerId, id, 1, 20, {}});
  give(wire::CmMra{kPeerId, id, 2, 20, {}});
  give(wire::CmMra{kPeerId, id + 1, 0, 20, {}});
  give(wire::CmMra{kPeerId, id, 0, 20, {}}, {kAddressA, fabric::make_ipv4(10, 77, 0, 9)});
  EXPECT_EQ(cm.deadline(), now + kTimeout);
  give(rep());
  give(wire::CmMra{kPeerId, id, 0, 20, {}});
  EXPECT_EQ(cm.counters().dropped, 5U);
  EXPECT_EQ(cm.deadline(), fabric::kNever);
}

TEST_F(CmActiveTest, GivenUpWhileRequesting) {
  connect();
  cm.disconnect(id, now);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("REJ"));
  EXPECT_EQ(sent[0].as<wire::CmRej>().reason, 4);
  // The REP was in flight: the peer gets an answer for each copy.
  for (int i = 0; i < 2; ++i) {
    give(rep());
    const auto again = sent_by(cm);
    ASSERT_THAT(names(again), ElementsAre("REJ"));
    const auto rej = again[0].as<wire::CmRej>();
    EXPECT_EQ(rej.reason, 28);
    EXPECT_EQ(rej.message_rejected, 1);
    EXPECT_EQ(rej.local_comm_id, id);
    EXPECT_EQ(rej.remote_comm_id, kPeerId);
  }
  cm.disconnect(id, now);
  expect_nothing();
}

TEST_F(CmActiveTest, GivenUpAfterTheReply) {
  reply();
  cm.disconnect(id, now);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("REJ"));
  EXPECT_EQ(sent[0].as<wire::CmRej>().reason, 28);
  EXPECT_EQ(sent[0].as<wire::CmRej>().message_rejected, 1);
}

// The peer restarted, and reuses the queue pair number of an old connection.
TEST_F(CmActiveTest, StaleRep) {
  establish();
  const CmId old = id;
  connect();
  wire::CmRep m = rep();
  m.local_comm_id = kPeerId + 1;
  give(m);
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kRejected));
  EXPECT_EQ(events[0].id, id);
  EXPECT_EQ(events[0].reason, 10);
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("DREQ", "REJ"));
  EXPECT_EQ(sent[0].as<wire::CmDreq>().local_comm_id, old);
  EXPECT_EQ(sent[0].as<wire::CmDreq>().remote_qpn, kPeerQpn);
  EXPECT_EQ(sent[1].as<wire::CmRej>().reason, 10);
  EXPECT_EQ(sent[1].as<wire::CmRej>().message_rejected, 1);
  // The peer does not know the old connection, and answers accordingly.
  give(wire::CmDrep{kPeerId, old, {}});
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  // Now the number is free.
  connect();
  m.remote_comm_id = id;
  give(m);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kReply));
}

}  // namespace
}  // namespace rpcrdma::soft
