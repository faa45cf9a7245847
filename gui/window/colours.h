// Colours of rows, for light and dark windows.
#pragma once

#include <cstdint>

#include <rpcrdma/model/message.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

struct RowColours {
  QColor background, text, finding;
};
// `worst`: of index::MessageRow.
[[nodiscard]] RowColours row_colours(const QPalette& palette, model::Kind kind, bool reverse,
                                     std::uint8_t worst, bool coloured);

}  // namespace rpcrdma::gui
