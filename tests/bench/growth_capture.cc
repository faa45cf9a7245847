#include "growth_capture.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <span>
#include <vector>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/private_data.h>
#include <rpcrdma/wire/roce.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::bench {

namespace {

using wire::Opcode;
using Buffer = std::vector<std::uint8_t>;

constexpr std::uint32_t kMtu = 4096;
constexpr std::uint32_t kSegmentLength = 64;
constexpr std::uint32_t kNfs = 100003;
constexpr std::uint32_t kGetattr = 1, kRead = 6, kWrite = 7;
constexpr std::size_t kHandleBytes = 32;

// A file of Ethernet frames with RoCEv2 over IPv4, a microsecond apart.
class Frames {
 public:
  explicit Frames(const std::string& path) : path_(path), out_(path, std::ios::binary) {
    const std::array<std::uint32_t, 6> header{0xa1b2c3d4, 2U | 4U << 16, 0, 0, 65535, 1};
    out_.write(reinterpret_cast<const char*>(header.data()), sizeof header);
    made.bytes = sizeof header;
  }

  void put(std::uint32_t src, std::uint32_t dst, const wire::RocePacket& p) {
    const std::size_t ip_bytes = kIp + kUdp + wire::encoded_size(p) + wire::kIcrcBytes;
    frame_.assign(kRecord + kEthernet + ip_bytes, 0);
    const std::uint64_t us = kBegin + made.packets++;
    const auto length = static_cast<std::uint32_t>(kEthernet + ip_bytes);
    const std::array<std::uint32_t, 4> record{static_cast<std::uint32_t>(us / 1'000'000),
                                              static_cast<std::uint32_t>(us % 1'000'000), length,
                                              length};
    std::memcpy(frame_.data(), record.data(), kRecord);
    wire::store_be16(&frame_[kRecord + 12], 0x0800);
    std::uint8_t* ip = &frame_[kRecord + kEthernet];
    ip[0] = 0x45;
    wire::store_be16(ip + 2, static_cast<std::uint16_t>(ip_bytes));
    ip[8] = 64;
    ip[9] = 17;
    wire::store_be32(ip + 12, src);
    wire::store_be32(ip + 16, dst);
    wire::store_be16(ip + kIp, 50'000);
    wire::store_be16(ip + kIp + 2, wire::kRoceUdpPort);
    wire::store_be16(ip + kIp + 4, static_cast<std::uint16_t>(ip_bytes - kIp));
    (void)wire::encode_roce(p, wire::MutableBytes(ip, ip_bytes).subspan(kIp + kUdp));
    const wire::Bytes covered(ip, ip_bytes - wire::kIcrcBytes);
    wire::store_icrc(ip + covered.size(),
                     wire::icrc(wire::IcrcKind::kRoceV2Ipv4, covered, kIp + kUdp));
    out_.write(reinterpret_cast<const char*>(frame_.data()),
               static_cast<std::streamsize>(frame_.size()));
    made.bytes += frame_.size();
  }

  void close() {
    out_.close();
    if (out_) return;
    std::fprintf(stderr, "%s: cannot be written\n", path_.c_str());
    std::exit(1);
  }

  GrowthCapture made;

 private:
  static constexpr std::size_t kRecord = 16, kEthernet = 14, kIp = 20, kUdp = 8;
  static constexpr std::uint64_t kBegin = 1'700'000'000'000'000;

  std::string path_;
  std::ofstream out_;
  Buffer frame_;
};

void append32(Buffer& to, std::uint32_t word) {
  std::array<std::uint8_t, 4> bytes{};
  wire::store_be32(bytes.data(), word);
  to.insert(to.end(), bytes.begin(), bytes.end());
}
void append_zeros(Buffer& to, std::size_t bytes) {
  to.resize(to.size() + bytes);
}

struct End {
  std::uint32_t address = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;  // of its next request
  std::uint32_t msn = 0;  // requests of the peer that it has completed
};

struct Outstanding {
  std::uint32_t xid = 0;
  std::uint32_t file = 0;
  std::uint32_t handle = 0;  // of its first segment
};

// A client and a server, and the Calls between them.
class Connection {
 public:
  Connection(const GrowthShape& shape, std::uint32_t number, std::uint32_t slot, Frames& out,
             std::mt19937_64& random)
      : shape_(shape), out_(out), random_(random), number_(number) {
    constexpr std::uint32_t kServerAddress = 0xc0a80001, kClients = 0x0a000001;
    ends_[kClient].address = shape.one_client ? kClients : kClients + slot;
    ends_[kServer].address = kServerAddress;
    ends_[kClient].qpn = 0x100 + number;
    ends_[kServer].qpn = 0x800000 + number;
    for (End& end : ends_) end.psn = static_cast<std::uint32_t>(random_()) & wire::kPsnMask;
    next_xid_ = static_cast<std::uint32_t>(random_());
    next_handle_ = static_cast<std::uint32_t>(random_());
    left_ = shape.calls;
  }

