// How many Calls took how long: bars over a logarithmic axis of durations.
#pragma once

#include <QWidget>

#include <rpcrdma/views/latency_view.h>

namespace rpcrdma::gui {

class LatencyHistogram : public QWidget {
  Q_OBJECT

 public:
  explicit LatencyHistogram(QWidget* parent = nullptr);
  void set_procedure(const LatencyProcedure& procedure);

  struct Bar {
    double from_ns = 0, to_ns = 0;
    double count = 0;  // buckets wider than a bar are shared out
  };
  // As wide as a few pixels, and never finer than the buckets.
  [[nodiscard]] const std::vector<Bar>& bars() const { return bars_; }
  // "10 us", "100 us", ...
  [[nodiscard]] QStringList axis_labels() const;
  // Axes of the chart: numbers of Calls.
  [[nodiscard]] std::vector<quint64> count_labels() const;

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  [[nodiscard]] QSize sizeHint() const override { return {480, 220}; }

 private:
  struct Tick {
    double ns = 0;
    QString text;
  };
  [[nodiscard]] QRect plot() const;
  [[nodiscard]] double x_of(double ns) const;
  [[nodiscard]] std::vector<Tick> ticks() const;
  void rebin();
  void draw_lines(QPainter& painter) const;

  LatencyProcedure shown_;
  std::vector<Bar> bars_;
  double least_ns_ = 1, most_ns_ = 10;  // of the axis
  double highest_ = 1;                  // count of the highest bar
};

}  // namespace rpcrdma::gui
