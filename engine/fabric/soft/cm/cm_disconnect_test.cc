// How connections end: DREQ and DREP in every state, on either side.
#include "cm_for_tests.h"

namespace rpcrdma::soft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using enum CmEventType;

constexpr std::uint64_t kPeerTransaction = 0x1234;

// Our side is active and connected; 0x12 is our queue pair.
class CmDisconnectTest : public CmAlone {
 protected:
  CmDisconnectTest() {
    id = cm.connect(connect_request(), now).value();
    give(reply());
    cm.establish(id, now);
    static_cast<void>(events_of(cm));
    static_cast<void>(sent_by(cm));
  }

  [[nodiscard]] wire::CmRep reply() const {
    wire::CmRep rep;
    rep.local_comm_id = kPeerId;
    rep.remote_comm_id = id;
    rep.local_qpn = kPeerQpn;
    return rep;
  }
  [[nodiscard]] wire::CmDreq dreq() const { return {kPeerId, id, 0x12, {}}; }

  void give(const wire::CmMessage& m, const Path& path = kFromA) {
    cm.receive(path, mad_bytes(m, kPeerTransaction), now);
  }

  void expect_drep() {
    const auto sent = sent_by(cm);
    ASSERT_THAT(names(sent), ElementsAre("DREP"));
    const auto drep = sent[0].as<wire::CmDrep>();
    EXPECT_EQ(drep.local_comm_id, id);
    EXPECT_EQ(drep.remote_comm_id, kPeerId);
    EXPECT_EQ(sent[0].mad().header.transaction_id, kPeerTransaction);
  }

  CmId id = 0;
};

TEST_F(CmDisconnectTest, ByUs) {
  cm.disconnect(id, now);
  EXPECT_THAT(events_of(cm), IsEmpty());
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("DREQ"));
  const auto m = sent[0].as<wire::CmDreq>();
  EXPECT_EQ(m.local_comm_id, id);
  EXPECT_EQ(m.remote_comm_id, kPeerId);
  EXPECT_EQ(m.remote_qpn, kPeerQpn);
  cm.disconnect(id, now);
  expect_nothing();
  give(wire::CmDrep{kPeerId, id, {}});
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  cm.disconnect(id, now);
  give(wire::CmDrep{kPeerId, id, {}});
  expect_nothing();
  to_deadline();
  EXPECT_EQ(cm.connections(), 0U);
  EXPECT_EQ(cm.deadline(), fabric::kNever);
  cm.disconnect(id, now);
  expect_nothing();
}

TEST_F(CmDisconnectTest, ByUsIsRepeated) {
  cm.disconnect(id, now);
  const auto first = sent_by(cm);
  for (int i = 0; i < 7; ++i) {
    to_deadline();
    const auto again = sent_by(cm);
    ASSERT_THAT(again, SizeIs(1));
    EXPECT_EQ(again[0].bytes, first.at(0).bytes);
  }
  to_deadline();
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  EXPECT_THAT(sent_by(cm), IsEmpty());
}

TEST_F(CmDisconnectTest, ByThePeer) {
  give(dreq());
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  expect_drep();
  cm.disconnect(id, now);
  expect_nothing();
  // Our DREP was lost.
  give(dreq());
  expect_drep();
  EXPECT_THAT(events_of(cm), IsEmpty());
  // And again, after the connection was dropped.
  to_deadline();
  EXPECT_EQ(cm.connections(), 0U);
  give(dreq());
  expect_drep();
  expect_nothing();
}

TEST_F(CmDisconnectTest, ByBoth) {
  cm.disconnect(id, now);
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("DREQ"));
  give(dreq());
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  expect_drep();
  give(wire::CmDrep{kPeerId, id, {}});
  expect_nothing();
}

TEST_F(CmDisconnectTest, DreqThatDoesNotFitIsDropped) {
  wire::CmDreq m = dreq();
  m.remote_qpn = 0x13;
  give(m);
  give(dreq(), {kAddressA, fabric::make_ipv4(10, 77, 0, 9)});
  expect_nothing();
  EXPECT_EQ(cm.counters().dropped, 2U);
}

