#include "private_data_decoder.h"

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::decode {

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

void decode_private_data(wire::Bytes data, Sink& sink) {
  private_data_fields(FieldWriter(sink), data);
}

}  // namespace rpcrdma::decode
