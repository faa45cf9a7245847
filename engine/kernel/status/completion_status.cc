#include <array>

#include <fmt/core.h>

#include <rpcrdma/kernel_status/completion_status.h>

namespace rpcrdma::kernel {
namespace {

struct CompletionStatus {
  const char* words;
  const char* name;
  fabric::Status status;
};
// By number; the same in all versions of Linux.
constexpr std::array kCompletionStatuses{
    CompletionStatus{"success", "IB_WC_SUCCESS", fabric::Status::kSuccess},
    CompletionStatus{"local length error", "IB_WC_LOC_LEN_ERR", fabric::Status::kLocalLength},
    CompletionStatus{"local QP operation error", "IB_WC_LOC_QP_OP_ERR",
                     fabric::Status::kLocalOperation},
    CompletionStatus{"local EE context operation error", "IB_WC_LOC_EEC_OP_ERR",
                     fabric::Status::kLocalOperation},
    CompletionStatus{"local protection error", "IB_WC_LOC_PROT_ERR",
                     fabric::Status::kLocalProtection},
    CompletionStatus{"flushed", "IB_WC_WR_FLUSH_ERR", fabric::Status::kFlushed},
    CompletionStatus{"memory window bind error", "IB_WC_MW_BIND_ERR",
                     fabric::Status::kLocalOperation},
    CompletionStatus{"bad response", "IB_WC_BAD_RESP_ERR", fabric::Status::kBadResponse},
    CompletionStatus{"local access error", "IB_WC_LOC_ACCESS_ERR",
                     fabric::Status::kLocalProtection},
    CompletionStatus{"remote invalid request", "IB_WC_REM_INV_REQ_ERR",
                     fabric::Status::kRemoteInvalid},
    CompletionStatus{"remote access error", "IB_WC_REM_ACCESS_ERR", fabric::Status::kRemoteAccess},
    CompletionStatus{"remote operation error", "IB_WC_REM_OP_ERR",
                     fabric::Status::kRemoteOperation},
    CompletionStatus{"retries exceeded", "IB_WC_RETRY_EXC_ERR", fabric::Status::kRetriesExceeded},
    CompletionStatus{"RNR retries exceeded", "IB_WC_RNR_RETRY_EXC_ERR",
                     fabric::Status::kRnrRetriesExceeded},
    CompletionStatus{"local RDD violation", "IB_WC_LOC_RDD_VIOL_ERR",
                     fabric::Status::kLocalOperation},
    CompletionStatus{"remote invalid RD request", "IB_WC_REM_INV_RD_REQ_ERR",
                     fabric::Status::kRemoteInvalid},
    CompletionStatus{"aborted by the peer", "IB_WC_REM_ABORT_ERR",
                     fabric::Status::kRemoteOperation},
    CompletionStatus{"invalid EE context number", "IB_WC_INV_EECN_ERR",
                     fabric::Status::kLocalOperation},
    CompletionStatus{"invalid EE context state", "IB_WC_INV_EEC_STATE_ERR",
                     fabric::Status::kLocalOperation},
    CompletionStatus{"fatal error", "IB_WC_FATAL_ERR", fabric::Status::kLocalOperation},
    CompletionStatus{"response timeout", "IB_WC_RESP_TIMEOUT_ERR",
                     fabric::Status::kRetriesExceeded},
    CompletionStatus{"general error", "IB_WC_GENERAL_ERR", fabric::Status::kLocalOperation},
};

}  // namespace

std::string completion_status_name(std::uint64_t status) {
  if (status >= kCompletionStatuses.size()) return fmt::format("completion status {}", status);
  const CompletionStatus& known = kCompletionStatuses[status];
  return fmt::format("{} ({})", known.words, known.name);
}

fabric::Status completion_status(std::uint64_t status) {
  return status < kCompletionStatuses.size() ? kCompletionStatuses[status].status
                                             : fabric::Status::kLocalOperation;
}

}  // namespace rpcrdma::kernel
