// The table of messages. It reads and paints only the rows that are visible, so that ten million
// scroll as fast as ten.
#pragma once

#include "columns.h"
#include "document.h"
#include "marks.h"

#include <QAbstractScrollArea>
#include <QHeaderView>
#include <QStandardItemModel>

namespace rpcrdma::gui {

class MessageTable : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit MessageTable(Document& document, QWidget* parent = nullptr);

  // Colours rows by their kind; rows with findings are marked in any case.
  void set_coloured(bool on);
  // Scrolls to the end as messages arrive, until the user scrolls up.
  void set_following(bool on);
  [[nodiscard]] bool is_following() const { return following_; }

  [[nodiscard]] QHeaderView& header() { return *header_; }
  [[nodiscard]] bool is_shown(Column column) const;
  void show_column(Column column, bool on);

  // First and last visible row.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> visible() const;
  [[nodiscard]] std::optional<std::uint64_t> current() const { return current_; }
  void go_to(std::uint64_t row, bool extend = false);
  // First and last selected row.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> selection() const;
  // Signs of marks, comments and the time reference are painted from here on. `marks` outlives
  // this.
  void set_marks(const Marks& marks);
  // The column of the latest click.
  [[nodiscard]] Column column() const { return column_; }
  // The columns of a row that are shown, with tabs between.
  [[nodiscard]] QString row_text(std::uint64_t row) const;
  // Returns the current text of a cell.
  [[nodiscard]] QString text(std::uint64_t row, Column column) const;
  [[nodiscard]] std::uint64_t row_count() const { return document_.row_count(); }
  // Where a row is painted, in the viewport; a row far out of sight is above or below it.
  [[nodiscard]] QRect rect_of(std::uint64_t row) const;
  [[nodiscard]] std::optional<std::uint64_t> row_at(int y) const;

  enum class CopyAs : std::uint8_t { kText, kCsv, kJson };
  // Returns the selected rows, with the visible columns; at most a million rows.
  [[nodiscard]] QString copy(CopyAs as) const;

 Q_SIGNALS:
  void scrolled();  // visible() changed
  void following_changed(bool on);
  void opened(quint64 message);            // Enter or a double click
  void menu_wanted(const QPoint& global);  // for the current row, and column()

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
  [[nodiscard]] std::optional<Column> column_at(int x) const;
  void paint_signs(QPainter& painter, const QRect& line, quint64 message,
                   const QColor& colour) const;
  void layout();
  // Gives Info the width that is left.
  void stretch_info(int width);
  void draw_pair(QPainter& painter) const;
  void make_visible(std::uint64_t row);
  void selected_elsewhere(quint64 id);
  void header_menu(const QPoint& at);

  Document& document_;
  QHeaderView* header_;
  QStandardItemModel titles_;
  const Marks* marks_ = nullptr;
  Column column_ = Column::kXid;
  bool coloured_ = true;
  bool following_ = false;
  std::optional<std::uint64_t> current_;
  std::uint64_t current_message_ = 0;
  std::uint64_t anchor_ = 0;
  bool going_ = false;  // the table itself made the selection
};

}  // namespace rpcrdma::gui
