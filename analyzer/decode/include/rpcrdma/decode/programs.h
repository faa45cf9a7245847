// Names of ONC RPC programs that run over RDMA, and of their procedures.
#pragma once

#include <cstdint>

namespace rpcrdma::decode {

inline constexpr std::uint32_t kProgPortmap = 100000;
inline constexpr std::uint32_t kProgNfs = 100003;
inline constexpr std::uint32_t kProgMount = 100005;
inline constexpr std::uint32_t kProgNlm = 100021;
inline constexpr std::uint32_t kProgNsm = 100024;
inline constexpr std::uint32_t kProgNfsAcl = 100227;
inline constexpr std::uint32_t kProgRdmaConfig = 100417;
// This project's own programs for measurements and tests: engine/service/echo.x,
// engine/service/callback.x, and the two of cli/selftest/selftest.x.
inline constexpr std::uint32_t kProgEcho = 0x20525244;
inline constexpr std::uint32_t kProgEchoCallback = 0x20525245;
inline constexpr std::uint32_t kProgTransfer = 0x20525246;
inline constexpr std::uint32_t kProgSelftest = 0x20525247;
[[nodiscard]] constexpr bool is_own_program(std::uint32_t program) {
  return program >= kProgEcho && program <= kProgSelftest;
}
// NFSv4 callbacks: the client chooses a number from RFC 5531's transient range. Linux uses
// 0x40000000.
inline constexpr std::uint32_t kProgNfsCallback = 0x40000000;

[[nodiscard]] constexpr bool is_transient_program(std::uint32_t program) {
  return program >= 0x40000000U && program <= 0x5fffffffU;
}

// "NFS", "NFS_CB", "PORTMAP", ...; nullptr for an unknown program. A transient program counts as
// the NFS callback program if its version is 1 or 4 and its procedure 0 or 1 (RFC 5531, RFC 8881
// section 20); otherwise it is unknown.
[[nodiscard]] const char* program_name(std::uint32_t program, std::uint32_t version,
                                       std::uint32_t procedure);

// "GETATTR", "COMPOUND", "NULL", ...; nullptr when not known.
[[nodiscard]] const char* procedure_name(std::uint32_t program, std::uint32_t version,
                                         std::uint32_t procedure);

}  // namespace rpcrdma::decode
