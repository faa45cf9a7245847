// The contract of the fabric interface, tested with every provider: the soft fabric on loopback,
// and an RDMA device if there is one, with both ends on its address.
#include "rnic.h"
#include "support/two_peers.h"

#include <algorithm>
#include <ostream>

namespace rpcrdma {
namespace {

using fabric::Access;
using fabric::EventType;
using fabric::Operation;
using fabric::Status;

using Pair = testing::TwoPeersOf<fabric::Provider>;

std::unique_ptr<Pair> soft_pair() {
  const auto open = [](std::uint8_t last) -> std::unique_ptr<fabric::Provider> {
    soft::ProviderOptions options;
    options.adapter.address = testing::own_address(last);
    return soft::SoftProvider::open(options).value();
  };
  return std::make_unique<Pair>(open(11), open(12), testing::own_address(12));
}

std::unique_ptr<Pair> rnic_pair() {
  const auto address = testing::rnic_address();
  if (!address) return nullptr;
  return std::make_unique<Pair>(testing::open_rnic(*address), testing::open_rnic(*address),
                                *address);
}

struct Maker {
  const char* name;
  std::unique_ptr<Pair> (*pair)();  // null if it is not available
};

constexpr Maker kSoft{"Soft", soft_pair};
constexpr Maker kRnic{"NeedsRnic", rnic_pair};

// GoogleTest prints parameters in case names, which must be the same in each run.
void PrintTo(const Maker& maker, std::ostream* out) {
  *out << maker.name;
}

class FabricContract : public ::testing::TestWithParam<Maker> {
 protected:
  void SetUp() override {
    pair_ = GetParam().pair();
    if (pair_ == nullptr) GTEST_SKIP() << "this machine has no RDMA device that is up";
    auto& bytes = pair_->client.buffer;
    std::uint32_t x = 1;
    for (std::uint8_t& b : bytes) {
      b = static_cast<std::uint8_t>((x = x * 1664525 + 1013904223) >> 24);
    }
  }

  // Advertises memory of the server to the client of an established connection: before that it may
  // not exist.
  fabric::MemoryRegion advertise(std::size_t length, Access access) {
    Pair& p = *pair_;
    const auto advertised = p.server.connection->advertise(
        0, p.server.memory, p.server.buffer.data(), static_cast<std::uint32_t>(length), access);
    EXPECT_TRUE(advertised) << advertised.error().message;
    p.client.receive(90, p.client.buffer.size() - 64, 64);
    p.server.post(Operation::kSend, 91, 0, 1);
    EXPECT_TRUE(p.until([&] { return !p.client.done.empty() && !p.server.done.empty(); }));
    p.client.done.clear();
    p.server.done.clear();
    return advertised.value_or(fabric::MemoryRegion{});
  }
  bool both_emitted() {
    return pair_->until(
        [&] { return !pair_->server.events.empty() && !pair_->client.events.empty(); });
  }

  // From there on it is still 0.
  bool server_is_untouched(std::size_t from) const {
    const auto& bytes = pair_->server.buffer;
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(),
                       [](std::uint8_t b) { return b == 0; });
  }

  std::unique_ptr<Pair> pair_;
};

TEST_P(FabricContract, EveryOperationMovesItsBytes) {
  Pair& p = *pair_;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  constexpr std::size_t kMiB = 1U << 20;
  const fabric::MemoryRegion there =
      advertise(2 * kMiB, Access::kRemoteRead | Access::kRemoteWrite);
  p.server.receive(1, 2 * kMiB, 4096);
  p.server.receive(2, 2 * kMiB + 4096, 4096);
  p.server.receive(3, 2 * kMiB + 8192, 4096);
  p.client.post(Operation::kWrite, 1, 0, kMiB + 1, there);
  p.client.post(Operation::kRead, 2, 2 * kMiB, kMiB, there);
  p.client.post(Operation::kSend, 3, 7, 3001);
  p.client.post(Operation::kSend, 4, 9, 100);  // short enough to be copied into its request
  p.client.post(Operation::kSendImmediate, 5, 0, 0, {}, 0xdeadbeef);
  ASSERT_TRUE(p.until([&] { return p.client.done.size() == 5 && p.server.done.size() == 3; }));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(p.client.done[i].id, i + 1);
    EXPECT_EQ(p.client.done[i].status, Status::kSuccess);
  }
  EXPECT_EQ(p.client.done[1].operation, Operation::kRead);
  EXPECT_EQ(p.client.done[1].bytes, kMiB);
  const auto& c = p.client.buffer;
  const auto& s = p.server.buffer;
  EXPECT_TRUE(std::equal(c.begin(), c.begin() + kMiB + 1, s.begin()));
  EXPECT_TRUE(std::equal(c.begin(), c.begin() + kMiB, c.begin() + 2 * kMiB));
  EXPECT_TRUE(std::equal(c.begin() + 7, c.begin() + 7 + 3001, s.begin() + 2 * kMiB));
  EXPECT_TRUE(std::equal(c.begin() + 9, c.begin() + 109, s.begin() + 2 * kMiB + 4096));
  EXPECT_EQ(p.server.done[0].bytes, 3001U);
  EXPECT_FALSE(p.server.done[0].has_invalidated || p.server.done[0].has_immediate);
  EXPECT_TRUE(p.server.done[2].has_immediate);
  EXPECT_EQ(p.server.done[2].immediate, 0xdeadbeefU);
}