  void open() {
    wire::PrivateData sizes;
    sizes.send_code = sizes.recv_code = wire::inline_size_code(64 * 1024);
    const auto data = wire::encode_private_data(sizes);
    Buffer request_data(wire::kIpCmHeaderBytes);
    request_data.insert(request_data.end(), data.begin(), data.end());
    wire::CmReq req;
    req.local_comm_id = number_ + 1;
    req.service_id = wire::kServiceIdRdmaTcp | 20049;
    req.local_qpn = ends_[kClient].qpn;
    req.starting_psn = ends_[kClient].psn;
    req.path_mtu = 5;
    req.responder_resources = req.initiator_depth = 16;
    req.private_data = request_data;
    mad(kClient, req);
    wire::CmRep rep;
    rep.local_comm_id = number_ + 0x40000000;
    rep.remote_comm_id = req.local_comm_id;
    rep.local_qpn = ends_[kServer].qpn;
    rep.starting_psn = ends_[kServer].psn;
    rep.responder_resources = rep.initiator_depth = 16;
    rep.private_data = data;
    mad(kServer, rep);
    wire::CmRtu rtu;
    rtu.local_comm_id = req.local_comm_id;
    rtu.remote_comm_id = rep.local_comm_id;
    mad(kClient, rtu);
  }

  // One Call or one Reply; returns false if no more come.
  bool step() {
    // Only the first Reply shows how many Calls the server admits.
    if (left_ != 0 && open_.size() < (answered_ ? shape_.outstanding : 1)) {
      call();
      return true;
    }
    if (open_.empty()) return false;
    reply();
    return true;
  }

  // No Call follows those that are outstanding.
  void stop() { left_ = 0; }

  void close() {
    wire::CmDreq dreq;
    dreq.local_comm_id = number_ + 1;
    dreq.remote_comm_id = number_ + 0x40000000;
    dreq.remote_qpn = ends_[kServer].qpn;
    mad(kClient, dreq);
    wire::CmDrep drep;
    drep.local_comm_id = dreq.remote_comm_id;
    drep.remote_comm_id = dreq.local_comm_id;
    mad(kServer, drep);
  }

 private:
  enum Side : std::uint8_t { kClient, kServer };
  static Side other(Side side) { return side == kClient ? kServer : kClient; }

  void put(Side from, const wire::RocePacket& p) {
    out_.put(ends_[from].address, ends_[other(from)].address, p);
  }

  void mad(Side from, const wire::CmMessage& message) {
    wire::CmMad m;
    m.header.transaction_id = number_;
    m.message = message;
    std::array<std::uint8_t, wire::kMadBytes> bytes{};
    (void)wire::encode_cm(m, bytes);
    wire::RocePacket p;
    p.bth.opcode = static_cast<std::uint8_t>(Opcode::kUdSendOnly);
    p.bth.dest_qp = wire::kGsiQp;
    p.deth = {0x80010000, wire::kGsiQp};
    p.payload = bytes;
    put(from, p);
  }

  wire::RocePacket packet(Side from, Opcode opcode, std::uint32_t psn) {
    wire::RocePacket p;
    p.bth.opcode = static_cast<std::uint8_t>(opcode);
    p.bth.dest_qp = ends_[other(from)].qpn;
    p.bth.psn = psn & wire::kPsnMask;
    return p;
  }

  void send(Side from, const Buffer& message) {
    for (std::size_t at = 0; at < message.size(); at += kMtu) {
      const std::size_t n = std::min<std::size_t>(kMtu, message.size() - at);
      const bool first = at == 0;
      const bool last = at + n == message.size();
      const Opcode opcode = first && last ? Opcode::kSendOnly
                            : first       ? Opcode::kSendFirst
                            : last        ? Opcode::kSendLast
                                          : Opcode::kSendMiddle;
      wire::RocePacket p = packet(from, opcode, ends_[from].psn++);
      p.bth.ack_req = last;
      p.payload = wire::Bytes(message).subspan(at, n);
      put(from, p);
    }
    ++ends_[other(from)].msn;
    wire::RocePacket ack = packet(other(from), Opcode::kAck, ends_[from].psn - 1);
    ack.aeth = {0x1f, ends_[other(from)].msn & wire::kPsnMask};
    put(other(from), ack);
  }

  // The server moves one segment.
  void move(const wire::Segment& segment) {
    const std::array<std::uint8_t, kSegmentLength> data{};
    const Opcode opcode = shape_.write_chunks ? Opcode::kWriteOnly : Opcode::kReadRequest;
    const std::uint32_t psn = ends_[kServer].psn++;
    wire::RocePacket p = packet(kServer, opcode, psn);
    p.reth = {segment.offset, segment.handle, segment.length};
    if (shape_.write_chunks) p.payload = data;
    put(kServer, p);
    ++ends_[kClient].msn;
    if (shape_.write_chunks) return;
    wire::RocePacket response = packet(kClient, Opcode::kReadRespOnly, psn);
    response.aeth = {0x1f, ends_[kClient].msn & wire::kPsnMask};
    response.payload = data;
    put(kClient, response);
  }

