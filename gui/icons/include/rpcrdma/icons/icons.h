// The program's own icons. They take the colour of the palette's text, so they fit light and dark
// windows, also when the theme changes.
#pragma once

#include <QColor>
#include <QIcon>
#include <QString>

namespace rpcrdma::gui {

// `name`: a file of gui/icons/svg without its suffix. Without a `colour`, the palette's.
[[nodiscard]] QIcon icon(const QString& name, const QColor& colour = {});

}  // namespace rpcrdma::gui
