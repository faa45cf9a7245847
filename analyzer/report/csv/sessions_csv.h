// The table of mounts and sessions.
#pragma once

#include <functional>
#include <string_view>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

void write_sessions_csv(const Report& report, const std::function<void(std::string_view)>& write);

}  // namespace rpcrdma::report
