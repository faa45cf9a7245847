// Colours of charts and diagrams, for light and dark windows, and the second sign that goes with
// each: a dash pattern for lines, a shape for severities. The hues are those of Okabe and Ito, made
// darker or lighter until they have enough contrast.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPainter>
#include <QPalette>
#include <QPen>
#include <cstdint>

namespace rpcrdma::gui {

[[nodiscard]] inline bool is_dark(const QPalette& palette) {
  return palette.color(QPalette::Base).lightness() < 128;
}

enum class Ink : std::uint8_t {
  kCall,
  kReply,
  kReverseCall,
  kReverseReply,
  kError,
  kControl,
  kRead,
  kWrite,
  kReplyChunk,
  kRequested,
  kGranted,
  kInUse,
  kWaiting,
  kLimit,
  kStall,
  kEvent,
};
inline constexpr int kInkCount = static_cast<int>(Ink::kEvent) + 1;
// For lines, bars and marks: at least 3:1 on the palette's backgrounds.
[[nodiscard]] QColor ink(const QPalette& palette, Ink what);
// For words: at least 4.5:1 on the palette's backgrounds and on row_tint() of the same ink.
[[nodiscard]] QColor text_ink(const QPalette& palette, Ink what);
// The dash pattern of an ink: inks that one chart draws differ in it where their hues are close.
[[nodiscard]] Qt::PenStyle dash_of(Ink what);
// A pen with an ink's colour and dash pattern. `width`: pixels.
[[nodiscard]] QPen pen_of(const QPalette& palette, Ink what, double width = 2);

// 0 error, 1 warning, 2 note: rules::Severity. For words and marks.
[[nodiscard]] QColor severity_colour(const QPalette& palette, int severity);
// "error", "warning" or "note", in the user's language.
[[nodiscard]] QString severity_name(int severity);
// An octagon for an error, a triangle for a warning, a disc with an i for a note.
[[nodiscard]] QIcon severity_icon(const QPalette& palette, int severity);
// Draws the same sign, as a square in the middle of `box`. A negative severity draws nothing.
void paint_severity(QPainter& painter, const QRectF& box, const QPalette& palette, int severity);

// Mixes `part` of `colour` into the palette's base: 0 is the base, 1 the colour.
[[nodiscard]] QColor tint(const QPalette& palette, const QColor& colour, double part);
// The background of a row that has this ink or this severity.
[[nodiscard]] QColor row_tint(const QPalette& palette, Ink what);
[[nodiscard]] QColor severity_tint(const QPalette& palette, int severity);
// For axes, life lines and frames: QPalette::Mid is nearly black in a dark window.
[[nodiscard]] QColor line_colour(const QPalette& palette);
// For text that explains: QPalette::PlaceholderText of some desktops is nearly black in the dark.
[[nodiscard]] QColor secondary_text(const QPalette& palette);

}  // namespace rpcrdma::gui
