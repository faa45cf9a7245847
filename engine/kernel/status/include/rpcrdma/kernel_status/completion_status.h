// Completion statuses of Linux (ib_wc_status), by number: BPF programs and tracepoints report them.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/fabric/work.h>

namespace rpcrdma::kernel {

// "remote access error (IB_WC_REM_ACCESS_ERR)"; "completion status N" if it is unknown.
[[nodiscard]] std::string completion_status_name(std::uint64_t status);
// Returns the nearest status of a fabric.
[[nodiscard]] fabric::Status completion_status(std::uint64_t status);

inline constexpr std::uint64_t kFlushed = 5;  // IB_WC_WR_FLUSH_ERR

}  // namespace rpcrdma::kernel
