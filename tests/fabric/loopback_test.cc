// Operations transfer their data over real sockets.
#include "support/own_network.h"
#include "support/two_peers.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

namespace rpcrdma {
namespace {

using fabric::Operation;
using fabric::Status;
using testing::TwoPeers;

void fill(std::vector<std::uint8_t>& bytes) {
  std::uint32_t x = 1;
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>((x = x * 1664525 + 1013904223) >> 24);
}

void all_operations(TwoPeers& p) {
  ASSERT_NO_FATAL_FAILURE(p.connect());
  fill(p.client.buffer);
  std::fill(p.server.buffer.begin(), p.server.buffer.end(), std::uint8_t{0});
  constexpr std::size_t kMiB = 1U << 20;
  const fabric::MemoryRegion there = p.server.advertise(0, 2 * kMiB);
  const fabric::MemoryRegion to_invalidate = p.server.advertise(0, 16);
  p.server.receive(1, 2 * kMiB, 4096);
  p.server.receive(2, 2 * kMiB + 4096, 4096);
  p.server.receive(3, 2 * kMiB + 8192, 4096);
  p.client.post(Operation::kWrite, 1, 0, kMiB + 1, there);
  p.client.post(Operation::kRead, 2, 2 * kMiB, kMiB, there);
  p.client.post(Operation::kSend, 3, 7, 3001);
  p.client.post(Operation::kSendInvalidate, 4, 100, 4, {}, to_invalidate.handle);
  p.client.post(Operation::kSendImmediate, 5, 0, 0, {}, 0xdeadbeef);
  ASSERT_TRUE(p.until([&] { return p.client.done.size() == 5 && p.server.done.size() == 3; }));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(p.client.done[i].id, i + 1);
    EXPECT_EQ(p.client.done[i].status, Status::kSuccess);
  }
  EXPECT_TRUE(p.client.provider->limits().sends_invalidate);
  EXPECT_TRUE(p.server.provider->limits().accepts_invalidate);
  const auto& c = p.client.buffer;
  const auto& s = p.server.buffer;
  EXPECT_TRUE(std::equal(c.begin(), c.begin() + kMiB + 1, s.begin()));
  EXPECT_TRUE(std::equal(c.begin(), c.begin() + kMiB, c.begin() + 2 * kMiB));
  EXPECT_TRUE(std::equal(c.begin() + 7, c.begin() + 7 + 3001, s.begin() + 2 * kMiB));
  EXPECT_EQ(p.server.done[0].bytes, 3001U);
  EXPECT_TRUE(p.server.done[1].has_invalidated);
  EXPECT_EQ(p.server.done[1].invalidated, to_invalidate.handle);
  EXPECT_EQ(p.server.done[2].immediate, 0xdeadbeefU);
  const soft::ProviderCounters counters = p.server.provider->counters();
  EXPECT_EQ(counters.udp.icrc_bad, 0U);
  EXPECT_EQ(counters.udp.icrc_unchecked, 0U);
  EXPECT_EQ(counters.adapter.malformed, 0U);

  p.client.connection->disconnect();
  ASSERT_TRUE(p.until([&] { return !p.server.events.empty() && !p.client.events.empty(); }));
  EXPECT_EQ(p.client.events[0].type, fabric::EventType::kDisconnected);
  EXPECT_EQ(p.server.events[0].type, fabric::EventType::kDisconnected);
}

void all_operations(const soft::ProviderOptions& options) {
  TwoPeers p(options);
  all_operations(p);
}

TEST(FabricLoopback, AllOperationsInBatches) {
  all_operations({});
}

TEST(FabricLoopback, AllOperationsOverIpv6NeedsNetworkNamespaces) {
  const fabric::Address from = fabric::parse_address("fd00::1").value();
  const fabric::Address to = fabric::parse_address("fd00::2").value();
  if (!soft::enter_network_with({from, to})) {
    GTEST_SKIP() << "this machine gives no network namespace with IPv6";
  }
  for (const bool exact : {false, true}) {
    soft::ProviderOptions options;
    options.udp.exact = exact;
    TwoPeers p(options, from, to);
    all_operations(p);
  }
}

TEST(FabricLoopback, AllOperationsWithOneDatagramAPacket) {
  soft::ProviderOptions options;
  options.udp.exact = true;
  options.adapter.mtu = 1024;
  all_operations(options);
}

TEST(FabricLoopback, AllOperationsThroughDeclaredFaults) {
  soft::ProviderOptions options;
  options.adapter.mtu = 1024;
  options.adapter.ack_timeout = 10;  // 4 ms
  options.adapter.cm.response_timeout = 20 * fabric::kMillisecond;
  options.faults = soft::parse_faults(
                       "drop dir=out rate=0.03 seed=1; duplicate dir=out rate=0.02 seed=2;"
                       "reorder dir=out by=3 rate=0.02 seed=3; corrupt dir=in rate=0.02 seed=4;"
                       "delay dir=in by=1ms rate=0.01 seed=5")
                       .value();
  all_operations(options);
}

TEST(FabricLoopback, RequestsAreAsLargeAsTheLimitsSay) {
  TwoPeers p;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  const fabric::Limits limits = p.client.provider->limits();
  const auto read = [&](std::size_t slices) {
    const std::vector<fabric::Slice> into(slices, p.client.slice(0, 1));
    fabric::SendRequest r;
    r.operation = Operation::kRead;
    r.local = into;
    return p.client.connection->post_send({&r, 1});
  };
  EXPECT_TRUE(read(limits.read_slices));
  EXPECT_EQ(read(limits.read_slices + std::size_t{1}).error().code, fabric::Errc::kBadArgument);
  // Reserving address space is enough: it is not sent.
  const std::size_t more = std::size_t{limits.message} + 1;
  void* const space = ::mmap(nullptr, more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(space, MAP_FAILED);
  auto* const bytes = static_cast<std::uint8_t*>(space);
  const auto memory = p.client.provider->register_memory({bytes, more});
  ASSERT_TRUE(memory);
  const auto write = [&](std::uint32_t length) {
    const fabric::Slice s{bytes, length, memory->local_key};
    fabric::SendRequest r;
    r.operation = Operation::kWrite;
    r.local = {&s, 1};
    return p.client.connection->post_send({&r, 1});
  };
  EXPECT_EQ(write(limits.message + 1).error().code, fabric::Errc::kBadArgument);
  EXPECT_TRUE(write(limits.message));
  p.client.connection.reset();
  p.client.provider->deregister_memory(*memory);
  ::munmap(space, more);
}

TEST(FabricLoopback, ThePeerThatExposesNothingIsSafe) {
  TwoPeers p;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  std::fill(p.server.buffer.begin(), p.server.buffer.end(), std::uint8_t{0});
  fill(p.client.buffer);
  p.client.post(Operation::kWrite, 1, 0, 5000, {0x1234, 0});
  ASSERT_TRUE(p.until([&] { return !p.server.events.empty() && !p.client.events.empty(); }));
  EXPECT_EQ(p.client.done.at(0).status, Status::kRemoteAccess);
  const std::vector<std::uint8_t> untouched(p.server.buffer.size());
  EXPECT_TRUE(p.server.buffer == untouched);
}

}  // namespace
}  // namespace rpcrdma
