// Adds a report to the report of earlier captures.
#pragma once

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Adds `later` to `to` and leaves it empty. The findings that follow from totals are those of `to`
// until conclude(). Returns false if the connections have more IDs than 32 bits; both reports are
// useless then.
[[nodiscard]] bool add_later(Report& to, Report& later);

}  // namespace rpcrdma::report
