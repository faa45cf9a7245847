// Determines which bytes after a transport header certainly belong to the RPC message.
//
// The long counted opaques of an RDMA_MSGP are preceded by padding that is no part of the RPC
// message (RFC 5666 section 3.9, removed by RFC 8166 section 4.6). The text does not say where
// alignment is counted from: senders align in the Receive, so it is the beginning of the Send.
// find_padding() finds the padding of programs whose opaques are known. In messages of others, the
// bytes after the first long opaque are not decoded. Nor is anything decoded after a place where a
// Read chunk removed data that cannot be skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <rpcrdma/decode/procedure_id.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::decode {

// No counted opaque is this long.
inline constexpr std::uint32_t kNotPadded = UINT32_MAX;

// Returns the shortest length of a counted opaque that may have padding in front of it, in
// `payload` bytes after a header with these values. XDR aligns to 4 bytes by itself.
[[nodiscard]] constexpr std::uint32_t padded_from(std::uint32_t align, std::uint32_t thresh,
                                                  std::uint64_t payload) {
  const bool pads = align != 0 && 4 % align != 0;
  return pads && thresh < payload ? thresh : kNotPadded;
}

// False: a part of the RPC header may be padding, or a Read chunk removed it; the first Read chunk
// is at `first_position`. See kRpcProcedureEnd.
[[nodiscard]] inline bool header_is_certain(const wire::RpcView& rpc, std::uint32_t padded_from,
                                            std::uint32_t first_position) {
  const std::size_t cred = rpc.type == wire::MsgType::kCall ? rpc.call.cred.body.size() : 0;
  const std::size_t verf =
      rpc.type == wire::MsgType::kCall ? rpc.call.verf.body.size() : rpc.reply.verf.body.size();
  return cred < padded_from && verf < padded_from && rpc.length <= first_position;
}

// The header values of an RDMA_MSGP, and the offset of its RPC message in its Send.
struct PaddingRule {
  std::uint32_t align = 0;
  std::uint32_t thresh = 0;
  std::uint32_t origin = 0;
};

// Data that chunks removed from a padded message.
struct ReducedBody {
  // By Read chunks, in order: offset in the whole arguments or results, without padding.
  std::span<const Removed> reads;
  std::span<const std::uint64_t> written;  // Replies: lengths of the Write chunks
};

// Bytes of padding. `offset` counts in the padded message.
struct PaddingRange {
  std::size_t offset = 0;
  std::size_t length = 0;
};

// Finds the padding in `message`, the bytes after the transport header. `call`: the procedure that
// a Reply answers, if known. Nothing: its place is not certain.
[[nodiscard]] std::optional<std::vector<PaddingRange>> find_padding(const PaddingRule& rule,
                                                                    wire::Bytes message,
                                                                    const ReducedBody& body,
                                                                    const ProcedureId* call);

// Returns `message` without these ranges, which are in order.
[[nodiscard]] std::vector<std::uint8_t> without_padding(wire::Bytes message,
                                                        std::span<const PaddingRange> padding);

// A Call's program, version and procedure precede its first opaque.
inline constexpr std::uint32_t kRpcProcedureEnd = 24;

}  // namespace rpcrdma::decode
