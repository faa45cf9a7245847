// Escapes text of unknown origin (names of files and endpoints, filters, strings sent by peers) for
// Qt's widgets. Labels, tooltips and charts guess whether a text is HTML; in menus, "&" and tabs
// have a meaning. HTML in a capture could load local files and forge what a view shows.
#pragma once

#include <QString>

namespace rpcrdma::gui {

// Returns the text in one line: control characters, line ends and bidirectional controls become
// U+FFFD.
[[nodiscard]] QString one_line(const QString& text);

// For QWidget::setToolTip(), Qt::ToolTipRole and QToolTip: returns HTML that shows `text` verbatim,
// with its line ends. An empty text stays empty.
[[nodiscard]] QString tool_tip(const QString& text);

// For titles, series names and labels of Qt Charts, which are always HTML.
[[nodiscard]] QString chart_text(const QString& text);

// For a menu entry: returns one line without a mnemonic.
[[nodiscard]] QString menu_text(const QString& text);

}  // namespace rpcrdma::gui
