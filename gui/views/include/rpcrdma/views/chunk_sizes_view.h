// The chunks of a connection: their sizes, and the bytes moved through them over time.
#pragma once

#include <QWidget>
#include <array>
#include <cstdint>
#include <vector>

QT_BEGIN_NAMESPACE
class QChartView;
QT_END_NAMESPACE

namespace rpcrdma::gui {

struct ChunkSizes {
  // By list: Read, Write, Reply; then by the power of two that exceeds the length.
  std::array<std::array<quint64, 33>, 3> sizes{};
  struct Bin {
    double seconds = 0;  // since the start, at the middle of the interval
    std::array<double, 3> bytes_per_second{};
  };
  std::vector<Bin> rates;
};

class ChunkSizesView : public QWidget {
  Q_OBJECT

 public:
  explicit ChunkSizesView(QWidget* parent = nullptr);
  void set_sizes(const ChunkSizes& sizes);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void draw();

  ChunkSizes shown_;
  QChartView* sizes_;
  QChartView* rates_;
};

}  // namespace rpcrdma::gui
