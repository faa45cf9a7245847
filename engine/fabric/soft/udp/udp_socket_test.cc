// The UDP socket on loopback: batches, refused system calls, foreign senders, the log, live
// readers, and opening.
#include "failing_send.h"
#include "rc/packet_for_tests.h"
#include "support/counting_new.h"
#include "support/own_network.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <gmock/gmock.h>
#include <netinet/udp.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/fabric/socket_address.h>
#include <rpcrdma/soft/packet_log.h>
#include <rpcrdma/soft/udp_socket.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

using fabric::Address;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kLongEnoughMs = 30'000;

// Each process has its own addresses, since the port is the same for all.
Address own_address(std::uint8_t last) {
  const auto id = static_cast<std::uint32_t>(::getpid());
  return fabric::make_ipv4(127, static_cast<std::uint8_t>(64 + (id >> 14) % 128),
                           static_cast<std::uint8_t>(id >> 6),
                           static_cast<std::uint8_t>((id & 63) << 2 | last));
}

UdpSocket open_at(const Address& address, const UdpOptions& options = {}) {
  auto socket = UdpSocket::open(address, options);
  if (!socket) throw std::runtime_error(socket.error().message);
  return std::move(*socket);
}

struct Came {
  Path path;
  std::vector<std::uint8_t> bytes;
  IcrcCheck icrc;
};

// Receives until this many packets have arrived, or none for long.
std::vector<Came> receive(UdpSocket& socket, std::size_t packets) {
  std::vector<Came> came;
  while (came.size() < packets) {
    pollfd wanted{socket.fd(), POLLIN, 0};
    if (::poll(&wanted, 1, kLongEnoughMs) <= 0) break;
    socket.receive([&](const InPacket& packet) {
      came.push_back({*packet.path, {packet.bytes.begin(), packet.bytes.end()}, packet.icrc});
    });
  }
  return came;
}

MATCHER(IsGood, "") {
  return arg.icrc == IcrcCheck::kGood;
}

class UdpSocketTest : public testing::Test {
 protected:
  const Address a_ = own_address(1);
  const Address b_ = own_address(2);
  const Path path_{a_, b_, wire::kRoceUdpPort};
  const Path back_{b_, a_, wire::kRoceUdpPort};
};

TEST_F(UdpSocketTest, AShortPacketArrives) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const auto payload = pattern(64, 1);
  const OutPacket packet = send_only(path_, payload, 7);
  ASSERT_TRUE(a.add(packet));
  ASSERT_TRUE(a.flush());
  const auto came = receive(b, 1);
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].bytes, flat(packet));
  EXPECT_EQ(came[0].icrc, IcrcCheck::kGood);
  EXPECT_EQ(came[0].path, back_);
  EXPECT_EQ(a.counters().sent_packets, 1U);
  EXPECT_EQ(a.counters().sent_batches, 1U);
  EXPECT_EQ(a.counters().sent_bytes, 12U + 64 + 4);
  EXPECT_EQ(b.counters().received_packets, 1U);
  EXPECT_EQ(b.counters().received_bytes, 12U + 64 + 4);
  EXPECT_EQ(b.counters().icrc_good, 1U);
  EXPECT_FALSE(b.receive([](const InPacket&) { FAIL(); }));
}

TEST_F(UdpSocketTest, AShortPacketIsOnePlainCall) {
  UdpSocket a = open_at(a_);
  const auto payload = pattern(64, 1);
  const FailingSend calls({});
  ASSERT_TRUE(a.add(send_only(path_, payload, 7)));
  ASSERT_TRUE(a.flush());
  ASSERT_EQ(calls.calls().size(), 1U);
  EXPECT_FALSE(calls.calls()[0].joined);
  EXPECT_EQ(calls.calls()[0].bytes, 12U + 64 + 4);
}

TEST_F(UdpSocketTest, AnEmptyBatchIsSent) {
  UdpSocket a = open_at(a_);
  const FailingSend calls({});
  EXPECT_TRUE(a.flush());
  EXPECT_TRUE(calls.calls().empty());
}

