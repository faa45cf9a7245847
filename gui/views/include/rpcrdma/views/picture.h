// Saves a widget as a picture file.
#pragma once

#include <QString>
#include <QWidget>

namespace rpcrdma::gui {

// Saves at twice the screen's resolution. Returns an empty text, or why it failed.
[[nodiscard]] QString save_png(QWidget& widget, const QString& path);
// Saves lines and text as vectors.
[[nodiscard]] QString save_svg(QWidget& widget, const QString& path);

}  // namespace rpcrdma::gui
