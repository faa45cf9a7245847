// The dialects of RPC-over-RDMA version 2. The drafts changed the wire format three times, and all
// of them use rdma_vers 2:
//   draft-02   draft-cel-nfsv4-rpcrdma-version-two-00 to -02: header.h decodes it
//   cel-03     draft-cel-nfsv4-rpcrdma-version-two-03 to -07: the same, and types 6 to 9 for
//              transport properties; other error codes
//   flags      draft-cel-nfsv4-rpcrdma-version-two-08 and -09,
//              draft-ietf-nfsv4-rpcrdma-version-two-00 to -02: a word of flags behind the four
//              fixed ones, types CONNPROP and GRANT
//   ietf-03    draft-ietf-nfsv4-rpcrdma-version-two-03 to -07: a header type of its own for Calls,
//              and one for Replies
// Most files only name the dialects; dialect.h decodes their headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::wire {

enum class Dialect : std::uint8_t { kDraft02, kCel03, kFlags, kIetf03 };
inline constexpr std::size_t kDialects = 4;

// "draft-02", "cel-03", "flags", "ietf-03"
[[nodiscard]] const char* dialect_name(Dialect dialect);
// Returns the names of the drafts that define the dialect, as text for a user.
[[nodiscard]] const char* dialect_drafts(Dialect dialect);

// rdma_htype of ietf-03 for messages whose RPC message is in a chunk.
inline constexpr std::uint32_t kCallExternal = 8;
inline constexpr std::uint32_t kReplyExternal = 11;

// Returns "RDMA2_CALL_INLINE", ..., or "unknown"; for draft-02 as proc_name().
[[nodiscard]] const char* later_type_name(Dialect dialect, std::uint32_t type);
// Returns "RDMA2_ERR_READ_CHUNKS", ..., or "unknown", by the dialect's latest draft.
[[nodiscard]] const char* later_error_name(Dialect dialect, std::uint32_t error);
// Returns "SBSIZ", ..., or "unknown".
[[nodiscard]] const char* property_name(Dialect dialect, std::uint32_t id);

}  // namespace rpcrdma::wire
