#include "colours.h"

namespace rpcrdma::gui {

namespace {

Ink ink_of(model::Kind kind, bool reverse) {
  switch (kind) {
    case model::Kind::kCall:
      return reverse ? Ink::kReverseCall : Ink::kCall;
    case model::Kind::kReply:
      return reverse ? Ink::kReverseReply : Ink::kReply;
    case model::Kind::kError:
    case model::Kind::kMalformed:
      return Ink::kError;
    case model::Kind::kDone:
    case model::Kind::kOption:
    case model::Kind::kControl:
      return Ink::kControl;
  }
  return Ink::kEvent;
}

}  // namespace

RowColours row_colours(const QPalette& palette, model::Kind kind, bool reverse, std::uint8_t worst,
                       bool coloured) {
  RowColours colours;
  colours.text = palette.color(QPalette::Text);
  colours.background =
      coloured ? row_tint(palette, ink_of(kind, reverse)) : palette.color(QPalette::Base);
  colours.finding = severity_colour(palette, worst);
  if (worst <= 1) colours.background = severity_tint(palette, worst);
  return colours;
}

}  // namespace rpcrdma::gui
