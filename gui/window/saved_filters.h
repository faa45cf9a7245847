// The filters that the user saved by name. They last beyond the window.
#pragma once

#include <QObject>
#include <QSettings>
#include <vector>

namespace rpcrdma::gui {

class SavedFilters : public QObject {
  Q_OBJECT

 public:
  struct Saved {
    QString name, text;
  };
  static constexpr std::size_t kMost = 40;

  // `settings` outlives this.
  explicit SavedFilters(QSettings& settings, QObject* parent = nullptr);

  [[nodiscard]] const std::vector<Saved>& all() const { return all_; }
  // Whether one of them has this text.
  [[nodiscard]] bool has(const QString& text) const;
  // Replaces the one with the same name. Returns false if there are kMost already.
  bool save(const QString& name, const QString& text);
  void rename(const QString& name, const QString& to);
  void remove(const QString& name);

 Q_SIGNALS:
  void changed();

 private:
  void store();

  QSettings& settings_;
  std::vector<Saved> all_;
};

}  // namespace rpcrdma::gui
