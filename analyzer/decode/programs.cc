#include <span>

#include <rpcrdma/decode/programs.h>

namespace rpcrdma::decode {
namespace {

using Names = std::span<const char* const>;

// Indexed by procedure number. RFC 1833.
constexpr const char* kPortmap2[] = {"NULL", "SET", "UNSET", "GETPORT", "DUMP", "CALLIT"};
constexpr const char* kPortmap3[] = {"NULL",   "SET",     "UNSET",       "GETADDR",    "DUMP",
                                     "CALLIT", "GETTIME", "UADDR2TADDR", "TADDR2UADDR"};
constexpr const char* kPortmap4[] = {
    "NULL",        "SET",         "UNSET",       "GETADDR",  "DUMP",        "BCAST",  "GETTIME",
    "UADDR2TADDR", "TADDR2UADDR", "GETVERSADDR", "INDIRECT", "GETADDRLIST", "GETSTAT"};

// RFC 1094, RFC 1813, RFC 7530.
constexpr const char* kNfs2[] = {"NULL", "GETATTR",    "SETATTR", "ROOT",   "LOOKUP",  "READLINK",
                                 "READ", "WRITECACHE", "WRITE",   "CREATE", "REMOVE",  "RENAME",
                                 "LINK", "SYMLINK",    "MKDIR",   "RMDIR",  "READDIR", "STATFS"};
constexpr const char* kNfs3[] = {
    "NULL",    "GETATTR",     "SETATTR", "LOOKUP", "ACCESS",   "READLINK", "READ",   "WRITE",
    "CREATE",  "MKDIR",       "SYMLINK", "MKNOD",  "REMOVE",   "RMDIR",    "RENAME", "LINK",
    "READDIR", "READDIRPLUS", "FSSTAT",  "FSINFO", "PATHCONF", "COMMIT"};
constexpr const char* kNfs4[] = {"NULL", "COMPOUND"};
constexpr const char* kCallback[] = {"CB_NULL", "CB_COMPOUND"};

// RFC 1094 appendix A, RFC 1813 appendix I; the last of versions 1 and 2 from The Open Group's
// XNFS.
constexpr const char* kMount[] = {"NULL",    "MNT",    "DUMP",      "UMNT",
                                  "UMNTALL", "EXPORT", "EXPORTALL", "PATHCONF"};

// XNFS chapters 10 and 11, RFC 1813 appendix II. Number 16 is Linux's own, for its status monitor.
constexpr const char* kNlm[] = {"NULL",        "TEST",      "LOCK",     "CANCEL",     "UNLOCK",
                                "GRANTED",     "TEST_MSG",  "LOCK_MSG", "CANCEL_MSG", "UNLOCK_MSG",
                                "GRANTED_MSG", "TEST_RES",  "LOCK_RES", "CANCEL_RES", "UNLOCK_RES",
                                "GRANTED_RES", "SM_NOTIFY", nullptr,    nullptr,      nullptr,
                                "SHARE",       "UNSHARE",   "NM_LOCK",  "FREE_ALL"};
constexpr const char* kNsm[] = {"NULL",      "STAT",       "MON",   "UNMON",
                                "UNMON_ALL", "SIMU_CRASH", "NOTIFY"};

// Sun's NFS_ACL; no RFC.
constexpr const char* kNfsAcl2[] = {"NULL", "GETACL", "SETACL", "GETATTR", "ACCESS", "GETXATTRDIR"};
constexpr const char* kNfsAcl3[] = {"NULL", "GETACL", "SETACL", "GETXATTRDIR"};

// RFC 5666 section 6.2.
constexpr const char* kRdmaConfig[] = {"NULL", "CONF_RDMA"};

// engine/service/echo.x.
constexpr const char* kEcho[] = {"NULL",      "ECHO", "SINK",  "SOURCE",
                                 "ECHO_BULK", "LIST", "SLEEP", "COUNT"};
// engine/service/callback.x, cli/selftest/selftest.x.
constexpr const char* kEchoCallback[] = {"NULL", "START", "WAIT", "END", "STOP"};
constexpr const char* kTransfer[] = {"NULL", "TRANSFER"};
constexpr const char* kSelftest[] = {"NULL", "START", "WAIT", "JUDGE"};

bool is_callback(std::uint32_t program, std::uint32_t version, std::uint32_t procedure) {
  return is_transient_program(program) && (version == 1 || version == 4) && procedure <= 1;
}

Names names_of(std::uint32_t program, std::uint32_t version) {
  switch (program) {
    case kProgPortmap:
      if (version == 2) return kPortmap2;
      if (version == 3) return kPortmap3;
      if (version == 4) return kPortmap4;
      break;
    case kProgNfs:
      if (version == 2) return kNfs2;
      if (version == 3) return kNfs3;
      if (version == 4) return kNfs4;
      break;
    case kProgMount:
      if (version == 1) return Names(kMount).first(7);
      if (version == 2) return kMount;
      if (version == 3) return Names(kMount).first(6);
      break;
    case kProgNlm:
      if (version == 1 || version == 2) return Names(kNlm).first(17);
      if (version == 3 || version == 4) return kNlm;
      break;
    case kProgNsm:
      if (version == 1) return kNsm;
      break;
    case kProgNfsAcl:
      if (version == 2) return kNfsAcl2;
      if (version == 3) return kNfsAcl3;
      break;
    case kProgRdmaConfig:
      if (version == 1) return kRdmaConfig;
      break;
    case kProgEcho:
      if (version == 1) return kEcho;
      break;
    case kProgEchoCallback:
      if (version == 1) return kEchoCallback;
      break;
    case kProgTransfer:
      if (version == 1) return kTransfer;
      break;
    case kProgSelftest:
      if (version == 1) return kSelftest;
      break;
    default:
      break;
  }
  return {};
}

}  // namespace

const char* program_name(std::uint32_t program, std::uint32_t version, std::uint32_t procedure) {
  switch (program) {
    case kProgPortmap:
      return "PORTMAP";
    case kProgNfs:
      return "NFS";
    case kProgMount:
      return "MOUNT";
    case kProgNlm:
      return "NLM";
    case kProgNsm:
      return "NSM";
    case kProgNfsAcl:
      return "NFSACL";
    case kProgRdmaConfig:
      return "RDMACONFIG";
    case kProgEcho:
      return "ECHO";
    case kProgEchoCallback:
      return "ECHO_CALLBACK";
    case kProgTransfer:
      return "TRANSFER";
    case kProgSelftest:
      return "SELFTEST";
    default:
      return is_callback(program, version, procedure) ? "NFS_CB" : nullptr;
  }
}

const char* procedure_name(std::uint32_t program, std::uint32_t version, std::uint32_t procedure) {
  if (is_callback(program, version, procedure)) return kCallback[procedure];
  const Names names = names_of(program, version);
  return procedure < names.size() ? names[procedure] : nullptr;
}

}  // namespace rpcrdma::decode
