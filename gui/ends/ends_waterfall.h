// Calls that several sources saw, one row each: their stages as bars in aligned time. Only the rows
// in sight are painted, so millions of them scroll as some do.
#pragma once

#include "ends_rows.h"

#include <QAbstractScrollArea>
#include <optional>
#include <vector>

#include <rpcrdma/views/time_axis.h>

namespace rpcrdma::gui {

class EndsWaterfall : public QAbstractScrollArea {
  Q_OBJECT

 public:
  enum class Scale : std::uint8_t {
    kCommon,  // all Calls begin at the left edge, and share one scale
    kEach,    // each Call is as wide as its row
    kClock,   // by the time of day: from the first to the last Call in sight
  };

  explicit EndsWaterfall(QWidget* parent = nullptr);

  // `rows`: from rows_of(*all). The current Call stays current if it is among them.
  void set_rows(SharedEnds all, EndsRows rows);
  void set_scale(Scale scale);
  [[nodiscard]] Scale scale() const { return scale_; }
  void set_notation(TimeNotation notation);
  // 1: the longest Call is as wide as its row; for Scale::kCommon.
  void set_zoom(double zoom);
  [[nodiscard]] double zoom() const { return zoom_; }

  [[nodiscard]] const std::vector<std::uint32_t>& rows() const { return rows_; }
  [[nodiscard]] EndsOrder order() const { return order_; }
  // The index in calls_of() of the Call that the keyboard is on; nothing: none.
  [[nodiscard]] std::optional<std::uint32_t> current() const;
  // Goes to the Call, without a signal. Returns false if no row shows it.
  bool go_to(std::uint32_t call);
  // The stage that the keyboard is on; nothing: the whole Call.
  [[nodiscard]] std::optional<std::size_t> current_stage() const { return stage_; }
  // How many rows the latest painting drew.
  [[nodiscard]] int rows_painted() const { return painted_; }
  // Of a row, and of a stage in it, in the viewport; empty: it is not in sight, or not known.
  [[nodiscard]] QRect rect_of(std::size_t row) const;
  [[nodiscard]] QRect rect_of(std::size_t row, std::size_t stage) const;
  // What the tooltip at a place says, a line each; empty: nothing is there.
  [[nodiscard]] QString text_at(const QPoint& at) const;
  [[nodiscard]] QSize sizeHint() const override;

 Q_SIGNALS:
  void call_selected(quint32 call);                  // by the user
  void stage_selected();                             // or the whole Call
  void call_activated(quint32 call);                 // Enter, or a double click
  void order_wanted(rpcrdma::gui::EndsOrder order);  // a click on a title
  void zoomed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  // Left edges of the columns; a column without room is as wide as 0.
  struct Columns {
    int begin = 0, name = 0, took = 0, bars = 0, right = 0;
  };
  // The time that the bars of a row cover.
  struct Shown {
    std::int64_t from_ns = 0;
    double length_ns = 1;
  };

  [[nodiscard]] const ends::EndsCall& call(std::size_t row) const;
  [[nodiscard]] int row_height() const;
  [[nodiscard]] int header_height() const { return row_height() + 2; }
  [[nodiscard]] int rows_in_sight() const;  // whole ones
  [[nodiscard]] Columns columns() const;
  [[nodiscard]] Shown shown_of(std::size_t row) const;
  [[nodiscard]] std::optional<std::size_t> row_at(int y) const;
  [[nodiscard]] QRect bar_of(const Columns& at, const Shown& shown, int top, std::int64_t from_ns,
                             std::int64_t took_ns) const;
  void layout();
  void measure_sight();
  void choose(std::size_t row, bool by_user);
  void choose_stage(int step);
  void say_current();
  void paint_row(QPainter& painter, const Columns& at, std::size_t row) const;
  void paint_header(QPainter& painter, const Columns& at) const;
  void paint_axis(QPainter& painter, const Columns& at) const;

  SharedEnds all_;
  std::vector<std::uint32_t> rows_;
  EndsOrder order_ = EndsOrder::kSlowestFirst;
  Scale scale_ = Scale::kCommon;
  TimeNotation notation_;
  double zoom_ = 1;
  std::int64_t longest_ns_ = 1;         // of the rows
  Shown sight_;                         // for kClock: of the rows in sight
  std::optional<std::size_t> current_;  // row
  std::optional<std::size_t> stage_;
  int painted_ = 0;
};

}  // namespace rpcrdma::gui
