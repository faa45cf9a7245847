// Peers that have not proved their addresses: they end nothing, get no more bytes than they send,
// and keep no place from others; and numbers that prove an address cannot be guessed.
#include "cm_for_tests.h"
#include "cm_impl.h"

#include <set>

namespace rpcrdma::soft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using enum CmEventType;

constexpr CmQueuePair kOwn = {0x31, 0xabcdef, 7, 5, 6, false};

HandMadeReq req_from(const fabric::Address& address, std::uint32_t number) {
  HandMadeReq req;
  req.m.local_comm_id = number;
  req.m.local_qpn = 2 + number;
  if (address.ipv6) {
    req.m.primary.local_gid = req.ip.source = address.bytes;
    req.m.primary.remote_gid = req.ip.destination = fabric::parse_address("2001:db8::1")->bytes;
    req.ip.ip_version = 6;
  } else {
    req.come_from(address);
  }
  return req;
}

// A passive CM, whose owner accepts every request.
class CmHalfOpenTest : public CmAlone {
 protected:
  CmHalfOpenTest() : cm(limits(), 1) { cm.listen(kPort); }
  static CmLimits limits() {
    CmLimits limits;
    limits.half_open = 8;
    return limits;
  }

  static Path path(const fabric::Address& from) {
    return {from.ipv6 ? *fabric::parse_address("2001:db8::1") : kAddressB, from};
  }

  // Returns the ID of the new connection; 0: there is none.
  CmId ask(const fabric::Address& from, std::uint32_t number) {
    cm.receive(path(from), req_from(from, number).bytes(), now);
    CmId id = 0;
    for (const CmEvent& event : events_of(cm)) {
      if (event.type == kTimedOut) timed_out.push_back(event.id);
      if (event.type != kRequest) continue;
      id = event.id;
      EXPECT_TRUE(cm.accept(id, kOwn, {}, now));
    }
    return id;
  }
  void answer(const fabric::Address& from, std::uint32_t number, CmId id) {
    cm.receive(path(from), mad_bytes(wire::CmRtu{number, id, {}}), now);
  }

  // Runs all time-outs and returns what was sent meanwhile.
  std::vector<std::string> to_the_end() {
    std::vector<std::string> sent = names(sent_by(cm));
    while (cm.deadline() != fabric::kNever) {
      now = cm.deadline();
      cm.expire(now);
      for (const std::string& name : names(sent_by(cm))) sent.push_back(name);
    }
    return sent;
  }

  const fabric::Address peer = fabric::make_ipv4(10, 77, 1, 1);
  std::vector<CmId> timed_out;
  ConnectionManager cm;  // hides the base's, which has other limits
};

TEST_F(CmHalfOpenTest, OneRequestGetsOneMessage) {
  ASSERT_NE(ask(peer, 1), 0U);
  EXPECT_THAT(to_the_end(), ElementsAre("REP"));
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kTimedOut));
  EXPECT_EQ(cm.counters().sent, 1U);
  EXPECT_EQ(cm.counters().withheld, 8U);  // seven REPs and the REJ
}

// Any mixture: never more messages than came, all of the same length.
TEST_F(CmHalfOpenTest, NoMoreGoesThereThanCame) {
  ASSERT_NE(ask(peer, 1), 0U);
  for (int i = 0; i < 3; ++i) cm.receive(path(peer), req_from(peer, 1).bytes(), now);
  const std::vector<std::string> sent = to_the_end();
  EXPECT_EQ(sent.size(), 4U);
  EXPECT_EQ(cm.counters().received, 4U);
}

TEST_F(CmHalfOpenTest, GivenUpByTheOwnerAfterTheRep) {
  const CmId id = ask(peer, 1);
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("REP"));
  cm.disconnect(id, now);
  EXPECT_THAT(names(sent_by(cm)), IsEmpty());
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kDisconnect));
  // The peer did receive the REP, and learns of the end.
  answer(peer, 1, id);
  const auto sent = sent_by(cm);
  ASSERT_THAT(names(sent), ElementsAre("REJ"));
  EXPECT_EQ(sent[0].as<wire::CmRej>().reason, 28);
  EXPECT_EQ(sent[0].as<wire::CmRej>().message_rejected, 2);
}

// The address is proven by another connection, or by the message that answers the REP.
TEST_F(CmHalfOpenTest, ProvenAddressGetsTheRepAgain) {
  const CmId first = ask(peer, 1);
  answer(peer, 1, first);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
  sent_by(cm);
  ASSERT_NE(ask(peer, 2), 0U);
  EXPECT_EQ(to_the_end().size(), 9U);  // eight REPs and the REJ
}

