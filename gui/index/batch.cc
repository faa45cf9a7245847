#include "batch.h"

namespace rpcrdma::index {

void Batch::clear() {
  rows.clear();
  patches.clear();
  details.clear();
  credits.clear();
  violations.clear();
  ended.clear();
  parts.clear();
  moved.clear();
  offered.clear();
  signals.clear();
  paused.clear();
  samples.clear();
  notable.clear();
  marks.clear();
  procedures.clear();
  outcomes.clear();
  files.clear();
  set_up.clear();
  merged.clear();
  touched.clear();
  evicted.clear();
}

}  // namespace rpcrdma::index
