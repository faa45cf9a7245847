// Feeds the views of credits, chunks, the ladder and latency from the store, when they are visible.
#include "panels.h"

#include "kind_text.h"
#include "message_table.h"
#include "time_notation.h"
#include "worker.h"

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

std::optional<CreditChart::Window> window_of(const TimeRange& range) {
  const auto chosen = range.range();
  if (!chosen) return std::nullopt;
  return CreditChart::Window{chosen->from_ns, chosen->to_ns};
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
  const bool any = store_.read([this](const index::Content& c) {
    const auto has = [&](int direction) {
      const index::CreditLog* const l = log(c, direction);
      return l != nullptr && l->size() != 0;
    };
    return has(0) || has(1);
  });
  if (!any) return std::nullopt;
  return std::pair{time_.bounds().from_ns, time_.bounds().to_ns};
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
    return i < l->size() ? l->message_at(i) : 0;
  });
}

Panels::Panels(Document& document, MessageTable& table, QWidget* parent)
    : QObject(parent),
      credits(new CreditChart(parent)),
      chunks(new ChunkView(parent)),
      chunk_sizes(new ChunkSizesView(parent)),
      congestion(new CongestionView(parent)),
      states(new CallStatesView(parent)),
      devices(new DeviceCountersView(parent)),
      ladder(new LadderView(parent)),
      latency(new LatencyView(parent)),
      document_(document),
      table_(table),
      device_watch_(new DeviceWatch(document, this)),
      latency_worker_(std::make_unique<Worker>()) {
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
  TimeRange& range = document_.time_range();
  connect(&range, &TimeRange::changed, this, &Panels::show_range);
  connect(device_watch_, &DeviceWatch::changed, this, &Panels::show_devices);
  connect(credits, &CreditChart::window_wanted, this, [this, &range](qint64 from, qint64 to) {
    range.set({from, to});
    // The chart was moved under the cursor, and the range can be limited, or the same.
    credits->set_window(window_of(range));
  });
  connect(credits, &CreditChart::all_wanted, &range, &TimeRange::show_all);
  connect(credits, &CreditChart::undo_wanted, &range, &TimeRange::undo);
  connect(credits, &CreditChart::redo_wanted, &range, &TimeRange::redo);
  connect(&document_, &Document::time_format_changed, this, &Panels::show_times);
  connect(&range, &TimeRange::bounds_changed, this, [this, origin = INT64_MIN]() mutable {
    // The origin is known from the first frame on.
    if (std::exchange(origin, document_.time_origin()) != document_.time_origin()) show_times();
  });
  show_times();
}

Panels::~Panels() {
  if (latency_cancelled_) *latency_cancelled_ = true;
}

// All views write times in the same way.
void Panels::show_times() {
  const TimeNotation notation = notation_of(document_);
  credits->set_notation(notation);
  chunk_sizes->set_notation(notation);
  congestion->set_notation(notation);
  states->set_notation(notation);
  devices->set_notation(notation);
  latency->set_notation(notation);
  // Its column has room for milliseconds of a time of day.
  const bool clock = document_.time_format() == TimeFormat::kAbsolute;
  ladder->set_time_writer([this, clock](std::int64_t ns) {
    return clock ? document_.time_text(ns).left(12) : document_.time_text(ns);
  });
}

// All views show the same range of time.
void Panels::show_range() {
  credits->set_window(window_of(document_.time_range()));
  ladder_timer_.start();
  show_states();
  show_devices();
  if (latency_timer_.isActive()) return;
  show_statistics();
  latency_timer_.start();
}

void Panels::reset() {
  if (latency_cancelled_) *latency_cancelled_ = true;
  counting_.reset();
  credits->set_source(nullptr);
  source_.reset();
  chunks->set_picture({});
  chunk_sizes->set_sizes({});
  congestion->set_congestion({});
  states->set_picture({});
  ladder->set_items({}, 0);
  ladder->set_peers({}, {});
  latency->set_procedures({});
  latency->set_caption({});
  latency->set_parts_note({});
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
  show_states();
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
  auto source =
      std::make_unique<StoreCredits>(document_.store(), document_.time_range(), *connection);
  credits->set_source(source.get());
  source_ = std::move(source);
  credits->set_window(window_of(document_.time_range()));
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
  show_states();
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
  if (view == states) show_states();
  if (view == devices) show_devices();
}

void Panels::show_statistics() {
  show_latency();
  show_sizes();
  show_congestion();
}

void Panels::show_sizes() {
  const auto connection = document_.connection();
  if (!connection || !in_sight(chunk_sizes)) return;
  ChunkSizes sizes;
  const TimeRange::Span shown = document_.time_range().shown();
  sizes.from_ns = shown.from_ns;
  sizes.to_ns = shown.to_ns;
  sizes.part = document_.time_range().range().has_value();
  document_.store().read([&](const index::Content& c) {
    const std::uint32_t at = c.canonical(*connection);
    if (at >= c.chunks.size() || c.chunks[at] == nullptr) return;
    const index::ChunkSums& sums = *c.chunks[at];
    for (std::size_t l = 0; l < 3; ++l) {
      for (std::size_t p = 0; p < sums.sizes[l].size(); ++p) sizes.sizes[l][p] = sums.sizes[l][p];
    }
    const auto& series = sums.over_time;
    if (series.empty()) return;
    const double width = static_cast<double>(series.width_ns()) / 1e9;
    for (std::int64_t n = series.first(); n <= series.last(); ++n) {
      ChunkSizes::Bin bin;
      bin.from_ns = n * series.width_ns();
      bin.to_ns = bin.from_ns + series.width_ns();
      if (bin.to_ns < shown.from_ns || bin.from_ns > shown.to_ns) continue;
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
  // Pause frames can come before the first message.
  const TimeRange::Span range =
      document_.time_range().range().value_or(TimeRange::Span{INT64_MIN, INT64_MAX});
  Congestion shown = document_.store().read(
      [&](const index::Content& c) { return congestion_of(c, *connection, range); });
  const TimeRange::Span axis = document_.time_range().shown();
  shown.from_ns = axis.from_ns;
  shown.to_ns = axis.to_ns;
  if (!document_.time_range().range() && !shown.bins.empty()) {
    shown.from_ns = std::min(shown.from_ns, shown.bins.front().from_ns);
    shown.to_ns = std::max(shown.to_ns, shown.bins.back().to_ns);
  }
  shown.part = document_.time_range().range().has_value();
  congestion->set_congestion(shown);
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
Congestion Panels::congestion_of(const index::Content& content, std::uint32_t connection,
                                 TimeRange::Span range) {
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
  const std::size_t client = info->client;
  for (std::int64_t n = all.first(); n <= all.last(); ++n) {
    const Joined& from = all.bin(n);
    const std::int64_t begin = n * all.width_ns();
    if (begin + all.width_ns() < range.from_ns || begin > range.to_ns) continue;
    Congestion::Bin& bin = shown.bins.emplace_back();
    bin.from_ns = begin;
    bin.to_ns = begin + all.width_ns();
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
                      .arg(kind_text(m->message.kind))
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

}  // namespace rpcrdma::gui
