// A connection of the tracker and the model as the report has it.
#pragma once

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

[[nodiscard]] Connection summarize(const roce::Connection& c, const model::ConnectionModel& m);

}  // namespace rpcrdma::report