// A flood with the address of a peer that is connected gets no repeated messages either.
TEST_F(CmHalfOpenTest, ProvenAddressIsTrustedWithFew) {
  CmLimits more;
  more.half_open = 64;
  ConnectionManager other(more, 1);
  other.listen(kPort);
  std::size_t accepted = 0;
  const auto ask_other = [&](std::uint32_t number) {
    other.receive(path(peer), req_from(peer, number).bytes(), now);
    for (const CmEvent& event : events_of(other)) {
      if (event.type != kRequest) continue;
      EXPECT_TRUE(other.accept(event.id, kOwn, {}, now));
      if (++accepted == 1) other.data_came(event.id, now);
    }
  };
  for (std::uint32_t i = 0; i < 10; ++i) ask_other(i);
  EXPECT_EQ(names(sent_by(other)).size(), 9U);  // the first needs its REP no more
  now = other.deadline();
  other.expire(now);
  EXPECT_THAT(names(sent_by(other)), IsEmpty());
}

TEST_F(CmHalfOpenTest, MraProvesTheAddress) {
  const CmId id = ask(peer, 1);
  sent_by(cm);
  cm.receive(path(peer), mad_bytes(wire::CmMra{1, id, 1, 0, {}}), now);
  EXPECT_EQ(to_the_end().size(), 8U);  // seven REPs and the REJ
}

// Every number but the right one, from the right address and from others.
TEST_F(CmHalfOpenTest, OnlyTheRightNumbersEstablish) {
  const CmId id = ask(peer, 1);
  sent_by(cm);
  for (unsigned bit = 0; bit < 32; ++bit) answer(peer, 1, id ^ 1U << bit);
  for (unsigned bit = 0; bit < 32; ++bit) answer(peer, 1U ^ 1U << bit, id);
  answer(fabric::make_ipv4(10, 77, 1, 2), 1, id);
  cm.receive(path(peer), mad_bytes(wire::CmRej{1, id + 1, 1, 28, {}, {}}), now);
  cm.receive(path(peer), mad_bytes(wire::CmRej{2, id, 1, 28, {}, {}}), now);
  EXPECT_THAT(events_of(cm), IsEmpty());
  EXPECT_EQ(cm.half_open(), 1U);
  answer(peer, 1, id);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
  EXPECT_EQ(cm.half_open(), 0U);
}

// With the address and the queue pair of a connection that lives, from another UDP source port, or
// with its communication ID: nothing happens to it, however long nobody answers the REPs.
TEST_F(CmHalfOpenTest, RequestsEndNoConnection) {
  const CmId living = ask(peer, 1);
  answer(peer, 1, living);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
  sent_by(cm);
  for (std::uint32_t i = 0; i < 300; ++i) {
    HandMadeReq claims = req_from(peer, 0x100 + i);
    claims.m.local_qpn = req_from(peer, 1).m.local_qpn;
    if (i % 3 == 0) claims.m.local_comm_id = 1;
    claims.m.starting_psn = i;
    Path other = path(peer);
    other.udp_source_port = static_cast<std::uint16_t>(0xc000 + i);
    cm.receive(other, claims.bytes(), now);
    for (const CmEvent& event : events_of(cm)) {
      ASSERT_NE(event.id, living);
      if (event.type != kRequest) continue;
      EXPECT_TRUE(cm.accept(event.id, kOwn, {}, now));
    }
    for (const std::string& name : names(sent_by(cm))) EXPECT_EQ(name, "REP");
    now += 100 * fabric::kMillisecond;
    cm.expire(now);
  }
  for (const std::string& name : to_the_end()) EXPECT_THAT(name, testing::AnyOf("REP", "REJ"));
  for (const CmEvent& event : events_of(cm)) EXPECT_NE(event.id, living);
  EXPECT_EQ(cm.connections(), 1U);
  cm.disconnect(living, now);
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("DREQ"));
}

TEST_F(CmHalfOpenTest, TheOldestOfAllMakesRoom) {
  std::vector<CmId> ids;
  for (std::uint8_t i = 1; i <= 8; ++i) {
    ids.push_back(ask(fabric::make_ipv4(10, 77, 2, i), 1));
    EXPECT_NE(ids.back(), 0U);
    now += fabric::kMillisecond;
  }
  // They are too young: their peers may be about to answer.
  EXPECT_EQ(ask(peer, 1), 0U);
  EXPECT_EQ(cm.counters().crowded, 1U);
  now += 250 * fabric::kMillisecond;
  EXPECT_NE(ask(peer, 1), 0U);
  EXPECT_NE(ask(fabric::make_ipv4(10, 77, 1, 2), 1), 0U);
  EXPECT_THAT(timed_out, ElementsAre(ids[0], ids[1]));
  EXPECT_EQ(cm.counters().evicted, 2U);
  EXPECT_EQ(cm.half_open(), 8U);
  // It has lost its place, but not its chance: the REQ is admitted again.
  now += 250 * fabric::kMillisecond;
  EXPECT_NE(ask(fabric::make_ipv4(10, 77, 2, 1), 1), 0U);
}

// A flood with the address of an honest peer: its requests take the places of older ones.
TEST_F(CmHalfOpenTest, TheOldestOfTheRequesterMakesRoom) {
  std::vector<CmId> ids;
  for (std::uint32_t i = 0; i < 4; ++i) ids.push_back(ask(peer, i));
  ASSERT_NE(ask(fabric::make_ipv4(10, 77, 2, 1), 1), 0U);
  EXPECT_EQ(ask(peer, 4), 0U);
  now += 250 * fabric::kMillisecond;
  EXPECT_NE(ask(peer, 4), 0U);
  EXPECT_THAT(timed_out, ElementsAre(ids[0]));
  EXPECT_EQ(cm.half_open(), 5U);
}

