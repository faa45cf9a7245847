// The chunks of a connection: their sizes, and the bytes moved through them over time.
#pragma once

#include <QWidget>
#include <array>
#include <cstdint>
#include <vector>

#include <rpcrdma/views/time_axis.h>

QT_BEGIN_NAMESPACE
class QChartView;
QT_END_NAMESPACE

namespace rpcrdma::gui {

struct ChunkSizes {
  // By list: Read, Write, Reply; then by the power of two that exceeds the length.
  std::array<std::array<quint64, 33>, 3> sizes{};
  struct Bin {
    std::int64_t from_ns = 0, to_ns = 0;
    std::array<double, 3> bytes_per_second{};
  };
  std::vector<Bin> rates;
  std::int64_t from_ns = 0, to_ns = 0;  // the time shown; both 0: that of the rates
  bool part = false;                    // it is a part of the time that `sizes` cover
};

class ChunkSizesView : public QWidget {
  Q_OBJECT

 public:
  explicit ChunkSizesView(QWidget* parent = nullptr);
  void set_sizes(const ChunkSizes& sizes);
  void set_notation(TimeNotation notation);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void draw();
  void draw_rates();

  ChunkSizes shown_;
  TimeNotation notation_;
  QChartView* sizes_;
  QChartView* rates_;
};

}  // namespace rpcrdma::gui
