// Latency of Calls by procedure: percentiles, a histogram, the parts of the latency, and the
// slowest Calls.
#pragma once

#include <QTableWidget>
#include <QWidget>
#include <cstdint>
#include <vector>

QT_BEGIN_NAMESPACE
class QChartView;
QT_END_NAMESPACE

namespace rpcrdma::gui {

struct LatencyProcedure {
  struct Bucket {
    std::int64_t from_ns = 0, to_ns = 0;
    quint64 count = 0;
  };
  struct Part {
    QString name;
    std::int64_t mean_ns = 0, p99_ns = 0;
  };
  struct Outlier {
    quint64 message = 0, frame = 0;
    std::int64_t latency_ns = 0, at_ns = 0;
  };
  QString label;
  quint64 calls = 0, errors = 0;
  std::int64_t p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
  std::vector<Bucket> buckets;
  std::vector<Part> parts;
  std::vector<Outlier> outliers;
};

class LatencyView : public QWidget {
  Q_OBJECT

 public:
  explicit LatencyView(QWidget* parent = nullptr);
  void set_procedures(std::vector<LatencyProcedure> procedures);
  [[nodiscard]] QTableWidget& table() { return *table_; }
  [[nodiscard]] QTableWidget& outliers() { return *outliers_; }

 Q_SIGNALS:
  void message_selected(quint64 id);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void show_current();

  std::vector<LatencyProcedure> procedures_;
  QTableWidget* table_;
  QTableWidget* outliers_;
  QChartView* histogram_;
  QChartView* parts_;
};

}  // namespace rpcrdma::gui
