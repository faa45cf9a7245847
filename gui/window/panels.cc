// Feeds the views of credits, chunks, the ladder and latency from the store, when they are visible.
#include "panels.h"

#include "message_table.h"

#include <algorithm>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::gui {

namespace {

constexpr int kLadderAfterMs = 60;          // delay after the last scroll
constexpr int kLatencyEachMs = 500;         // drawing histograms is expensive
constexpr std::uint64_t kLadderMost = 200;  // messages

ChunkPicture::List list_of(model::ChunkList list) {
  switch (list) {
    case model::ChunkList::kRead:
      return ChunkPicture::List::kRead;
    case model::ChunkList::kWrite:
      return ChunkPicture::List::kWrite;
    case model::ChunkList::kReply:
      return ChunkPicture::List::kReply;
    case model::ChunkList::kReplyRead:
      return ChunkPicture::List::kReplyRead;
  }
  return ChunkPicture::List::kRead;
}

LadderItem::Kind kind_of(model::Kind kind) {
  switch (kind) {
    case model::Kind::kCall:
      return LadderItem::Kind::kCall;
    case model::Kind::kReply:
      return LadderItem::Kind::kReply;
    case model::Kind::kError:
    case model::Kind::kMalformed:
      return LadderItem::Kind::kError;
    case model::Kind::kDone:
    case model::Kind::kOption:
    case model::Kind::kControl:
      return LadderItem::Kind::kControl;
  }
  return LadderItem::Kind::kControl;
}

}  // namespace

const index::CreditLog* StoreCredits::log(const index::Content& c, int direction) const {
  const index::ConnectionInfo* const info = c.connection(connection_);
  const std::size_t client = info != nullptr ? info->client : 0;
  const std::size_t side = direction == 0 ? client : 1 - client;
  const std::size_t slot = std::size_t{c.canonical(connection_)} * 2 + side;
  return slot < c.credits.size() ? c.credits[slot].get() : nullptr;
}

std::optional<std::pair<std::int64_t, std::int64_t>> StoreCredits::range() const {
  return store_.read([this](const index::Content& c) {
    std::optional<std::pair<std::int64_t, std::int64_t>> all;
    for (const int direction : {0, 1}) {
      const index::CreditLog* const l = log(c, direction);
      if (l == nullptr || l->size() == 0) continue;
      const std::int64_t first = l->entry(0).time_ns;
      const std::int64_t last = l->entry(l->size() - 1).time_ns + 1;
      if (!all) all = {first, last};
      all->first = std::min(all->first, first);
      all->second = std::max(all->second, last);
    }
    return all;
  });
}

std::vector<CreditColumn> StoreCredits::columns(int direction, std::int64_t from_ns,
                                                std::int64_t to_ns, int count) const {
  return store_.read([&](const index::Content& c) {
    std::vector<CreditColumn> out;
    const index::CreditLog* const l = log(c, direction);
    if (l == nullptr || l->size() == 0) return out;
    for (const index::CreditSpan& s : l->columns(from_ns, to_ns, static_cast<std::size_t>(count))) {
      CreditColumn column;
      column.from_ns = s.from_ns;
      column.to_ns = s.to_ns;
      column.any = s.any;
      column.requested_max = s.requested_max;
      column.granted_min = s.granted_min;
      column.granted_max = s.granted_max;
      column.in_use_min = s.in_use_min;
      column.in_use_max = s.in_use_max;
      column.waiting_max = s.waiting_max;
      column.limit_min = s.limit_min;
      column.limit_max = s.limit_max;
      column.exhausted = s.exhausted;
      out.push_back(column);
    }
    return out;
  });
}

quint64 StoreCredits::message_at(int direction, std::int64_t ns) const {
  return store_.read([&](const index::Content& c) -> quint64 {
    const index::CreditLog* const l = log(c, direction);
    if (l == nullptr) return 0;
    std::size_t i = l->at(ns);
    if (i == l->size()) i = 0;
    // Skip entries that endpoints reported without a message.
    while (i < l->size() && l->entry(i).message == 0 && i != 0) --i;
    return i < l->size() ? l->entry(i).message : 0;
  });
}

