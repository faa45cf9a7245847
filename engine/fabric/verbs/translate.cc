#include "translate.h"

#include <algorithm>

#include <arpa/inet.h>

namespace rpcrdma::verbs {

using fabric::Operation;
using fabric::Status;

std::uint32_t length_of(std::span<const fabric::Slice> slices) {
  std::uint64_t sum = 0;
  for (const fabric::Slice& s : slices) sum += s.length;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, UINT32_MAX));
}

int translate(std::span<const fabric::Slice> slices, Sges& sges) {
  int n = 0;
  for (const fabric::Slice& s : slices) {
    // Some devices interpret a length of 0 as 2 GiB.
    if (s.length == 0) continue;
    sges[static_cast<std::size_t>(n++)] = {reinterpret_cast<std::uintptr_t>(s.data), s.length,
                                           s.local_key};
  }
  return n;
}

void translate(const fabric::SendRequest& request, std::uint32_t most_inline, ibv_send_wr& work,
               Sges& sges) {
  work = {};
  work.sg_list = sges.data();
  work.num_sge = translate(request.local, sges);
  const std::uint32_t length = length_of(request.local);
  bool from_here = true;
  switch (request.operation) {
    case Operation::kSendImmediate:
      work.opcode = IBV_WR_SEND_WITH_IMM;
      work.imm_data = htonl(request.immediate);
      break;
    case Operation::kSendInvalidate:
      work.opcode = IBV_WR_SEND_WITH_INV;
      work.invalidate_rkey = request.invalidate;
      break;
    case Operation::kWrite:
      work.opcode = IBV_WR_RDMA_WRITE;
      break;
    case Operation::kWriteImmediate:
      work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
      work.imm_data = htonl(request.immediate);
      break;
    case Operation::kRead:
      work.opcode = IBV_WR_RDMA_READ;
      from_here = false;
      break;
    case Operation::kSend:
    case Operation::kReceive:
    case Operation::kAdvertise:
    case Operation::kInvalidate:
      work.opcode = IBV_WR_SEND;
      break;
  }
  if (request.operation == Operation::kRead || request.operation == Operation::kWrite ||
      request.operation == Operation::kWriteImmediate) {
    work.wr.rdma.remote_addr = request.remote_offset;
    work.wr.rdma.rkey = request.remote_handle;
  }
  if (request.signaled) work.send_flags |= IBV_SEND_SIGNALED;
  if (request.solicited) work.send_flags |= IBV_SEND_SOLICITED;
  if (request.fence) work.send_flags |= IBV_SEND_FENCE;
  if (from_here && length != 0 && length <= most_inline) work.send_flags |= IBV_SEND_INLINE;
}

Status translate(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return Status::kSuccess;
    case IBV_WC_LOC_LEN_ERR:
      return Status::kLocalLength;
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
      return Status::kLocalProtection;
    case IBV_WC_WR_FLUSH_ERR:
      return Status::kFlushed;
    case IBV_WC_BAD_RESP_ERR:
      return Status::kBadResponse;
    case IBV_WC_REM_INV_REQ_ERR:
      return Status::kRemoteInvalid;
    case IBV_WC_REM_ACCESS_ERR:
      return Status::kRemoteAccess;
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
      return Status::kRemoteOperation;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
      return Status::kRetriesExceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return Status::kRnrRetriesExceeded;
    default:
      return Status::kLocalOperation;
  }
}

void translate_received(const ibv_wc& from, bool kernel_flags, fabric::Completion& to) {
  // The kernel's IB_WC_WITH_INVALIDATE has the value of IBV_WC_IP_CSUM_OK, which no RC queue pair
  // uses.
  const unsigned invalidate =
      IBV_WC_WITH_INV | (kernel_flags ? static_cast<unsigned>(IBV_WC_IP_CSUM_OK) : 0U);
  to.bytes = from.byte_len;
  if ((from.wc_flags & IBV_WC_WITH_IMM) != 0) {
    to.has_immediate = true;
    to.immediate = ntohl(from.imm_data);
  } else if ((from.wc_flags & invalidate) != 0) {
    to.has_invalidated = true;
    to.invalidated = from.invalidated_rkey;
  }
}

}  // namespace rpcrdma::verbs
