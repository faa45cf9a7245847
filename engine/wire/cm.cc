// Decodes CM messages. Each message type has its decode_message(), with the layout of cm_layout.h.
#include "cm_layout.h"

#include <algorithm>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::wire {
namespace {

using namespace cm_layout;

// Private data fills the rest of the MAD.
static_assert(req::kPrivate + CmReq::kPrivateBytes == kMadBytes);
static_assert(mra::kPrivate + CmMra::kPrivateBytes == kMadBytes);
static_assert(rej::kPrivate + CmRej::kPrivateBytes == kMadBytes);
static_assert(rep::kPrivate + CmRep::kPrivateBytes == kMadBytes);
static_assert(rtu::kPrivate + CmRtu::kPrivateBytes == kMadBytes);
static_assert(dreq::kPrivate + CmDreq::kPrivateBytes == kMadBytes);
static_assert(drep::kPrivate + CmDrep::kPrivateBytes == kMadBytes);
static_assert(req::kPrivate == CmReq::kPrivateOffset);
static_assert(rep::kPrivate == CmRep::kPrivateOffset);
static_assert(rej::kInfo + CmRej::kInfoBytes == rej::kPrivate);

// Returns `count` bits of a byte, above its `below` least significant bits.
std::uint8_t bits(std::uint8_t byte, unsigned below, unsigned count) {
  return static_cast<std::uint8_t>(byte >> below & ((1U << count) - 1));
}

MadHeader decode_mad_header(const std::uint8_t* mad) {
  MadHeader h;
  h.base_version = mad[kBaseVersion];
  h.mgmt_class = mad[kMgmtClass];
  h.class_version = mad[kClassVersion];
  h.method = mad[kMethod];
  h.status = load_be16(mad + kStatus);
  h.transaction_id = load_be64(mad + kTransactionId);
  h.attribute_id = load_be16(mad + kAttributeId);
  h.attribute_modifier = load_be32(mad + kAttributeModifier);
  return h;
}

CmPath decode_path(const std::uint8_t* p) {
  CmPath v;
  v.local_lid = load_be16(p + path::kLocalLid);
  v.remote_lid = load_be16(p + path::kRemoteLid);
  std::copy_n(p + path::kLocalGid, v.local_gid.size(), v.local_gid.begin());
  std::copy_n(p + path::kRemoteGid, v.remote_gid.size(), v.remote_gid.begin());
  const std::uint32_t flow_label_rate = load_be32(p + path::kFlowLabelRate);
  v.flow_label = flow_label_rate >> 12;
  v.packet_rate = flow_label_rate & 0x3f;
  v.traffic_class = p[path::kTrafficClass];
  v.hop_limit = p[path::kHopLimit];
  v.sl = bits(p[path::kSlSubnetLocal], 4, 4);
  v.subnet_local = bits(p[path::kSlSubnetLocal], 3, 1) != 0;
  v.local_ack_timeout = bits(p[path::kAckTimeout], 3, 5);
  return v;
}

void decode_message(const std::uint8_t* mad, CmReq& m) {
  m.local_comm_id = load_be32(mad + kLocalCommId);
  m.service_id = load_be64(mad + req::kServiceId);
  m.local_ca_guid = load_be64(mad + req::kLocalCaGuid);
  m.local_qkey = load_be32(mad + req::kLocalQkey);
  m.local_qpn = load_be24(mad + req::kLocalQpn);
  m.responder_resources = mad[req::kResponderResources];
  m.local_eecn = load_be24(mad + req::kLocalEecn);
  m.initiator_depth = mad[req::kInitiatorDepth];
  m.remote_eecn = load_be24(mad + req::kRemoteEecn);
  m.remote_cm_response_timeout = bits(mad[req::kRemoteTimeoutServiceFlow], 3, 5);
  m.transport_service = bits(mad[req::kRemoteTimeoutServiceFlow], 1, 2);
  m.end_to_end_flow_control = bits(mad[req::kRemoteTimeoutServiceFlow], 0, 1) != 0;
  m.starting_psn = load_be24(mad + req::kStartingPsn);
  m.local_cm_response_timeout = bits(mad[req::kLocalTimeoutRetry], 3, 5);
  m.retry_count = bits(mad[req::kLocalTimeoutRetry], 0, 3);
  m.pkey = load_be16(mad + req::kPkey);
  m.path_mtu = bits(mad[req::kMtuRdcRnrRetry], 4, 4);
  m.rdc_exists = bits(mad[req::kMtuRdcRnrRetry], 3, 1) != 0;
  m.rnr_retry_count = bits(mad[req::kMtuRdcRnrRetry], 0, 3);
  m.max_cm_retries = bits(mad[req::kMaxRetriesSrqExtended], 4, 4);
  m.srq = bits(mad[req::kMaxRetriesSrqExtended], 3, 1) != 0;
  m.extended_transport = bits(mad[req::kMaxRetriesSrqExtended], 0, 3);
  m.primary = decode_path(mad + req::kPrimary);
  m.alternate = decode_path(mad + req::kAlternate);
  m.private_data = {mad + req::kPrivate, CmReq::kPrivateBytes};
}

template <typename Message>
void decode_comm_ids(const std::uint8_t* mad, Message& m) {
  m.local_comm_id = load_be32(mad + kLocalCommId);
  m.remote_comm_id = load_be32(mad + kRemoteCommId);
}

void decode_message(const std::uint8_t* mad, CmMra& m) {
  decode_comm_ids(mad, m);
  m.message_mraed = bits(mad[mra::kMraed], 6, 2);
  m.service_timeout = bits(mad[mra::kServiceTimeout], 3, 5);
  m.private_data = {mad + mra::kPrivate, CmMra::kPrivateBytes};
}

// The caller has checked the length of the additional information.
void decode_message(const std::uint8_t* mad, CmRej& m) {
  decode_comm_ids(mad, m);
  m.message_rejected = bits(mad[rej::kRejected], 6, 2);
  m.reason = load_be16(mad + rej::kReason);
  m.additional_info = {mad + rej::kInfo, bits(mad[rej::kInfoLength], 1, 7)};
  m.private_data = {mad + rej::kPrivate, CmRej::kPrivateBytes};
}

void decode_message(const std::uint8_t* mad, CmRep& m) {
  decode_comm_ids(mad, m);
  m.local_qkey = load_be32(mad + rep::kLocalQkey);
  m.local_qpn = load_be24(mad + rep::kLocalQpn);
  m.local_eecn = load_be24(mad + rep::kLocalEecn);
  m.starting_psn = load_be24(mad + rep::kStartingPsn);
  m.responder_resources = mad[rep::kResponderResources];
  m.initiator_depth = mad[rep::kInitiatorDepth];
  m.target_ack_delay = bits(mad[rep::kAckDelayFailoverFlow], 3, 5);
  m.failover_accepted = bits(mad[rep::kAckDelayFailoverFlow], 1, 2);
  m.end_to_end_flow_control = bits(mad[rep::kAckDelayFailoverFlow], 0, 1) != 0;
  m.rnr_retry_count = bits(mad[rep::kRnrRetrySrq], 5, 3);
  m.srq = bits(mad[rep::kRnrRetrySrq], 4, 1) != 0;
  m.local_ca_guid = load_be64(mad + rep::kLocalCaGuid);
  m.private_data = {mad + rep::kPrivate, CmRep::kPrivateBytes};
}

void decode_message(const std::uint8_t* mad, CmRtu& m) {
  decode_comm_ids(mad, m);
  m.private_data = {mad + rtu::kPrivate, CmRtu::kPrivateBytes};
}

void decode_message(const std::uint8_t* mad, CmDreq& m) {
  decode_comm_ids(mad, m);
  m.remote_qpn = load_be24(mad + dreq::kRemoteQpn);
  m.private_data = {mad + dreq::kPrivate, CmDreq::kPrivateBytes};
}

void decode_message(const std::uint8_t* mad, CmDrep& m) {
  decode_comm_ids(mad, m);
  m.private_data = {mad + drep::kPrivate, CmDrep::kPrivateBytes};
}

template <typename Message>
void decode_as(const std::uint8_t* mad, CmMessage& out) {
  decode_message(mad, out.emplace<Message>());
}

}  // namespace