Panels::Panels(Document& document, MessageTable& table, QWidget* parent)
    : QObject(parent),
      credits(new CreditChart(parent)),
      chunks(new ChunkView(parent)),
      chunk_sizes(new ChunkSizesView(parent)),
      congestion(new CongestionView(parent)),
      ladder(new LadderView(parent)),
      latency(new LatencyView(parent)),
      document_(document),
      table_(table) {
  ladder_timer_.setSingleShot(true);
  ladder_timer_.setInterval(kLadderAfterMs);
  latency_timer_.setSingleShot(true);
  latency_timer_.setInterval(kLatencyEachMs);
  connect(&ladder_timer_, &QTimer::timeout, this, &Panels::want_ladder);
  connect(&latency_timer_, &QTimer::timeout, this, &Panels::show_statistics);
  connect(&document_, &Document::reset, this, &Panels::reset);
  connect(&document_, &Document::changed, this, &Panels::changed);
  connect(&document_, &Document::connection_selected, this, &Panels::show_connection);
  connect(&document_, &Document::message_selected, this, [this](quint64 id) {
    ladder->set_selected(id);
    ladder_timer_.start();
    const std::int64_t time =
        document_.store().read([id](const index::Content& c) { return c.rows[id - 1].time_ns; });
    credits->set_selected(time);
  });
  connect(&document_, &Document::excerpt_read, this, [this] {
    if (const auto excerpt = document_.excerpt()) {
      chunks->set_picture(picture_of(*excerpt, document_.selected()));
    }
  });
  connect(&document_, &Document::ladder_read, this,
          [this](const std::shared_ptr<const index::Excerpt>& excerpt) {
            if (!document_.connection()) return;
            ladder->set_items(
                ladder_of(*excerpt, document_.store(), *document_.connection()),
                document_.store().read([](const index::Content& c) { return c.first_ns; }));
            ladder->set_selected(document_.selected());
          });
  connect(&table_, &MessageTable::scrolled, this, [this] {
    if (in_sight(ladder)) ladder_timer_.start();
  });
  const auto go = [this](quint64 id) { document_.select_message(id); };
  connect(credits, &CreditChart::message_selected, this, go);
  connect(ladder, &LadderView::message_selected, this, go);
  connect(latency, &LatencyView::message_selected, this, go);
}

void Panels::reset() {
  credits->set_source(nullptr);
  source_.reset();
  chunks->set_picture({});
  chunk_sizes->set_sizes({});
  congestion->set_congestion({});
  ladder->set_items({}, 0);
  ladder->set_peers({}, {});
  latency->set_procedures({});
  calls_shown_ = UINT64_MAX;
}

void Panels::changed() {
  // Until the user selects a connection, shows the first one that has messages.
  if (!document_.connection()) {
    std::optional<std::uint32_t> first;
    document_.store().read([&first](const index::Content& c) {
      for (std::uint32_t i = 0; i < c.connections.size() && !first; ++i) {
        if (c.connections[i].id != 0 && c.connections[i].messages != 0) first = i;
      }
    });
    if (first) document_.select_connection(*first);
  }
  if (in_sight(credits)) credits->refresh();
  const std::uint64_t calls =
      document_.store().read([](const index::Content& c) { return c.calls_over; });
  if (calls != calls_shown_ && !latency_timer_.isActive()) {
    calls_shown_ = calls;
    latency_timer_.start();
  }
}

void Panels::show_connection() {
  const auto connection = document_.connection();
  if (!connection) return;
  auto source = std::make_unique<StoreCredits>(document_.store(), *connection);
  credits->set_source(source.get());
  source_ = std::move(source);
  QString left;
  QString right;
  document_.store().read([&](const index::Content& c) {
    const index::ConnectionInfo* const info = c.connection(*connection);
    if (info == nullptr) return;
    left = tr("client %1").arg(QString::fromStdString(info->end[0]));
    right = tr("server %1").arg(QString::fromStdString(info->end[1]));
  });
  ladder->set_peers(left, right);
  show_sizes();
  show_congestion();
}

void Panels::set_in_sight(const QWidget* view, bool seen) {
  if (!seen) {
    in_sight_.erase(view);
    return;
  }
  if (!in_sight_.insert(view).second) return;
  if (view == credits) credits->refresh();
  if (view == ladder) ladder_timer_.start();
  if (view == latency) show_latency();
  if (view == chunk_sizes) show_sizes();
  if (view == congestion) show_congestion();
}

void Panels::show_statistics() {
  show_latency();
  show_sizes();
  show_congestion();
}

void Panels::show_latency() {
  if (in_sight(latency)) latency->set_procedures(document_.store().read(latency_of));
}

