// Small captures that come with the program.
#pragma once

#include <QString>
#include <vector>

namespace rpcrdma::gui {

struct Sample {
  QString path;
  QString title;
  QString detail;  // what it shows
};

// Those that are installed: in share/rpcrdma-scope/samples beside the program's folder, or where
// the environment variable RPCRDMA_SAMPLES points.
[[nodiscard]] std::vector<Sample> samples();

}  // namespace rpcrdma::gui