// Packets with these payloads from a to b.
struct Sent {
  std::vector<std::vector<std::uint8_t>> payloads;
  std::vector<OutPacket> packets;

  Sent(const Path& path, const std::vector<std::size_t>& sizes) {
    for (const std::size_t size : sizes) {
      payloads.push_back(pattern(size, static_cast<std::uint32_t>(payloads.size())));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      packets.push_back(send_only(path, payloads[i], static_cast<std::uint8_t>(i)));
    }
  }
};

void expect_same(const std::vector<Came>& came, const Sent& sent) {
  ASSERT_EQ(came.size(), sent.packets.size());
  for (std::size_t i = 0; i < came.size(); ++i)
    ASSERT_EQ(came[i].bytes, flat(sent.packets[i])) << i;
  EXPECT_THAT(came, Each(IsGood()));
}

TEST_F(UdpSocketTest, ABatchArrivesWhole) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const Sent sent(path_, std::vector<std::size_t>(15, 4096));
  for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
  EXPECT_EQ(a.counters().sent_packets, 0U);
  ASSERT_TRUE(a.flush());
  expect_same(receive(b, 15), sent);
  EXPECT_EQ(a.counters().sent_batches, 1U);
  EXPECT_EQ(a.counters().sent_packets, 15U);
  EXPECT_EQ(b.counters().icrc_good, 15U);
}

TEST_F(UdpSocketTest, ABatchArrivesWholeAfterASinglePacket) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const Sent sent(path_, {1024, 1024, 1024});
  ASSERT_TRUE(a.add(sent.packets[0]));
  ASSERT_TRUE(a.flush());
  EXPECT_THAT(receive(b, 1), ElementsAre(IsGood()));
  for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
  ASSERT_TRUE(a.flush());
  expect_same(receive(b, 3), sent);
  EXPECT_EQ(b.counters().received_batches, 2U);
}

TEST_F(UdpSocketTest, ExactlyOneDatagramAPacket) {
  UdpSocket a = open_at(a_, {.exact = true}), b = open_at(b_);
  const Sent sent(path_, std::vector<std::size_t>(15, 1024));
  const FailingSend calls({});
  for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
  ASSERT_TRUE(a.flush());
  expect_same(receive(b, 15), sent);
  EXPECT_EQ(a.counters().sent_batches, 15U);
  EXPECT_EQ(calls.calls().size(), 15U);
}

TEST_F(UdpSocketTest, SizesThatChangeBeginABatch) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  //                      one batch, a shorter one ends it | one | longer | equal to it, shorter
  const Sent sent(path_, {1024, 1024, 1024, 13, /**/ 13, /**/ 2048, 2048, 1024, /**/ 1024});
  const FailingSend calls({});
  for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
  ASSERT_TRUE(a.flush());
  expect_same(receive(b, sent.packets.size()), sent);
  ASSERT_EQ(calls.calls().size(), 4U);
  EXPECT_TRUE(calls.calls()[0].joined);
  EXPECT_EQ(calls.calls()[0].bytes, 3 * 1040U + 32);
  EXPECT_FALSE(calls.calls()[1].joined);
  EXPECT_TRUE(calls.calls()[2].joined);
  EXPECT_EQ(calls.calls()[2].bytes, 2 * 2064U + 1040);
  EXPECT_FALSE(calls.calls()[3].joined);
}

TEST_F(UdpSocketTest, ABatchIsBounded) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  {
    const Sent sent(path_, std::vector<std::size_t>(65, 16));
    const FailingSend calls({});
    for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
    ASSERT_TRUE(a.flush());
    expect_same(receive(b, 65), sent);
    ASSERT_EQ(calls.calls().size(), 2U);
    EXPECT_EQ(calls.calls()[0].bytes, 64 * 32U);
  }
  {
    const Sent sent(path_, std::vector<std::size_t>(16, 4096));
    const FailingSend calls({});
    for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
    ASSERT_TRUE(a.flush());
    expect_same(receive(b, 16), sent);
    ASSERT_EQ(calls.calls().size(), 2U);
    EXPECT_EQ(calls.calls()[0].bytes, 15 * 4112U);
  }
}

