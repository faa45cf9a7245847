// The look that the user chooses: theme and size of text. Both are kept in the settings.
#pragma once

#include <QFont>
#include <QObject>
#include <QPalette>
#include <QSettings>

class QMainWindow;
class QMenu;

namespace rpcrdma::gui {

enum class ThemeChoice : std::uint8_t { kSystem, kLight, kDark };

// Belongs to its window; when it ends, the application looks as before.
class Appearance : public QObject {
  Q_OBJECT

 public:
  Appearance(QMainWindow& window, QSettings& settings);
  ~Appearance() override;

  void set_theme(ThemeChoice theme);
  [[nodiscard]] ThemeChoice theme() const { return theme_; }
  // In steps of a tenth; 0 is the desktop's size.
  void set_zoom(int steps);
  [[nodiscard]] int zoom() const { return zoom_; }

 private:
  void apply_font(int steps);

  QSettings& settings_;
  QFont before_;
  ThemeChoice theme_ = ThemeChoice::kSystem;
  int zoom_ = 0;
};

// Adds the theme, the size of text and their keys to the View menu, and applies what is kept.
void add_appearance(QMenu& view, QMainWindow& window, QSettings& settings);

}  // namespace rpcrdma::gui
