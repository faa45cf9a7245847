// Connection requests from forged addresses: their sender never sees an answer. They keep nobody
// out and end no connection.
#include "bad_peer.h"

#include <cerrno>
#include <cstring>
#include <functional>

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/fabric/address.h>
#include <rpcrdma/soft/frame.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::testing {
namespace {

using service::echo::Proc;

// Sends REQs from any address of this machine's loopback network, from another UDP port than
// RoCEv2's: the answers go elsewhere.
class Forger {
 public:
  explicit Forger(const fabric::Address& from) : from_(from) {
    fd_.reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    // With don't-fragment the identification is 0, as the ICRC has it.
    const int discover = IP_PMTUDISC_DO;
    EXPECT_EQ(::setsockopt(fd_.get(), IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover), 0);
    sockaddr_in own = at(from, 0);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0)
        << std::strerror(errno);
    socklen_t length = sizeof own;
    EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&own), &length), 0);
    port_ = ntohs(own.sin_port);
  }

  void request(std::uint32_t id, std::uint32_t qpn) const {
    const fabric::Address to = own_address(kServerHost);
    wire::IpCmHeader ip;
    ip.source_port = 0xcfd8;
    std::copy_n(from_.bytes.begin(), 4, ip.source.begin() + 12);
    std::copy_n(to.bytes.begin(), 4, ip.destination.begin() + 12);
    const auto header = wire::encode_ip_cm(ip);
    ByteVector private_data(wire::CmReq::kPrivateBytes);
    std::copy(header.begin(), header.end(), private_data.begin());
    wire::CmReq req;
    req.local_comm_id = id;
    req.service_id = wire::kServiceIdRdmaTcp | service::kDefaultPort;
    req.local_qpn = qpn;
    req.responder_resources = req.initiator_depth = 4;
    req.remote_cm_response_timeout = req.local_cm_response_timeout = 16;
    req.path_mtu = 3;
    req.max_cm_retries = 7;
    req.primary.local_gid = from_.gid();
    req.primary.remote_gid = to.gid();
    req.private_data = private_data;
    wire::CmMad mad;
    mad.header.transaction_id = id;
    mad.message = req;
    ByteVector bytes(wire::kMadBytes);
    ASSERT_TRUE(wire::encode_cm(mad, bytes));
    wire::RocePacket p;
    p.bth.opcode = static_cast<std::uint8_t>(wire::Opcode::kUdSendOnly);
    p.bth.dest_qp = wire::kGsiQp;
    p.deth.qkey = 0x80010000;
    p.deth.src_qp = wire::kGsiQp;
    soft::OutPacket out;
    const auto headers = wire::encode_roce(p, out.header);
    ASSERT_TRUE(headers);
    out.header_bytes = static_cast<std::uint32_t>(*headers);
    out.payload[0] = bytes;
    out.payload_parts = 1;
    out.payload_bytes = wire::kMadBytes;
    const soft::Path path{from_, to, port_};
    std::array<std::uint8_t, 1024> datagram;
    const std::size_t length = soft::frame(out, path, 0, datagram);
    const sockaddr_in there = at(to, 4791);
    EXPECT_EQ(::sendto(fd_.get(), datagram.data(), length, 0,
                       reinterpret_cast<const sockaddr*>(&there), sizeof there),
              static_cast<ssize_t>(length));
  }

 private:
  static sockaddr_in at(const fabric::Address& address, std::uint16_t port) {
    sockaddr_in result{};
    result.sin_family = AF_INET;
    result.sin_port = htons(port);
    std::memcpy(&result.sin_addr, address.bytes.data(), 4);
    return result;
  }

  fabric::Address from_;
  base::FileDescriptor fd_;
  std::uint16_t port_ = 0;
};

// More than all places, each from an address of its own.
TEST(ForgedRequests, KeepNobodyOut) {
  service::ServerOptions options;
  options.max_connections = 16;
  RunningServer server(options);
  for (std::uint8_t host = 10; host < 250; ++host) Forger(own_address(host)).request(host, 100);
  for (std::uint8_t host = 3; host < 6; ++host) {
    ClientHost honest(host);
    EchoClient client(honest);
    client.call({Proc::kEchoBulk, 5000, 0, host, 0});
    EXPECT_TRUE(client.finish_calls());
    EXPECT_TRUE(client.all_right());
    EXPECT_TRUE(client.lost.empty());
  }
  const service::ServerCounters& counters = server.stop();
  EXPECT_EQ(counters.accepted, 3U);
  EXPECT_EQ(counters.rejected_full, 0U);
}

bool until(BadPeer& peer, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    peer.step();
    if (!peer.provider->arm()) continue;
    pollfd fd{peer.provider->fd(), POLLIN, 0};
    (void)::poll(&fd, 1, 100);
  }
  return true;
}

// With the address and the queue pair of a connected client, and with its address alone.
TEST(ForgedRequests, EndNoConnection) {
  RunningServer server;
  BadPeer peer(3, "");
  peer.connection =
      peer.provider->connect(own_address(kServerHost), service::kDefaultPort, {}).value();
  peer.post_receives(60);
  ASSERT_TRUE(until(peer, [&] { return peer.saw(fabric::EventType::kEstablished); }));
  const std::uint32_t qpn = peer.events.back().local_qpn;
  const Forger forger(own_address(3));
  for (std::uint32_t i = 1; i <= 100; ++i) {
    forger.request(i, qpn);
    forger.request(1000 + i, 0x1000 + i);
  }
  for (std::uint32_t i = 0; i < 10; ++i) {
    peer.send(i, null_call(1 + i));
    ASSERT_TRUE(until(peer, [&] { return peer.received() > i; }));
  }
  EXPECT_FALSE(peer.saw(fabric::EventType::kDisconnected));
  const service::ServerCounters& counters = server.stop();
  EXPECT_EQ(counters.accepted, 1U);
  EXPECT_EQ(counters.closed_peer, 0U);
}

}  // namespace
}  // namespace rpcrdma::testing