TEST_F(UdpSocketTest, AnotherPeerBeginsABatch) {
  const Address c = own_address(3);
  UdpSocket socket_a = open_at(a_), socket_b = open_at(b_), socket_c = open_at(c);
  const Path to_c{a_, c, wire::kRoceUdpPort};
  const auto payload = pattern(100, 1);
  ASSERT_TRUE(socket_a.add(send_only(path_, payload, 1)));
  ASSERT_TRUE(socket_a.add(send_only(to_c, payload, 2)));
  ASSERT_TRUE(socket_a.add(send_only(path_, payload, 3)));
  ASSERT_TRUE(socket_a.flush());
  EXPECT_THAT(receive(socket_b, 2), AllOf(testing::SizeIs(2), Each(IsGood())));
  EXPECT_THAT(receive(socket_c, 1), ElementsAre(IsGood()));
}

TEST_F(UdpSocketTest, TheSourcePortIsTheSocketsWhateverThePathSays) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  EXPECT_EQ(a.source_port(), 4791);
  const Path other{a_, b_, 0xc123};
  ASSERT_TRUE(a.add(send_only(other, {}, 1)));
  ASSERT_TRUE(a.flush());
  EXPECT_THAT(receive(b, 1), ElementsAre(IsGood()));
}

TEST_F(UdpSocketTest, WhatDoesNotFitADatagramIsRefused) {
  UdpSocket a = open_at(a_);
  const auto payload = pattern(65536, 1);
  EXPECT_TRUE(a.add(send_only(path_, payload, 1)));
  EXPECT_TRUE(a.flush());
  EXPECT_EQ(a.counters().refused, 1U);
  EXPECT_EQ(a.counters().last_error, EMSGSIZE);
  EXPECT_EQ(a.counters().sent_packets, 0U);
}

TEST_F(UdpSocketTest, APeerOfAnotherFamilyIsRefused) {
  UdpSocket a = open_at(a_);
  const Path path{a_, *fabric::parse_address("::1"), 4791};
  EXPECT_TRUE(a.add(send_only(path, {}, 1)));
  EXPECT_EQ(a.counters().refused, 1U);
  EXPECT_EQ(a.counters().last_error, EAFNOSUPPORT);
}

