// Text of unknown origin (names of files and endpoints, filters, words of peers) made safe for
// where Qt shows it. Labels, tooltips and charts guess whether a text is HTML; in menus "&" and
// tabs have a meaning. HTML that a capture brings along could load local files and forge what a
// view says.
#pragma once

#include <QString>

namespace rpcrdma::gui {

// One line: control characters, line ends and marks that turn the direction of writing become
// U+FFFD.
[[nodiscard]] QString one_line(const QString& text);

// For QWidget::setToolTip(), Qt::ToolTipRole and QToolTip: HTML that shows `text` as it is, with
// its line ends. Nothing for an empty text.
[[nodiscard]] QString tool_tip(const QString& text);

// For titles, names of series and labels of Qt Charts, which are always HTML.
[[nodiscard]] QString chart_text(const QString& text);

// For a menu's entry: one line without a mnemonic.
[[nodiscard]] QString menu_text(const QString& text);

}  // namespace rpcrdma::gui