void Panels::show_sizes() {
  const auto connection = document_.connection();
  if (!connection || !in_sight(chunk_sizes)) return;
  ChunkSizes sizes;
  document_.store().read([&](const index::Content& c) {
    const std::uint32_t at = c.canonical(*connection);
    if (at >= c.chunks.size() || c.chunks[at] == nullptr) return;
    const index::ChunkSums& sums = *c.chunks[at];
    sizes.sizes = {};
    for (std::size_t l = 0; l < 3; ++l) {
      for (std::size_t p = 0; p < sums.sizes[l].size(); ++p) sizes.sizes[l][p] = sums.sizes[l][p];
    }
    const auto& series = sums.over_time;
    if (series.empty()) return;
    const double width = static_cast<double>(series.width_ns()) / 1e9;
    for (std::int64_t n = series.first(); n <= series.last(); ++n) {
      ChunkSizes::Bin bin;
      const double begin = static_cast<double>(n * series.width_ns() - c.first_ns) / 1e9;
      bin.seconds = std::max(0.0, begin + width / 2);
      for (std::size_t l = 0; l < 3; ++l) {
        bin.bytes_per_second[l] = static_cast<double>(series.bin(n).bytes[l]) / width;
      }
      sizes.rates.push_back(bin);
    }
  });
  chunk_sizes->set_sizes(sizes);
}

void Panels::show_congestion() {
  const auto connection = document_.connection();
  if (!connection || !in_sight(congestion)) return;
  congestion->set_congestion(document_.store().read(
      [&](const index::Content& c) { return congestion_of(c, *connection); }));
}

namespace {

QString signals_line(const QString& end, const index::ConnectionInfo::Signals& sent) {
  return Panels::tr("%1: %2 of %3 packets were marked CE on their way; it sent %4 CNPs")
      .arg(end)
      .arg(sent.marked)
      .arg(sent.packets)
      .arg(sent.cnps);
}

// "Pause frames: class 3 5, class 4 1, all classes 2"; empty if there are none.
QString pauses_line(const report::Series<index::PauseBin>& pauses) {
  index::PauseBin all;
  if (!pauses.empty()) {
    for (std::int64_t n = pauses.first(); n <= pauses.last(); ++n) all.join(pauses.bin(n));
  }
  QStringList parts;
  for (std::size_t n = 0; n < all.paused.size(); ++n) {
    if (all.paused[n] == 0) continue;
    parts << (n < 8 ? Panels::tr("%1 of class %2").arg(all.paused[n]).arg(n)
                    : Panels::tr("%1 without classes").arg(all.paused[n]));
  }
  return parts.isEmpty() ? QString()
                         : Panels::tr("Pause frames in the capture: %1").arg(parts.join(", "));
}

}  // namespace

// Joins the connection's series and that of the pause frames to the wider intervals of both.
Congestion Panels::congestion_of(const index::Content& content, std::uint32_t connection) {
  struct Joined {
    index::CongestionBin signs;
    index::PauseBin pauses;
    void join(const Joined& other) {
      signs.join(other.signs);
      pauses.join(other.pauses);
    }
  };
  Congestion shown;
  const index::ConnectionInfo* const info = content.connection(connection);
  if (info == nullptr) return shown;
  report::Series<Joined> all;
  const std::uint32_t at = content.canonical(connection);
  const auto add = [&all](const auto& series, auto member) {
    if (series.empty()) return;
    for (std::int64_t n = series.first(); n <= series.last(); ++n) {
      (all.restore(series.shift(), n).*member).join(series.bin(n));
    }
  };
  if (at < content.congestion.size() && content.congestion[at] != nullptr) {
    add(*content.congestion[at], &Joined::signs);
  }
  add(content.pauses, &Joined::pauses);
  QStringList totals;
  const std::array<QString, 2> ends{tr("Client %1").arg(QString::fromStdString(info->end[0])),
                                    tr("Server %1").arg(QString::fromStdString(info->end[1]))};
  for (std::size_t end = 0; end < 2; ++end) {
    const index::ConnectionInfo::Signals& sent = info->signals[end];
    if (sent.marked + sent.cnps != 0) totals << one_line(signals_line(ends[end], sent));
  }
  if (const QString line = pauses_line(content.pauses); !line.isEmpty()) totals << line;
  shown.totals = totals.join('\n');
  if (all.empty()) return shown;
  shown.width = static_cast<double>(all.width_ns()) / 1e9;
  const std::size_t client = info->client;
  for (std::int64_t n = all.first(); n <= all.last(); ++n) {
    const Joined& from = all.bin(n);
    Congestion::Bin& bin = shown.bins.emplace_back();
    const auto since_start = static_cast<double>(n * all.width_ns() - content.first_ns) / 1e9;
    bin.seconds = std::max(0.0, since_start);
    bin.marked = {from.signs.marked[client], from.signs.marked[1 - client]};
    bin.cnps = {from.signs.cnps[client], from.signs.cnps[1 - client]};
    std::copy(from.pauses.paused.begin(), from.pauses.paused.end(), bin.paused.begin());
  }
  return shown;
}

