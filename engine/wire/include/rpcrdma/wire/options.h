// OPTIONAL features of version 2 (draft-cel-nfsv4-rpcrdma-version-two-02 section 4.1). The only one
// is this project's own; docs/versions.md describes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::wire {

// rdma_opttype ("TECH") and the sizes of rdma_optinfo in bytes.
inline constexpr std::uint32_t kTimeEchoOption = 0x54454348;
inline constexpr std::size_t kTimeEchoCallBytes = 8;
inline constexpr std::size_t kTimeEchoReplyBytes = 16;

}  // namespace rpcrdma::wire
