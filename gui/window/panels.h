// Keeps the views of credits, chunks, the ladder and latency up to date with the document.
#pragma once

#include "device_watch.h"
#include "document.h"
#include "range_latency.h"

#include <atomic>
#include <memory>
#include <unordered_set>

#include <rpcrdma/views/call_states_view.h>
#include <rpcrdma/views/chunk_sizes_view.h>
#include <rpcrdma/views/chunk_view.h>
#include <rpcrdma/views/congestion_view.h>
#include <rpcrdma/views/credit_chart.h>
#include <rpcrdma/views/device_counters_view.h>
#include <rpcrdma/views/ladder_view.h>
#include <rpcrdma/views/latency_view.h>

namespace rpcrdma::gui {

class MessageTable;
class Worker;

// Answers the chart's queries from the store. Its range is that of the document.
class StoreCredits final : public CreditSource {
 public:
  StoreCredits(const index::Store& store, const TimeRange& time, std::uint32_t connection)
      : store_(store), time_(time), connection_(connection) {}
  [[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>> range() const override;
  [[nodiscard]] std::vector<CreditColumn> columns(int direction, std::int64_t from_ns,
                                                  std::int64_t to_ns, int count) const override;
  [[nodiscard]] quint64 message_at(int direction, std::int64_t ns) const override;

 private:
  [[nodiscard]] const index::CreditLog* log(const index::Content& c, int direction) const;

  const index::Store& store_;
  const TimeRange& time_;
  std::uint32_t connection_;
};

class Panels : public QObject {
  Q_OBJECT

 public:
  Panels(Document& document, MessageTable& table, QWidget* parent);
  ~Panels() override;

  CreditChart* credits;
  ChunkView* chunks;
  ChunkSizesView* chunk_sizes;
  CongestionView* congestion;
  CallStatesView* states;
  DeviceCountersView* devices;
  LadderView* ladder;
  LatencyView* latency;

  // Called when a view becomes visible or hidden. Hidden views are not drawn.
  void set_in_sight(const QWidget* view, bool seen);

  // Returns the excerpt's data about one Call.
  [[nodiscard]] static ChunkPicture picture_of(const index::Excerpt& excerpt, std::uint64_t id);
  [[nodiscard]] static std::vector<LadderItem> ladder_of(const index::Excerpt& excerpt,
                                                         const index::Store& store,
                                                         std::uint32_t connection);
  // Of the range of time `shown`.
  [[nodiscard]] static Congestion congestion_of(const index::Content& content,
                                                std::uint32_t connection, TimeRange::Span shown);
  [[nodiscard]] static CallStatesPicture states_of(const index::Content& content,
                                                   std::uint32_t connection, TimeRange::Span shown);
  [[nodiscard]] static std::vector<LatencyProcedure> latency_of(const index::Content& content);
  [[nodiscard]] static LatencyProcedure latency_of(const index::ProcedureTimes& times);

 private:
  void reset();
  void changed();
  [[nodiscard]] bool in_sight(const QWidget* view) const { return in_sight_.contains(view); }
  void show_connection();
  void show_statistics();
  void show_latency();
  void show_range_latency(TimeRange::Span range);
  void show_range();
  void show_times();
  [[nodiscard]] QString latency_caption() const;
  void show_sizes();
  void show_congestion();
  void show_states();
  void show_devices();
  void want_ladder();

  Document& document_;
  MessageTable& table_;
  DeviceWatch* device_watch_;
  std::unique_ptr<StoreCredits> source_;
  QTimer ladder_timer_;
  QTimer latency_timer_;
  std::uint64_t calls_shown_ = UINT64_MAX;
  std::unique_ptr<Worker> latency_worker_;
  // Of the latest count, and its range while it runs.
  std::shared_ptr<std::atomic<bool>> latency_cancelled_;
  std::optional<TimeRange::Span> counting_;
  std::unordered_set<const QWidget*> in_sight_;
};

}  // namespace rpcrdma::gui
