// What a widget shows, as a file.
#pragma once

#include <QString>
#include <QWidget>

namespace rpcrdma::gui {

// At twice the size of the screen. Empty: done; else why it was not.
[[nodiscard]] QString save_png(QWidget& widget, const QString& path);
// As lines and text, not as dots.
[[nodiscard]] QString save_svg(QWidget& widget, const QString& path);

}  // namespace rpcrdma::gui
