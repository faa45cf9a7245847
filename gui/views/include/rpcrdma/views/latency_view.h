// Latency of Calls by procedure: percentiles, a histogram, the parts of the latency, and the
// slowest Calls. The procedure that lost most time comes first.
#pragma once

#include <QTableWidget>
#include <QWidget>
#include <cstdint>
#include <vector>

#include <rpcrdma/views/time_axis.h>

QT_BEGIN_NAMESPACE
class QLabel;
QT_END_NAMESPACE

namespace rpcrdma::gui {

class LatencyHistogram;
class LatencyParts;

struct LatencyProcedure {
  struct Bucket {
    std::int64_t from_ns = 0, to_ns = 0;
    quint64 count = 0;
  };
  struct Part {
    QString name;
    std::int64_t mean_ns = 0, p99_ns = 0;  // p99: -1 for too few Calls
    quint64 calls = 0;                     // that have it
    bool in_latency = true;                // false: before the Call was sent, or after its Reply
  };
  struct Outlier {
    quint64 message = 0, frame = 0;
    std::int64_t latency_ns = 0, at_ns = 0;
  };
  QString label;
  quint64 calls = 0, errors = 0;
  // -1: too few Calls for that percentile.
  std::int64_t p50 = -1, p90 = -1, p99 = -1, p999 = -1, max = -1;
  std::vector<Bucket> buckets;
  std::vector<Part> parts;
  std::vector<Outlier> outliers;  // the slowest first

  // What Calls took longer than `typical_ns`, together.
  [[nodiscard]] std::int64_t lost_ns(std::int64_t typical_ns) const;
};

class LatencyView : public QWidget {
  Q_OBJECT

 public:
  explicit LatencyView(QWidget* parent = nullptr);
  void set_procedures(std::vector<LatencyProcedure> procedures);
  // What the numbers are, and what they cover.
  void set_caption(const QString& text);
  // Says why there are no parts, or of which Calls they are.
  void set_parts_note(const QString& text);
  void set_notation(TimeNotation notation);
  [[nodiscard]] QString caption() const;
  [[nodiscard]] QTableWidget& table() { return *table_; }
  [[nodiscard]] QTableWidget& outliers() { return *outliers_; }
  [[nodiscard]] const LatencyHistogram& histogram() const { return *histogram_; }
  [[nodiscard]] const LatencyParts& parts() const { return *parts_; }
  // The chosen one; null: none.
  [[nodiscard]] const LatencyProcedure* current() const;

 Q_SIGNALS:
  void message_selected(quint64 id);

 private:
  [[nodiscard]] const LatencyProcedure* at(int row) const;
  void show_current();
  [[nodiscard]] std::int64_t median_of_all() const;

  std::vector<LatencyProcedure> procedures_;
  TimeNotation notation_;
  QString chosen_;        // the procedure that the user chose; empty: the worst one
  bool filling_ = false;  // the view itself changes the current row
  QLabel* caption_;
  QTableWidget* table_;
  QTableWidget* outliers_;
  LatencyHistogram* histogram_;
  LatencyParts* parts_;
};

}  // namespace rpcrdma::gui