TEST_P(FabricContract, BothSidesKnowWhatWasAgreed) {
  Pair& p = *pair_;
  const std::vector<std::uint8_t> asked{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::uint8_t> answered{9, 8, 7};
  fabric::ConnectionOptions options;
  options.cookie = 41;
  options.private_data = asked;
  options.responder_resources = 5;
  options.initiator_depth = 3;
  ASSERT_NO_FATAL_FAILURE(p.request(options));
  const fabric::Event request = std::move(p.server.events[0]);
  p.server.events.clear();
  ASSERT_GE(request.private_data.size(), asked.size());
  EXPECT_TRUE(std::equal(asked.begin(), asked.end(), request.private_data.begin()));
  EXPECT_EQ(request.responder_resources, 3);
  EXPECT_EQ(request.initiator_depth, 5);
  options.cookie = 42;
  options.private_data = answered;
  options.responder_resources = 16;
  options.initiator_depth = 4;
  ASSERT_TRUE(p.server.connection->accept(options));
  ASSERT_TRUE(both_emitted());
  const fabric::Event& client = p.client.events[0];
  const fabric::Event& server = p.server.events[0];
  ASSERT_EQ(client.type, EventType::kEstablished);
  ASSERT_EQ(server.type, EventType::kEstablished);
  EXPECT_EQ(client.cookie, 41U);
  EXPECT_EQ(server.cookie, 42U);
  ASSERT_GE(client.private_data.size(), answered.size());
  EXPECT_TRUE(std::equal(answered.begin(), answered.end(), client.private_data.begin()));
  EXPECT_EQ(client.responder_resources, 4);
  EXPECT_EQ(client.initiator_depth, 3);
  EXPECT_EQ(server.responder_resources, 3);
  EXPECT_EQ(server.initiator_depth, 4);
  EXPECT_EQ(client.local, server.peer);
  EXPECT_EQ(client.peer, server.local);
  EXPECT_NE(client.local_qpn, 0U);
  EXPECT_EQ(client.local_qpn, server.peer_qpn);
  EXPECT_EQ(client.peer_qpn, server.local_qpn);
}

TEST_P(FabricContract, WhoIsRejectedLearnsWhy) {
  Pair& p = *pair_;
  ASSERT_NO_FATAL_FAILURE(p.request());
  const std::vector<std::uint8_t> why{'f', 'u', 'l', 'l'};
  ASSERT_TRUE(p.server.connection->reject(why));
  p.server.connection.reset();
  ASSERT_TRUE(p.until([&] { return !p.client.events.empty(); }));
  const fabric::Event& e = p.client.events[0];
  EXPECT_EQ(e.type, EventType::kRejected);
  EXPECT_EQ(e.reject_reason, 28);  // consumer reject (IBA 12.6.7.2)
  ASSERT_GE(e.private_data.size(), why.size());
  EXPECT_TRUE(std::equal(why.begin(), why.end(), e.private_data.begin()));
}

TEST_P(FabricContract, WhereNobodyListensThereIsNoConnection) {
  Pair& p = *pair_;
  ASSERT_NO_FATAL_FAILURE(p.request());
  p.server.connection.reset();
  p.server.events.clear();
  p.listener.reset();
  ASSERT_TRUE(p.until([&] { return !p.client.events.empty(); }));
  EXPECT_EQ(p.client.events[0].type, EventType::kRejected);
}

TEST_P(FabricContract, AHandleThatWasTakenBackIsOfNoUse) {
  Pair& p = *pair_;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  std::fill(p.server.buffer.begin(), p.server.buffer.end(), std::uint8_t{0});
  const fabric::MemoryRegion there = advertise(4096, Access::kRemoteWrite);
  p.client.post(Operation::kWrite, 1, 0, 100, there);
  ASSERT_TRUE(p.until([&] { return !p.client.done.empty(); }));
  ASSERT_EQ(p.client.done[0].status, Status::kSuccess);
  ASSERT_TRUE(p.server.connection->invalidate(7, there.handle));
  ASSERT_TRUE(p.until([&] { return !p.server.done.empty(); }));
  EXPECT_EQ(p.server.done[0].operation, Operation::kInvalidate);
  EXPECT_EQ(p.server.done[0].status, Status::kSuccess);
  EXPECT_EQ(p.server.done[0].id, 7U);
  EXPECT_FALSE(p.server.connection->invalidate(8, there.handle));
  p.client.post(Operation::kWrite, 2, 200, 100, {there.handle, there.offset + 200});
  ASSERT_TRUE(both_emitted());
  EXPECT_EQ(p.client.done.at(1).status, Status::kRemoteAccess);
  EXPECT_EQ(p.client.events[0].type, EventType::kDisconnected);
  EXPECT_EQ(p.server.events[0].type, EventType::kDisconnected);
  EXPECT_TRUE(server_is_untouched(100));
}

TEST_P(FabricContract, RightsHold) {
  Pair& p = *pair_;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  std::fill(p.server.buffer.begin(), p.server.buffer.end(), std::uint8_t{0});
  const fabric::MemoryRegion there = advertise(4096, Access::kRemoteRead);
  p.client.post(Operation::kWrite, 1, 0, 100, there);
  ASSERT_TRUE(both_emitted());
  EXPECT_EQ(p.client.done.at(0).status, Status::kRemoteAccess);
  EXPECT_TRUE(server_is_untouched(0));
}

TEST_P(FabricContract, BoundsHold) {
  if (GetParam().pair == rnic_pair && !testing::keeps_bounds(*testing::rnic_address())) {
    GTEST_SKIP() << "this device keeps no bounds";
  }
  Pair& p = *pair_;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  std::fill(p.server.buffer.begin(), p.server.buffer.end(), std::uint8_t{0});
  const fabric::MemoryRegion there = advertise(4096, Access::kRemoteWrite);
  p.client.post(Operation::kWrite, 1, 0, 4097, there);
  ASSERT_TRUE(both_emitted());
  EXPECT_EQ(p.client.done.at(0).status, Status::kRemoteAccess);
  EXPECT_TRUE(server_is_untouched(4096));
}

TEST_P(FabricContract, AHandleIsOfItsConnectionOnly) {
  Pair& p = *pair_;
  // If handles are registrations (docs/verbs.md), there is no such fence.
  if (!p.server.provider->limits().accepts_invalidate) GTEST_SKIP() << "no memory windows here";
  ASSERT_NO_FATAL_FAILURE(p.connect());
  std::fill(p.server.buffer.begin(), p.server.buffer.end(), std::uint8_t{0});
  const fabric::MemoryRegion there = advertise(4096, Access::kRemoteWrite);
  p.listener.reset();
  const auto first_client = std::move(p.client.connection);
  const auto first_server = std::move(p.server.connection);
  ASSERT_NO_FATAL_FAILURE(p.connect());
  p.client.post(Operation::kWrite, 1, 0, 100, there);
  ASSERT_TRUE(p.until([&] { return !p.client.done.empty(); }));
  EXPECT_EQ(p.client.done[0].status, Status::kRemoteAccess);
  EXPECT_EQ(p.server.buffer[0], 0);
}

TEST_P(FabricContract, ThePeerInvalidatesAHandle) {
  Pair& p = *pair_;
  if (!p.client.provider->limits().sends_invalidate ||
      !p.server.provider->limits().accepts_invalidate) {
    GTEST_SKIP() << "not on this device";
  }
  ASSERT_NO_FATAL_FAILURE(p.connect());
  const fabric::MemoryRegion there = advertise(4096, Access::kRemoteRead);
  p.server.receive(1, 8192, 64);
  p.client.post(Operation::kRead, 1, 0, 100, there);
  ASSERT_TRUE(p.until([&] { return !p.client.done.empty(); }));
  p.client.post(Operation::kSendInvalidate, 2, 0, 10, {}, there.handle);
  ASSERT_TRUE(p.until([&] { return p.server.done.size() == 1 && p.client.done.size() == 2; }));
  EXPECT_TRUE(p.server.done[0].has_invalidated);
  EXPECT_EQ(p.server.done[0].invalidated, there.handle);
  p.client.done.clear();
  p.server.done.clear();
  // It can be advertised again, with another handle.
  EXPECT_NE(advertise(4096, Access::kRemoteRead).handle, there.handle);
}

TEST_P(FabricContract, HandlesAreAsManyAsWereAskedFor) {
  Pair& p = *pair_;
  fabric::ConnectionOptions options;
  options.depths.handles = 3;
  ASSERT_NO_FATAL_FAILURE(p.connect(options));
  auto& s = p.server;
  const auto more = [&] {
    return s.connection->advertise(1, s.memory, s.buffer.data(), 64, Access::kRemoteRead);
  };
  for (int round = 0; round < 200; ++round) {
    std::array<std::uint32_t, 3> handles{};
    for (std::uint32_t& h : handles) {
      const auto advertised = more();
      ASSERT_TRUE(advertised) << "round " << round << ": " << advertised.error().message;
      h = advertised->handle;
    }
    EXPECT_EQ(more().error().code, fabric::Errc::kNoRoom);
    for (const std::uint32_t h : handles) ASSERT_TRUE(s.connection->invalidate(2, h));
    ASSERT_TRUE(p.until([&] { return s.done.size() == handles.size(); }));
    s.done.clear();
  }
  EXPECT_EQ(
      s.connection
          ->advertise(1, s.memory, s.buffer.data() + s.buffer.size() - 1, 2, Access::kRemoteRead)
          .error()
          .code,
      fabric::Errc::kBadArgument);
}

TEST_P(FabricContract, MuchMoreThanTheQueuesHoldIsSent) {
  Pair& p = *pair_;
  fabric::ConnectionOptions options;
  options.depths.send = 8;
  options.depths.receive = 16;
  ASSERT_NO_FATAL_FAILURE(p.connect(options));
  constexpr std::uint64_t kMessages = 500;
  std::uint64_t receives = 0;
  for (; receives < 16; ++receives) p.server.receive(receives, 64 * receives, 64);
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  ASSERT_TRUE(p.until([&] {
    for (; taken < p.server.done.size(); ++taken) {
      if (receives < kMessages) p.server.receive(receives++, 64 * (taken % 16), 64);
    }
    while (sent < kMessages && sent < receives) {
      // Only every fourth requests a completion; and no more at a time than fit.
      std::array<fabric::SendRequest, 5> requests;
      const fabric::Slice slice = p.client.slice(sent % 1000, 64);
      std::size_t n = 0;
      for (; n < requests.size() && sent + n < receives; ++n) {
        requests[n].id = sent + n;
        requests[n].local = {&slice, 1};
        requests[n].signaled = (sent + n) % 4 == 3;
      }
      const auto posted = p.client.connection->post_send(std::span(requests).first(n));
      if (!posted) {
        EXPECT_EQ(posted.error().code, fabric::Errc::kNoRoom);
        break;
      }
      sent += *posted;
    }
    return p.server.done.size() == kMessages && p.client.done.size() == kMessages / 4;
  })) << sent
      << " sent, " << p.server.done.size() << " received";
  for (std::size_t i = 0; i < p.server.done.size(); ++i) {
    ASSERT_EQ(p.server.done[i].id, i);
    ASSERT_EQ(p.server.done[i].bytes, 64U);
  }
  for (std::size_t i = 0; i < p.client.done.size(); ++i) {
    EXPECT_EQ(p.client.done[i].id, 4 * i + 3);
  }
}

TEST_P(FabricContract, WhatIsOutstandingIsFlushedBeforeTheEndIsEmitted) {
  Pair& p = *pair_;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  for (std::uint64_t i = 0; i < 5; ++i) p.server.receive(i, 0, 64);
  p.client.connection->disconnect();
  ASSERT_TRUE(both_emitted());
  EXPECT_EQ(p.client.events[0].type, EventType::kDisconnected);
  EXPECT_EQ(p.server.events[0].type, EventType::kDisconnected);
  ASSERT_EQ(p.server.done.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(p.server.done[i].id, i);
    EXPECT_EQ(p.server.done[i].operation, Operation::kReceive);
    EXPECT_EQ(p.server.done[i].status, Status::kFlushed);
  }
  const fabric::SendRequest nothing;
  EXPECT_EQ(p.server.connection->post_send({&nothing, 1}).error().code,
            fabric::Errc::kNotConnected);
}

TEST_P(FabricContract, NothingComesOfAConnectionThatWasDestroyed) {
  Pair& p = *pair_;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  for (std::uint64_t i = 0; i < 5; ++i) p.server.receive(i, 0, 64);
  p.client.post(Operation::kSend, 1, 0, 10);
  p.server.connection.reset();
  ASSERT_TRUE(p.until([&] { return !p.client.events.empty(); }));
  EXPECT_EQ(p.client.events[0].type, EventType::kDisconnected);
  EXPECT_TRUE(p.server.events.empty());
  EXPECT_TRUE(p.server.done.empty());
}

TEST_P(FabricContract, AMessageWithoutAReceiveEndsTheConnectionOfWhoDoesNotWait) {
  Pair& p = *pair_;
  fabric::ConnectionOptions options;
  options.rnr_retry_count = 0;
  ASSERT_NO_FATAL_FAILURE(p.connect(options));
  p.client.post(Operation::kSend, 1, 0, 10);
  ASSERT_TRUE(both_emitted());
  EXPECT_EQ(p.client.done.at(0).status, Status::kRnrRetriesExceeded);
}

std::string name_of(const ::testing::TestParamInfo<Maker>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Providers, FabricContract, ::testing::Values(kSoft, kRnic), name_of);

}  // namespace
}  // namespace rpcrdma
