// OPTIONAL features of version 2 that are defined (draft-cel-nfsv4-rpcrdma-version-two-02 section
// 4.1): none but one of this project's own, which docs/versions.md describes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::wire {

// rdma_opttype, "TECH"; and bytes of rdma_optinfo.
inline constexpr std::uint32_t kTimeEchoOption = 0x54454348;
inline constexpr std::size_t kTimeEchoCallBytes = 8;
inline constexpr std::size_t kTimeEchoReplyBytes = 16;

}  // namespace rpcrdma::wire
