// How long a test of the window waits for what it expects.
#pragma once

namespace rpcrdma::gui {

inline constexpr int kBound = 20'000;  // ms

}  // namespace rpcrdma::gui
