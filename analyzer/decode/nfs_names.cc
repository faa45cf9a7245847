// Names of NFS operations and status values.
#include "nfs4_shapes.h"

#include <algorithm>
#include <span>

#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::decode {
namespace {

struct StatusName {
  std::uint32_t status;
  const char* name;
};

// RFC 8881 section 15.1, RFC 7530 section 13.1, RFC 7862 section 11, RFC 8276 section 8.5.
// Ascending.
constexpr StatusName kNfs4Status[] = {
    {0, "NFS4_OK"},
    {1, "NFS4ERR_PERM"},
    {2, "NFS4ERR_NOENT"},
    {5, "NFS4ERR_IO"},
    {6, "NFS4ERR_NXIO"},
    {13, "NFS4ERR_ACCESS"},
    {17, "NFS4ERR_EXIST"},
    {18, "NFS4ERR_XDEV"},
    {20, "NFS4ERR_NOTDIR"},
    {21, "NFS4ERR_ISDIR"},
    {22, "NFS4ERR_INVAL"},
    {27, "NFS4ERR_FBIG"},
    {28, "NFS4ERR_NOSPC"},
    {30, "NFS4ERR_ROFS"},
    {31, "NFS4ERR_MLINK"},
    {63, "NFS4ERR_NAMETOOLONG"},
    {66, "NFS4ERR_NOTEMPTY"},
    {69, "NFS4ERR_DQUOT"},
    {70, "NFS4ERR_STALE"},
    {10001, "NFS4ERR_BADHANDLE"},
    {10003, "NFS4ERR_BAD_COOKIE"},
    {10004, "NFS4ERR_NOTSUPP"},
    {10005, "NFS4ERR_TOOSMALL"},
    {10006, "NFS4ERR_SERVERFAULT"},
    {10007, "NFS4ERR_BADTYPE"},
    {10008, "NFS4ERR_DELAY"},
    {10009, "NFS4ERR_SAME"},
    {10010, "NFS4ERR_DENIED"},
    {10011, "NFS4ERR_EXPIRED"},
    {10012, "NFS4ERR_LOCKED"},
    {10013, "NFS4ERR_GRACE"},
    {10014, "NFS4ERR_FHEXPIRED"},
    {10015, "NFS4ERR_SHARE_DENIED"},
    {10016, "NFS4ERR_WRONGSEC"},
    {10017, "NFS4ERR_CLID_INUSE"},
    {10018, "NFS4ERR_RESOURCE"},
    {10019, "NFS4ERR_MOVED"},
    {10020, "NFS4ERR_NOFILEHANDLE"},
    {10021, "NFS4ERR_MINOR_VERS_MISMATCH"},
    {10022, "NFS4ERR_STALE_CLIENTID"},
    {10023, "NFS4ERR_STALE_STATEID"},
    {10024, "NFS4ERR_OLD_STATEID"},
    {10025, "NFS4ERR_BAD_STATEID"},
    {10026, "NFS4ERR_BAD_SEQID"},
    {10027, "NFS4ERR_NOT_SAME"},
    {10028, "NFS4ERR_LOCK_RANGE"},
    {10029, "NFS4ERR_SYMLINK"},
    {10030, "NFS4ERR_RESTOREFH"},
    {10031, "NFS4ERR_LEASE_MOVED"},
    {10032, "NFS4ERR_ATTRNOTSUPP"},
    {10033, "NFS4ERR_NO_GRACE"},
    {10034, "NFS4ERR_RECLAIM_BAD"},
    {10035, "NFS4ERR_RECLAIM_CONFLICT"},
    {10036, "NFS4ERR_BADXDR"},
    {10037, "NFS4ERR_LOCKS_HELD"},
    {10038, "NFS4ERR_OPENMODE"},
    {10039, "NFS4ERR_BADOWNER"},
    {10040, "NFS4ERR_BADCHAR"},
    {10041, "NFS4ERR_BADNAME"},
    {10042, "NFS4ERR_BAD_RANGE"},
    {10043, "NFS4ERR_LOCK_NOTSUPP"},
    {10044, "NFS4ERR_OP_ILLEGAL"},
    {10045, "NFS4ERR_DEADLOCK"},
    {10046, "NFS4ERR_FILE_OPEN"},
    {10047, "NFS4ERR_ADMIN_REVOKED"},
    {10048, "NFS4ERR_CB_PATH_DOWN"},
    {10049, "NFS4ERR_BADIOMODE"},
    {10050, "NFS4ERR_BADLAYOUT"},
    {10051, "NFS4ERR_BAD_SESSION_DIGEST"},
    {10052, "NFS4ERR_BADSESSION"},
    {10053, "NFS4ERR_BADSLOT"},
    {10054, "NFS4ERR_COMPLETE_ALREADY"},
    {10055, "NFS4ERR_CONN_NOT_BOUND_TO_SESSION"},
    {10056, "NFS4ERR_DELEG_ALREADY_WANTED"},
    {10057, "NFS4ERR_BACK_CHAN_BUSY"},
    {10058, "NFS4ERR_LAYOUTTRYLATER"},
    {10059, "NFS4ERR_LAYOUTUNAVAILABLE"},
    {10060, "NFS4ERR_NOMATCHING_LAYOUT"},
    {10061, "NFS4ERR_RECALLCONFLICT"},
    {10062, "NFS4ERR_UNKNOWN_LAYOUTTYPE"},
    {10063, "NFS4ERR_SEQ_MISORDERED"},
    {10064, "NFS4ERR_SEQUENCE_POS"},
    {10065, "NFS4ERR_REQ_TOO_BIG"},
    {10066, "NFS4ERR_REP_TOO_BIG"},
    {10067, "NFS4ERR_REP_TOO_BIG_TO_CACHE"},
    {10068, "NFS4ERR_RETRY_UNCACHED_REP"},
    {10069, "NFS4ERR_UNSAFE_COMPOUND"},
    {10070, "NFS4ERR_TOO_MANY_OPS"},
    {10071, "NFS4ERR_OP_NOT_IN_SESSION"},
    {10072, "NFS4ERR_HASH_ALG_UNSUPP"},
    {10074, "NFS4ERR_CLIENTID_BUSY"},
    {10075, "NFS4ERR_PNFS_IO_HOLE"},
    {10076, "NFS4ERR_SEQ_FALSE_RETRY"},
    {10077, "NFS4ERR_BAD_HIGH_SLOT"},
    {10078, "NFS4ERR_DEADSESSION"},
    {10079, "NFS4ERR_ENCR_ALG_UNSUPP"},
    {10080, "NFS4ERR_PNFS_NO_LAYOUT"},
    {10081, "NFS4ERR_NOT_ONLY_OP"},
    {10082, "NFS4ERR_WRONG_CRED"},
    {10083, "NFS4ERR_WRONG_TYPE"},
    {10084, "NFS4ERR_DIRDELEG_UNAVAIL"},
    {10085, "NFS4ERR_REJECT_DELEG"},
    {10086, "NFS4ERR_RETURNCONFLICT"},
    {10087, "NFS4ERR_DELEG_REVOKED"},
    {10088, "NFS4ERR_PARTNER_NOTSUPP"},
    {10089, "NFS4ERR_PARTNER_NO_AUTH"},
    {10090, "NFS4ERR_UNION_NOTSUPP"},
    {10091, "NFS4ERR_OFFLOAD_DENIED"},
    {10092, "NFS4ERR_WRONG_LFS"},
    {10093, "NFS4ERR_BADLABEL"},
    {10094, "NFS4ERR_OFFLOAD_NO_REQS"},
    {10095, "NFS4ERR_NOXATTR"},
    {10096, "NFS4ERR_XATTR2BIG"},
};

// RFC 1813 section 2.6; 99 is version 2's alone (RFC 1094 section 2.3.1). Ascending.
constexpr StatusName kNfs3Status[] = {
    {0, "NFS3_OK"},
    {1, "NFS3ERR_PERM"},
    {2, "NFS3ERR_NOENT"},
    {5, "NFS3ERR_IO"},
    {6, "NFS3ERR_NXIO"},
    {13, "NFS3ERR_ACCES"},
    {17, "NFS3ERR_EXIST"},
    {18, "NFS3ERR_XDEV"},
    {19, "NFS3ERR_NODEV"},
    {20, "NFS3ERR_NOTDIR"},
    {21, "NFS3ERR_ISDIR"},
    {22, "NFS3ERR_INVAL"},
    {27, "NFS3ERR_FBIG"},
    {28, "NFS3ERR_NOSPC"},
    {30, "NFS3ERR_ROFS"},
    {31, "NFS3ERR_MLINK"},
    {63, "NFS3ERR_NAMETOOLONG"},
    {66, "NFS3ERR_NOTEMPTY"},
    {69, "NFS3ERR_DQUOT"},
    {70, "NFS3ERR_STALE"},
    {71, "NFS3ERR_REMOTE"},
    {99, "NFSERR_WFLUSH"},
    {10001, "NFS3ERR_BADHANDLE"},
    {10002, "NFS3ERR_NOT_SYNC"},
    {10003, "NFS3ERR_BAD_COOKIE"},
    {10004, "NFS3ERR_NOTSUPP"},
    {10005, "NFS3ERR_TOOSMALL"},
    {10006, "NFS3ERR_SERVERFAULT"},
    {10007, "NFS3ERR_BADTYPE"},
    {10008, "NFS3ERR_JUKEBOX"},
};

static_assert(std::ranges::is_sorted(kNfs4Status, {}, &StatusName::status));
static_assert(std::ranges::is_sorted(kNfs3Status, {}, &StatusName::status));

const char* find_name(std::span<const StatusName> names, std::uint32_t status) {
  const auto found = std::ranges::lower_bound(names, status, {}, &StatusName::status);
  return found != names.end() && found->status == status ? found->name : nullptr;
}

}  // namespace

const char* nfs4_op_name(std::uint32_t op, bool callback) {
  const Operation* operation = callback ? find_callback_operation(op) : find_operation(op);
  return operation != nullptr ? operation->name : nullptr;
}

const char* nfs4_status_name(std::uint32_t status) {
  return find_name(kNfs4Status, status);
}

const char* nfs3_status_name(std::uint32_t status) {
  return find_name(kNfs3Status, status);
}

}  // namespace rpcrdma::decode
