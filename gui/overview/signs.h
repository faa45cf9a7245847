// Signs of severity: a shape and a colour, so that neither alone carries the meaning.
#pragma once

#include "overview_model.h"

#include <QIcon>
#include <QPainter>
#include <QPalette>

namespace rpcrdma::gui {

// Octagon with a cross, triangle with "!", circle with "i", disc with a check mark, circle with
// "?".
void paint_sign(QPainter& painter, const QRectF& area, const QPalette& palette, Sign sign);
[[nodiscard]] QColor sign_colour(const QPalette& palette, Sign sign);
[[nodiscard]] QIcon sign_icon(const QPalette& palette, Sign sign, int size = 16);
// "error", "warning", "note"; for a screen reader.
[[nodiscard]] QString sign_name(Sign sign);

}  // namespace rpcrdma::gui
