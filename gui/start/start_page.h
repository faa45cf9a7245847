// What the window shows while nothing is open: recent files, and the ways to get data.
#pragma once

#include <QSettings>
#include <QWidget>

namespace rpcrdma::gui {

class StartPage : public QWidget {
  Q_OBJECT

 public:
  // `settings` outlives the page.
  explicit StartPage(QSettings& settings, QWidget* parent = nullptr);

 Q_SIGNALS:
  void open_wanted(const QStringList& names);  // empty: ask for a file
  void attach_wanted(const QStringList& endpoints);
  void trial_wanted(const QString& preset);  // of the playground; empty: show its settings
  void capture_wanted(const QString& interface);
  void help_wanted(const QString& topic);  // "keys", "filter", "rules", "about"

 private:
  QSettings& settings_;
};

}  // namespace rpcrdma::gui