// A plain UDP socket of another sender.
class Stranger {
 public:
  explicit Stranger(const Address& local, std::uint16_t port = 0)
      : fd_(::socket(local.ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const fabric::SocketAddress address = to_socket_address(local, port);
    if (::bind(fd_, &address.any, length_of(address)) != 0) throw std::runtime_error("bind");
  }
  ~Stranger() { ::close(fd_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  // Sends UDP checksums of 0 over IPv6.
  void leave_checksum_out() const {
    const int yes = 1;
    ASSERT_EQ(::setsockopt(fd_, IPPROTO_UDP, UDP_NO_CHECK6_TX, &yes, sizeof yes), 0);
  }
  void send(const Address& to, wire::Bytes bytes) const {
    const fabric::SocketAddress address = to_socket_address(to, wire::kRoceUdpPort);
    ASSERT_EQ(::sendto(fd_, bytes.data(), bytes.size(), 0, &address.any, length_of(address)),
              static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] std::vector<std::uint8_t> receive() const {
    pollfd wanted{fd_, POLLIN, 0};
    if (::poll(&wanted, 1, kLongEnoughMs) <= 0) return {};
    std::vector<std::uint8_t> bytes(65536);
    const ssize_t n = ::recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return bytes;
  }
  [[nodiscard]] std::uint16_t port() const {
    fabric::SocketAddress address;
    socklen_t length = sizeof address;
    if (::getsockname(fd_, &address.any, &length) != 0) return 0;
    return to_endpoint(address)->port;
  }

 private:
  int fd_;
};

// --- Payloads that stay where they are

constexpr std::size_t kStays = 2048;

// They lie in `payloads`.
Sent staying(const Path& path, const std::vector<std::size_t>& sizes) {
  Sent sent(path, sizes);
  for (OutPacket& packet : sent.packets) packet.payload_stays = true;
  return sent;
}

TEST_F(UdpSocketTest, PayloadsThatStayLeaveInOneCall) {
  for (const std::size_t last :
       std::initializer_list<std::size_t>{kStays, kStays - 1, 1021, 9, 0}) {
    UdpSocket a = open_at(a_), b = open_at(b_);
    const Sent sent = staying(path_, {kStays, kStays, kStays, last});
    const FailingSend calls({});
    for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
    ASSERT_TRUE(a.flush());
    ASSERT_EQ(calls.calls().size(), 1U);
    EXPECT_TRUE(calls.calls()[0].joined);
    EXPECT_EQ(calls.calls()[0].bytes, 3 * (16 + kStays) + flat(sent.packets[3]).size() + 4);
    expect_same(receive(b, 4), sent);
    EXPECT_EQ(a.counters().sent_bytes, calls.calls()[0].bytes);
  }
}

TEST_F(UdpSocketTest, APayloadThatStaysMayBeAlone) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const Sent sent = staying(path_, {kStays + 3});
  ASSERT_TRUE(a.add(sent.packets[0]));
  ASSERT_TRUE(a.flush());
  expect_same(receive(b, 1), sent);
}

TEST_F(UdpSocketTest, PayloadsThatStayMayStandBesideOthers) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  Sent sent = staying(path_, std::vector<std::size_t>(6, kStays));
  for (const std::size_t i : {0U, 3U, 4U}) sent.packets[i].payload_stays = false;
  for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
  ASSERT_TRUE(a.flush());
  expect_same(receive(b, 6), sent);
  EXPECT_EQ(a.counters().sent_batches, 1U);
}

// Before it is tried again, the owner may use the memory for something else.
TEST_F(UdpSocketTest, WhatMustWaitIsCopied) {
  for (const auto& errors : {std::vector<int>{EAGAIN}, {EIO, EAGAIN}, {EIO, 0, EAGAIN}}) {
    UdpSocket a = open_at(a_), b = open_at(b_);
    const Sent sent = staying(path_, {kStays, kStays, kStays});
    Sent used = sent;
    for (std::size_t i = 0; i < used.packets.size(); ++i) {
      used.packets[i].payload[0] = used.payloads[i];
    }
    {
      const FailingSend calls(errors);
      for (const OutPacket& packet : used.packets) ASSERT_TRUE(a.add(packet));
      ASSERT_FALSE(a.flush());
    }
    for (auto& payload : used.payloads) std::fill(payload.begin(), payload.end(), 0xee);
    ASSERT_TRUE(a.flush());
    expect_same(receive(b, 3), sent);
  }
}

TEST_F(UdpSocketTest, ARefusedBatchOfPayloadsThatStayIsForgotten) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const Sent lost = staying(path_, {kStays, kStays}), sent = staying(path_, {kStays, 64});
  {
    const FailingSend calls({ENOBUFS});
    for (const OutPacket& packet : lost.packets) ASSERT_TRUE(a.add(packet));
    ASSERT_TRUE(a.flush());
  }
  EXPECT_EQ(a.counters().refused, 2U);
  for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
  ASSERT_TRUE(a.flush());
  expect_same(receive(b, 2), sent);
}

// --- Sends that the kernel refuses

TEST_F(UdpSocketTest, ABatchWaitsUntilTheSocketIsWritable) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const Sent sent(path_, std::vector<std::size_t>(5, 512));
  const auto longer = pattern(1024, 9);
  const OutPacket next = send_only(path_, longer, 9);
  {
    const FailingSend calls({EAGAIN, EAGAIN});
    for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
    EXPECT_FALSE(a.flush());
    EXPECT_FALSE(a.add(next));
  }
  EXPECT_EQ(a.counters().sent_packets, 0U);
  EXPECT_EQ(a.counters().refused, 0U);
  EXPECT_TRUE(a.flush());
  expect_same(receive(b, 5), sent);
  EXPECT_EQ(a.counters().sent_packets, 5U);
  EXPECT_TRUE(a.add(next));
  EXPECT_TRUE(a.flush());
  EXPECT_THAT(receive(b, 1), ElementsAre(IsGood()));
}

