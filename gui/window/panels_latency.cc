// Feeds the latency view: from the statistics of the whole time, or from those of a range, which
// another thread counts.
#include "panels.h"
#include "range_latency.h"
#include "worker.h"

#include <algorithm>
#include <tuple>

#include <rpcrdma/report/latency_table.h>

namespace rpcrdma::gui {

namespace {

// Messages whose latency is counted for a range: about a second's work.
constexpr std::uint64_t kLatencyMost = 4'000'000;

}  // namespace

void Panels::show_latency() {
  if (!in_sight(latency)) return;
  if (const auto range = document_.time_range().range()) {
    show_range_latency(*range);
    return;
  }
  if (latency_cancelled_) *latency_cancelled_ = true;
  counting_.reset();
  std::vector<LatencyProcedure> all =
      document_.store().read([](const index::Content& c) { return latency_of(c); });
  const bool parts =
      std::any_of(all.begin(), all.end(), [](const auto& p) { return !p.parts.empty(); });
  latency->set_caption(latency_caption());
  latency->set_parts_note(
      parts
          ? tr("Parts of the time of the Calls of which they are known")
          : tr("No parts: they are known of Calls with RDMA Reads or Writes, and of Calls that an "
               "endpoint recorded"));
  latency->set_procedures(std::move(all));
}

// Counts in another thread; what is shown stays until then.
void Panels::show_range_latency(TimeRange::Span range) {
  // While the document grows, a count that takes long must come to its end.
  if (counting_ == range) return;
  if (latency_cancelled_) *latency_cancelled_ = true;
  latency_worker_->drop_waiting();
  counting_ = range;
  const auto cancelled = latency_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  latency_worker_->post(
      this,
      [store = document_.shared_store(), range, cancelled] {
        if (store == nullptr) return RangeLatency{};
        return range_latency(*store, range.from_ns, range.to_ns, kLatencyMost, *cancelled);
      },
      [this, cancelled](const RangeLatency& counted) {
        if (*cancelled) return;
        counting_.reset();
        std::vector<LatencyProcedure> all;
        for (const index::ProcedureTimes& t : counted.procedures) all.push_back(latency_of(t));
        QString caption = latency_caption();
        if (counted.counted < counted.messages) {
          caption += '\n' + tr("Only the first %L1 of %L2 messages in the range are counted.")
                                .arg(counted.counted)
                                .arg(counted.messages);
        }
        latency->set_caption(caption);
        latency->set_parts_note(
            tr("Parts are counted for the whole time only. Show the whole time to see them."));
        latency->set_procedures(std::move(all));
      });
}

// Names who measured it: numbers of client and server differ by the way between them.
QString Panels::latency_caption() const {
  std::uint64_t packets = 0;
  std::uint64_t client = 0;
  std::uint64_t server = 0;
  document_.store().read([&](const index::Content& c) {
    for (const index::ConnectionInfo& i : c.connections) {
      if (i.id == 0 || i.messages == 0) continue;
      using index::SeenBy;
      ++(i.observer == SeenBy::kPackets  ? packets
         : i.observer == SeenBy::kClient ? client
                                         : server);
    }
  });
  QStringList views;
  if (packets != 0) views << tr("where the packets were captured");
  if (client != 0) views << tr("the client's view");
  if (server != 0) views << tr("the server's view");
  if (views.isEmpty()) return {};
  QString text = tr("From a Call to its Reply, %1. Waiting for a credit comes before the Call is "
                    "sent: latency leaves it out.")
                     .arg(views.join(tr(" and ")));
  if (views.size() > 1)
    text += '\n' + tr("Connections differ in who measured them, and percentiles mix them.");
  return text;
}

LatencyProcedure Panels::latency_of(const index::ProcedureTimes& t) {
  const auto quantile = [](const base::Histogram& h, double q) {
    return report::given_quantile(h, q).value_or(-1);
  };
  LatencyProcedure p;
  p.label = QString::fromStdString(t.label) + (t.key.reverse ? tr(" (reverse)") : QString());
  p.calls = t.calls;
  p.errors = t.errors;
  p.p50 = quantile(t.total, 0.5);
  p.p90 = quantile(t.total, 0.9);
  p.p99 = quantile(t.total, 0.99);
  p.p999 = quantile(t.total, 0.999);
  if (t.total.count() != 0) p.max = t.total.max();
  t.total.for_each_bucket([&p](const base::Histogram::Bucket& b) {
    p.buckets.push_back({static_cast<std::int64_t>(base::Histogram::lowest_of(b.index)),
                         static_cast<std::int64_t>(base::Histogram::lowest_of(b.index + 1)),
                         b.count});
  });
  const std::tuple<QString, const base::Histogram*, bool> parts[] = {
      {tr("Waiting for a request slot"), &t.slot_wait, false},
      {tr("Waiting for a credit"), &t.waiting, false},
      {tr("Encoding and registration"), &t.marshal, false},
      {tr("Posting the Send"), &t.post, false},
      {tr("All before the Send"), &t.sending, false},
      {tr("Send to Reply"), &t.turn, true},
      {tr("Call to first RDMA operation"), &t.before_data, true},
      {tr("RDMA operations"), &t.data, true},
      {tr("Last RDMA operation to Reply"), &t.after_data, true},
      {tr("Reply to completion"), &t.completion, false},
  };
  for (const auto& [name, histogram, in_latency] : parts) {
    if (histogram->count() == 0) continue;
    p.parts.push_back({name, static_cast<std::int64_t>(histogram->mean()),
                       quantile(*histogram, 0.99), histogram->count(), in_latency});
  }
  for (const auto& s : t.slowest)
    p.outliers.push_back({s.message, s.frame, s.latency_ns, s.time_ns});
  return p;
}

std::vector<LatencyProcedure> Panels::latency_of(const index::Content& content) {
  std::vector<LatencyProcedure> all;
  for (const auto& [key, t] : content.times) all.push_back(latency_of(t));
  return all;
}

}  // namespace rpcrdma::gui