Result<CmMad> decode_cm(Bytes mad) {
  if (mad.size() < kMadBytes) {
    return fail(Errc::kTruncated, mad.size(), "IBA 13.4.2", "MAD is shorter than 256 bytes");
  }
  const std::uint8_t* const p = mad.data();
  if (p[kBaseVersion] != 1) {
    return fail(Errc::kUnsupported, kBaseVersion, "IBA 13.4.3", "MAD base version is not 1");
  }
  if (p[kMgmtClass] != kMadClassCm) {
    return fail(Errc::kUnsupported, kMgmtClass, "IBA 13.4.4",
                "management class is not Communication Management");
  }
  if (p[kClassVersion] != 2) {
    return fail(Errc::kUnsupported, kClassVersion, "IBA 12.6", "CM class version is not 2");
  }
  Result<CmMad> result;
  result->header = decode_mad_header(p);
  CmMessage& message = result->message;
  switch (static_cast<CmAttribute>(result->header.attribute_id)) {
    case CmAttribute::kReq:
      decode_as<CmReq>(p, message);
      return result;
    case CmAttribute::kMra:
      decode_as<CmMra>(p, message);
      return result;
    case CmAttribute::kRej:
      if (bits(p[rej::kInfoLength], 1, 7) > CmRej::kInfoBytes) {
        return fail(Errc::kTooLong, rej::kInfoLength, "IBA 12.6.7",
                    "reject info length is over 72 bytes");
      }
      decode_as<CmRej>(p, message);
      return result;
    case CmAttribute::kRep:
      decode_as<CmRep>(p, message);
      return result;
    case CmAttribute::kRtu:
      decode_as<CmRtu>(p, message);
      return result;
    case CmAttribute::kDreq:
      decode_as<CmDreq>(p, message);
      return result;
    case CmAttribute::kDrep:
      decode_as<CmDrep>(p, message);
      return result;
  }
  return fail(Errc::kUnsupported, kAttributeId, "IBA 12.6",
              "attribute is not REQ, MRA, REJ, REP, RTU, DREQ or DREP");
}

}  // namespace rpcrdma::wire
