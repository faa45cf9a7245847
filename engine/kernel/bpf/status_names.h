// The kernel's numbers of failures, in words and in our own numbers.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/fabric/work.h>

namespace rpcrdma::kernel {

// Of ib_wc_status: "remote access error (IB_WC_REM_ACCESS_ERR)".
[[nodiscard]] std::string completion_status_name(std::uint32_t status);
// The nearest status of ours.
[[nodiscard]] fabric::Status completion_status(std::uint32_t status);

constexpr std::uint32_t kFlushed = 5;  // IB_WC_WR_FLUSH_ERR

}  // namespace rpcrdma::kernel
