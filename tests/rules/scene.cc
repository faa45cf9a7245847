// Encodes the packets of a scene, from CM messages to acknowledgments, and writes them as pcap.
#include "scene.h"

#include <algorithm>

#include <rpcrdma/roce/psn.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::scenes {

namespace {

using wire::Opcode;

constexpr std::int64_t kBetweenPackets = 10'000;  // nanoseconds
constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIp = 20;
constexpr std::size_t kUdp = 8;
constexpr std::uint16_t kSourcePort = 49152;
constexpr std::uint32_t kCmQkey = 0x80010000;

std::uint8_t mtu_code(std::uint32_t mtu) {
  std::uint8_t code = 1;
  for (std::uint32_t m = 256; m < mtu; m *= 2) ++code;
  return code;
}

wire::RocePacket rc(Opcode opcode, std::uint32_t psn = 0) {
  wire::RocePacket p;
  p.bth.opcode = static_cast<std::uint8_t>(opcode);
  p.bth.psn = psn & wire::kPsnMask;
  return p;
}

Bytes part(const Bytes& all, std::size_t at, std::size_t length) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(length, all.size() - at))};
}

std::size_t packets_for(std::size_t bytes, std::uint32_t mtu) {
  return bytes == 0 ? 1 : (bytes + mtu - 1) / mtu;
}

// RFC 791.
std::uint16_t ip_checksum(std::span<const std::uint8_t> header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < header.size(); i += 2) sum += wire::load_be16(&header[i]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

void little32(Bytes& out, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}

}  // namespace

Bytes private_data(std::uint32_t send, std::uint32_t receive, bool remote_invalidation) {
  wire::PrivateData d;
  d.flags = remote_invalidation ? wire::kPrivateDataFlagR : 0;
  d.send_code = wire::inline_size_code(send);
  d.recv_code = wire::inline_size_code(receive);
  const auto bytes = wire::encode_private_data(d);
  return {bytes.begin(), bytes.end()};
}

// --- Scene ---

Connection& Scene::connect(ConnectOptions options) {
  const auto number = static_cast<std::uint32_t>(connections_.size());
  connections_.push_back(
      std::unique_ptr<Connection>(new Connection(*this, std::move(options), number)));
  Connection& c = *connections_.back();
  if (c.options_.in_capture) c.open();
  return c;
}

void Scene::put(Side from, const wire::RocePacket& packet, const Bytes& payload,
                std::uint8_t server_host) {
  now_ += kBetweenPackets;
  if (lose_ != 0) {
    --lose_;
    return;
  }
  wire::RocePacket p = packet;
  p.payload = payload;
  Frame f;
  f.time_ns = now_;
  f.bytes.resize(kEthernet + kIp + kUdp + wire::encoded_size(p) + wire::kIcrcBytes);
  std::uint8_t* eth = f.bytes.data();
  const std::uint8_t near = from == kClient ? 1 : server_host;
  const std::uint8_t far = from == kClient ? server_host : 1;
  eth[0] = eth[6] = 0x02;  // locally administered
  eth[5] = far;
  eth[11] = near;
  wire::store_be16(eth + 12, 0x0800);
  std::uint8_t* ip = eth + kEthernet;
  ip[0] = 0x45;
  if (marks_) ip[1] = 3;  // CE
  wire::store_be16(ip + 2, static_cast<std::uint16_t>(f.bytes.size() - kEthernet));
  ip[6] = 0x40;  // do not fragment
  ip[8] = 64;
  ip[9] = 17;
  const std::array<std::uint8_t, 8> addresses{192, 0, 2, near, 192, 0, 2, far};
  std::copy(addresses.begin(), addresses.end(), ip + 12);
  wire::store_be16(ip + 10, ip_checksum({ip, kIp}));
  std::uint8_t* udp = ip + kIp;
  wire::store_be16(udp, kSourcePort);
  wire::store_be16(udp + 2, wire::kRoceUdpPort);
  wire::store_be16(udp + 4, static_cast<std::uint16_t>(f.bytes.size() - kEthernet - kIp));
  constexpr std::size_t kBth = kIp + kUdp;
  (void)wire::encode_roce(p, wire::MutableBytes(f.bytes).subspan(kEthernet + kBth));
  const std::span covered(ip, f.bytes.size() - kEthernet - wire::kIcrcBytes);
  wire::store_icrc(&f.bytes[f.bytes.size() - wire::kIcrcBytes],
                   wire::icrc(wire::IcrcKind::kRoceV2Ipv4, covered, kBth));
  if (damage_ != 0) {
    --damage_;
    f.bytes[f.bytes.size() - wire::kIcrcBytes - 1] ^= 1;
  }
  f.original = static_cast<std::uint32_t>(f.bytes.size());
  if (cut_ != 0 && cut_ < f.bytes.size()) f.bytes.resize(cut_);
  cut_ = 0;
  frames_.push_back(std::move(f));
}

