// Counters of RDMA devices over time: packets out of sequence, RNR NAKs, timeouts, congestion.
#pragma once

#include <QWidget>
#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/views/time_axis.h>

QT_BEGIN_NAMESPACE
class QChartView;
class QLabel;
QT_END_NAMESPACE

namespace rpcrdma::gui {

struct DeviceCounters {
  struct Counter {
    QString name;
  };
  struct Sample {
    std::int64_t from_ns = 0, to_ns = 0;
    // By counter: events in this time; nothing: the devices do not count it.
    std::vector<std::optional<std::uint64_t>> events;
  };
  QString devices;  // "mlx5_0 port 1, mlx5_1 port 1"
  QString problem;  // why there is nothing to show; empty: there is
  std::vector<Counter> counters;
  std::vector<Sample> samples;          // in order of time
  std::int64_t from_ns = 0, to_ns = 0;  // the time shown; both 0: that of the samples
};

class DeviceCountersView : public QWidget {
  Q_OBJECT

 public:
  explicit DeviceCountersView(QWidget* parent = nullptr);
  void set_counters(DeviceCounters counters);
  void set_notation(TimeNotation notation);
  // Names of the lines that are drawn: those that are not zero throughout.
  [[nodiscard]] QStringList lines() const;
  // The sums of the time shown, or the problem.
  [[nodiscard]] QString totals() const;

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void draw();

  DeviceCounters shown_;
  TimeNotation notation_;
  QLabel* totals_;
  QChartView* chart_;
};

}  // namespace rpcrdma::gui