TEST_F(UdpSocketTest, ASinglePacketWaitsToo) {
  UdpSocket a = open_at(a_, {.exact = true}), b = open_at(b_);
  const Sent sent(path_, {64, 64});
  {
    const FailingSend calls({EAGAIN, EAGAIN});
    ASSERT_TRUE(a.add(sent.packets[0]));
    EXPECT_FALSE(a.flush());
    EXPECT_FALSE(a.add(sent.packets[1]));
  }
  EXPECT_TRUE(a.add(sent.packets[1]));
  EXPECT_TRUE(a.flush());
  expect_same(receive(b, 2), sent);
}

TEST_F(UdpSocketTest, WithoutSegmentationAllIsSentSinglyForGood) {
  for (const int error : {EIO, EINVAL}) {
    UdpSocket a = open_at(a_), b = open_at(b_);
    const Sent sent(path_, {512, 512, 512, 100});
    {
      const FailingSend calls({error});
      for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
      ASSERT_TRUE(a.flush());
      EXPECT_EQ(calls.calls().size(), 5U);
    }
    expect_same(receive(b, 4), sent);
    EXPECT_EQ(a.counters().refused, 0U);
    const FailingSend calls({});
    for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
    ASSERT_TRUE(a.flush());
    expect_same(receive(b, 4), sent);
    ASSERT_EQ(calls.calls().size(), 4U);
    EXPECT_FALSE(calls.calls()[0].joined);
  }
}

// A datagram sent singly gets identification 0, whatever its place in the batch.
TEST_F(UdpSocketTest, WhatIsSentSinglyIsFramedAgain) {
  // It may have to wait before it, in the middle, or not at all; another packet follows.
  for (const auto& errors : {std::vector<int>{EIO, EAGAIN}, {EIO, 0, EAGAIN}, {EIO}}) {
    UdpSocket a = open_at(a_);
    const Stranger b(b_, wire::kRoceUdpPort);
    const Sent sent(path_, {512, 512, 512, 512, 100});
    {
      const FailingSend calls(errors);
      for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(a.add(sent.packets[i]));
      EXPECT_EQ(a.flush(), errors.size() == 1);
    }
    EXPECT_TRUE(a.add(sent.packets[3]));
    EXPECT_TRUE(a.add(sent.packets[4]));
    EXPECT_TRUE(a.flush());
    for (const OutPacket& packet : sent.packets) {
      const auto datagram = b.receive();
      ASSERT_EQ(datagram.size(), packet.size() + 4);
      EXPECT_EQ(check_icrc(back_, datagram, 0), IcrcCheck::kGood);
    }
    EXPECT_EQ(a.counters().refused, 0U);
    EXPECT_EQ(a.counters().sent_packets, 5U);
  }
}

TEST_F(UdpSocketTest, InTheMiddleOfSendingSinglyItMayWait) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const Sent sent(path_, {512, 512, 512, 100, 100});
  {
    const FailingSend calls({EIO, 0, EAGAIN, EAGAIN});
    for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(a.add(sent.packets[i]));
    EXPECT_FALSE(a.flush());
    EXPECT_FALSE(a.add(sent.packets[4]));
    EXPECT_EQ(calls.calls().size(), 4U);
  }
  EXPECT_TRUE(a.add(sent.packets[4]));
  EXPECT_TRUE(a.flush());
  expect_same(receive(b, 5), sent);
}

// EINVAL can also mean that the link does not carry the datagram.
TEST_F(UdpSocketTest, ABatchThatIsRefusedAsSuchAndSinglyLeavesSegmentationOn) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const Sent sent(path_, {512, 512});
  {
    const FailingSend calls({EINVAL, EMSGSIZE, EMSGSIZE});
    for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
    EXPECT_TRUE(a.flush());
  }
  EXPECT_EQ(a.counters().refused, 2U);
  EXPECT_EQ(a.counters().last_error, EMSGSIZE);
  for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
  EXPECT_TRUE(a.flush());
  expect_same(receive(b, 2), sent);
  EXPECT_EQ(a.counters().sent_batches, 1U);
}

