// What the colours of the waterfall mean.
#pragma once

#include <QWidget>
#include <vector>

namespace rpcrdma::gui {

class EndsLegend : public QWidget {
 public:
  explicit EndsLegend(QWidget* parent = nullptr);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace rpcrdma::gui
