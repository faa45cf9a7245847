// The chunks of a connection: how large they were, and how many bytes went through them over time.
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
  // By list: Read, Write, Reply; by the power of two that the length is below.
  std::array<std::array<quint64, 33>, 3> sizes{};
  struct Bin {
    double seconds = 0;  // since the start; its middle
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
