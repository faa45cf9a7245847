// The table of NFSv4 operations, with the XDR shapes of their arguments and results.
#include "nfs4_shapes.h"

#include "nfs4_types.h"

namespace rpcrdma::decode {
namespace {

using namespace nfs4;

constexpr const Field& kChangeInfo = kBytes<20>;

// LOCK, LOCKT. locker4: a new lock owner, an existing one.
constexpr Arm kLockerArms[] = {{0, kBytes<20>}, {1, kMembers<kBytes<24>, kOwner>}};
constexpr Field kLocker = union_of(kLockerArms);
constexpr Shape kLockDenied = kMembers<kRange, kWord, kOwner>;

// OPEN.
constexpr Arm kOpenClaimArms[] = {{0, kComponent}, {1, kWord}, {2, kMembers<kStateid, kComponent>},
                                  {3, kComponent}, {4, {}},    {5, kStateid},
                                  {6, {}}};
constexpr Field kOpenClaim = union_of(kOpenClaimArms);

// READDIR.
constexpr Field kDirectoryEntries = kListOf<kHyper, kComponent, kFattr>;

// SECINFO, SECINFO_NO_NAME: flavors; RPCSEC_GSS has OID, QOP, service.
constexpr Arm kSecurityArms[] = {{6, kMembers<kOpaque, kHyper>}};
constexpr Field kSecurity = union_of(kSecurityArms, Shape{});
constexpr Field kSecurityList = kArrayOf<kSecurity>;

// BACKCHANNEL_CTL, CREATE_SESSION. callback_sec_parms4: AUTH_NONE, AUTH_SYS, RPCSEC_GSS.
constexpr Arm kCallbackSecurityArms[] = {{0, {}},
                                         {1, kMembers<kWord, kOpaque, kHyper, kArrayOf<kWord>>},
                                         {6, kMembers<kWord, kOpaque, kOpaque>}};
constexpr Field kCallbackSecurity = union_of(kCallbackSecurityArms);
constexpr Field kChannelAttributes = kStruct<kBytes<24>, kArrayOf<kWord>>;

// EXCHANGE_ID. SP4_NONE, SP4_MACH_CRED, SP4_SSV.
constexpr Field kProtectOps = kStruct<kBitmap, kBitmap>;
constexpr Arm kProtectArgumentArms[] = {
    {0, {}},
    {1, kProtectOps},
    {2, kMembers<kProtectOps, kArrayOf<kOpaque>, kArrayOf<kOpaque>, kHyper>}};
constexpr Field kProtectArguments = union_of(kProtectArgumentArms);
constexpr Arm kProtectResultArms[] = {
    {0, {}}, {1, kProtectOps}, {2, kMembers<kProtectOps, kBytes<16>, kArrayOf<kOpaque>>}};
constexpr Field kProtectResults = union_of(kProtectResultArms);
constexpr Field kImplementationId = kArrayOf<kOpaque, kOpaque, kTime>;

// GET_DIR_DELEGATION: GDD4_OK, GDD4_UNAVAIL.
constexpr Arm kDirDelegationArms[] = {{0, kMembers<kVerifier, kStateid, kBitmap, kBitmap, kBitmap>},
                                      {1, kWord}};
constexpr Field kDirDelegation = union_of(kDirDelegationArms);

// pNFS.
constexpr Field kTypedOpaque = kStruct<kWord, kOpaque>;  // layouttype4 and its body
constexpr Arm kOptionalTimeArms[] = {{0, {}}, {1, kTime}};
constexpr Field kOptionalTime = union_of(kOptionalTimeArms);
constexpr Arm kOptionalStateidArms[] = {{0, {}}, {1, kStateid}};
constexpr Field kOptionalStateid = union_of(kOptionalStateidArms);
constexpr Field kLayouts = kArrayOf<kRange, kWord, kTypedOpaque>;
constexpr Arm kLayoutReturnArms[] = {{1, kMembers<kRange, kStateid, kOpaque>}};
constexpr Field kLayoutReturn = union_of(kLayoutReturnArms, Shape{});

// WANT_DELEGATION: CLAIM_PREVIOUS, CLAIM_FH, CLAIM_DELEG_PREV_FH.
constexpr Arm kWantClaimArms[] = {{1, kWord}, {4, {}}, {6, {}}};
constexpr Field kWantClaim = union_of(kWantClaimArms);

// COPY, COPY_NOTIFY. netloc4: a name, a URL, an address.
constexpr Arm kNetlocArms[] = {{1, kOpaque}, {2, kOpaque}, {3, kNetaddr}};
constexpr Field kNetloc = union_of(kNetlocArms);

// READ_PLUS: data or a hole. Its data is not DDP-eligible: no binding makes it so.
constexpr Arm kContentArms[] = {{0, kMembers<kHyper, kOpaque>}, {1, kRange}};
constexpr Field kContent = union_of(kContentArms, Shape{});

constexpr std::uint32_t kErrTooSmall = 10005;
constexpr std::uint32_t kErrDenied = 10010;
constexpr std::uint32_t kErrClidInUse = 10017;
constexpr std::uint32_t kErrLayoutTryLater = 10058;
constexpr std::uint32_t kErrOffloadNoReqs = 10094;

constexpr Operation kOperations[] = {
    {3, "ACCESS", kWord, kHyper},
    {4, "CLOSE", kMembers<kWord, kStateid>, kStateid},
    {5, "COMMIT", kBytes<12>, kVerifier},
    {6, "CREATE", kMembers<kCreateType, kComponent, kFattr>, kMembers<kChangeInfo, kBitmap>},
    {7, "DELEGPURGE", kHyper, {}},
    {8, "DELEGRETURN", kStateid, {}},
    {9, "GETATTR", kBitmap, kFattr},
    {10, "GETFH", {}, kFileHandle},
    {11, "LINK", kComponent, kChangeInfo},
    {12, "LOCK", kMembers<kBytes<24>, kLocker>, kStateid, {kErrDenied, kLockDenied}},
    {13, "LOCKT", kMembers<kBytes<20>, kOwner>, {}, {kErrDenied, kLockDenied}},
    {14, "LOCKU", kMembers<kHyper, kStateid, kRange>, kStateid},
    {15, "LOOKUP", kComponent, {}},
    {16, "LOOKUPP", {}, {}},
    {17, "NVERIFY", kFattr, {}},
    {18, "OPEN", kMembers<kBytes<12>, kOwner, kOpenFlag, kOpenClaim>,
     kMembers<kStateid, kChangeInfo, kWord, kBitmap, kDelegation>},
    {19, "OPENATTR", kWord, {}},
    {20, "OPEN_CONFIRM", kBytes<20>, kStateid},
    {21, "OPEN_DOWNGRADE", kBytes<28>, kStateid},
    {22, "PUTFH", kFileHandle, {}},
    {23, "PUTPUBFH", {}, {}},
    {24, "PUTROOTFH", {}, {}},
    {25, "READ", kBytes<28>, kMembers<kWord, kDdpOpaque>},
    {26, "READDIR", kMembers<kBytes<24>, kBitmap>, kMembers<kVerifier, kDirectoryEntries, kWord>},
    {27, "READLINK", {}, kDdpOpaque},
    {28, "REMOVE", kComponent, kChangeInfo},
    {29, "RENAME", kMembers<kComponent, kComponent>, kBytes<40>},
    {30, "RENEW", kHyper, {}},
    {31, "RESTOREFH", {}, {}},
    {32, "SAVEFH", {}, {}},
    {33, "SECINFO", kComponent, kSecurityList},
    {34, "SETATTR", kMembers<kStateid, kFattr>, kBitmap, {Operation::kEveryFailure, kBitmap}},
    {35,
     "SETCLIENTID",
     kMembers<kVerifier, kOpaque, kWord, kNetaddr, kWord>,
     kBytes<16>,
     {kErrClidInUse, kNetaddr}},
    {36, "SETCLIENTID_CONFIRM", kBytes<16>, {}},
    {37, "VERIFY", kFattr, {}},
    {38, "WRITE", kMembers<kBytes<28>, kDdpOpaque>, kBytes<16>},
    {39, "RELEASE_LOCKOWNER", kOwner, {}},
    {40, "BACKCHANNEL_CTL", kMembers<kWord, kArrayOf<kCallbackSecurity>>, {}},
    {41, "BIND_CONN_TO_SESSION", kBytes<24>, kBytes<24>},
    {42, "EXCHANGE_ID", kMembers<kVerifier, kOpaque, kWord, kProtectArguments, kImplementationId>,
     kMembers<kBytes<16>, kProtectResults, kOwner, kOpaque, kImplementationId>},
    {43, "CREATE_SESSION",
     kMembers<kBytes<16>, kChannelAttributes, kChannelAttributes, kWord,
              kArrayOf<kCallbackSecurity>>,
     kMembers<kBytes<24>, kChannelAttributes, kChannelAttributes>},
    {44, "DESTROY_SESSION", kSessionId, {}},
    {45, "FREE_STATEID", kStateid, {}},
    {46, "GET_DIR_DELEGATION", kMembers<kWord, kBitmap, kBytes<24>, kBitmap, kBitmap>,
     kDirDelegation},
    {47,
     "GETDEVICEINFO",
     kMembers<kDeviceId, kHyper, kBitmap>,
     kMembers<kTypedOpaque, kBitmap>,
     {kErrTooSmall, kWord}},
    {48, "GETDEVICELIST", kBytes<24>, kMembers<kBytes<16>, kArrayOf<kDeviceId>, kWord>},
    {49, "LAYOUTCOMMIT",
     kMembers<kRange, kWord, kStateid, kOptionalHyper, kOptionalTime, kTypedOpaque>,
     kOptionalHyper},
    {50, "LAYOUTGET", kBytes<56>, kMembers<kWord, kStateid, kLayouts>, {kErrLayoutTryLater, kWord}},
    {51, "LAYOUTRETURN", kMembers<kBytes<12>, kLayoutReturn>, kOptionalStateid},
    {52, "SECINFO_NO_NAME", kWord, kSecurityList},
    {53, "SEQUENCE", kBytes<32>, kBytes<36>},
    {54, "SET_SSV", kMembers<kOpaque, kOpaque>, kOpaque},
    {55, "TEST_STATEID", kArrayOf<kStateid>, kArrayOf<kWord>},
    {56, "WANT_DELEGATION", kMembers<kWord, kWantClaim>, kDelegation},
    {57, "DESTROY_CLIENTID", kHyper, {}},
    {58, "RECLAIM_COMPLETE", kWord, {}},
    {59, "ALLOCATE", kMembers<kStateid, kRange>, {}},
    {60,
     "COPY",
     kMembers<kStateid, kStateid, kBytes<32>, kArrayOf<kNetloc>>,
     kMembers<kWriteResponse, kHyper>,
     {kErrOffloadNoReqs, kHyper}},
    {61, "COPY_NOTIFY", kMembers<kStateid, kNetloc>, kMembers<kTime, kStateid, kArrayOf<kNetloc>>},
    {62, "DEALLOCATE", kMembers<kStateid, kRange>, {}},
    {63, "IO_ADVISE", kMembers<kStateid, kRange, kBitmap>, kBitmap},
    {64, "LAYOUTERROR", kMembers<kRange, kStateid, kArrayOf<kDeviceId, kHyper>>, {}},
    {65, "LAYOUTSTATS", kMembers<kRange, kStateid, kBytes<32>, kDeviceId, kTypedOpaque>, {}},
    {66, "OFFLOAD_CANCEL", kStateid, {}},
    {67, "OFFLOAD_STATUS", kStateid, kMembers<kHyper, kArrayOf<kWord>>},
    {68, "READ_PLUS", kBytes<28>, kMembers<kWord, kArrayOf<kContent>>},
    {69, "SEEK", kBytes<28>, kBytes<12>},
    {70, "WRITE_SAME", kMembers<kStateid, kWord, kBytes<44>, kOpaque>, kWriteResponse},
    {71, "CLONE", kBytes<56>, {}},
    {72, "GETXATTR", kComponent, kOpaque},
    {73, "SETXATTR", kMembers<kWord, kComponent, kOpaque>, kChangeInfo},
    {74, "LISTXATTRS", kBytes<12>, kMembers<kHyper, kArrayOf<kComponent>, kWord>},
    {75, "REMOVEXATTR", kComponent, kChangeInfo},
};
constexpr Operation kIllegal = {10044, "ILLEGAL", {}, {}};

constexpr OperationTable kTable(kOperations, kIllegal);

}  // namespace

const Operation* find_operation(std::uint32_t op) {
  return kTable.find(op);
}

}  // namespace rpcrdma::decode