  [[nodiscard]] std::vector<wire::Segment> segments_of(const Outstanding& call) const {
    std::vector<wire::Segment> all(shape_.segments);
    for (std::uint32_t i = 0; i < shape_.segments; ++i) {
      // An odd factor makes the handles as different as those of an RNIC, and all distinct.
      const std::uint32_t handle = (call.handle + i) * 0x9e3779b1U;
      all[i] = {handle, kSegmentLength, 0x7f0000000000ULL + std::uint64_t{handle} * 4096};
    }
    return all;
  }

  [[nodiscard]] wire::Header header_of(const Outstanding& call) const {
    wire::Header h;
    h.xid = call.xid;
    h.credit = std::max<std::uint32_t>(shape_.outstanding, 32);
    return h;
  }

  void finish(const wire::Header& header, const Buffer& rpc, Side from) {
    Buffer message(wire::encoded_size(header));
    (void)wire::encode_header(header, message);
    message.insert(message.end(), rpc.begin(), rpc.end());
    send(from, message);
  }

  void call() {
    --left_;
    ++out_.made.calls;
    const Outstanding call{next_xid_++, static_cast<std::uint32_t>(random_() % shape_.files),
                           next_handle_};
    next_handle_ += shape_.segments;
    open_.push_back(call);

    wire::RpcCall rpc;
    rpc.xid = call.xid;
    rpc.prog = kNfs;
    rpc.vers = 3;
    rpc.proc = shape_.segments == 0 ? kGetattr : shape_.write_chunks ? kRead : kWrite;
    Buffer body(wire::encoded_size(rpc));
    (void)wire::encode_rpc(rpc, body);
    append32(body, kHandleBytes);
    append32(body, call.file);
    append_zeros(body, kHandleBytes - 4);

    wire::Header header = header_of(call);
    const std::uint32_t bytes = shape_.segments * kSegmentLength;
    const std::vector<wire::Segment> segments = segments_of(call);
    std::vector<wire::ReadSegment> reads;
    const std::array<wire::WriteChunk, 1> writes{segments};
    if (shape_.segments != 0) {
      append_zeros(body, 8);  // offset
      append32(body, bytes);
      if (shape_.write_chunks) {
        header.writes = writes;
      } else {
        append32(body, 2);  // FILE_SYNC
        append32(body, bytes);
        const auto position = static_cast<std::uint32_t>(body.size());
        for (const wire::Segment& s : segments) reads.push_back({position, s});
        header.reads = reads;
      }
    }
    finish(header, body, kClient);
  }

  void reply() {
    answered_ = true;
    std::swap(open_[random_() % open_.size()], open_.back());
    const Outstanding call = open_.back();
    open_.pop_back();
    const std::vector<wire::Segment> segments = segments_of(call);
    for (const wire::Segment& s : segments) move(s);

    wire::RpcReply rpc;
    rpc.xid = call.xid;
    Buffer body(wire::encoded_size(rpc));
    (void)wire::encode_rpc(rpc, body);
    append32(body, 0);  // NFS3_OK
    wire::Header header = header_of(call);
    const std::array<wire::WriteChunk, 1> writes{segments};
    if (shape_.segments == 0) {
      append_zeros(body, 84);  // fattr3
    } else if (shape_.write_chunks) {
      append32(body, 0);  // no attributes
      append32(body, shape_.segments * kSegmentLength);
      append32(body, 1);  // eof
      append32(body, shape_.segments * kSegmentLength);
      header.writes = writes;
    } else {
      append_zeros(body, 8);  // no attributes
      append32(body, shape_.segments * kSegmentLength);
      append32(body, 2);
      append_zeros(body, 8);  // verifier
    }
    finish(header, body, kServer);
  }

  const GrowthShape& shape_;
  Frames& out_;
  std::mt19937_64& random_;
  std::uint32_t number_;
  std::array<End, 2> ends_{};
  std::vector<Outstanding> open_;
  bool answered_ = false;
  std::uint32_t next_xid_ = 0, next_handle_ = 0, left_ = 0;
};

}  // namespace

GrowthCapture write_growth_capture(const GrowthShape& shape, const std::string& path) {
  Frames out(path);
  std::mt19937_64 random(1);
  for (std::uint32_t first = 0; out.made.packets < shape.packets; first += shape.connections) {
    std::vector<Connection> open;
    open.reserve(shape.connections);
    for (std::uint32_t i = 0; i < shape.connections; ++i) {
      Connection& c = open.emplace_back(shape, first + i, i, out, random);
      if (shape.cm) c.open();
    }
    for (bool more = true; more;) {
      more = false;
      const bool enough = shape.calls == kEndless && out.made.packets >= shape.packets;
      for (Connection& c : open) {
        if (enough) c.stop();
        more |= c.step();
      }
    }
    for (Connection& c : open) {
      if (shape.cm) c.close();
    }
  }
  out.close();
  return out.made;
}

}  // namespace rpcrdma::bench
