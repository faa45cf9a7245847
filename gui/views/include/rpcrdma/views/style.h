// Sizes and fonts that all views share, so that the window has one rhythm. All fonts derive from
// the font given, which follows the user's zoom.
#pragma once

#include <QFont>
#include <QFontMetrics>

namespace rpcrdma::gui {

inline constexpr int kMargin = 12;  // inside a page or a card, pixels
inline constexpr int kGap = 8;      // between cards and between widgets

// Of titles of cards and pages.
[[nodiscard]] QFont title_font(const QFont& text);
// Of the one sentence that a page begins with.
[[nodiscard]] QFont headline_font(const QFont& text);
// Of columns of decimal numbers: each digit is as wide as another.
[[nodiscard]] QFont number_font(const QFont& text);
// Of hexadecimal digits, addresses and bytes.
[[nodiscard]] QFont fixed_font(const QFont& text);
// The height of a row of a table or a list.
[[nodiscard]] int row_height_of(const QFontMetrics& metrics);

}  // namespace rpcrdma::gui
