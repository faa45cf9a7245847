// Sockets that share the RoCEv2 port of one address, in one process: the kernel treats them as it
// treats those of several.
#include "port_share.h"

#include "rc/packet_for_tests.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpcrdma/soft/udp_socket.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::soft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Bytes = std::vector<std::uint8_t>;

constexpr int kPatienceMs = 30'000;

UdpSocket shared_at(const fabric::Address& address) {
  auto socket = UdpSocket::open(address);
  if (!socket) throw std::runtime_error(socket.error().message);
  return std::move(*socket);
}

class PortShareTest : public testing::Test {
 protected:
  // Besides those of udp_socket_test.cc, which ends with a multiple of 4 plus 0 to 3.
  static fabric::Address address(std::uint8_t last) {
    const auto id = static_cast<std::uint32_t>(::getpid());
    return fabric::make_ipv4(127, static_cast<std::uint8_t>(192 + (id >> 14) % 60),
                             static_cast<std::uint8_t>(id >> 6),
                             static_cast<std::uint8_t>((id & 63) << 2 | last));
  }
  const fabric::Address a_ = address(1);
  const fabric::Address b_ = address(2);
  const Path to_a_{b_, a_, wire::kRoceUdpPort};
  UdpSocket peer_ = shared_at(b_);
  const Bytes payload_ = pattern(64, 1);

  void send(std::uint32_t qpn, std::uint8_t psn) {
    OutPacket packet = send_only(to_a_, payload_, psn);
    wire::store_be24(packet.header.data() + 5, qpn);
    ASSERT_TRUE(peer_.add(packet));
    ASSERT_TRUE(peer_.flush());
  }
  void send_cm(const wire::CmMessage& message, std::uint8_t psn) {
    wire::CmMad mad;
    mad.message = message;
    Bytes bytes(8 + wire::kMadBytes);  // after a DETH
    ASSERT_TRUE(wire::encode_cm(mad, wire::MutableBytes(bytes).subspan(8)));
    OutPacket packet = send_only(to_a_, bytes, psn);
    packet.header[0] = static_cast<std::uint8_t>(wire::Opcode::kUdSendOnly);
    wire::store_be24(packet.header.data() + 5, wire::kGsiQp);
    ASSERT_TRUE(peer_.add(packet));
    ASSERT_TRUE(peer_.flush());
  }

  // Waits for something at any of the descriptors, and returns the PSNs that `socket` receives.
  static std::vector<int> receive(UdpSocket& socket) {
    std::vector<pollfd> wanted{{socket.fd(), POLLIN, 0}};
    for (const int fd : socket.more_fds()) wanted.push_back({fd, POLLIN, 0});
    std::vector<int> psns;
    if (::poll(wanted.data(), wanted.size(), kPatienceMs) <= 0) return psns;
    while (socket.receive([&](const InPacket& p) {
      EXPECT_EQ(p.icrc, IcrcCheck::kGood);
      EXPECT_EQ(p.path->udp_source_port, wire::kRoceUdpPort);
      psns.push_back(p.bytes[11]);
    })) {
    }
    return psns;
  }
};

constexpr std::uint32_t qpn_of(std::uint8_t share) {
  return std::uint32_t{share} << kQpnIndexBits | 2;
}

TEST_F(PortShareTest, TheFirstSocketForwardsWhatIsForTheSecond) {
  UdpSocket first = shared_at(a_), second = shared_at(a_);
  EXPECT_EQ(first.share(), 0);
  EXPECT_EQ(second.share(), 1);
  EXPECT_THAT(first.more_fds(), IsEmpty());  // nobody forwards to it
  send(qpn_of(1), 1);
  send(qpn_of(0), 2);
  send(qpn_of(1), 3);
  EXPECT_THAT(receive(first), ElementsAre(2));
  EXPECT_THAT(receive(second), ElementsAre(1, 3));
  EXPECT_EQ(first.counters().forwarded, 2U);
  EXPECT_EQ(first.counters().received_packets, 1U);
  EXPECT_EQ(second.counters().received_packets, 2U);
  EXPECT_EQ(second.counters().icrc_good, 2U);
}

TEST_F(PortShareTest, WhenTheFirstEndsAnotherReceives) {
  {
    UdpSocket first = shared_at(a_);
    UdpSocket second = shared_at(a_);
    UdpSocket third = shared_at(a_);
    first = std::move(third);
    send(qpn_of(2), 1);
    send(qpn_of(1), 2);
    // Which of the two receives is the kernel's choice.
    std::vector<pollfd> both{{first.fd(), POLLIN, 0}, {second.fd(), POLLIN, 0}};
    ASSERT_GT(::poll(both.data(), both.size(), kPatienceMs), 0);
    UdpSocket& receiver = both[0].revents != 0 ? first : second;
    UdpSocket& other = both[0].revents != 0 ? second : first;
    EXPECT_EQ(receive(receiver).size(), 1U);
    EXPECT_EQ(receive(other).size(), 1U);
  }
  EXPECT_EQ(shared_at(a_).share(), 0);
}

TEST_F(PortShareTest, PacketsForNobodyAreOfTheReceiver) {
  UdpSocket only = shared_at(a_);
  send(qpn_of(7), 1);
  EXPECT_THAT(receive(only), ElementsAre(1));
  EXPECT_EQ(only.counters().forwarded + only.counters().forward_dropped, 0U);
}

