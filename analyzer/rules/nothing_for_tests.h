// A model and a tracker that have read nothing, for tests of what needs both.
#pragma once

#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/tracker.h>

namespace rpcrdma::rules::testing {

struct Nothing {
  model::ObserverList observers;
  model::Model model{observers, {}};
  roce::Tracker tracker{model};
};

}  // namespace rpcrdma::rules::testing
