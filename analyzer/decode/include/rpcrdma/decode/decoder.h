// Reports the fields in bytes to a sink: the wire codecs decode, and these functions report each
// field and its place. Any bytes are safe to pass; undecodable bytes are reported with
// Sink::error(). These functions allocate no memory, except for an RDMA_MSGP with padding.
#pragma once

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/dialects.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::decode {

// Decodes the content of one RDMA Send: the transport header (version 1 or 2) and the RPC message
// after it. For an undecodable header, reports as many of the four prefix words as are there, then
// the error.
//
// `call`: the procedure of the matching Call, if a Reply is decoded and its Call is known. A Reply
// itself does not show which procedure it answers, nor how RPCSEC_GSS wraps it. With `call`, the
// results of a COMPOUND and of CONF_RDMA are decoded.
//
// `dialect`: the dialect of a version 2 message, from wire::detect_dialect() or the model.
void decode_message(wire::Bytes send, Sink& sink, const ProcedureId* call = nullptr,
                    wire::Dialect dialect = wire::Dialect::kDraft02);

// Returns whether `payload`, the bytes after an RDMA2_OPTIONAL's header, is an RPC message
// (draft-02 section 5.2.1). Options may carry other data, too.
[[nodiscard]] bool begins_with_rpc(wire::Bytes payload, std::uint32_t xid);

// Decodes an RPC message on its own, such as one moved by a Position Zero Read chunk or a Reply
// chunk.
void decode_rpc_message(wire::Bytes rpc, Sink& sink, const ProcedureId* call = nullptr);

// Decodes RPC-over-RDMA's CM private data; bytes after the first eight are ignored.
void decode_private_data(wire::Bytes data, Sink& sink);

// Decodes a CM MAD. In the private data of REQ and REP, a magic number marks the RPC-over-RDMA
// format.
void decode_cm(wire::Bytes mad, Sink& sink);

// Decodes the InfiniBand transport headers of a packet from wire::decode_roce(). Offsets count from
// the first byte of the BTH.
void decode_transport(const wire::RocePacket& packet, Sink& sink);

}  // namespace rpcrdma::decode
