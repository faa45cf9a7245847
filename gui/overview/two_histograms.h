// The latencies of one procedure before and after, over a logarithmic time axis, each as a share
// of its Calls.
#pragma once

#include <QString>
#include <QWidget>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::gui {

class TwoHistograms : public QWidget {
  Q_OBJECT

 public:
  explicit TwoHistograms(QWidget* parent = nullptr);
  // Null: there are no Calls on that side.
  void set(const QString& procedure, const base::Histogram* before, const base::Histogram* after);

  // Shares of all Calls by tenth of a decade of nanoseconds; bins()[side][n] covers the times from
  // 10^((first_bin() + n) / 10) ns.
  [[nodiscard]] const std::array<std::vector<double>, 2>& bins() const { return bins_; }
  [[nodiscard]] int first_bin() const { return first_; }

  [[nodiscard]] QSize sizeHint() const override { return {400, 200}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {200, 140}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString procedure_;
  std::array<std::vector<double>, 2> bins_;
  std::array<std::uint64_t, 2> calls_{};
  std::array<std::optional<std::int64_t>, 2> p50_;
  int first_ = 0;
};

}  // namespace rpcrdma::gui
