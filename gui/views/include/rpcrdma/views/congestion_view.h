// How the network signalled congestion: packets of a connection that were marked CE, CNPs, and the
// pause frames of the capture, over time.
#pragma once

#include <QWidget>
#include <array>
#include <cstdint>
#include <vector>

#include <rpcrdma/views/time_axis.h>

QT_BEGIN_NAMESPACE
class QChartView;
class QLabel;
QT_END_NAMESPACE

namespace rpcrdma::gui {

struct Congestion {
  struct Bin {
    std::int64_t from_ns = 0, to_ns = 0;
    std::array<quint64, 2> marked{}, cnps{};  // by end: client, server
    // Pause frames of the capture by class; the last: without classes.
    std::array<quint64, 9> paused{};
  };
  std::vector<Bin> bins;
  std::int64_t from_ns = 0, to_ns = 0;  // the time shown; both 0: that of the bins
  bool part = false;                    // it is a part of the time of which `totals` speaks
  QString totals;                       // a line for each end, and one for the pause frames
};

class CongestionView : public QWidget {
  Q_OBJECT

 public:
  explicit CongestionView(QWidget* parent = nullptr);
  void set_congestion(const Congestion& congestion);
  void set_notation(TimeNotation notation);
  // Names of the lines that are drawn: those that are not zero throughout.
  [[nodiscard]] QStringList lines() const;
  [[nodiscard]] QString totals() const { return shown_.totals; }

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void draw();

  Congestion shown_;
  TimeNotation notation_;
  QLabel* totals_;
  QChartView* chart_;
};

}  // namespace rpcrdma::gui