TEST_F(PortShareTest, ARequestGoesToTheListenerOfItsPort) {
  UdpSocket first = shared_at(a_), second = shared_at(a_);
  ASSERT_TRUE(first.claim_port(20049));
  ASSERT_TRUE(second.claim_port(20050));
  const auto taken = second.claim_port(20049);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message,
              HasSubstr("port 20049 of " + a_.to_string() + " is served by another endpoint"));
  const auto request = [&](std::uint16_t port, std::uint8_t psn) {
    wire::CmReq req;
    req.local_comm_id = 5;
    req.service_id = wire::kServiceIdRdmaTcp | port;
    send_cm(req, psn);
  };
  request(20050, 1);
  request(20049, 2);
  request(20051, 3);  // nobody's: the receiver answers it
  EXPECT_THAT(receive(first), ElementsAre(2, 3));
  EXPECT_THAT(receive(second), ElementsAre(1));
  second.release_port(20050);
  EXPECT_TRUE(first.claim_port(20050));
  request(20050, 4);
  EXPECT_THAT(receive(first), ElementsAre(4));
}

TEST_F(PortShareTest, OtherMessagesGoByTheCommunicationId) {
  UdpSocket first = shared_at(a_), second = shared_at(a_);
  const std::uint32_t id = 1U << kCmIdShareShift | 77;
  wire::CmRep rep;
  rep.remote_comm_id = id;
  send_cm(rep, 1);
  wire::CmRej rej;
  rej.remote_comm_id = 77;
  send_cm(rej, 2);
  rej.remote_comm_id = 0;
  rej.local_comm_id = id;
  send_cm(rej, 3);
  wire::CmDrep drep;
  drep.remote_comm_id = id;
  send_cm(drep, 4);
  EXPECT_THAT(receive(first), ElementsAre(2, 3));
  EXPECT_THAT(receive(second), ElementsAre(1, 4));
}

TEST_F(PortShareTest, ASlowEndpointLosesPacketsAndTheyAreCounted) {
  UdpSocket first = shared_at(a_), second = shared_at(a_);
  constexpr std::uint64_t kBatches = 400;
  const Bytes large = pattern(4096, 2);
  OutPacket packet = send_only(to_a_, large, 0);
  wire::store_be24(packet.header.data() + 5, qpn_of(1));
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    ASSERT_TRUE(peer_.add(packet));
    ASSERT_TRUE(peer_.flush());
    EXPECT_THAT(receive(first), IsEmpty());
  }
  const UdpCounters& c = first.counters();
  EXPECT_GT(c.forward_dropped, 0U);
  EXPECT_GT(c.forwarded, 0U);
  EXPECT_LE(c.forwarded + c.forward_dropped, kBatches);
  // What still waits is sent later.
  std::size_t got = receive(second).size();
  send(qpn_of(0), 9);
  EXPECT_THAT(receive(first), ElementsAre(9));
  got += receive(second).size();
  EXPECT_EQ(got, c.forwarded);
  EXPECT_EQ(c.forwarded + c.forward_dropped, kBatches);
}

TEST_F(PortShareTest, TheNumberOfEndpointsIsLimited) {
  std::vector<UdpSocket> all;
  for (std::uint32_t i = 0; i < kShares; ++i) all.push_back(shared_at(a_));
  const auto more = UdpSocket::open(a_);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, "16 endpoints use " + a_.to_string() + " already");
  all.erase(all.begin() + 3);
  EXPECT_EQ(shared_at(a_).share(), 3);
}

// Sends a message to the Unix socket of share 1, as any process of this machine can.
void inject(const fabric::Address& address, const Bytes& message) {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const std::string text =
      "rpcrdma-scope/roce-1/" + std::to_string(::geteuid()) + "/" + address.to_string() + "/1";
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, text.data(), text.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  const auto* const to = reinterpret_cast<const sockaddr*>(&name);
  EXPECT_EQ(::sendto(fd, message.data(), message.size(), 0, to, length),
            static_cast<ssize_t>(message.size()));
  ::close(fd);
}

TEST_F(PortShareTest, MalformedMessagesAreNoPackets) {
  const UdpSocket first = shared_at(a_);
  UdpSocket second = shared_at(a_);
  for (const std::size_t size : {0U, 1U, 31U, 46U}) inject(a_, Bytes(size, 0xff));
  inject(a_, Bytes(100'000, 0));  // records of no bytes
  EXPECT_THAT(receive(second), IsEmpty());
  EXPECT_GT(second.counters().too_short, 0U);
}

TEST_F(PortShareTest, MessagesOfOtherUsersAreIgnored) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const UdpSocket first = shared_at(a_);
  UdpSocket second = shared_at(a_);
  const std::string name = "rpcrdma-scope/roce-1/0/" + a_.to_string() + "/1";
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const Bytes records(320, 0);
    const bool sent =
        ::setuid(65534) == 0 && ::sendto(fd, records.data(), records.size(), 0,
                                         reinterpret_cast<const sockaddr*>(&to), length) == 320;
    ::_exit(sent ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_THAT(receive(second), IsEmpty());
  EXPECT_EQ(second.counters().too_short, 0U);
}

}  // namespace
}  // namespace rpcrdma::soft