TEST_F(CmHalfOpenTest, ANetworkOfIpv6CountsAsOnePeer) {
  const auto host = [](int network, int number) {
    return *fabric::parse_address("2001:db8:0:" + std::to_string(network) +
                                  "::" + std::to_string(number));
  };
  for (int i = 1; i <= 4; ++i) EXPECT_NE(ask(host(5, i), 1), 0U);
  EXPECT_EQ(ask(host(5, 9), 1), 0U);
  EXPECT_NE(ask(host(6, 9), 1), 0U);
  EXPECT_EQ(cm_requester(host(5, 1)), cm_requester(host(5, 2)));
  EXPECT_NE(cm_requester(host(5, 1)), cm_requester(host(6, 1)));
  EXPECT_EQ(cm_requester(peer), peer);
}

// Forged requests from ever new addresses, for whom nobody answers, in virtual time. Every honest
// peer connects, if need be with a repeated REQ.
struct Flood {
  const char* name;
  fabric::Time interval;
  bool of_victim;  // with the honest peer's address
};
class CmFloodTest : public CmAlone, public testing::WithParamInterface<Flood> {
 protected:
  void forge() {
    const std::uint32_t n = ++forged;
    const auto from = GetParam().of_victim
                          ? honest
                          : fabric::make_ipv4(10, 80, static_cast<std::uint8_t>(n >> 8),
                                              static_cast<std::uint8_t>(n));
    accept(from, 0x80000000U | n);
  }
  CmId accept(const fabric::Address& from, std::uint32_t number) {
    cm.receive({kAddressB, from}, req_from(from, number % 0x7ffff0).bytes(number), now);
    CmId id = 0;
    CmEvent event;
    while (cm.next_event(event)) {
      if (event.type != kRequest) continue;
      EXPECT_TRUE(cm.accept(event.id, kOwn, {}, now));
      id = event.id;
    }
    const Path* to = nullptr;
    wire::Bytes mad;
    while (cm.transmit(to, mad)) continue;
    return id;
  }
  void pass(fabric::Time time) {
    for (const fabric::Time end = now + time; now < end; now += GetParam().interval) {
      cm.expire(now);
      forge();
    }
  }
  bool connects(std::uint32_t number) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      if (const CmId id = accept(honest, number); id != 0) {
        pass(50 * fabric::kMillisecond);  // to the peer and back
        cm.receive({kAddressB, honest}, mad_bytes(wire::CmRtu{number, id, {}}), now);
        bool up = false;
        for (const CmEvent& event : events_of(cm))
          up |= event.type == kEstablished && event.id == id;
        return up;
      }
      pass(kTimeout);
    }
    return false;
  }

  static CmLimits limits() {
    CmLimits limits;
    limits.half_open = 256;
    return limits;
  }

  const fabric::Address honest = fabric::make_ipv4(10, 77, 1, 1);
  std::uint32_t forged = 0;
  ConnectionManager cm{limits(), 1};
};

TEST_P(CmFloodTest, HonestPeersConnect) {
  cm.listen(kPort);
  pass(2 * fabric::kSecond);
  int up = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    up += connects(1 + i);
    pass(100 * fabric::kMillisecond);
  }
  EXPECT_EQ(up, 20);
  EXPECT_LE(cm.half_open(), limits().half_open);
  EXPECT_LE(cm.counters().sent, cm.counters().received);
}

INSTANTIATE_TEST_SUITE_P(Rates, CmFloodTest,
                         testing::Values(Flood{"Of300", fabric::kSecond / 300, false},
                                         Flood{"Of1250", fabric::kSecond / 1250, false},
                                         Flood{"Of300WithItsAddress", fabric::kSecond / 300, true},
                                         Flood{"Of1250WithItsAddress", fabric::kSecond / 1250,
                                               true}),
                         [](const auto& tested) { return tested.param.name; });

// The vector of the authors for 16 bytes.
TEST(SecretTest, HashIsSipHash) {
  const Secret secret(0x0706050403020100, 0x0f0e0d0c0b0a0908);
  EXPECT_EQ(secret.hash(0x0706050403020100, 0x0f0e0d0c0b0a0908), 0x3f2acc7f57c29bdbU);
}

TEST(SecretTest, PermutationHasEachNumberOnce) {
  const SecretPermutation permutation(Secret(1), 9, 6);
  std::set<std::uint32_t> seen;
  int in_order = 0;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    seen.insert(permutation(i));
    in_order += permutation(i) + 1 == permutation(i + 1);
  }
  EXPECT_EQ(seen.size(), 4096U);
  EXPECT_EQ(*seen.rbegin(), 4095U);
  EXPECT_LT(in_order, 10);
}

TEST(SecretTest, TheSystemGivesAnotherEachTime) {
  const Secret one = Secret::of_system(), two = Secret::of_system();
  EXPECT_TRUE(one.first != two.first || one.second != two.second);
}

}  // namespace
}  // namespace rpcrdma::soft
