// Which bytes behind a transport header are certain to be the RPC message's.
//
// In front of the long counted opaques of an RDMA_MSGP stands padding that is no part of the RPC
// message (RFC 5666 section 3.9, removed by RFC 8166 section 4.6). The text leaves open from where
// alignment counts, so what stands behind the first of them is not decoded. Likewise nothing is
// decoded behind the place where a Read chunk took out what is not there to be skipped.
#pragma once

#include <cstdint>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::decode {

// No counted opaque has so many bytes.
inline constexpr std::uint32_t kNotPadded = UINT32_MAX;

// Counted opaques of so many bytes or more may have padding in front of them, in `payload` bytes
// behind a header with these values. XDR aligns to 4 bytes by itself.
[[nodiscard]] constexpr std::uint32_t padded_from(std::uint32_t align, std::uint32_t thresh,
                                                  std::uint64_t payload) {
  const bool pads = align != 0 && 4 % align != 0;
  return pads && thresh < payload ? thresh : kNotPadded;
}

// False: a part of the RPC header may be padding, or was taken out by a Read chunk, the first of
// which is at `first_position`; see kRpcProcedureEnd.
[[nodiscard]] inline bool header_is_certain(const wire::RpcView& rpc, std::uint32_t padded_from,
                                            std::uint32_t first_position) {
  const std::size_t cred = rpc.type == wire::MsgType::kCall ? rpc.call.cred.body.size() : 0;
  const std::size_t verf =
      rpc.type == wire::MsgType::kCall ? rpc.call.verf.body.size() : rpc.reply.verf.body.size();
  return cred < padded_from && verf < padded_from && rpc.length <= first_position;
}

// A Call's program, version and procedure stand in front of its first opaque.
inline constexpr std::uint32_t kRpcProcedureEnd = 24;

}  // namespace rpcrdma::decode
