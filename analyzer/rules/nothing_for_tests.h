// A model and a tracker without input, for tests of classes that need both.
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