TEST_F(UdpSocketTest, ErrorsAreCountedAndNotFatal) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const Sent sent(path_, {512, 512, 600});
  const FailingSend calls({EHOSTUNREACH, ECONNREFUSED});
  for (const OutPacket& packet : sent.packets) ASSERT_TRUE(a.add(packet));
  EXPECT_TRUE(a.flush());
  EXPECT_EQ(a.counters().refused, 3U);
  EXPECT_EQ(a.counters().last_error, ECONNREFUSED);
  EXPECT_TRUE(a.add(sent.packets[2]));
  EXPECT_TRUE(a.flush());
  EXPECT_THAT(receive(b, 1), ElementsAre(IsGood()));
}

// --- Packets from others

TEST_F(UdpSocketTest, AnySourcePortIsTaken) {
  UdpSocket b = open_at(b_);
  const Stranger stranger(a_);
  const Path path{a_, b_, stranger.port()};
  std::array<std::uint8_t, 16> datagram;
  ASSERT_EQ(frame(send_only(path, {}, 1), 0, datagram), 16U);
  stranger.send(b_, datagram);
  const auto came = receive(b, 1);
  ASSERT_THAT(came, ElementsAre(IsGood()));
  EXPECT_EQ(came[0].path, (Path{b_, a_, stranger.port()}));
}

// From another sender: our own never uses identification 0x1234.
std::vector<std::uint8_t> strange(const Stranger& stranger, const fabric::Address& from,
                                  const fabric::Address& to, std::size_t payload) {
  const Path path{from, to, stranger.port()};
  std::vector<std::uint8_t> datagram(16 + payload);
  EXPECT_EQ(frame(send_only(path, pattern(payload, 3), 1), 0x1234, datagram), datagram.size());
  return datagram;
}

TEST_F(UdpSocketTest, OverIpv4AnUnknownIdentificationIsUncheckedAndAWrongIcrcDropped) {
  UdpSocket b = open_at(b_);
  const Stranger stranger(a_);
  stranger.send(b_, pattern(100, 3));
  stranger.send(b_, strange(stranger, a_, b_, 84));
  const auto came = receive(b, 1);
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].icrc, IcrcCheck::kUnchecked);
  EXPECT_EQ(came[0].bytes.size(), 96U);
  EXPECT_EQ(b.counters().icrc_unchecked, 1U);
  EXPECT_EQ(b.counters().icrc_bad, 1U);
}

TEST_F(UdpSocketTest, WhatIsTooShortIsCountedAndNotGiven) {
  UdpSocket b = open_at(b_);
  const Stranger stranger(a_);
  for (const std::size_t size : {0U, 1U, 15U}) stranger.send(b_, pattern(size, 3));
  stranger.send(b_, strange(stranger, a_, b_, 0));
  EXPECT_THAT(receive(b, 1), testing::SizeIs(1));
  EXPECT_EQ(b.counters().too_short, 3U);
  EXPECT_EQ(b.counters().received_packets, 1U);
}

TEST_F(UdpSocketTest, MoreThanOneCallYields) {
  UdpSocket b = open_at(b_);
  const Stranger stranger(a_);
  for (std::size_t i = 0; i < 20; ++i) stranger.send(b_, strange(stranger, a_, b_, 84 + 4 * i));
  std::size_t packets = 0, calls = 1;
  while (b.receive([&](const InPacket& packet) {
    EXPECT_EQ(packet.bytes.size(), 96 + 4 * packets);
    ++packets;
  })) {
    ++calls;
  }
  EXPECT_EQ(packets, 20U);
  EXPECT_GT(calls, 1U);
}

TEST_F(UdpSocketTest, AVisitorMayAnswer) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const auto payload = pattern(64, 1);
  ASSERT_TRUE(a.add(send_only(path_, payload, 1)));
  ASSERT_TRUE(a.flush());
  pollfd wanted{b.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&wanted, 1, kLongEnoughMs), 1);
  b.receive([&](const InPacket& packet) {
    EXPECT_TRUE(b.add(send_only(*packet.path, payload, 2)));
    EXPECT_TRUE(b.flush());
  });
  EXPECT_THAT(receive(a, 1), ElementsAre(IsGood()));
}

