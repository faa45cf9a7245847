// Byte offsets in a MAD (IBA volume 1 section 13.4.3) and in the CM's messages (section 12.6,
// tables 106 to 113), shared by decoder and encoder. All offsets count from the first byte of the
// MAD. A shared byte or word holds its fields in the order of their names, the most significant
// first.
#pragma once

#include <cstddef>

namespace rpcrdma::wire::cm_layout {

inline constexpr std::size_t kBaseVersion = 0;
inline constexpr std::size_t kMgmtClass = 1;
inline constexpr std::size_t kClassVersion = 2;
inline constexpr std::size_t kMethod = 3;
inline constexpr std::size_t kStatus = 4;
inline constexpr std::size_t kTransactionId = 8;
inline constexpr std::size_t kAttributeId = 16;
inline constexpr std::size_t kAttributeModifier = 20;
inline constexpr std::size_t kMessage = 24;  // where the MAD header ends

// In every message; a REQ has a reserved word in the place of the remote ID.
inline constexpr std::size_t kLocalCommId = kMessage;
inline constexpr std::size_t kRemoteCommId = kMessage + 4;

namespace req {
inline constexpr std::size_t kServiceId = kMessage + 8;
inline constexpr std::size_t kLocalCaGuid = kMessage + 16;
inline constexpr std::size_t kLocalQkey = kMessage + 28;
inline constexpr std::size_t kLocalQpn = kMessage + 32;  // 24 bits
inline constexpr std::size_t kResponderResources = kMessage + 35;
inline constexpr std::size_t kLocalEecn = kMessage + 36;  // 24 bits
inline constexpr std::size_t kInitiatorDepth = kMessage + 39;
inline constexpr std::size_t kRemoteEecn = kMessage + 40;                // 24 bits
inline constexpr std::size_t kRemoteTimeoutServiceFlow = kMessage + 43;  // 5, 2, 1 bits
inline constexpr std::size_t kStartingPsn = kMessage + 44;               // 24 bits
inline constexpr std::size_t kLocalTimeoutRetry = kMessage + 47;         // 5, 3 bits
inline constexpr std::size_t kPkey = kMessage + 48;
inline constexpr std::size_t kMtuRdcRnrRetry = kMessage + 50;         // 4, 1, 3 bits
inline constexpr std::size_t kMaxRetriesSrqExtended = kMessage + 51;  // 4, 1, 3 bits
inline constexpr std::size_t kPrimary = kMessage + 52;
inline constexpr std::size_t kAlternate = kMessage + 96;
inline constexpr std::size_t kPrivate = kMessage + 140;
}  // namespace req

// Relative to the start of a path.
namespace path {
inline constexpr std::size_t kLocalLid = 0;
inline constexpr std::size_t kRemoteLid = 2;
inline constexpr std::size_t kLocalGid = 4;
inline constexpr std::size_t kRemoteGid = 20;
inline constexpr std::size_t kFlowLabelRate = 36;  // 20, 6 reserved, 6 bits
inline constexpr std::size_t kTrafficClass = 40;
inline constexpr std::size_t kHopLimit = 41;
inline constexpr std::size_t kSlSubnetLocal = 42;  // 4, 1, 3 reserved bits
inline constexpr std::size_t kAckTimeout = 43;     // 5, 3 reserved bits
}  // namespace path

namespace mra {
inline constexpr std::size_t kMraed = kMessage + 8;           // 2, 6 reserved bits
inline constexpr std::size_t kServiceTimeout = kMessage + 9;  // 5, 3 reserved bits
inline constexpr std::size_t kPrivate = kMessage + 10;
}  // namespace mra

namespace rej {
inline constexpr std::size_t kRejected = kMessage + 8;    // 2, 6 reserved bits
inline constexpr std::size_t kInfoLength = kMessage + 9;  // 7, 1 reserved bits
inline constexpr std::size_t kReason = kMessage + 10;
inline constexpr std::size_t kInfo = kMessage + 12;
inline constexpr std::size_t kPrivate = kMessage + 84;
}  // namespace rej

namespace rep {
inline constexpr std::size_t kLocalQkey = kMessage + 8;
inline constexpr std::size_t kLocalQpn = kMessage + 12;     // 24 bits
inline constexpr std::size_t kLocalEecn = kMessage + 16;    // 24 bits
inline constexpr std::size_t kStartingPsn = kMessage + 20;  // 24 bits
inline constexpr std::size_t kResponderResources = kMessage + 24;
inline constexpr std::size_t kInitiatorDepth = kMessage + 25;
inline constexpr std::size_t kAckDelayFailoverFlow = kMessage + 26;  // 5, 2, 1 bits
inline constexpr std::size_t kRnrRetrySrq = kMessage + 27;           // 3, 1, 4 reserved bits
inline constexpr std::size_t kLocalCaGuid = kMessage + 28;
inline constexpr std::size_t kPrivate = kMessage + 36;
}  // namespace rep

namespace rtu {
inline constexpr std::size_t kPrivate = kMessage + 8;
}

namespace dreq {
inline constexpr std::size_t kRemoteQpn = kMessage + 8;  // 24 bits
inline constexpr std::size_t kPrivate = kMessage + 12;
}  // namespace dreq

namespace drep {
inline constexpr std::size_t kPrivate = kMessage + 8;
}

}  // namespace rpcrdma::wire::cm_layout
