#include <array>

#include <rpcrdma/wire/cm.h>

namespace rpcrdma::wire {

const char* cm_name(CmAttribute attribute) {
  switch (attribute) {
    case CmAttribute::kReq:
      return "REQ";
    case CmAttribute::kMra:
      return "MRA";
    case CmAttribute::kRej:
      return "REJ";
    case CmAttribute::kRep:
      return "REP";
    case CmAttribute::kRtu:
      return "RTU";
    case CmAttribute::kDreq:
      return "DREQ";
    case CmAttribute::kDrep:
      return "DREP";
  }
  return "unknown";
}

const char* cm_rej_reason(std::uint16_t reason) {
  constexpr const char* kUnknownReason = "unknown";
  constexpr std::array kReasons = {
      kUnknownReason,
      "no QP available",
      "no EEC available",
      "no resources available",
      "timeout",
      "unsupported request",
      "invalid communication ID",
      "invalid communication instance",
      "invalid service ID",
      "invalid transport service type",
      "stale connection",
      "RDC does not exist",
      "primary remote port GID rejected",
      "primary remote port LID rejected",
      "invalid primary SL",
      "invalid primary traffic class",
      "invalid primary hop limit",
      "invalid primary packet rate",
      "alternate remote port GID rejected",
      "alternate remote port LID rejected",
      "invalid alternate SL",
      "invalid alternate traffic class",
      "invalid alternate hop limit",
      "invalid alternate packet rate",
      "port and CM redirection",
      "port redirection",
      "invalid path MTU",
      "insufficient responder resources",
      "consumer reject",
      "RNR retry count reject",
      "duplicate local communication ID",
      "invalid class version",
      "invalid primary flow label",
      "invalid alternate flow label",
      kUnknownReason,
      "vendor option not supported",
  };
  return reason < kReasons.size() ? kReasons[reason] : kUnknownReason;
}

}  // namespace rpcrdma::wire
