// Colours of charts and diagrams, for light and dark windows.
#pragma once

#include <QColor>
#include <QPalette>
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
[[nodiscard]] QColor ink(const QPalette& palette, Ink what);
// 0 error, 1 warning, 2 note: rules::Severity.
[[nodiscard]] QColor severity_colour(const QPalette& palette, int severity);
// Mixes `part` of `colour` into the palette's base: 0 is the base, 1 the colour.
[[nodiscard]] QColor tint(const QPalette& palette, const QColor& colour, double part);
// For axes, life lines and frames: QPalette::Mid is nearly black in a dark window.
[[nodiscard]] QColor line_colour(const QPalette& palette);

}  // namespace rpcrdma::gui
