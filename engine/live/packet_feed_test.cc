// The live socket of packets: a reader gets all of them, or the number that it missed.
#include "support/live_hub.h"

#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpcrdma/base/pcapng/blocks.h>

namespace rpcrdma::trace {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kTime = 1'700'000'000'000'000'000;

class TracePacketThreads : public HubTest {
 protected:
  Hub& start_with_packets(HubOptions options = {}) {
    Hub& hub = start_with_socket(std::move(options));
    const auto opened = hub.open_packet_socket();
    EXPECT_TRUE(opened) << opened.error().message;
    return hub;
  }
  // When it returns, packets are emitted.
  std::unique_ptr<capture::Source> connect_to_packets(PacketTap& tap) {
    auto fd = connect_packets(hub_->packet_socket_path());
    EXPECT_TRUE(fd) << fd.error().message;
    auto source = capture::open_descriptor(std::move(*fd), "packets");
    EXPECT_TRUE(source) << source.error().message;
    while (!tap.on()) std::this_thread::yield();
    return std::move(*source);
  }
  // A packet with `number` in its data.
  static std::vector<std::uint8_t> packet(std::uint32_t number, std::size_t bytes = 60) {
    std::vector<std::uint8_t> data(bytes);
    std::memcpy(data.data(), &number, sizeof number);
    base::PcapngBlocks blocks;
    blocks.packet(kTime + number, data, {});
    return blocks.bytes();
  }
  static void emit_packets(PacketTap& tap, std::uint32_t packets, std::size_t bytes = 60) {
    for (std::uint32_t i = 0; i < packets; ++i) tap.emit(kTime + i, packet(i, bytes));
  }
  static std::vector<std::uint32_t> rest(capture::Source& source) {
    std::vector<std::uint32_t> numbers;
    base::Frame frame;
    while (source.next(frame).value_or(false)) {
      EXPECT_EQ(frame.link, base::LinkType::kEthernet);
      std::uint32_t number = 0;
      std::memcpy(&number, frame.data.data(), sizeof number);
      EXPECT_EQ(frame.time_ns, kTime + number);
      numbers.push_back(number);
    }
    return numbers;
  }
};

TEST_F(TracePacketThreads, AreEmittedWhileSomebodyReads) {
  Hub& hub = start_with_packets();
  PacketTap& tap = hub.add()->packets();
  EXPECT_FALSE(tap.on());
  {
    const auto source = connect_to_packets(tap);
    PacketTap& later = hub.add()->packets();
    while (!later.on()) std::this_thread::yield();
  }
  while (tap.on()) std::this_thread::yield();
  const auto source = connect_to_packets(tap);
  hub.stop();
  EXPECT_FALSE(tap.on());
}

TEST_F(TracePacketThreads, ComeAsTheyWereEmitted) {
  Hub& hub = start_with_packets();
  PacketTap& tap = hub.add()->packets();
  const auto source = connect_to_packets(tap);
  emit_packets(tap, 100);
  hub.stop();
  const auto numbers = rest(*source);
  ASSERT_EQ(numbers.size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(numbers[i], i);
  EXPECT_EQ(source->stats().dropped, 0U);
  EXPECT_FALSE(source->stats().cut_short);
  EXPECT_EQ(source->stats().damage, "");
}

// Unread packets, and packets from before, are not in a later stream.
TEST_F(TracePacketThreads, WhoComesLaterGetsWhatComesLater) {
  Hub& hub = start_with_packets();
  PacketTap& tap = hub.add()->packets();
  emit_packets(tap, 5);
  { const auto source = connect_to_packets(tap); }
  while (tap.on()) std::this_thread::yield();
  emit_packets(tap, 5);
  const auto source = connect_to_packets(tap);
  tap.emit(kTime + 77, packet(77));
  hub.stop();
  EXPECT_THAT(rest(*source), ::testing::ElementsAre(77U));
}

TEST_F(TracePacketThreads, WhoDoesNotReadIsEmittedWhatWasLost) {
  Hub& hub = start_with_packets({.packet_ring_bytes = 1, .packet_reader_bytes = 1});
  PacketTap& tap = hub.add()->packets();
  const auto slow = connect_to_packets(tap);
  constexpr std::uint32_t kPackets = 5000;  // more than the socket and the queue hold
  emit_packets(tap, kPackets, 4096);
  std::vector<std::uint32_t> numbers;
  std::thread reader([&] { numbers = rest(*slow); });
  hub.stop();
  reader.join();
  EXPECT_LT(numbers.size(), kPackets);
  EXPECT_EQ(numbers.size() + slow->stats().dropped, kPackets);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_FALSE(slow->stats().cut_short);
}

TEST_F(TracePacketThreads, OfSeveralThreadsComeTogether) {
  Hub& hub = start_with_packets({.packet_ring_bytes = 16384});
  std::vector<PacketTap*> taps;
  for (int i = 0; i < 3; ++i) taps.push_back(&hub.add()->packets());
  const auto source = connect_to_packets(*taps[0]);
  for (PacketTap* const tap : taps) {
    while (!tap->on()) std::this_thread::yield();
  }
  constexpr std::uint32_t kEach = 20000;
  std::vector<std::thread> emitters;
  for (PacketTap* const tap : taps) emitters.emplace_back([tap] { emit_packets(*tap, kEach); });
  std::vector<std::uint32_t> numbers;
  std::thread reader([&] { numbers = rest(*source); });
  for (std::thread& emitter : emitters) emitter.join();
  hub.stop();
  reader.join();
  EXPECT_EQ(numbers.size() + source->stats().dropped, taps.size() * kEach);
  EXPECT_FALSE(numbers.empty());
}

TEST_F(TracePacketThreads, AreFoundBesideTheirEndpoint) {
  Hub& hub = start_with_packets({.name = "nfsd"});
  const auto endpoints = list_endpoints();
  ASSERT_TRUE(endpoints);
  ASSERT_EQ(endpoints->size(), 1U);
  EXPECT_EQ(endpoints->front().path, hub.socket_path());
  EXPECT_EQ(endpoints->front().packets, hub.packet_socket_path());
  EXPECT_EQ(hub.packet_socket_path(),
            path("rpcrdma/nfsd." + std::to_string(::getpid()) + ".packets.sock"));
  EXPECT_EQ(find_endpoints()->size(), 1U);
  EXPECT_TRUE(connect_packets("nfsd"));
  EXPECT_TRUE(is_packet_socket(hub_->packet_socket_path()));
  EXPECT_FALSE(is_packet_socket(hub_->socket_path()));
  EXPECT_FALSE(is_packet_socket("nfsd"));
  hub.stop();
  EXPECT_EQ(hub.packet_socket_path(), "");
  EXPECT_TRUE(std::filesystem::is_empty(path("rpcrdma")));
}

TEST_F(TracePacketThreads, AnEndpointWithoutThemSaysSo) {
  start_with_socket({.name = "nfsd"});
  const auto fd = connect_packets("nfsd");
  ASSERT_FALSE(fd);
  EXPECT_THAT(fd.error().message, HasSubstr("nfsd has no packet stream"));
  EXPECT_EQ(list_endpoints()->front().packets, "");
}

// Nothing remains of either socket of a killed process.
TEST_F(TracePacketThreads, WhatAKilledEndpointLeftIsRemoved) {
  const pid_t child = ::fork();
  if (child == 0) {
    start_with_packets({.name = "killed"});
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_FALSE(std::filesystem::is_empty(path("rpcrdma")));
  EXPECT_TRUE(list_endpoints()->empty());
  EXPECT_TRUE(std::filesystem::is_empty(path("rpcrdma")));
}

}  // namespace
}  // namespace rpcrdma::trace
