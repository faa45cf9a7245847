#include "appearance.h"

#include "app_style.h"
#include "focus_ring.h"

#include <QActionGroup>
#include <QApplication>
#include <QHeaderView>
#include <QMainWindow>
#include <QMenu>
#include <QTableView>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>

#include <rpcrdma/views/palettes.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kLeastZoom = -4, kMostZoom = 10;
constexpr std::array<const char*, 3> kThemeNames{"system", "light", "dark"};  // in the settings

ThemeChoice theme_named(const QString& name) {
  for (std::size_t i = 0; i < kThemeNames.size(); ++i) {
    if (name == QLatin1String(kThemeNames[i])) return static_cast<ThemeChoice>(i);
  }
  return ThemeChoice::kSystem;
}

QPalette palette_of(ThemeChoice theme) {
  if (theme == ThemeChoice::kLight) return light_palette();
  if (theme == ThemeChoice::kDark) return dark_palette();
  return {};
}

void use_palette(ThemeChoice theme) {
  QPalette palette = palette_of(theme);
  QApplication::setPalette(palette);
  if (theme == ThemeChoice::kSystem) {
    // Only this role: placeholders of some dark desktops are nearly black.
    palette.setColor(QPalette::PlaceholderText, secondary_text(QApplication::palette()));
    QApplication::setPalette(palette);
  }
  QToolTip::setPalette(QApplication::palette());
}

void add_themes(QMenu& view, Appearance& appearance) {
  QMenu* const menu = view.addMenu(Appearance::tr("&Theme"));
  auto* const group = new QActionGroup(menu);
  const std::pair<QString, ThemeChoice> choices[] = {
      {Appearance::tr("As the &system"), ThemeChoice::kSystem},
      {Appearance::tr("&Light"), ThemeChoice::kLight},
      {Appearance::tr("&Dark"), ThemeChoice::kDark},
  };
  for (const auto& [title, theme] : choices) {
    QAction* const action = menu->addAction(title);
    action->setCheckable(true);
    action->setActionGroup(group);
    action->setChecked(theme == appearance.theme());
    QObject::connect(action, &QAction::triggered, &appearance,
                     [&appearance, t = theme] { appearance.set_theme(t); });
  }
}

void add_zoom(QMenu& view, Appearance& appearance) {
  const auto add = [&](const QString& title, const QList<QKeySequence>& keys, auto&& act) {
    QAction* const action = view.addAction(title);
    action->setShortcuts(keys);
    QObject::connect(action, &QAction::triggered, &appearance, act);
  };
  add(Appearance::tr("&Larger text"), {QKeySequence("Ctrl++"), QKeySequence("Ctrl+=")},
      [&appearance] { appearance.set_zoom(appearance.zoom() + 1); });
  add(Appearance::tr("S&maller text"), {QKeySequence("Ctrl+-")},
      [&appearance] { appearance.set_zoom(appearance.zoom() - 1); });
  add(Appearance::tr("&Normal text"), {QKeySequence("Ctrl+0")},
      [&appearance] { appearance.set_zoom(0); });
}

}  // namespace

Appearance::Appearance(QMainWindow& window, QSettings& settings)
    : QObject(&window), settings_(settings), before_(QApplication::font()) {
  if (qobject_cast<AppStyle*>(QApplication::style()) == nullptr) {
    QApplication::setStyle(new AppStyle);
  }
  theme_ = theme_named(settings_.value("theme").toString());
  if (theme_ != ThemeChoice::kSystem) use_palette(theme_);
  zoom_ = std::clamp(settings_.value("zoom").toInt(), kLeastZoom, kMostZoom);
  if (zoom_ != 0) apply_font(zoom_);
  new FocusRing(&window);
}

Appearance::~Appearance() {
  if (theme_ != ThemeChoice::kSystem) use_palette(ThemeChoice::kSystem);
  if (zoom_ != 0) QApplication::setFont(before_);
}

void Appearance::set_theme(ThemeChoice theme) {
  theme_ = theme;
  settings_.setValue("theme", kThemeNames[static_cast<std::size_t>(theme)]);
  use_palette(theme);
}

void Appearance::set_zoom(int steps) {
  steps = std::clamp(steps, kLeastZoom, kMostZoom);
  if (steps == zoom_) return;
  settings_.setValue("zoom", steps);
  apply_font(steps);
  zoom_ = steps;
}

// Rows and columns have sizes of their own, which follow the text.
void Appearance::apply_font(int steps) {
  const int before = QFontMetrics(QApplication::font()).height();
  QFont font = before_;
  const double factor = std::pow(1.1, steps);
  if (font.pointSizeF() > 0) {
    font.setPointSizeF(font.pointSizeF() * factor);
  } else {
    font.setPixelSize(std::max(1, static_cast<int>(font.pixelSize() * factor)));
  }
  QApplication::setFont(font);
  const double grown = static_cast<double>(QFontMetrics(font).height()) / std::max(1, before);
  for (QWidget* const widget : QApplication::allWidgets()) {
    if (auto* const table = qobject_cast<QTableView*>(widget)) fit_rows(*table, QFontMetrics(font));
    auto* const header = qobject_cast<QHeaderView*>(widget);
    if (header == nullptr || header->orientation() != Qt::Horizontal) continue;
    for (int i = 0; i < header->count(); ++i) {
      if (header->isSectionHidden(i) || header->sectionResizeMode(i) != QHeaderView::Interactive) {
        continue;
      }
      header->resizeSection(i, static_cast<int>(std::lround(header->sectionSize(i) * grown)));
    }
  }
}

void add_appearance(QMenu& view, QMainWindow& window, QSettings& settings) {
  auto* const appearance = new Appearance(window, settings);
  add_themes(view, *appearance);
  add_zoom(view, *appearance);
}

}  // namespace rpcrdma::gui
