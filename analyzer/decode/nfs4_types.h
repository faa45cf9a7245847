// XDR types that NFSv4 operations and callbacks share (RFC 7531, RFC 5662, RFC 7863).
#pragma once

#include "xdr_shape.h"

namespace rpcrdma::decode::nfs4 {

inline constexpr const Field& kFileHandle = kOpaque;
inline constexpr const Field& kComponent = kOpaque;
inline constexpr const Field& kVerifier = kBytes<8>;
inline constexpr const Field& kTime = kBytes<12>;
inline constexpr const Field& kStateid = kBytes<16>;
inline constexpr const Field& kSessionId = kBytes<16>;
inline constexpr const Field& kDeviceId = kBytes<16>;
inline constexpr const Field& kRange = kBytes<16>;  // offset4 and length4
inline constexpr Field kBitmap = kArrayOf<kWord>;
inline constexpr Field kFattr = kStruct<kBitmap, kOpaque>;
inline constexpr Field kOwner = kStruct<kHyper, kOpaque>;     // clientid, owner
inline constexpr Field kNetaddr = kStruct<kOpaque, kOpaque>;  // netid, address
inline constexpr Field kAce = kStruct<kBytes<12>, kOpaque>;   // type, flag, mask; who

// write_response4: optional callback ID; count, stable_how4, verifier.
inline constexpr Field kWriteResponse = kStruct<kArrayOf<kStateid>, kBytes<20>>;

// CREATE. createtype4: link text, device numbers, nothing for the other types.
inline constexpr Arm kCreateTypeArms[] = {{3, kHyper}, {4, kHyper}, {5, kDdpOpaque}};
inline constexpr Field kCreateType = union_of(kCreateTypeArms, Shape{});

// OPEN. openflag4: UNCHECKED, GUARDED, EXCLUSIVE, EXCLUSIVE4_1.
inline constexpr Arm kCreateHowArms[] = {
    {0, kFattr}, {1, kFattr}, {2, kVerifier}, {3, kMembers<kVerifier, kFattr>}};
inline constexpr Field kCreateHow = union_of(kCreateHowArms);
inline constexpr Arm kOpenFlagArms[] = {{1, kCreateHow}};
inline constexpr Field kOpenFlag = union_of(kOpenFlagArms, Shape{});

// open_delegation4. Types 4 and 5 come from RFC 9754.
inline constexpr Arm kSpaceLimitArms[] = {{1, kHyper}, {2, kHyper}};
inline constexpr Field kSpaceLimit = union_of(kSpaceLimitArms);
inline constexpr Shape kReadDelegation = kMembers<kStateid, kWord, kAce>;
inline constexpr Shape kWriteDelegation = kMembers<kStateid, kWord, kSpaceLimit, kAce>;
inline constexpr Arm kWhyNoDelegationArms[] = {{1, kWord}, {2, kWord}};
inline constexpr Field kWhyNoDelegation = union_of(kWhyNoDelegationArms, Shape{});
inline constexpr Arm kDelegationArms[] = {{0, {}},
                                          {1, kReadDelegation},
                                          {2, kWriteDelegation},
                                          {3, kWhyNoDelegation},
                                          {4, kReadDelegation},
                                          {5, kWriteDelegation}};
inline constexpr Field kDelegation = union_of(kDelegationArms);

}  // namespace rpcrdma::decode::nfs4
