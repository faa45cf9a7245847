// Builds REQ, REP, RTU, REJ, MRA, DREQ and DREP from the state of a connection.
#include "cm_messages.h"

#include "cm_state.h"

#include <algorithm>
#include <array>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::soft {
namespace {

constexpr fabric::Time kTimeUnit = 4096;  // ns
constexpr std::uint8_t kMaxTimeCode = 31;
constexpr std::uint8_t kMaxRetries = 15;  // maximum of the field Max CM Retries
constexpr std::uint8_t kHopLimit = 64;
// An ACK waits for up to 2 ms (kLongestHold in rc/queue_pair.cc). 4.096 us * 2^9.
constexpr std::uint8_t kTargetAckDelay = 9;
constexpr std::uint32_t kLabelPortBits = 14;
constexpr std::uint16_t kFirstSourcePort = 0xc000;  // annex A17: flow-specific ports

void write(std::uint64_t transaction_id, wire::CmMessage message, wire::MutableBytes out) {
  wire::CmMad mad;
  mad.header.transaction_id = transaction_id;
  mad.message = message;
  // Cannot fail: the lengths were checked when the owner supplied the private data.
  static_cast<void>(wire::encode_cm(mad, out));
}

wire::CmPath path_of(const CmConnection& c) {
  wire::CmPath path;  // the LIDs are permissive and the path is not subnet-local, as in Linux
  path.local_gid = c.path.local.gid();
  path.remote_gid = c.path.remote.gid();
  path.flow_label = cm_flow_label(c.path.udp_source_port);
  path.hop_limit = kHopLimit;
  path.local_ack_timeout = c.local_ack_timeout;
  return path;
}

void write_req(const CmConnection& c, const CmTimes& times, wire::MutableBytes out) {
  wire::IpCmHeader header;
  header.ip_version = c.path.local.ipv6 ? 6 : 4;
  header.source_port = c.source_port;
  header.source = cm_ip(c.path.local);
  header.destination = cm_ip(c.path.remote);
  std::array<std::uint8_t, wire::CmReq::kPrivateBytes> private_data{};
  const auto ip_cm = wire::encode_ip_cm(header);
  std::copy(ip_cm.begin(), ip_cm.end(), private_data.begin());
  std::copy(c.private_data.begin(), c.private_data.end(), private_data.begin() + ip_cm.size());

  wire::CmReq m;
  m.local_comm_id = c.id;
  m.service_id = wire::kServiceIdRdmaTcp | c.port;
  m.local_ca_guid = cm_guid(c.path.local);
  m.local_qpn = c.local.qpn;
  m.responder_resources = c.local.responder_resources;
  m.initiator_depth = c.local.initiator_depth;
  m.remote_cm_response_timeout = times.response_code;
  m.end_to_end_flow_control = c.local.flow_control;
  m.starting_psn = c.local.starting_psn;
  m.local_cm_response_timeout = times.response_code;
  m.retry_count = c.retry_count;
  m.path_mtu = c.path_mtu;
  m.rnr_retry_count = c.local.rnr_retry_count;
  m.max_cm_retries = std::min(times.retries, kMaxRetries);
  m.primary = path_of(c);
  m.private_data = private_data;
  write(c.transaction_id, m, out);
}

void write_rep(const CmConnection& c, wire::MutableBytes out) {
  wire::CmRep m;
  m.local_comm_id = c.id;
  m.remote_comm_id = c.remote_id;
  m.local_qpn = c.local.qpn;
  m.starting_psn = c.local.starting_psn;
  m.responder_resources = c.local.responder_resources;
  m.initiator_depth = c.local.initiator_depth;
  m.end_to_end_flow_control = c.local.flow_control;
  m.rnr_retry_count = c.local.rnr_retry_count;
  m.target_ack_delay = kTargetAckDelay;
  m.local_ca_guid = cm_guid(c.path.local);
  m.private_data = c.private_data;
  write(c.transaction_id, m, out);
}

void write_rej(std::uint64_t transaction_id, wire::CmRej m, const fabric::Address& local,
               wire::MutableBytes out) {
  // In a time-out REJ the peer looks the connection up by our GUID, since it may not have our ID
  // yet (12.6.7.2).
  std::array<std::uint8_t, 8> guid;
  wire::store_be64(guid.data(), cm_guid(local));
  if (m.reason == kRejTimeout) m.additional_info = guid;
  write(transaction_id, m, out);
}

}  // namespace

fabric::Time cm_time(std::uint8_t code) {
  return kTimeUnit << std::min(code, kMaxTimeCode);
}

std::uint8_t cm_time_code(fabric::Time time) {
  std::uint8_t code = 0;
  while (code < kMaxTimeCode && cm_time(code) < time) ++code;
  return code;
}

std::uint64_t cm_guid(const fabric::Address& local) {
  const auto gid = local.gid();
  return cm_mix(wire::load_be64(gid.data()) ^ cm_mix(wire::load_be64(gid.data() + 8)));
}

std::uint16_t cm_source_port(std::uint32_t flow_label) {
  constexpr std::uint32_t kMask = (1U << kLabelPortBits) - 1;
  return static_cast<std::uint16_t>(
      kFirstSourcePort | ((flow_label & kMask) ^ (flow_label >> kLabelPortBits & kMask)));
}

std::uint32_t cm_flow_label(std::uint16_t udp_source_port) {
  return udp_source_port & ((1U << kLabelPortBits) - 1);
}

wire::Gid cm_ip(const fabric::Address& address) {
  if (address.ipv6) return address.bytes;
  wire::Gid ip{};
  std::copy_n(address.bytes.begin(), 4, ip.begin() + 12);
  return ip;
}

void cm_write(const CmConnection& c, CmPending pending, const CmTimes& times,
              wire::MutableBytes out) {
  switch (pending) {
    case kPendingReq:
      return write_req(c, times, out);
    case kPendingMra: {
      const std::uint8_t about = c.active ? kAboutRep : kAboutReq;
      return write(c.transaction_id, wire::CmMra{c.id, c.remote_id, about, times.service_code, {}},
                   out);
    }
    case kPendingRep:
      return write_rep(c, out);
    case kPendingRtu:
      return write(c.transaction_id, wire::CmRtu{c.id, c.remote_id, {}}, out);
    case kPendingDreq:
      return write(c.disconnect_transaction_id, wire::CmDreq{c.id, c.remote_id, c.remote_qpn, {}},
                   out);
    case kPendingDrep:
      return write(c.disconnect_transaction_id, wire::CmDrep{c.id, c.remote_id, {}}, out);
    case kPendingRej:
      return write_rej(c.transaction_id,
                       {c.id, c.remote_id, c.rej_about, c.rej_reason, {}, c.private_data},
                       c.path.local, out);
  }
}

void cm_write(const CmAnswer& a, wire::MutableBytes out) {
  if (a.drep) return write(a.transaction_id, wire::CmDrep{a.local_id, a.remote_id, {}}, out);
  write_rej(a.transaction_id, {a.local_id, a.remote_id, a.about, a.reason, {}, {}}, a.path.local,
            out);
}

}  // namespace rpcrdma::soft
