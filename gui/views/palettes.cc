// Every role is set: what is not set, Qt derives from the button's colour, too dark in the dark.
#include <rpcrdma/views/palettes.h>

namespace rpcrdma::gui {

namespace {

struct Shades {
  QRgb window, base, alternate, button, text, faded, disabled, highlight, link, visited, tip;
  QRgb light, midlight, mid, dark, shadow;
};

QPalette palette_of(const Shades& s) {
  QPalette palette;
  const std::pair<QPalette::ColorRole, QRgb> roles[] = {
      {QPalette::Window, s.window},
      {QPalette::WindowText, s.text},
      {QPalette::Base, s.base},
      {QPalette::AlternateBase, s.alternate},
      {QPalette::Button, s.button},
      {QPalette::ButtonText, s.text},
      {QPalette::Text, s.text},
      {QPalette::BrightText, 0xffffff},
      {QPalette::PlaceholderText, s.faded},
      {QPalette::ToolTipBase, s.tip},
      {QPalette::ToolTipText, s.text},
      {QPalette::Highlight, s.highlight},
      {QPalette::HighlightedText, 0xffffff},
      {QPalette::Link, s.link},
      {QPalette::LinkVisited, s.visited},
      {QPalette::Light, s.light},
      {QPalette::Midlight, s.midlight},
      {QPalette::Mid, s.mid},
      {QPalette::Dark, s.dark},
      {QPalette::Shadow, s.shadow},
  };
  for (const auto& [role, colour] : roles) palette.setColor(role, QColor(colour));
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText,
                                         QPalette::ToolTipText, QPalette::HighlightedText}) {
    palette.setColor(QPalette::Disabled, role, QColor(s.disabled));
  }
  palette.setColor(QPalette::Disabled, QPalette::Highlight, QColor(s.mid));
  return palette;
}

}  // namespace

QPalette light_palette() {
  return palette_of({.window = 0xf0f2f5,
                     .base = 0xffffff,
                     .alternate = 0xf5f7fa,
                     .button = 0xf7f8fa,
                     .text = 0x1b1f24,
                     .faded = 0x696e75,
                     .disabled = 0x949aa3,
                     .highlight = 0x1969cd,
                     .link = 0x1259b3,
                     .visited = 0x7a3f8f,
                     .tip = 0xffffff,
                     .light = 0xffffff,
                     .midlight = 0xe4e7ec,
                     .mid = 0xc3c8d0,
                     .dark = 0x9aa1ab,
                     .shadow = 0x6b727c});
}

QPalette dark_palette() {
  return palette_of({.window = 0x2b2f36,
                     .base = 0x1e2126,
                     .alternate = 0x24282e,
                     .button = 0x353a42,
                     .text = 0xdee2e8,
                     .faded = 0x9aa0a9,
                     .disabled = 0x767c86,
                     .highlight = 0x2f6fc0,
                     .link = 0x5fa5ff,
                     .visited = 0xc79be0,
                     .tip = 0x353a42,
                     .light = 0x4a505a,
                     .midlight = 0x3e444d,
                     .mid = 0x555c66,
                     .dark = 0x191b1f,
                     .shadow = 0x0f1013});
}

}  // namespace rpcrdma::gui
