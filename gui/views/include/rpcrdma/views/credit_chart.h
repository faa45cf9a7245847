// Credits over time: requested, granted, limit, in use and waiting, for both directions on one time
// axis. The user selects a range of time in it, which is that of all views: the chart only asks for
// one, and shows the one that it is given.
#pragma once

#include <QWidget>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/views/time_axis.h>

namespace rpcrdma::gui {

struct CreditColumn {
  std::int64_t from_ns = 0, to_ns = 0;
  bool any = false;
  std::uint32_t requested_max = 0;
  std::uint32_t granted_min = 0, granted_max = 0;
  std::uint32_t in_use_min = 0, in_use_max = 0;
  std::uint32_t waiting_max = 0;
  std::uint32_t limit_min = 0, limit_max = 0;  // Calls that may be in flight; 0: not known
  bool exhausted = false;                      // at some moment no further Call could be sent
};

// The chart's data source.
class CreditSource {
 public:
  virtual ~CreditSource() = default;
  // Returns the first and last moment; nothing without data.
  [[nodiscard]] virtual std::optional<std::pair<std::int64_t, std::int64_t>> range() const = 0;
  // Direction 0 is forward, 1 reverse. Returns nothing if the direction has no data.
  [[nodiscard]] virtual std::vector<CreditColumn> columns(int direction, std::int64_t from_ns,
                                                          std::int64_t to_ns, int count) const = 0;
  // Returns the latest message at a moment; 0: none.
  [[nodiscard]] virtual quint64 message_at(int direction, std::int64_t ns) const = 0;
};

class CreditChart : public QWidget {
  Q_OBJECT

 public:
  explicit CreditChart(QWidget* parent = nullptr);
  ~CreditChart() override;

  // Null: nothing to show. The caller owns the source and must keep it until it is replaced.
  void set_source(const CreditSource* source);
  // Reads the source again.
  void refresh();
  void set_notation(TimeNotation notation);

  using Window = std::pair<std::int64_t, std::int64_t>;
  [[nodiscard]] Window window() const { return {from_, to_}; }
  // Nothing: the whole range of the source, also while it grows.
  void set_window(std::optional<Window> window);
  // Returns what was drawn last.
  [[nodiscard]] const std::vector<CreditColumn>& drawn(int direction) const {
    return columns_[static_cast<std::size_t>(direction)];
  }
  // Returns the line of values under the cursor.
  [[nodiscard]] QString values_at(std::int64_t ns) const;
  void set_selected(std::optional<std::int64_t> ns);  // the selected message's time

  [[nodiscard]] std::vector<TimeTick> time_labels() const;

 Q_SIGNALS:
  void message_selected(quint64 id);
  // The user wants to see another range, or all, or the one before.
  void window_wanted(qint64 from_ns, qint64 to_ns);
  void all_wanted();
  void undo_wanted();
  void redo_wanted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void leaveEvent(QEvent* event) override;
  [[nodiscard]] QSize sizeHint() const override { return {700, 260}; }

 private:
  // Where values are drawn. If the grant is far above what is in use, the axis has two scales: the
  // band at the upper edge covers the values from `low_top` to `top`.
  struct Pane {
    QRect area;
    double low_top = 1, top = 1;
    int band = 0;  // height of the band; 0: one scale
    [[nodiscard]] int y_of(double value) const;
  };
  void ask();
  void go(std::int64_t from, std::int64_t to);
  void want(std::int64_t from, std::int64_t to);
  void zoom(double factor, double around);
  void pan(double part);
  [[nodiscard]] TimeScale scale() const;
  [[nodiscard]] QRect plot() const;
  void draw_pane(QPainter& painter, int direction, const Pane& pane) const;
  void draw_scale(QPainter& painter, int direction, const Pane& pane) const;
  void draw_legend(QPainter& painter, int direction, const Pane& pane) const;
  void draw_axis(QPainter& painter) const;
  void draw_values(QPainter& painter) const;  // those under the cursor
  [[nodiscard]] std::array<Pane, 2> panes() const;

  const CreditSource* source_ = nullptr;
  std::int64_t first_ = 0, last_ = 0;  // range of the source
  std::int64_t from_ = 0, to_ = 0;     // range shown
  std::optional<Window> window_;       // the one that was set
  TimeNotation notation_;
  std::array<std::vector<CreditColumn>, 2> columns_;
  std::optional<int> cursor_;  // x
  std::optional<int> pressed_;
  bool panning_ = false;
  std::int64_t pan_from_ = 0, pan_to_ = 0;
  std::optional<std::int64_t> selected_;
};

}  // namespace rpcrdma::gui
