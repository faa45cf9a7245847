// Encodes CM messages, with the layout of cm_layout.h.
#include "cm_layout.h"

#include <algorithm>
#include <type_traits>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::wire {
namespace {

using namespace cm_layout;

// Returns the low `count` bits of a value, shifted left by `below` bits.
std::uint8_t placed(unsigned value, unsigned below, unsigned count) {
  return static_cast<std::uint8_t>((value & ((1U << count) - 1)) << below);
}

std::uint8_t bytes_of(std::uint8_t a, std::uint8_t b, std::uint8_t c = 0) {
  return static_cast<std::uint8_t>(a | b | c);
}

// The properties of a message type besides its fields.
struct Kind {
  CmAttribute attribute;
  std::size_t private_offset;
};
constexpr Kind kind_of(const CmReq&) {
  return {CmAttribute::kReq, req::kPrivate};
}
constexpr Kind kind_of(const CmMra&) {
  return {CmAttribute::kMra, mra::kPrivate};
}
constexpr Kind kind_of(const CmRej&) {
  return {CmAttribute::kRej, rej::kPrivate};
}
constexpr Kind kind_of(const CmRep&) {
  return {CmAttribute::kRep, rep::kPrivate};
}
constexpr Kind kind_of(const CmRtu&) {
  return {CmAttribute::kRtu, rtu::kPrivate};
}
constexpr Kind kind_of(const CmDreq&) {
  return {CmAttribute::kDreq, dreq::kPrivate};
}
constexpr Kind kind_of(const CmDrep&) {
  return {CmAttribute::kDrep, drep::kPrivate};
}

void encode_mad_header(std::uint8_t* mad, const MadHeader& h, CmAttribute attribute) {
  mad[kBaseVersion] = h.base_version;
  mad[kMgmtClass] = h.mgmt_class;
  mad[kClassVersion] = h.class_version;
  mad[kMethod] = h.method;
  store_be16(mad + kStatus, h.status);
  store_be64(mad + kTransactionId, h.transaction_id);
  store_be16(mad + kAttributeId, static_cast<std::uint16_t>(attribute));
  store_be32(mad + kAttributeModifier, h.attribute_modifier);
}

void encode_path(std::uint8_t* p, const CmPath& v) {
  store_be16(p + path::kLocalLid, v.local_lid);
  store_be16(p + path::kRemoteLid, v.remote_lid);
  std::copy(v.local_gid.begin(), v.local_gid.end(), p + path::kLocalGid);
  std::copy(v.remote_gid.begin(), v.remote_gid.end(), p + path::kRemoteGid);
  store_be32(p + path::kFlowLabelRate, v.flow_label << 12 | (v.packet_rate & 0x3fU));
  p[path::kTrafficClass] = v.traffic_class;
  p[path::kHopLimit] = v.hop_limit;
  p[path::kSlSubnetLocal] = bytes_of(placed(v.sl, 4, 4), placed(v.subnet_local, 3, 1));
  p[path::kAckTimeout] = placed(v.local_ack_timeout, 3, 5);
}

void encode_fields(std::uint8_t* mad, const CmReq& m) {
  store_be32(mad + kLocalCommId, m.local_comm_id);
  store_be64(mad + req::kServiceId, m.service_id);
  store_be64(mad + req::kLocalCaGuid, m.local_ca_guid);
  store_be32(mad + req::kLocalQkey, m.local_qkey);
  store_be24(mad + req::kLocalQpn, m.local_qpn);
  mad[req::kResponderResources] = m.responder_resources;
  store_be24(mad + req::kLocalEecn, m.local_eecn);
  mad[req::kInitiatorDepth] = m.initiator_depth;
  store_be24(mad + req::kRemoteEecn, m.remote_eecn);
  mad[req::kRemoteTimeoutServiceFlow] =
      bytes_of(placed(m.remote_cm_response_timeout, 3, 5), placed(m.transport_service, 1, 2),
               placed(m.end_to_end_flow_control, 0, 1));
  store_be24(mad + req::kStartingPsn, m.starting_psn);
  mad[req::kLocalTimeoutRetry] =
      bytes_of(placed(m.local_cm_response_timeout, 3, 5), placed(m.retry_count, 0, 3));
  store_be16(mad + req::kPkey, m.pkey);
  mad[req::kMtuRdcRnrRetry] = bytes_of(placed(m.path_mtu, 4, 4), placed(m.rdc_exists, 3, 1),
                                       placed(m.rnr_retry_count, 0, 3));
  mad[req::kMaxRetriesSrqExtended] = bytes_of(placed(m.max_cm_retries, 4, 4), placed(m.srq, 3, 1),
                                              placed(m.extended_transport, 0, 3));
  encode_path(mad + req::kPrimary, m.primary);
  encode_path(mad + req::kAlternate, m.alternate);
}

template <typename Message>
void encode_comm_ids(std::uint8_t* mad, const Message& m) {
  store_be32(mad + kLocalCommId, m.local_comm_id);
  store_be32(mad + kRemoteCommId, m.remote_comm_id);
}

void encode_fields(std::uint8_t* mad, const CmMra& m) {
  encode_comm_ids(mad, m);
  mad[mra::kMraed] = placed(m.message_mraed, 6, 2);
  mad[mra::kServiceTimeout] = placed(m.service_timeout, 3, 5);
}

void encode_fields(std::uint8_t* mad, const CmRej& m) {
  encode_comm_ids(mad, m);
  mad[rej::kRejected] = placed(m.message_rejected, 6, 2);
  mad[rej::kInfoLength] = placed(static_cast<unsigned>(m.additional_info.size()), 1, 7);
  store_be16(mad + rej::kReason, m.reason);
  std::copy(m.additional_info.begin(), m.additional_info.end(), mad + rej::kInfo);
}

void encode_fields(std::uint8_t* mad, const CmRep& m) {
  encode_comm_ids(mad, m);
  store_be32(mad + rep::kLocalQkey, m.local_qkey);
  store_be24(mad + rep::kLocalQpn, m.local_qpn);
  store_be24(mad + rep::kLocalEecn, m.local_eecn);
  store_be24(mad + rep::kStartingPsn, m.starting_psn);
  mad[rep::kResponderResources] = m.responder_resources;
  mad[rep::kInitiatorDepth] = m.initiator_depth;
  mad[rep::kAckDelayFailoverFlow] =
      bytes_of(placed(m.target_ack_delay, 3, 5), placed(m.failover_accepted, 1, 2),
               placed(m.end_to_end_flow_control, 0, 1));
  mad[rep::kRnrRetrySrq] = bytes_of(placed(m.rnr_retry_count, 5, 3), placed(m.srq, 4, 1));
  store_be64(mad + rep::kLocalCaGuid, m.local_ca_guid);
}

void encode_fields(std::uint8_t* mad, const CmRtu& m) {
  encode_comm_ids(mad, m);
}

void encode_fields(std::uint8_t* mad, const CmDreq& m) {
  encode_comm_ids(mad, m);
  store_be24(mad + dreq::kRemoteQpn, m.remote_qpn);
}

void encode_fields(std::uint8_t* mad, const CmDrep& m) {
  encode_comm_ids(mad, m);
}

template <typename Message>
Result<std::size_t> encode_message(const MadHeader& header, const Message& m, MutableBytes out) {
  const Kind kind = kind_of(m);
  if (m.private_data.size() > Message::kPrivateBytes) {
    return fail(Errc::kTooLong, kind.private_offset, "IBA 12.6",
                "private data is longer than its field");
  }
  if constexpr (std::is_same_v<Message, CmRej>) {
    if (m.additional_info.size() > CmRej::kInfoBytes) {
      return fail(Errc::kTooLong, rej::kInfo, "IBA 12.6.7",
                  "additional information is over 72 bytes");
    }
  }
  std::uint8_t* const mad = out.data();
  std::fill_n(mad, kMadBytes, std::uint8_t{0});
  encode_mad_header(mad, header, kind.attribute);
  encode_fields(mad, m);
  std::copy(m.private_data.begin(), m.private_data.end(), mad + kind.private_offset);
  return kMadBytes;
}

}  // namespace

Result<std::size_t> encode_cm(const CmMad& mad, MutableBytes out) {
  if (out.size() < kMadBytes) {
    return fail(Errc::kNoSpace, out.size(), "", "output is too small for a MAD");
  }
  return std::visit([&](const auto& message) { return encode_message(mad.header, message, out); },
                    mad.message);
}

}  // namespace rpcrdma::wire
