#include <array>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::wire {
namespace {

template <std::size_t kCount>
const char* name_at(const std::array<const char*, kCount>& names, std::uint32_t i) {
  return i < kCount ? names[i] : "unknown";
}

// RFC 5531 section 9; 13 and 14 are from RPCSEC_GSS (RFC 2203).
constexpr std::array kAuthStat = {
    "AUTH_OK",           "AUTH_BADCRED",           "AUTH_REJECTEDCRED",    "AUTH_BADVERF",
    "AUTH_REJECTEDVERF", "AUTH_TOOWEAK",           "AUTH_INVALIDRESP",     "AUTH_FAILED",
    "AUTH_KERB_GENERIC", "AUTH_TIMEEXPIRE",        "AUTH_TKT_FILE",        "AUTH_DECODE",
    "AUTH_NET_ADDR",     "RPCSEC_GSS_CREDPROBLEM", "RPCSEC_GSS_CTXPROBLEM"};

constexpr std::array kAcceptStat = {"SUCCESS",      "PROG_UNAVAIL", "PROG_MISMATCH",
                                    "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"};

constexpr std::array kRejectStat = {"RPC_MISMATCH", "AUTH_ERROR"};

}  // namespace

const char* auth_flavor_name(std::uint32_t flavor) {
  switch (static_cast<AuthFlavor>(flavor)) {
    case AuthFlavor::kNone:
      return "AUTH_NONE";
    case AuthFlavor::kSys:
      return "AUTH_SYS";
    case AuthFlavor::kShort:
      return "AUTH_SHORT";
    case AuthFlavor::kDh:
      return "AUTH_DH";
    case AuthFlavor::kRpcsecGss:
      return "RPCSEC_GSS";
    case AuthFlavor::kTls:
      return "AUTH_TLS";
  }
  return "unknown";
}

const char* accept_stat_name(std::uint32_t stat) {
  return name_at(kAcceptStat, stat);
}

const char* reject_stat_name(std::uint32_t stat) {
  return name_at(kRejectStat, stat);
}

const char* auth_stat_name(std::uint32_t stat) {
  return name_at(kAuthStat, stat);
}

}  // namespace rpcrdma::wire
