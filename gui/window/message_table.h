// The table of messages. It paints the rows that are visible and knows of no others, so that ten
// million are as quick to scroll as ten.
#pragma once

#include "columns.h"
#include "document.h"

#include <QAbstractScrollArea>
#include <QHeaderView>
#include <QStandardItemModel>

namespace rpcrdma::gui {

class MessageTable : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit MessageTable(Document& document, QWidget* parent = nullptr);

  void set_time_format(TimeFormat format);
  [[nodiscard]] TimeFormat time_format() const { return time_; }
  // Colour rows by their kind; what was found is marked in any case.
  void set_coloured(bool on);
  // Goes with the end as messages come, until somebody scrolls up.
  void set_following(bool on);
  [[nodiscard]] bool is_following() const { return following_; }

  [[nodiscard]] QHeaderView& header() { return *header_; }
  [[nodiscard]] bool is_shown(Column column) const;
  void show_column(Column column, bool on);

  // First and last row that can be seen.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> visible() const;
  [[nodiscard]] std::optional<std::uint64_t> current() const { return current_; }
  void go_to(std::uint64_t row, bool extend = false);
  // Rows that are selected: from, to (the last one).
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> selection() const;
  // What stands in a cell now.
  [[nodiscard]] QString text(std::uint64_t row, Column column) const;

  enum class CopyAs : std::uint8_t { kText, kCsv, kJson };
  // The selected rows, with the columns that are shown; a million rows at most.
  [[nodiscard]] QString copy(CopyAs as) const;

 Q_SIGNALS:
  void scrolled();  // visible() changed
  void following_changed(bool on);
  void opened(quint64 message);  // Enter or a double click

 public Q_SLOTS:
  void rows_changed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  void changeEvent(QEvent* event) override;
  [[nodiscard]] QSize sizeHint() const override { return {900, 400}; }

 private:
  [[nodiscard]] int row_height() const;
  [[nodiscard]] std::uint64_t rows_per_page() const;
  [[nodiscard]] std::optional<std::uint64_t> row_at(int y) const;
  void layout();
  void make_visible(std::uint64_t row);
  void selected_elsewhere(quint64 id);
  void header_menu(const QPoint& at);

  Document& document_;
  QHeaderView* header_;
  QStandardItemModel titles_;
  TimeFormat time_ = TimeFormat::kRelative;
  bool coloured_ = true;
  bool following_ = false;
  std::optional<std::uint64_t> current_;
  std::uint64_t current_message_ = 0;
  std::uint64_t anchor_ = 0;
  bool going_ = false;  // it was this table that selected
};

}  // namespace rpcrdma::gui
