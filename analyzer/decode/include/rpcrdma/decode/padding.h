// Determines which bytes after a transport header certainly belong to the RPC message.
//
// The long counted opaques of an RDMA_MSGP are preceded by padding that is no part of the RPC
// message (RFC 5666 section 3.9, removed by RFC 8166 section 4.6). The text does not say where
// alignment is counted from, so the bytes after the first such opaque are not decoded. Nor is
// anything decoded after a place where a Read chunk removed data that cannot be skipped.
#pragma once

#include <cstdint>

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

// A Call's program, version and procedure precede its first opaque.
inline constexpr std::uint32_t kRpcProcedureEnd = 24;

}  // namespace rpcrdma::decode