TEST_F(UdpSocketTest, NothingIsAllocatedPerPacket) {
  UdpSocket a = open_at(a_), b = open_at(b_);
  const auto payload = pattern(1024, 1);
  std::size_t packets = 0;
  EXPECT_EQ(wire::testing::allocations_in([&] {
              for (std::uint8_t i = 0; i < 40; ++i) {
                if (!a.add(send_only(path_, {payload.data(), i < 30 ? 1024U : i}, i))) return;
              }
              if (!a.flush()) return;
              while (packets < 40) {
                pollfd wanted{b.fd(), POLLIN, 0};
                if (::poll(&wanted, 1, kLongEnoughMs) <= 0) return;
                b.receive([&](const InPacket&) { ++packets; });
              }
            }),
            0U);
  EXPECT_EQ(packets, 40U);
  EXPECT_EQ(b.counters().icrc_good, 40U);
}

// The live packets equal the log of the same socket byte by byte. (A UDP socket does not show the
// headers that the ICRC covers.)
TEST_F(UdpSocketTest, ShowsItsPacketsToWhoReadsThemLive) {
  const std::string file = testing::TempDir() + "live_packets_" + std::to_string(::getpid());
  std::vector<std::uint8_t> logged, shown;
  trace::PacketTap tap(3);
  trace::Ring& ring = tap.ring(1 << 20);
  UdpSocket a = open_at(a_), b = open_at(b_);
  const auto payload = pattern(1000, 1);
  const auto exchange = [&](UdpSocket& from, UdpSocket& to, const Path& path) {
    for (std::uint8_t i = 0; i < 5; ++i) ASSERT_TRUE(from.add(send_only(path, payload, i)));
    ASSERT_TRUE(from.flush());
    ASSERT_EQ(receive(to, 5).size(), 5U);
  };
  a.show_to(&tap);
  exchange(a, b, path_);  // no reader
  EXPECT_EQ(ring.emitted(), 0U);
  {
    auto log = PacketLog::create(file);
    ASSERT_TRUE(log) << log.error().message;
    a.log_to(&*log);
    tap.listen(true);
    exchange(a, b, path_);
    exchange(b, a, back_);
    a.log_to(nullptr);
  }
  tap.listen(false);
  exchange(a, b, path_);
  ring.read([&](const trace::EventHeader& header, std::span<const std::uint8_t> event) {
    EXPECT_EQ(header.type, trace::kPacketBlock);
    EXPECT_EQ(header.ring, 3U);
    const auto block = event.subspan(sizeof header, header.payload);
    shown.insert(shown.end(), block.begin(), block.end());
  });
  EXPECT_EQ(ring.emitted(), 10U);
  std::ifstream in(file, std::ios::binary);
  logged.assign(std::istreambuf_iterator<char>(in), {});
  ::unlink(file.c_str());
  EXPECT_NE(std::search(logged.begin(), logged.end(), shown.begin(), shown.end()), logged.end());
}

TEST_F(UdpSocketTest, IfRawSocketsAreAllowedTheKernelsHeaderIsAsItIsTaken) {
  const int raw = ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP);
  if (raw < 0) GTEST_SKIP() << std::strerror(errno);
  const fabric::SocketAddress address = to_socket_address(b_, 0);
  ASSERT_EQ(::bind(raw, &address.any, length_of(address)), 0);
  UdpSocket a = open_at(a_), b = open_at(b_);
  const auto payload = pattern(64, 1);
  for (std::uint8_t i = 0; i < 3; ++i) {
    const OutPacket packet = send_only(path_, payload, i);
    ASSERT_TRUE(a.add(packet));
    ASSERT_TRUE(a.flush());
    pollfd wanted{raw, POLLIN, 0};
    ASSERT_EQ(::poll(&wanted, 1, kLongEnoughMs), 1);
    std::array<std::uint8_t, 200> bytes;
    ASSERT_EQ(::recv(raw, bytes.data(), bytes.size(), 0), 20 + 8 + 12 + 64 + 4);
    EXPECT_EQ(wire::icrc(wire::IcrcKind::kRoceV2Ipv4, {bytes.data(), 20 + 8 + 12 + 64}, 28),
              wire::load_icrc(bytes.data() + 20 + 8 + 12 + 64));
  }
  ::close(raw);
}

