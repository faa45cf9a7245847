#include "nfs_faults.h"

#include <algorithm>
#include <array>

namespace rpcrdma::rules {

namespace {

// Statuses of RFC 1813 section 2.6 and RFC 8881 section 15, which share their numbers; RFC 7862 and
// RFC 8276 extend the latter. These are statuses about the requested file, name or lock, about
// features that a server need not have, and those by which a client detects changes (SAME,
// NOT_SAME).
constexpr std::array<std::uint32_t, 45> kOrdinary{
    0,      // OK
    1,      // PERM
    2,      // NOENT
    13,     // ACCES
    17,     // EXIST
    18,     // XDEV
    20,     // NOTDIR
    21,     // ISDIR
    22,     // INVAL
    27,     // FBIG
    30,     // ROFS
    31,     // MLINK
    63,     // NAMETOOLONG
    66,     // NOTEMPTY
    10002,  // NOT_SYNC
    10003,  // BAD_COOKIE
    10004,  // NOTSUPP
    10005,  // TOOSMALL
    10009,  // SAME
    10010,  // DENIED
    10012,  // LOCKED
    10015,  // SHARE_DENIED
    10016,  // WRONGSEC
    10027,  // NOT_SAME
    10028,  // LOCK_RANGE
    10029,  // SYMLINK
    10032,  // ATTRNOTSUPP
    10037,  // LOCKS_HELD
    10038,  // OPENMODE
    10039,  // BADOWNER
    10040,  // BADCHAR
    10041,  // BADNAME
    10043,  // LOCK_NOTSUPP
    10046,  // FILE_OPEN
    10048,  // CB_PATH_DOWN
    10049,  // BADIOMODE
    10054,  // COMPLETE_ALREADY
    10059,  // LAYOUTUNAVAILABLE
    10060,  // NOMATCHING_LAYOUT
    10062,  // UNKNOWN_LAYOUTTYPE
    10083,  // WRONG_TYPE
    10084,  // DIRDELEG_UNAVAIL
    10090,  // UNION_NOTSUPP
    10091,  // OFFLOAD_DENIED
    10095,  // NOXATTR
};
// JUKEBOX or DELAY, GRACE, LAYOUTTRYLATER, RECALLCONFLICT, RETURNCONFLICT
constexpr std::array<std::uint32_t, 5> kLater{10008, 10013, 10058, 10061, 10086};

static_assert(std::is_sorted(kOrdinary.begin(), kOrdinary.end()));
static_assert(std::is_sorted(kLater.begin(), kLater.end()));

}  // namespace

StatusKind status_kind(const model::RpcInfo& rpc) {
  if (std::binary_search(kOrdinary.begin(), kOrdinary.end(), rpc.status)) {
    return StatusKind::kOrdinary;
  }
  return std::binary_search(kLater.begin(), kLater.end(), rpc.status) ? StatusKind::kLater
                                                                      : StatusKind::kFault;
}

// One or two stale handles are normal; the recall of a file and a server's restart take a while.
bool is_many(StatusKind kind, std::uint64_t count, std::uint64_t answers) {
  constexpr std::uint64_t kFaults = 3, kFaultyShare = 4;
  constexpr std::uint64_t kDelays = 32, kDelayedShare = 2;
  switch (kind) {
    case StatusKind::kOrdinary:
      return false;
    case StatusKind::kLater:
      return count >= kDelays && count >= answers / kDelayedShare;
    case StatusKind::kFault:
      return count >= kFaults && count >= answers / kFaultyShare;
  }
  return false;
}

}  // namespace rpcrdma::rules