void Panels::want_ladder() {
  if (!in_sight(ladder) || document_.row_count() == 0) return;
  auto [first, last] = table_.visible();
  // Shows messages around the selected one if it is visible, else the visible ones.
  const auto row = document_.row_of(document_.selected());
  if (row && (*row < first || *row > last)) first = last = *row;
  std::uint64_t from = document_.message_at(first);
  std::uint64_t to = document_.message_at(std::min(last, document_.row_count() - 1));
  if (to - from > kLadderMost) to = from + kLadderMost;
  document_.read_ladder(from, to);
}

ChunkPicture Panels::picture_of(const index::Excerpt& excerpt, std::uint64_t id) {
  ChunkPicture picture;
  const index::Excerpt::Message* const m = excerpt.find(id);
  if (m == nullptr) return picture;
  const model::Call* const call = m->call.get();
  const std::string label = report::rpc_label(m->message.rpc);
  picture.title = QString("%1 0x%2 %3")
                      .arg(model::kind_name(m->message.kind))
                      .arg(m->message.xid, 8, 16, QChar('0'))
                      .arg(QString::fromStdString(label));
  if (call == nullptr) return picture;
  // Frames of retransmitted packets.
  std::vector<std::uint64_t> again;
  for (const auto& e : excerpt.events) {
    if (e.kind == index::Excerpt::Event::Kind::kSentAgain) again.push_back(e.frame);
  }
  for (const model::CallChunk& chunk : call->chunks) {
    ChunkPicture::Chunk& made = picture.chunks.emplace_back();
    made.list = list_of(chunk.list);
    made.index = chunk.index;
    made.position = chunk.position;
    for (const model::CallSegment& s : call->segments) {
      const model::CallChunk& of = call->chunks[s.chunk];
      if (of.list != chunk.list || of.index != chunk.index) continue;
      ChunkPicture::Segment& segment = made.segments.emplace_back();
      segment.handle = s.target.handle;
      segment.offset = s.target.offset;
      segment.length = s.target.length;
      segment.moved = s.moved;
      for (const model::ChunkOperation& o : call->operations) {
        if (o.list != chunk.list || o.chunk != chunk.index || o.segment != s.index) continue;
        ChunkPicture::Operation op;
        op.read = o.kind == roce::OpKind::kRead;
        op.offset = o.offset >= s.target.offset ? o.offset - s.target.offset : 0;
        op.length = o.length;
        op.bytes = o.bytes;
        op.first_frame = o.first_frame;
        op.last_frame = o.last_frame;
        op.first_ns = o.first_ns;
        op.last_ns = o.last_ns;
        op.complete = o.complete;
        op.suspect = o.suspect;
        op.sent_again = std::any_of(again.begin(), again.end(), [&o](std::uint64_t f) {
          return f >= o.first_frame && f <= o.last_frame;
        });
        segment.operations.push_back(op);
      }
    }
  }
  return picture;
}