// --- Opening

TEST_F(UdpSocketTest, ATakenPortIsNamedWithItsAddress) {
  // The kernel's rdma_rxe does not share the port either.
  const int other = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const fabric::SocketAddress taken = to_socket_address(a_, wire::kRoceUdpPort);
  ASSERT_EQ(::bind(other, &taken.any, length_of(taken)), 0);
  const auto again = UdpSocket::open(a_);
  ::close(other);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, fabric::Errc::kSystem);
  EXPECT_THAT(again.error().message, HasSubstr(a_.to_string()));
  EXPECT_THAT(again.error().message, HasSubstr("4791"));
  EXPECT_THAT(again.error().message, HasSubstr("in use"));
}

TEST_F(UdpSocketTest, AClosedPortIsFree) {
  { const UdpSocket a = open_at(a_); }
  EXPECT_TRUE(UdpSocket::open(a_));
}

TEST(UdpSocketOpenTest, AnAddressOfAnotherMachineIsNamed) {
  // TEST-NET-3: unassigned.
  const auto socket = UdpSocket::open(fabric::make_ipv4(203, 0, 113, 77));
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, fabric::Errc::kSystem);
  EXPECT_EQ(socket.error().message, "203.0.113.77 is not an address of this machine");
}

TEST(UdpSocketOpenTest, TheUnspecifiedAddressIsNone) {
  for (const char* text : {"0.0.0.0", "::"}) {
    const auto socket = UdpSocket::open(*fabric::parse_address(text));
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().code, fabric::Errc::kBadArgument);
    EXPECT_THAT(socket.error().message, HasSubstr(text));
  }
}

TEST(UdpSocketOpenTest, AnIpv4AddressInIpv6FormIsRefused) {
  EXPECT_FALSE(UdpSocket::open(*fabric::parse_address("::ffff:127.0.0.1")));
}

// IPv6 has only one loopback address: the socket is its own peer, in a private network namespace.
TEST(UdpSocketIpv6Test, AllIsCheckedNeedsNetworkNamespaces) {
  if (!enter_network_with({})) GTEST_SKIP() << "cannot create a private network";
  const Address address = *fabric::parse_address("::1");
  const Path path{address, address, wire::kRoceUdpPort};
  auto socket = UdpSocket::open(address);
  ASSERT_TRUE(socket) << socket.error().message;

  const Sent sent(path, std::vector<std::size_t>(15, 4096));
  for (const OutPacket& packet : sent.packets) ASSERT_TRUE(socket->add(packet));
  ASSERT_TRUE(socket->flush());
  expect_same(receive(*socket, 15), sent);
  EXPECT_EQ(socket->counters().sent_batches, 1U);
  EXPECT_EQ(socket->counters().icrc_good, 15U);

  const Stranger stranger(address);
  stranger.send(address, pattern(100, 3));
  ASSERT_TRUE(socket->add(sent.packets[0]));
  ASSERT_TRUE(socket->flush());
  EXPECT_THAT(receive(*socket, 1), ElementsAre(IsGood()));
  EXPECT_EQ(socket->counters().icrc_bad, 1U);
  EXPECT_EQ(socket->counters().received_packets, 17U);
}

// Linux's rxe sends datagrams without a checksum.
TEST(UdpSocketIpv6Test, NoUdpChecksumIsNeededNeedsNetworkNamespaces) {
  if (!enter_network_with({})) GTEST_SKIP() << "cannot create a private network";
  const Address address = *fabric::parse_address("::1");
  auto socket = UdpSocket::open(address);
  ASSERT_TRUE(socket) << socket.error().message;
  const Stranger stranger(address);
  stranger.leave_checksum_out();
  stranger.send(address, strange(stranger, address, address, 84));
  EXPECT_THAT(receive(*socket, 1), ElementsAre(IsGood()));
}

}  // namespace
}  // namespace rpcrdma::soft