Bytes Scene::pcap() const {
  Bytes file;
  little32(file, 0xa1b23c4d);  // nanoseconds
  little32(file, 2 | 4 << 16);
  little32(file, 0);
  little32(file, 0);
  little32(file, 262144);
  little32(file, 1);  // Ethernet
  for (const Frame& f : frames_) {
    little32(file, static_cast<std::uint32_t>(f.time_ns / 1'000'000'000));
    little32(file, static_cast<std::uint32_t>(f.time_ns % 1'000'000'000));
    little32(file, static_cast<std::uint32_t>(f.bytes.size()));
    little32(file, f.original);
    file.insert(file.end(), f.bytes.begin(), f.bytes.end());
  }
  return file;
}

// --- Connection: set-up ---

Connection::Connection(Scene& scene, ConnectOptions options, std::uint32_t number)
    : scene_(scene), options_(std::move(options)) {
  qpn_ = {0x100 + number, 0x200 + number};
  comm_id_ = {0x1000 + number, 0x2000 + number};
  psn_ = {0x10000 + number * 0x1000, 0x800000 + number * 0x1000};
}

void Connection::mad(Side from, const wire::CmMessage& message) {
  wire::CmMad m;
  m.message = message;
  m.header.transaction_id = comm_id_[static_cast<std::size_t>(options_.active)];
  Bytes payload(wire::kMadBytes);
  (void)wire::encode_cm(m, payload);
  wire::RocePacket p = rc(Opcode::kUdSendOnly);
  p.bth.dest_qp = wire::kGsiQp;
  p.deth = {kCmQkey, wire::kGsiQp};
  scene_.put(from, p, payload, options_.server_host);
}

void Connection::open() {
  const Side active = options_.active;
  const Side passive = other(active);
  const auto a = static_cast<std::size_t>(active);
  const auto b = static_cast<std::size_t>(passive);
  wire::IpCmHeader ip;
  ip.source_port = static_cast<std::uint16_t>(kSourcePort + qpn_[0] - 0x100);
  const std::array<std::array<std::uint8_t, 4>, 2> address{
      {{192, 0, 2, 1}, {192, 0, 2, options_.server_host}}};
  std::copy(address[a].begin(), address[a].end(), ip.source.begin() + 12);
  std::copy(address[b].begin(), address[b].end(), ip.destination.begin() + 12);
  const auto ip_header = wire::encode_ip_cm(ip);
  Bytes req_private(ip_header.begin(), ip_header.end());
  const Bytes& own = active == kClient ? options_.client_private : options_.server_private;
  req_private.insert(req_private.end(), own.begin(), own.end());
  wire::CmReq req;
  req.local_comm_id = comm_id_[a];
  req.service_id = wire::kServiceIdRdmaTcp | options_.port;
  req.local_qpn = qpn_[a];
  req.responder_resources = options_.req_responder_resources;
  req.initiator_depth = options_.req_initiator_depth;
  req.starting_psn = psn_[a];
  req.retry_count = options_.retry_count;
  req.rnr_retry_count = options_.rnr_retry_count;
  req.path_mtu = mtu_code(options_.mtu);
  // IPv4-mapped, as RoCEv2 has them.
  const auto gid = [&](std::size_t side) {
    wire::Gid g{};
    g[10] = g[11] = 0xff;
    std::copy(address[side].begin(), address[side].end(), g.begin() + 12);
    return g;
  };
  req.primary.local_gid = gid(a);
  req.primary.remote_gid = gid(b);
  req.private_data = req_private;
  mad(active, req);
  for (unsigned i = 1; i < options_.unanswered; ++i) {
    scene_.wait(4'000'000'000);
    mad(active, req);
  }
  if (options_.unanswered != 0) return;
  if (options_.reject) {
    wire::CmRej rej;
    rej.local_comm_id = comm_id_[b];
    rej.remote_comm_id = comm_id_[a];
    rej.reason = *options_.reject;
    mad(passive, rej);
    return;
  }
  wire::CmRep rep;
  rep.local_comm_id = comm_id_[b];
  rep.remote_comm_id = comm_id_[a];
  rep.local_qpn = qpn_[b];
  rep.starting_psn = psn_[b];
  rep.responder_resources = options_.rep_responder_resources;
  rep.initiator_depth = options_.rep_initiator_depth;
  rep.rnr_retry_count = options_.rnr_retry_count;
  rep.private_data = active == kClient ? options_.server_private : options_.client_private;
  mad(passive, rep);
  wire::CmRtu rtu;
  rtu.local_comm_id = comm_id_[a];
  rtu.remote_comm_id = comm_id_[b];
  mad(active, rtu);
}

void Connection::disconnect(Side from) {
  const auto a = static_cast<std::size_t>(from);
  const auto b = static_cast<std::size_t>(other(from));
  wire::CmDreq dreq;
  dreq.local_comm_id = comm_id_[a];
  dreq.remote_comm_id = comm_id_[b];
  dreq.remote_qpn = qpn_[b];
  mad(from, dreq);
  wire::CmDrep drep;
  drep.local_comm_id = comm_id_[b];
  drep.remote_comm_id = comm_id_[a];
  mad(other(from), drep);
}

// --- Connection: requests ---

std::uint32_t Connection::psn(Side side) const {
  return psn_[static_cast<std::size_t>(side)] & wire::kPsnMask;
}

void Connection::cnp(Side from) {
  wire::RocePacket p;
  p.bth.opcode = 0x81;
  const Bytes reserved(16, 0);
  p.payload = reserved;
  packet(from, p);
}

void Connection::packet(Side from, wire::RocePacket p) {
  p.bth.dest_qp = qpn_[static_cast<std::size_t>(other(from))];
  const Bytes payload(p.payload.begin(), p.payload.end());
  scene_.put(from, p, payload, options_.server_host);
}

void Connection::request(Side from, wire::RocePacket p, const Bytes& payload) {
  p.bth.dest_qp = qpn_[static_cast<std::size_t>(other(from))];
  p.payload = {};
  sent_[static_cast<std::size_t>(from)].push_back({p, payload});
  scene_.put(from, p, payload, options_.server_host);
}

void Connection::resend(Side from, std::uint32_t psn) {
  for (const Request& r : sent_[static_cast<std::size_t>(from)]) {
    if (roce::psn_diff(r.packet.bth.psn, psn) >= 0) {
      scene_.put(from, r.packet, r.payload, options_.server_host);
    }
  }
}

// Called when the other side has received a whole request of `from`.
void Connection::acknowledge(Side from) {
  const Side responder = other(from);
  ++msn_[static_cast<std::size_t>(responder)];
  if (acks) ack(responder);
}

void Connection::send(Side from, const Message& message) {
  send(from, encode(message), message.invalidate, message.immediate);
}

void Connection::send(Side from, const Bytes& content, std::optional<std::uint32_t> invalidate,
                      bool immediate) {
  const std::size_t n = packets_for(content.size(), options_.mtu);
  for (std::size_t i = 0; i < n; ++i) {
    const bool last = i + 1 == n;
    Opcode opcode = i == 0 ? Opcode::kSendFirst : Opcode::kSendMiddle;
    if (last) {
      opcode = n == 1 ? (invalidate ? Opcode::kSendOnlyInv : Opcode::kSendOnly)
                      : (invalidate ? Opcode::kSendLastInv : Opcode::kSendLast);
      if (immediate) opcode = n == 1 ? Opcode::kSendOnlyImm : Opcode::kSendLastImm;
    }
    wire::RocePacket p = rc(opcode, psn_[static_cast<std::size_t>(from)]++);
    p.bth.ack_req = last;
    if (last && invalidate) p.invalidate_key = *invalidate;
    request(from, p, part(content, i * options_.mtu, options_.mtu));
  }
  acknowledge(from);
}

void Connection::exchange(std::uint32_t xid) {
  call(scenes::call(xid));
  reply(scenes::reply(xid));
}

void Connection::write(Side from, std::uint32_t handle, std::uint64_t offset, const Bytes& data) {
  const std::size_t n = packets_for(data.size(), options_.mtu);
  for (std::size_t i = 0; i < n; ++i) {
    const bool last = i + 1 == n;
    const Opcode opcode = n == 1   ? Opcode::kWriteOnly
                          : i == 0 ? Opcode::kWriteFirst
                          : last   ? Opcode::kWriteLast
                                   : Opcode::kWriteMiddle;
    wire::RocePacket p = rc(opcode, psn_[static_cast<std::size_t>(from)]++);
    p.bth.ack_req = last;
    p.reth = {offset, handle, static_cast<std::uint32_t>(data.size())};
    request(from, p, part(data, i * options_.mtu, options_.mtu));
  }
  acknowledge(from);
}

std::uint32_t Connection::read_request(Side from, std::uint32_t handle, std::uint64_t offset,
                                       std::uint32_t length) {
  std::uint32_t& next = psn_[static_cast<std::size_t>(from)];
  const std::uint32_t psn = next;
  wire::RocePacket p = rc(Opcode::kReadRequest, psn);
  p.reth = {offset, handle, length};
  request(from, p, {});
  // The responses use the PSNs of the request.
  next += static_cast<std::uint32_t>(packets_for(length, options_.mtu));
  ++msn_[static_cast<std::size_t>(other(from))];
  return psn;
}

void Connection::read_response(Side from, std::uint32_t psn, const Bytes& data) {
  const std::size_t n = packets_for(data.size(), options_.mtu);
  for (std::size_t i = 0; i < n; ++i) {
    const Opcode opcode = n == 1       ? Opcode::kReadRespOnly
                          : i == 0     ? Opcode::kReadRespFirst
                          : i + 1 == n ? Opcode::kReadRespLast
                                       : Opcode::kReadRespMiddle;
    wire::RocePacket p = rc(opcode, psn + static_cast<std::uint32_t>(i));
    p.aeth = {0x1f, msn_[static_cast<std::size_t>(from)]};
    const Bytes payload = part(data, i * options_.mtu, options_.mtu);
    p.payload = payload;
    packet(from, p);
  }
}

void Connection::read(Side from, std::uint32_t handle, std::uint64_t offset, const Bytes& data) {
  const std::uint32_t psn =
      read_request(from, handle, offset, static_cast<std::uint32_t>(data.size()));
  read_response(other(from), psn, data);
}

// --- Connection: acknowledgements ---

void Connection::ack(Side from, std::optional<std::uint32_t> psn) {
  wire::RocePacket p = rc(Opcode::kAck, psn.value_or(this->psn(other(from)) - 1));
  p.aeth = {0x1f, msn_[static_cast<std::size_t>(from)]};
  packet(from, p);
}

void Connection::nak(Side from, wire::NakCode code, std::optional<std::uint32_t> psn) {
  wire::RocePacket p = rc(Opcode::kAck, psn.value_or(this->psn(other(from)) - 1));
  p.aeth = {static_cast<std::uint8_t>(0x60 | static_cast<std::uint8_t>(code)),
            msn_[static_cast<std::size_t>(from)]};
  packet(from, p);
}

void Connection::rnr(Side from, std::optional<std::uint32_t> psn) {
  constexpr std::uint8_t kTimer = 14;  // 1 ms
  wire::RocePacket p = rc(Opcode::kAck, psn.value_or(this->psn(other(from)) - 1));
  p.aeth = {static_cast<std::uint8_t>(0x20 | kTimer), msn_[static_cast<std::size_t>(from)]};
  packet(from, p);
}

}  // namespace rpcrdma::scenes
