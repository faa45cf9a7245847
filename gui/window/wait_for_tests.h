// The time limit for expectations in tests of the window.
#pragma once

namespace rpcrdma::gui {

inline constexpr int kBound = 20'000;  // ms

}  // namespace rpcrdma::gui
