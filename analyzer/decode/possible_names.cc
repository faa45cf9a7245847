#include <cstring>

#include <rpcrdma/decode/possible_names.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/dialects.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::decode {
namespace {

constexpr std::uint32_t kPrograms[] = {
    kProgPortmap,    kProgNfs,  kProgMount,        kProgNlm,      kProgNsm,      kProgNfsAcl,
    kProgRdmaConfig, kProgEcho, kProgEchoCallback, kProgTransfer, kProgSelftest, kProgNfsCallback};
constexpr wire::Dialect kLaterDialects[] = {wire::Dialect::kCel03, wire::Dialect::kFlags,
                                            wire::Dialect::kIetf03};
constexpr std::uint32_t kLastError = 100;  // also the last type
constexpr std::uint32_t kLastProperty = 6;
constexpr std::uint32_t kLastVersion = 4;     // of all known programs
constexpr std::uint32_t kLastProcedure = 31;  // of all of those
constexpr std::uint32_t kLastOperation = 127;
constexpr std::uint32_t kIllegalOperation = 10044;  // RFC 8881 sections 18.52 and 20.13
// NFS's own status values follow those of POSIX.
constexpr std::uint32_t kLastPosixStatus = 127;
constexpr std::uint32_t kFirstStatus = 10001;
constexpr std::uint32_t kLastStatus = 10199;

void add(std::vector<ValueName>& names, std::uint32_t value, const char* name) {
  if (name != nullptr && std::strcmp(name, "unknown") != 0) names.push_back({value, name});
}

void add_procedures(std::vector<ValueName>& names) {
  for (const std::uint32_t program : kPrograms) {
    for (std::uint32_t version = 1; version <= kLastVersion; ++version) {
      for (std::uint32_t procedure = 0; procedure <= kLastProcedure; ++procedure) {
        add(names, procedure, procedure_name(program, version, procedure));
      }
    }
  }
}

void add_operations(std::vector<ValueName>& names) {
  for (const bool callback : {false, true}) {
    for (std::uint32_t op = 0; op <= kLastOperation; ++op)
      add(names, op, nfs4_op_name(op, callback));
    add(names, kIllegalOperation, nfs4_op_name(kIllegalOperation, callback));
  }
}

void add_statuses(std::vector<ValueName>& names, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t status = first; status <= last; ++status) {
    add(names, status, nfs4_status_name(status));
    add(names, status, nfs3_status_name(status));
  }
}

}  // namespace

bool names_depend_on_context(FieldId id) {
  switch (id) {
    case FieldId::kProc:
    case FieldId::kError:
    case FieldId::kPropertyId:
    case FieldId::kPropertyDone:
    case FieldId::kPropertyRejected:
    case FieldId::kPropertyUnchanging:
    case FieldId::kRpcProgram:
    case FieldId::kRpcProcedure:
    case FieldId::kNfsOp:
    case FieldId::kNfsStatus:
      return true;
    default:
      return false;
  }
}

std::vector<ValueName> possible_names(FieldId id) {
  std::vector<ValueName> names;
  switch (id) {
    case FieldId::kProc:
    case FieldId::kError:
      for (const std::uint32_t version : {1U, 2U}) {
        for (std::uint32_t value = 0; value <= 5; ++value) {
          add(names, value,
              id == FieldId::kProc ? wire::proc_name(version, value)
                                   : wire::rdma_err_name(version, value));
        }
      }
      for (const wire::Dialect dialect : kLaterDialects) {
        for (std::uint32_t value = 0; value <= kLastError; ++value) {
          add(names, value,
              id == FieldId::kProc ? wire::later_type_name(dialect, value)
                                   : wire::later_error_name(dialect, value));
        }
      }
      break;
    case FieldId::kPropertyId:
    case FieldId::kPropertyDone:
    case FieldId::kPropertyRejected:
    case FieldId::kPropertyUnchanging:
      for (const wire::Dialect dialect : kLaterDialects) {
        for (std::uint32_t value = 1; value <= kLastProperty; ++value) {
          add(names, value, wire::property_name(dialect, value));
        }
      }
      break;
    case FieldId::kRpcProgram:
      for (const std::uint32_t program : kPrograms)
        add(names, program, program_name(program, 1, 0));
      break;
    case FieldId::kRpcProcedure:
      add_procedures(names);
      break;
    case FieldId::kNfsOp:
      add_operations(names);
      break;
    case FieldId::kNfsStatus:
      add_statuses(names, 0, kLastPosixStatus);
      add_statuses(names, kFirstStatus, kLastStatus);
      break;
    default:
      names.assign(spec(id).values.begin(), spec(id).values.end());
      break;
  }
  return names;
}

}  // namespace rpcrdma::decode