std::vector<LadderItem> Panels::ladder_of(const index::Excerpt& excerpt, const index::Store& store,
                                          std::uint32_t connection) {
  std::vector<LadderItem> items;
  const std::uint32_t id =
      store.read([&](const index::Content& c) { return c.connection_id(connection); });
  index::SeenBy observer = index::SeenBy::kPackets;
  store.read([&](const index::Content& c) {
    if (const index::ConnectionInfo* const info = c.connection(connection)) {
      observer = info->observer;
    }
    for (const index::Excerpt::Message& m : excerpt.messages) {
      if (m.id == 0 || m.id > c.rows.size()) continue;
      const index::MessageRow& row = c.rows[m.id - 1];
      if (c.connection_id(row.connection) != id) continue;
      LadderItem item;
      item.kind = kind_of(row.kind);
      item.message = m.id;
      item.exchange = row.kind == model::Kind::kCall ? m.id : row.match;
      item.frame = row.frame;
      item.from_ns = item.to_ns = row.time_ns;
      item.side = static_cast<int>(c.sender(row));
      item.reverse = c.reverse(row);
      item.incomplete = !row.is(index::MessageRow::kComplete);
      if (row.worst != index::MessageRow::kNothingFound) item.severity = row.worst;
      item.label = QString::fromStdString(c.summary(row));
      item.detail = item.label;
      const auto [begin, end] = c.kinds_of.equal_range(m.id);
      for (auto it = begin; it != end; ++it) {
        item.detail += '\n' + QString(c.kinds[it->second].rule->name) + ": " +
                       QString::fromStdString(c.kinds[it->second].text);
      }
      items.push_back(std::move(item));
    }
  });
  for (const index::Excerpt::Event& e : excerpt.events) {
    if (e.connection != 0 && e.connection != id) continue;
    // Other views of the connection show the same operations.
    if (e.kind == index::Excerpt::Event::Kind::kOperation && e.observer != observer) continue;
    LadderItem item;
    switch (e.kind) {
      case index::Excerpt::Event::Kind::kOperation:
        item.kind = e.read ? LadderItem::Kind::kRead : LadderItem::Kind::kWrite;
        break;
      case index::Excerpt::Event::Kind::kRefusal:
        item.kind = LadderItem::Kind::kError;
        break;
      case index::Excerpt::Event::Kind::kSetUp:
        item.kind = LadderItem::Kind::kSetUp;
        break;
      case index::Excerpt::Event::Kind::kSentAgain:
        item.kind = LadderItem::Kind::kSetUp;
        item.sent_again = true;
        break;
      case index::Excerpt::Event::Kind::kRecorded:
        item.kind = LadderItem::Kind::kRecorded;
        break;
    }
    item.exchange = e.call;
    item.frame = e.frame;
    item.from_ns = e.from_ns;
    item.to_ns = e.to_ns;
    item.side = e.sender;
    item.incomplete = !e.complete;
    item.label = QString::fromStdString(e.text);
    item.detail = item.label;
    if (e.kind == index::Excerpt::Event::Kind::kOperation) {
      item.detail += tr("\nframes %1 to %2, %3 seen, took %4")
                         .arg(e.frame)
                         .arg(e.last_frame)
                         .arg(QString::fromStdString(base::format_bytes(e.bytes)),
                              QString::fromStdString(base::format_duration(e.to_ns - e.from_ns)));
    }
    items.push_back(std::move(item));
  }
  std::stable_sort(items.begin(), items.end(), [](const LadderItem& a, const LadderItem& b) {
    return a.from_ns != b.from_ns ? a.from_ns < b.from_ns : a.frame < b.frame;
  });
  return items;
}

std::vector<LatencyProcedure> Panels::latency_of(const index::Content& content) {
  std::vector<LatencyProcedure> all;
  for (const auto& [key, t] : content.times) {
    LatencyProcedure p;
    p.label = QString::fromStdString(t.label) + (key.reverse ? tr(" (reverse)") : QString());
    p.calls = t.calls;
    p.errors = t.errors;
    p.p50 = t.total.quantile(0.5);
    p.p90 = t.total.quantile(0.9);
    p.p99 = t.total.quantile(0.99);
    p.p999 = t.total.quantile(0.999);
    p.max = t.total.max();
    t.total.for_each_bucket([&p](const base::Histogram::Bucket& b) {
      p.buckets.push_back({static_cast<std::int64_t>(base::Histogram::lowest_of(b.index)),
                           static_cast<std::int64_t>(base::Histogram::lowest_of(b.index + 1)),
                           b.count});
    });
    const std::pair<const char*, const base::Histogram*> parts[] = {
        {"slot wait", &t.slot_wait},   {"credit wait", &t.waiting},
        {"marshal", &t.marshal},       {"post", &t.post},
        {"until sent", &t.sending},    {"response", &t.turn},
        {"completion", &t.completion}, {"to first RDMA", &t.before_data},
        {"moving data", &t.data},      {"data to Reply", &t.after_data},
    };
    for (const auto& [name, histogram] : parts) {
      if (histogram->count() == 0) continue;
      p.parts.push_back(
          {tr(name), static_cast<std::int64_t>(histogram->mean()), histogram->quantile(0.99)});
    }
    for (const auto& s : t.slowest)
      p.outliers.push_back({s.message, s.frame, s.latency_ns, s.time_ns});
    all.push_back(std::move(p));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.calls > b.calls; });
  return all;
}

}  // namespace rpcrdma::gui
