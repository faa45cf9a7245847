// The Calls among the rows that the document shows, by time or by latency. Another thread goes
// through the rows, a piece at a time, so that millions of them stop no view.
#pragma once

#include "document.h"
#include "sorted_ids.h"
#include "worker.h"

#include <QObject>
#include <QTimer>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rpcrdma::gui {

class CallList : public QObject {
  Q_OBJECT

 public:
  enum class Order : std::uint8_t { kOldestFirst, kNewestFirst, kSlowestFirst, kFastestFirst };

  explicit CallList(Document& document, QObject* parent = nullptr);
  ~CallList() override;

  // An inactive list does nothing: its view is hidden.
  void set_active(bool active);
  void set_order(Order order);
  [[nodiscard]] Order order() const { return order_; }

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::uint64_t at(std::size_t place) const;  // ID of the Call
  [[nodiscard]] std::optional<std::size_t> place_of(std::uint64_t call) const;
  // All rows were gone through, and the order is that of their current latencies.
  [[nodiscard]] bool is_complete() const;

 Q_SIGNALS:
  // `count` Calls come in at `place`, before and after it happens.
  void growing(qsizetype place, qsizetype count);
  void grown();
  // The whole list is replaced, before and after it happens.
  void replacing();
  void replaced();

 private:
  // Slowest first; Calls without a Reply come last.
  struct Ranked {
    std::int64_t latency_ns = -1;
    std::uint64_t call = 0;
    friend bool operator<(const Ranked& a, const Ranked& b) {
      return a.latency_ns != b.latency_ns ? a.latency_ns > b.latency_ns : a.call < b.call;
    }
  };
  // How far the rows were the same when they were gone through.
  struct Checkpoint {
    std::uint64_t rows = 0, last = 0;  // number of rows, and the message in the last of them
  };

  [[nodiscard]] bool by_latency() const {
    return order_ == Order::kSlowestFirst || order_ == Order::kFastestFirst;
  }
  [[nodiscard]] bool reversed() const {
    return order_ == Order::kNewestFirst || order_ == Order::kFastestFirst;
  }
  void restart();
  void advance();
  void take(const std::vector<std::uint64_t>& calls, const Checkpoint& reached);
  void rank();
  // Drops what was found in rows that have changed.
  void check();

  Document& document_;
  bool active_ = false;
  bool stale_ = true;  // to begin again when it becomes active
  Order order_ = Order::kOldestFirst;
  SortedIds calls_;
  std::vector<Ranked> ranked_;  // as of the latest sorting
  std::vector<Checkpoint> checkpoints_;
  QString filter_;  // for which the rows were gone through
  std::optional<TimeRange::Span> range_;
  std::uint64_t first_ = 0;     // the message in the first row
  std::uint64_t run_ = 0;       // results of earlier runs are dropped
  std::uint64_t rank_run_ = 0;  // the same for sorting
  bool busy_ = false;           // the worker goes through rows
  bool ranking_ = false;        // or sorts
  bool rank_again_ = false;     // the ranks are older than the list, or than latencies
  QTimer rank_timer_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace rpcrdma::gui
