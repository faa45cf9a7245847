// The whole document over time, always in sight; a brush selects the range that all views show.
#pragma once

#include "document.h"
#include "strip_data.h"

#include <QTimer>
#include <QWidget>

#include <rpcrdma/views/time_axis.h>

QT_BEGIN_NAMESPACE
class QLabel;
class QToolButton;
QT_END_NAMESPACE

namespace rpcrdma::gui {

class TimeStrip : public QWidget {
  Q_OBJECT

 public:
  explicit TimeStrip(Document& document, QWidget* parent = nullptr);

  [[nodiscard]] const StripData& data() const { return data_; }
  // "12.3 ms of 1.82 s", or only the length of the document.
  [[nodiscard]] QString range_text() const;
  // The values at a moment, a line each.
  [[nodiscard]] QString values_at(std::int64_t ns) const;
  // Where moments are, in this widget's pixels.
  [[nodiscard]] TimeScale scale() const;

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 private:
  using Span = TimeRange::Span;
  enum class Grip : std::uint8_t { kNone, kNew, kFrom, kTo, kMiddle };

  void refresh();
  void show_range();
  [[nodiscard]] QRect area() const;  // of the curves
  [[nodiscard]] QRect legend() const;
  [[nodiscard]] std::optional<Span> shown_range() const;  // the chosen one, or what is dragged
  [[nodiscard]] Grip grip_at(int x) const;
  void drag_to(int x);
  void zoom(double factor, double around);
  void move(double part);
  void resize_by(double from_part, double to_part);
  [[nodiscard]] const StripData::Mark* mark_at(QPoint at) const;

  void draw_curves(QPainter& painter) const;
  void draw_marks(QPainter& painter) const;
  void draw_range(QPainter& painter) const;
  void draw_legend(QPainter& painter) const;
  [[nodiscard]] double in_flight_top() const;

  Document& document_;
  StripData data_;
  QLabel* range_label_;
  QToolButton* all_button_;
  QTimer timer_;
  Grip grip_ = Grip::kNone;
  int pressed_ = 0;  // x
  Span before_;      // the range when the drag began
  std::optional<Span> dragged_;
  std::optional<int> cursor_;  // x
};

}  // namespace rpcrdma::gui
