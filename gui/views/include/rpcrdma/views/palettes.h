// The window's own light and dark palettes, for users whose desktop has none.
#pragma once

#include <QPalette>

namespace rpcrdma::gui {

[[nodiscard]] QPalette light_palette();
[[nodiscard]] QPalette dark_palette();

}  // namespace rpcrdma::gui
