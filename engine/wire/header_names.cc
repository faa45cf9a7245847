#include <rpcrdma/wire/header.h>

namespace rpcrdma::wire {
namespace {

constexpr const char* kUnknown = "unknown";

const char* proc_name_one(Proc proc) {
  switch (proc) {
    case Proc::kMsg:
      return "RDMA_MSG";
    case Proc::kNomsg:
      return "RDMA_NOMSG";
    case Proc::kMsgp:
      return "RDMA_MSGP";
    case Proc::kDone:
      return "RDMA_DONE";
    case Proc::kError:
      return "RDMA_ERROR";
    case Proc::kOptional:
      break;
  }
  return kUnknown;
}

const char* proc_name_two(Proc proc) {
  switch (proc) {
    case Proc::kMsg:
      return "RDMA2_MSG";
    case Proc::kNomsg:
      return "RDMA2_NOMSG";
    case Proc::kError:
      return "RDMA2_ERROR";
    case Proc::kOptional:
      return "RDMA2_OPTIONAL";
    case Proc::kMsgp:
    case Proc::kDone:
      break;
  }
  return kUnknown;
}

const char* rdma_err_name_one(RdmaErr err) {
  if (err == RdmaErr::kVers) return "ERR_VERS";
  if (err == RdmaErr::kChunk) return "ERR_CHUNK";
  return kUnknown;
}

const char* rdma_err_name_two(RdmaErr err) {
  switch (err) {
    case RdmaErr::kVers:
      return "RDMA2_ERR_VERS";
    case RdmaErr::kChunk:
      return "RDMA2_ERR_BAD_XDR";
    case RdmaErr::kCantReply:
      return "RDMA2_ERR_CANT_REPLY";
    case RdmaErr::kInvalProc:
      return "RDMA2_ERR_INVAL_PROC";
    case RdmaErr::kInvalOption:
      return "RDMA2_ERR_INVAL_OPTION";
  }
  return kUnknown;
}

}  // namespace

const char* proc_name(std::uint32_t vers, std::uint32_t proc) {
  if (vers == 1) return proc_name_one(static_cast<Proc>(proc));
  if (vers == 2) return proc_name_two(static_cast<Proc>(proc));
  // It has the same number in every version.
  return static_cast<Proc>(proc) == Proc::kError ? "RDMA_ERROR" : kUnknown;
}

const char* rdma_err_name(std::uint32_t vers, std::uint32_t err) {
  if (vers == 1) return rdma_err_name_one(static_cast<RdmaErr>(err));
  if (vers == 2) return rdma_err_name_two(static_cast<RdmaErr>(err));
  return static_cast<RdmaErr>(err) == RdmaErr::kVers ? "ERR_VERS" : kUnknown;
}

}  // namespace rpcrdma::wire
