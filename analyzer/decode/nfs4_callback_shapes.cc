#include "nfs4_shapes.h"
#include "nfs4_types.h"

namespace rpcrdma::decode {
namespace {

using namespace nfs4;

// layoutrecall4: a file, a file system, all.
constexpr Arm kLayoutRecallArms[] = {
    {1, kMembers<kFileHandle, kRange, kStateid>}, {2, kBytes<16>}, {3, {}}};
constexpr Field kLayoutRecall = union_of(kLayoutRecallArms);

constexpr Field kNotifications = kArrayOf<kBitmap, kOpaque>;
constexpr Field kReferringCalls = kArrayOf<kSessionId, kArrayOf<kHyper>>;

// offload_info4: the write response, or the bytes copied before the failure.
constexpr Arm kOffloadInfoArms[] = {{0, kWriteResponse}};
constexpr Field kOffloadInfo = union_of(kOffloadInfoArms, kHyper);

constexpr Operation kCallbackOperations[] = {
    {3, "CB_GETATTR", kMembers<kFileHandle, kBitmap>, kFattr},
    {4, "CB_RECALL", kMembers<kStateid, kWord, kFileHandle>, {}},
    {5, "CB_LAYOUTRECALL", kMembers<kBytes<12>, kLayoutRecall>, {}},
    {6, "CB_NOTIFY", kMembers<kStateid, kFileHandle, kNotifications>, {}},
    {7, "CB_PUSH_DELEG", kMembers<kFileHandle, kDelegation>, {}},
    {8, "CB_RECALL_ANY", kMembers<kWord, kBitmap>, {}},
    {9, "CB_RECALLABLE_OBJ_AVAIL", kMembers<kWord, kBitmap>, {}},
    {10, "CB_RECALL_SLOT", kWord, {}},
    {11, "CB_SEQUENCE", kMembers<kBytes<32>, kReferringCalls>, kBytes<32>},
    {12, "CB_WANTS_CANCELLED", kHyper, {}},
    {13, "CB_NOTIFY_LOCK", kMembers<kFileHandle, kOwner>, {}},
    {14, "CB_NOTIFY_DEVICEID", kNotifications, {}},
    {15, "CB_OFFLOAD", kMembers<kFileHandle, kStateid, kOffloadInfo>, {}},
};
constexpr Operation kIllegalCallback = {10044, "CB_ILLEGAL", {}, {}};

constexpr OperationTable kCallbackTable(kCallbackOperations, kIllegalCallback);

}  // namespace

const Operation* find_callback_operation(std::uint32_t op) {
  return kCallbackTable.find(op);
}

}  // namespace rpcrdma::decode
