// How the network signalled congestion: packets of a connection that were marked CE, CNPs, and the
// pause frames of the capture, over time.
#pragma once

#include <QWidget>
#include <array>
#include <cstdint>
#include <vector>

QT_BEGIN_NAMESPACE
class QChartView;
class QLabel;
QT_END_NAMESPACE

namespace rpcrdma::gui {

struct Congestion {
  struct Bin {
    double seconds = 0;                       // since the start, at the beginning of the interval
    std::array<quint64, 2> marked{}, cnps{};  // by end: client, server
    // Pause frames of the capture by class; the last: without classes.
    std::array<quint64, 9> paused{};
  };
  double width = 0;  // of an interval, seconds
  std::vector<Bin> bins;
  QString totals;  // a line for each end, and one for the pause frames
};

class CongestionView : public QWidget {
  Q_OBJECT

 public:
  explicit CongestionView(QWidget* parent = nullptr);
  void set_congestion(const Congestion& congestion);
  // Names of the lines that are drawn: those that are not zero throughout.
  [[nodiscard]] QStringList lines() const;
  [[nodiscard]] QString totals() const { return shown_.totals; }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void draw();

  Congestion shown_;
  QLabel* totals_;
  QChartView* chart_;
};

}  // namespace rpcrdma::gui
