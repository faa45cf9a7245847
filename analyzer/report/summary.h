// Converts a connection of the tracker and the model to one of the report.
#pragma once

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

[[nodiscard]] Connection summarize(const roce::Connection& c, const model::ConnectionModel& m);

}  // namespace rpcrdma::report