// The peer sends a DREQ for a connection that we do not have: we answer it, and ours continues.
TEST_F(CmDisconnectTest, DreqOfWhatIsUnknownIsAnswered) {
  wire::CmDreq m = dreq();
  m.local_comm_id = 0x77;
  give(m);
  m = dreq();
  m.remote_comm_id = id + 1;
  give(m);
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("DREP", "DREP"));
  EXPECT_EQ(sent[0].as<wire::CmDrep>().local_comm_id, id);
  EXPECT_EQ(sent[0].as<wire::CmDrep>().remote_comm_id, 0x77U);
  EXPECT_EQ(sent[1].as<wire::CmDrep>().local_comm_id, id + 1);
  EXPECT_EQ(sent[1].path.remote, kAddressB);
  EXPECT_THAT(events_of(cm), IsEmpty());
}

TEST_F(CmDisconnectTest, DrepThatDoesNotFitIsDropped) {
  cm.disconnect(id, now);
  static_cast<void>(sent_by(cm));
  give(wire::CmDrep{kPeerId + 1, id, {}});
  give(wire::CmDrep{kPeerId, id + 1, {}});
  give(wire::CmDrep{kPeerId, id, {}}, {kAddressA, fabric::make_ipv4(10, 77, 0, 9)});
  expect_nothing();
  EXPECT_EQ(cm.counters().dropped, 3U);
}

// Messages queued before transmit() is called are sent in order.
TEST_F(CmDisconnectTest, AtOnceAfterTheRtu) {
  id = cm.connect(connect_request(), now).value();
  static_cast<void>(sent_by(cm));
  wire::CmRep m = reply();
  m.local_comm_id = kPeerId + 1;
  m.local_qpn = kPeerQpn + 1;
  give(m);
  cm.establish(id, now);
  cm.disconnect(id, now);
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("RTU", "DREQ"));
}

TEST_F(CmDisconnectTest, RepeatedRepWhileDisconnectingIsOld) {
  cm.disconnect(id, now);
  static_cast<void>(sent_by(cm));
  give(reply());
  expect_nothing();
  give(wire::CmDrep{kPeerId, id, {}});
  static_cast<void>(events_of(cm));
  give(reply());
  expect_nothing();
  EXPECT_EQ(cm.counters().duplicates, 2U);
}

TEST_F(CmDisconnectTest, RejWhileDisconnecting) {
  cm.disconnect(id, now);
  static_cast<void>(sent_by(cm));
  give(wire::CmRej{kPeerId, id, 2, 4, {}, {}});
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
}

// The RTU is lost, and its sender disconnects.
TEST(CmPassiveDisconnectTest, DreqInsteadOfTheRtu) {
  ConnectionManager cm(CmLimits{}, 1);
  cm.listen(kPort);
  const HandMadeReq req;
  cm.receive(kFromB, req.bytes(), 0);
  const auto events = events_of(cm);
  ASSERT_THAT(types(events), ElementsAre(kRequest));
  const CmId id = events[0].id;
  // Not while there is nothing to disconnect.
  cm.receive(kFromB, mad_bytes(wire::CmDreq{req.m.local_comm_id, id, 0, {}}), 0);
  EXPECT_THAT(sent_by(cm), IsEmpty());
  ASSERT_TRUE(cm.accept(id, {0x31, 0, 1, 1, 7, true}, {}, 0));
  static_cast<void>(sent_by(cm));
  cm.receive(kFromB, mad_bytes(wire::CmDreq{req.m.local_comm_id, id, 0x31, {}}), 0);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("DREP"));
  // A delayed REQ changes nothing.
  cm.receive(kFromB, req.bytes(), 0);
  EXPECT_THAT(sent_by(cm), IsEmpty());
}

TEST(CmPassiveDisconnectTest, TheIdOfWhatIsOverMayComeAgain) {
  ConnectionManager cm(CmLimits{}, 1);
  cm.listen(kPort);
  HandMadeReq req;
  for (std::uint32_t i = 0; i < 3; ++i) {
    req.m.starting_psn = i;
    cm.receive(kFromB, req.bytes(), 0);
    const auto events = events_of(cm);
    ASSERT_THAT(types(events), ElementsAre(kRequest));
    const CmId id = events[0].id;
    ASSERT_TRUE(cm.accept(id, {0x31, 0, 1, 1, 7, true}, {}, 0));
    cm.receive(kFromB, mad_bytes(wire::CmRtu{req.m.local_comm_id, id, {}}), 0);
    cm.receive(kFromB, mad_bytes(wire::CmDreq{req.m.local_comm_id, id, 0x31, {}}), 0);
    EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished, kDisconnect));
  }
  EXPECT_EQ(cm.connections(), 3U);
  cm.expire(100 * fabric::kSecond);
  EXPECT_EQ(cm.connections(), 0U);
}

}  // namespace
}  // namespace rpcrdma::soft
