// From bytes to fields: the wire codecs decode, and these functions tell a sink what was found and
// where. Any bytes are safe to give; what does not decode is reported with Sink::error(). Nothing
// is allocated here.
#pragma once

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/dialects.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::decode {

// The content of one RDMA Send: the transport header (version 1 or 2) and the RPC message behind
// it. A header that does not decode: the four prefix words as far as they exist, then the error.
//
// `call`: the procedure of the matching Call, when a Reply is decoded and its Call is known; a
// Reply says neither what it answers nor how RPCSEC_GSS wraps it. With it a COMPOUND's results and
// those of CONF_RDMA are taken apart.
//
// `dialect`: of a message of version 2; wire::detect_dialect() and the model know it.
void decode_message(wire::Bytes send, Sink& sink, const ProcedureId* call = nullptr,
                    wire::Dialect dialect = wire::Dialect::kDraft02);

// An RPC message on its own, such as one that was moved by a Position Zero Read chunk or a Reply
// chunk.
void decode_rpc_message(wire::Bytes rpc, Sink& sink, const ProcedureId* call = nullptr);

// RPC-over-RDMA's CM private data; bytes after the first eight are left alone.
void decode_private_data(wire::Bytes data, Sink& sink);

// A CM MAD. In the private data of REQ and REP the RPC-over-RDMA format is recognised by its magic.
void decode_cm(wire::Bytes mad, Sink& sink);

// The InfiniBand transport headers of a packet that wire::decode_roce() took apart. Offsets are
// from the first byte of the BTH.
void decode_transport(const wire::RocePacket& packet, Sink& sink);

}  // namespace rpcrdma::decode
