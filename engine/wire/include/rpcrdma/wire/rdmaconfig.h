// The Connection Configuration Protocol: program 100417, version 1 (RFC 5666 section 6.2).
#pragma once

#include <cstdint>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

inline constexpr std::uint32_t kRdmaConfigProgram = 100417;
inline constexpr std::uint32_t kRdmaConfigVersion = 1;
inline constexpr std::uint32_t kRdmaConfigProcConf = 1;  // CONF_RDMA

struct RdmaConfigRequest {
  std::uint32_t maxcall_sendsize = 0;   // bytes
  std::uint32_t maxreply_sendsize = 0;  // bytes
  std::uint32_t maxrdmaread = 0;        // RDMA Reads active at the client
};

struct RdmaConfigReply {
  std::uint32_t maxcall_sendsize = 0;  // bytes
  std::uint32_t align = 0;             // bytes
  std::uint32_t maxrdmaread = 0;       // RDMA Reads active at the server
};

// Arguments of the Call and results of the Reply (after the RPC header): 12 bytes each; further
// bytes are ignored. Errors: kTruncated; kNoSpace.
[[nodiscard]] Result<RdmaConfigRequest> decode_rdmaconfig_request(Bytes args);
[[nodiscard]] Result<RdmaConfigReply> decode_rdmaconfig_reply(Bytes results);
[[nodiscard]] Result<std::size_t> encode_rdmaconfig(const RdmaConfigRequest& r, MutableBytes out);
[[nodiscard]] Result<std::size_t> encode_rdmaconfig(const RdmaConfigReply& r, MutableBytes out);

}  // namespace rpcrdma::wire
