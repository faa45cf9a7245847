// A row of chips, each a part of the display filter that can be switched on and off, and the saved
// filters as buttons. What does not fit goes into a menu at its end.
#pragma once

#include "document.h"
#include "saved_filters.h"

#include <QToolBar>
#include <array>

namespace rpcrdma::gui {

class FilterBar : public QToolBar {
  Q_OBJECT

 public:
  enum class Chip : std::uint8_t { kErrors, kSlow, kFindings, kNfs, kConnection, kCall };
  static constexpr std::size_t kChips = 6;

  // Both outlive this.
  FilterBar(Document& document, SavedFilters& saved, QWidget* parent = nullptr);

  [[nodiscard]] QAction& chip(Chip chip) const { return *chips_[static_cast<std::size_t>(chip)]; }
  // The range of time, with a click for all of it; hidden while all is shown.
  [[nodiscard]] QAction& range() const { return *range_; }
  [[nodiscard]] const std::vector<QAction*>& saved() const { return saved_actions_; }
  // Calls slower than this are slow; 0: than the 99th percentile of the document's Calls.
  void set_slow_limit(std::int64_t ns);

 Q_SIGNALS:
  void filter_wanted(const QString& text);
  void save_wanted();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void toggled(Chip chip, bool on);
  // The part of the filter that a chip switches on; empty: nothing is selected for it.
  [[nodiscard]] QString part(Chip chip) const;
  [[nodiscard]] std::int64_t slow_limit() const;
  void update_chips();
  void update_range();
  void update_saved();
  void saved_menu(const QString& name, const QPoint& at);
  void style();
  [[nodiscard]] QAction* add_chip(const QString& text, const QString& help);

  Document& document_;
  SavedFilters& saved_;
  std::array<QAction*, kChips> chips_{};
  QAction* range_;
  QAction* before_saved_;
  std::vector<QAction*> saved_actions_;
  std::int64_t slow_ns_ = 0;  // as in set_slow_limit()
};

}  // namespace rpcrdma::gui
