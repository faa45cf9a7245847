// Decodes CM MADs and their private data. Fields are reported in the order of their bytes; offsets
// are those of the message formats in IBA volume 1 section 12.6, counted from the end of the MAD
// header.
#include "field_writer.h"

#include <cinttypes>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::decode {
namespace {

using wire::Bytes;

constexpr std::size_t kMadHeaderBytes = 24;
constexpr std::size_t kAttributeOffset = 16;

void communication_ids(const FieldWriter& out, std::uint32_t local, std::uint32_t remote) {
  out.word(FieldId::kCmLocalCommId, 0, local);
  out.word(FieldId::kCmRemoteCommId, 4, remote);
}

void ip_cm_fields(const FieldWriter& out, Bytes data) {
  const auto decoded = wire::decode_ip_cm(data);
  if (!decoded) {
    out.open(FieldId::kIpCm, 0, data.size(), "malformed");
    out.error(decoded.error());
    out.close();
    return;
  }
  const wire::IpCmHeader& ip = *decoded;
  out.open(FieldId::kIpCm, 0, wire::kIpCmHeaderBytes);
  out.number(FieldId::kIpCmVersion, 1, 1, ip.ip_version);
  out.number(FieldId::kIpCmSourcePort, 2, 2, ip.source_port);
  if (ip.ip_version == 4) {
    out.word(FieldId::kIpCmSource4, 16, wire::load_be32(ip.source.data() + 12));
    out.word(FieldId::kIpCmDestination4, 32, wire::load_be32(ip.destination.data() + 12));
  } else {
    out.bytes(FieldId::kIpCmSource6, 4, ip.source);
    out.bytes(FieldId::kIpCmDestination6, 20, ip.destination);
  }
  out.close();
}

// Decodes RPC-over-RDMA's private data inside a larger span.
void private_data_fields(const FieldWriter& out, wire::Bytes data) {
  const auto decoded = wire::decode_private_data(data);
  if (!decoded) {
    out.open(FieldId::kPd, 0, data.size(), "malformed");
    if (data.size() >= 4) out.word(FieldId::kPdMagic, 0, wire::load_be32(data.data()));
    out.error(decoded.error());
    out.close();
    return;
  }
  const wire::PrivateData& pd = *decoded;
  Summary summary;
  summary.add("send %u, receive %u bytes%s", pd.send_size(), pd.recv_size(),
              pd.remote_invalidation() ? ", Remote Invalidation" : "");
  out.open(FieldId::kPd, 0, wire::kPrivateDataBytes, summary.view());
  out.word(FieldId::kPdMagic, 0, wire::kPrivateDataMagic);
  out.number(FieldId::kPdVersion, 4, 1, pd.version);
  out.number(FieldId::kPdFlags, 5, 1, pd.flags);
  out.number(FieldId::kPdRemoteInvalidation, 5, 1, pd.remote_invalidation() ? 1 : 0);
  out.number(FieldId::kPdSendSize, 6, 1, pd.send_size());
  out.number(FieldId::kPdRecvSize, 7, 1, pd.recv_size());
  out.close();
}

// Private data of the consumers; data of other protocols is reported as bytes.
void consumer_data(const FieldWriter& out, Bytes data) {
  if (data.size() >= 4 && wire::load_be32(data.data()) == wire::kPrivateDataMagic) {
    private_data_fields(out, data);
  }
}

void fields(const FieldWriter& out, const wire::CmReq& req) {
  const bool ip_service = wire::is_rdma_ip_service(req.service_id);
  out.word(FieldId::kCmLocalCommId, 0, req.local_comm_id);
  out.number(FieldId::kCmServiceId, 8, 8, req.service_id);
  if (ip_service) {
    out.number(FieldId::kCmServicePort, 14, 2, wire::service_port(req.service_id));
  }
  out.number(FieldId::kCmCaGuid, 16, 8, req.local_ca_guid);
  out.word(FieldId::kCmQkey, 28, req.local_qkey);
  out.number(FieldId::kCmQpn, 32, 3, req.local_qpn);
  out.number(FieldId::kCmResponderResources, 35, 1, req.responder_resources);
  out.number(FieldId::kCmInitiatorDepth, 39, 1, req.initiator_depth);
  out.number(FieldId::kCmRemoteResponseTimeout, 43, 1, req.remote_cm_response_timeout);
  out.number(FieldId::kCmTransportService, 43, 1, req.transport_service);
  out.number(FieldId::kCmFlowControl, 43, 1, req.end_to_end_flow_control ? 1 : 0);
  out.number(FieldId::kCmPsn, 44, 3, req.starting_psn);
  out.number(FieldId::kCmLocalResponseTimeout, 47, 1, req.local_cm_response_timeout);
  out.number(FieldId::kCmRetry, 47, 1, req.retry_count);
  out.number(FieldId::kCmPkey, 48, 2, req.pkey);
  out.number(FieldId::kCmPathMtu, 50, 1, req.path_mtu);
  out.number(FieldId::kCmRnrRetry, 50, 1, req.rnr_retry_count);
  out.number(FieldId::kCmMaxCmRetries, 51, 1, req.max_cm_retries);
  out.number(FieldId::kCmSrq, 51, 1, req.srq ? 1 : 0);
  out.bytes(FieldId::kCmLocalGid, 56, req.primary.local_gid);
  out.bytes(FieldId::kCmRemoteGid, 72, req.primary.remote_gid);
  out.number(FieldId::kCmHopLimit, 93, 1, req.primary.hop_limit);
  out.number(FieldId::kCmAckTimeout, 95, 1, req.primary.local_ack_timeout);

  constexpr std::size_t kPrivate = wire::CmReq::kPrivateOffset - kMadHeaderBytes;
  out.bytes(FieldId::kCmPrivateData, kPrivate, req.private_data);
  if (ip_service && req.private_data.size() >= wire::kIpCmHeaderBytes) {
    ip_cm_fields(out.at(kPrivate), req.private_data);
    consumer_data(out.at(kPrivate + wire::kIpCmHeaderBytes),
                  req.private_data.subspan(wire::kIpCmHeaderBytes));
  } else {
    consumer_data(out.at(kPrivate), req.private_data);
  }
}

void fields(const FieldWriter& out, const wire::CmMra& mra) {
  communication_ids(out, mra.local_comm_id, mra.remote_comm_id);
  out.number(FieldId::kCmMraed, 8, 1, mra.message_mraed);
  out.number(FieldId::kCmServiceTimeout, 9, 1, mra.service_timeout);
  out.bytes(FieldId::kCmPrivateData, 10, mra.private_data);
}

void fields(const FieldWriter& out, const wire::CmRej& rej) {
  communication_ids(out, rej.local_comm_id, rej.remote_comm_id);
  out.number(FieldId::kCmRejected, 8, 1, rej.message_rejected);
  out.number(FieldId::kCmReason, 10, 2, rej.reason);
  out.bytes(FieldId::kCmAdditionalInfo, 12, rej.additional_info);
  out.bytes(FieldId::kCmPrivateData, 84, rej.private_data);
}

void fields(const FieldWriter& out, const wire::CmRep& rep) {
  communication_ids(out, rep.local_comm_id, rep.remote_comm_id);
  out.word(FieldId::kCmQkey, 8, rep.local_qkey);
  out.number(FieldId::kCmQpn, 12, 3, rep.local_qpn);
  out.number(FieldId::kCmPsn, 20, 3, rep.starting_psn);
  out.number(FieldId::kCmResponderResources, 24, 1, rep.responder_resources);
  out.number(FieldId::kCmInitiatorDepth, 25, 1, rep.initiator_depth);
  out.number(FieldId::kCmTargetAckDelay, 26, 1, rep.target_ack_delay);
  out.number(FieldId::kCmFailover, 26, 1, rep.failover_accepted);
  out.number(FieldId::kCmFlowControl, 26, 1, rep.end_to_end_flow_control ? 1 : 0);
  out.number(FieldId::kCmRnrRetry, 27, 1, rep.rnr_retry_count);
  out.number(FieldId::kCmSrq, 27, 1, rep.srq ? 1 : 0);
  out.number(FieldId::kCmCaGuid, 28, 8, rep.local_ca_guid);

  constexpr std::size_t kPrivate = wire::CmRep::kPrivateOffset - kMadHeaderBytes;
  out.bytes(FieldId::kCmPrivateData, kPrivate, rep.private_data);
  consumer_data(out.at(kPrivate), rep.private_data);
}

void fields(const FieldWriter& out, const wire::CmRtu& rtu) {
  communication_ids(out, rtu.local_comm_id, rtu.remote_comm_id);
  out.bytes(FieldId::kCmPrivateData, 8, rtu.private_data);
}

void fields(const FieldWriter& out, const wire::CmDreq& dreq) {
  communication_ids(out, dreq.local_comm_id, dreq.remote_comm_id);
  out.number(FieldId::kCmRemoteQpn, 8, 3, dreq.remote_qpn);
  out.bytes(FieldId::kCmPrivateData, 12, dreq.private_data);
}

void fields(const FieldWriter& out, const wire::CmDrep& drep) {
  communication_ids(out, drep.local_comm_id, drep.remote_comm_id);
  out.bytes(FieldId::kCmPrivateData, 8, drep.private_data);
}

void malformed_mad(const FieldWriter& out, Bytes mad, const wire::DecodeError& error) {
  out.open(FieldId::kCm, 0, mad.size(), "malformed");
  if (mad.size() >= kAttributeOffset + 2) {
    out.number(FieldId::kCmAttribute, kAttributeOffset, 2,
               wire::load_be16(mad.data() + kAttributeOffset));
  }
  out.error(error);
  out.close();
}

}  // namespace

void decode_private_data(wire::Bytes data, Sink& sink) {
  private_data_fields(FieldWriter(sink), data);
}

void decode_cm(Bytes mad, Sink& sink) {
  const FieldWriter out(sink);
  const auto decoded = wire::decode_cm(mad);
  if (!decoded) {
    malformed_mad(out, mad, decoded.error());
    return;
  }
  const wire::MadHeader& header = decoded->header;
  out.open(FieldId::kCm, 0, wire::kMadBytes,
           wire::cm_name(static_cast<wire::CmAttribute>(header.attribute_id)));
  out.number(FieldId::kCmMethod, 3, 1, header.method);
  out.number(FieldId::kCmStatus, 4, 2, header.status);
  out.number(FieldId::kCmTransactionId, 8, 8, header.transaction_id);
  out.number(FieldId::kCmAttribute, kAttributeOffset, 2, header.attribute_id);
  std::visit([&](const auto& message) { fields(out.at(kMadHeaderBytes), message); },
             decoded->message);
  out.close();
}

}  // namespace rpcrdma::decode
