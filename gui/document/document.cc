// Connects the index's threads to the views: opens and attaches, searches, selects and reads
// excerpts.
#include "document.h"

#include <algorithm>

#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/live/stream_check.h>

namespace rpcrdma::gui {

namespace {

constexpr int kStatusEveryMs = 50;
// While a source is read, views take at most a tenth of the time to show what is new.
constexpr qint64 kPausePerShown = 9, kLongestPauseMs = 200;

// From shortly before the first message: captures can begin long before a connection does.
TimeRange::Span bounds_of(const index::Content& c) {
  TimeRange::Span all{c.first_ns, std::max(c.first_ns, c.last_ns)};
  if (c.rows.empty()) return all;
  const std::int64_t first = std::min(c.rows[0].time_ns, all.to_ns);
  all.from_ns = std::max(all.from_ns, first - (all.to_ns - first) / 50);
  return all;
}

QString text(const std::string& s) {
  return QString::fromStdString(s);
}

}  // namespace

Document::Document(QObject* parent)
    : QObject(parent),
      noted_(std::make_shared<std::atomic<bool>>(false)),
      search_worker_(std::make_unique<Worker>()),
      excerpt_worker_(std::make_unique<Worker>()) {
  change_timer_.setSingleShot(true);
  change_timer_.setInterval(kStatusEveryMs);
  connect(&change_timer_, &QTimer::timeout, this, &Document::announce_change);
  connect(&time_range_, &TimeRange::changed, this, &Document::range_changed);
}

Document::~Document() {
  if (background_cancelled_) *background_cancelled_ = true;
  if (excerpt_cancelled_) *excerpt_cancelled_ = true;
  if (ladder_cancelled_) *ladder_cancelled_ = true;
  // Threads that read the store must end before it is destroyed.
  search_worker_.reset();
  excerpt_worker_.reset();
  background_.reset();
  loading_.reset();
}

std::string Document::frames() const {
  return loading_ ? loading_->frames() : std::string();
}

bool Document::take(std::unique_ptr<index::Store> store, std::unique_ptr<index::Loading> loading,
                    const QString& title, const QStringList& files, bool live) {
  if (excerpt_cancelled_) *excerpt_cancelled_ = true;
  if (ladder_cancelled_) *ladder_cancelled_ = true;
  if (background_cancelled_) *background_cancelled_ = true;
  search_.reset();
  // Waits for threads that still use the old store.
  search_worker_ = std::make_unique<Worker>();
  excerpt_worker_ = std::make_unique<Worker>();
  background_ = std::make_unique<Worker>();
  background_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  if (loading_ != nullptr) loading_->cancel();
  // Summing up what was read, and freeing millions of rows, take long. The thread of the old
  // document reads and writes the old store: it ends first.
  disposal_.post(
      this,
      [old = std::shared_ptr<index::Loading>(std::move(loading_)),
       old_store = std::exchange(store_, nullptr)]() mutable {
        old.reset();
        old_store.reset();
        return 0;
      },
      [](int) {});
  loading_ = std::move(loading);
  store_ = std::move(store);
  title_ = title;
  files_ = files;
  attached_.clear();
  live_ = live;
  finished_shown_ = trouble_shown_ = false;
  searching_ = false;
  found_.clear();
  all_rows_ = 0;
  first_frame_ns_ = 0;
  find_range();
  selected_ = 0;
  connection_.reset();
  excerpt_.reset();
  report_.reset();
  time_reference_.reset();
  paused_ = false;
  pause_ms_ = 0;
  time_range_.clear();
  Q_EMIT reset();
  Q_EMIT report_changed();
  const QString filter = std::exchange(filter_, {});
  set_filter(filter);
  announce_change();
  return true;
}

bool Document::open(const QStringList& names) {
  if (names.isEmpty()) return false;
  auto store = std::make_unique<index::Store>();
  std::vector<std::string> paths;
  for (const QString& name : names) paths.push_back(name.toStdString());
  auto loading = index::Loading::files(*store, paths, load_options(), [this] { note_change(); });
  if (!loading) {
    Q_EMIT trouble(text(loading.error().message));
    return false;
  }
  const QString title = names.size() == 1
                            ? (names.front() == "-" ? tr("standard input") : names.front())
                            : tr("%1 and %2 more").arg(names.front()).arg(names.size() - 1);
  return take(std::move(store), std::move(*loading), title, names, names.front() == "-");
}

bool Document::attach(const QStringList& endpoints) {
  auto store = std::make_unique<index::Store>();
  std::vector<index::Loading::Stream> streams;
  QStringList attached;
  QStringList refused;
  for (const QString& name : endpoints) {
    auto fd = trace::connect_endpoint(name.toStdString());
    if (fd) {
      streams.push_back({name.toStdString(), std::move(*fd), trace::live_check()});
      attached << name;
    } else {
      refused << text(fd.error().message);
    }
  }
  if (streams.empty()) {
    Q_EMIT trouble(refused.join("; "));
    return false;
  }
  auto loading = index::Loading::endpoints(*store, std::move(streams), load_options(),
                                           [this] { note_change(); });
  if (!loading) {
    Q_EMIT trouble(text(loading.error().message));
    return false;
  }
  const bool taken = take(std::move(store), std::move(*loading), attached.join(", "), {}, true);
  attached_ = attached;
  // Earlier problems are no longer shown.
  if (!refused.isEmpty()) Q_EMIT trouble(refused.join("; "));
  return taken;
}

bool Document::capture(const QString& interface, const QString& filter) {
  capture::LiveOptions options;
  options.interface = interface.toStdString();
  options.filter = filter.toStdString();
  options.only_roce = filter.isEmpty();
  auto source = capture::open_live(options);
  if (!source) {
    Q_EMIT trouble(text(source.error().message));
    return false;
  }
  auto store = std::make_unique<index::Store>();
  auto loading = index::Loading::interface(*store, std::move(*source), load_options(),
                                           [this] { note_change(); });
  if (!loading) {
    Q_EMIT trouble(text(loading.error().message));
    return false;
  }
  return take(std::move(store), std::move(*loading), interface, {}, true);
}

void Document::close() {
  if (store_ == nullptr) return;
  take(nullptr, nullptr, {}, {}, false);
}

void Document::set_join_views(bool join) {
  if (join == join_views_) return;
  join_views_ = join;
  if (!attached_.isEmpty()) {
    attach(QStringList(attached_));
  } else if (!files_.isEmpty() && files_.front() != "-") {
    open(QStringList(files_));
  }
}

void Document::stop() {
  if (loading_) loading_->cancel();
}

// Called in the reading thread.
void Document::note_change() {
  if (noted_->exchange(true)) return;
  QMetaObject::invokeMethod(
      this,
      [this] {
        if (!change_timer_.isActive()) change_timer_.start();
      },
      Qt::QueuedConnection);
}

void Document::announce_change() {
  *noted_ = false;
  if (store_ == nullptr || paused_) return;
  std::string error;
  bool over = false;
  TimeRange::Span bounds;
  std::shared_ptr<const report::Report> latest;
  std::uint64_t rows = 0;
  std::int64_t first_frame_ns = 0;
  store_->read([&](const index::Content& c) {
    rows = c.rows.size();
    over = c.progress.finished;
    error = c.progress.error;
    first_frame_ns = c.first_ns;
    bounds = bounds_of(c);
    latest = c.report;
  });
  if (!over && announced_.isValid() && announced_.elapsed() < pause_ms_) {
    if (!change_timer_.isActive()) change_timer_.start();
    return;
  }
  all_rows_ = rows;
  first_frame_ns_ = first_frame_ns;
  // The views are drawn before this timer ends.
  announced_.start();
  QTimer::singleShot(0, this, [this] {
    const auto took = std::min<qint64>(announced_.elapsed(), kLongestPauseMs);
    pause_ms_ = std::min<qint64>(kPausePerShown * took, kLongestPauseMs);
  });
  time_range_.set_bounds(bounds);
  if (latest != report_) {
    report_ = std::move(latest);
    Q_EMIT report_changed();
  }
  if (filter_.isEmpty()) {
    find_range();
    Q_EMIT rows_changed();
  } else {
    search_on();
  }
  Q_EMIT changed();
  if (!error.empty() && !std::exchange(trouble_shown_, true)) Q_EMIT trouble(text(error));
  if (over && !std::exchange(finished_shown_, true)) Q_EMIT finished();
}

void Document::set_time_format(TimeFormat format) {
  if (format == time_format_) return;
  time_format_ = format;
  Q_EMIT time_format_changed();
}

std::int64_t Document::time_origin() const {
  return time_reference_.value_or(first_frame_ns_);
}

void Document::set_time_reference(std::optional<std::int64_t> ns) {
  if (ns == time_reference_) return;
  time_reference_ = ns;
  Q_EMIT time_format_changed();
}

void Document::set_paused(bool paused) {
  if (paused == paused_) return;
  paused_ = paused;
  Q_EMIT paused_changed(paused);
  pause_ms_ = 0;
  announce_change();
}

void Document::range_changed() {
  find_range();
  Q_EMIT rows_changed();
}

// Messages are in the order of their frames. Where a clock steps back, the range begins with the
// first message that it has, and ends with the last one.
void Document::find_range() {
  first_ = 1;
  last_ = all_rows_;
  if (const auto range = time_range_.range()) {
    store().read([&](const index::Content& c) {
      const auto bound = [&](auto before) {
        std::uint64_t low = 0;
        std::uint64_t high = all_rows_;
        while (low < high) {
          const std::uint64_t middle = low + (high - low) / 2;
          if (before(c.rows[middle].time_ns)) {
            low = middle + 1;
          } else {
            high = middle;
          }
        }
        return low;
      };
      first_ = bound([&](std::int64_t ns) { return ns < range->from_ns; }) + 1;
      last_ = bound([&](std::int64_t ns) { return ns <= range->to_ns; });
    });
  }
  found_first_ = found_.lower_bound(first_);
  const std::size_t end = time_range_.range() ? found_.lower_bound(last_ + 1) : found_.size();
  found_count_ = std::max<std::uint64_t>(end, found_first_) - found_first_;
}

std::uint64_t Document::row_count() const {
  return filter_.isEmpty() ? (last_ < first_ ? 0 : last_ - first_ + 1) : found_count_;
}

std::uint64_t Document::message_at(std::uint64_t row) const {
  return filter_.isEmpty() ? first_ + row : found_[found_first_ + row];
}

std::optional<std::uint64_t> Document::row_of(std::uint64_t message) const {
  if (message == 0) return std::nullopt;
  if (filter_.isEmpty()) {
    return first_ <= message && message <= last_ ? std::optional(message - first_) : std::nullopt;
  }
  const std::uint64_t place = found_.lower_bound(message);
  if (place < found_first_ || place >= found_first_ + found_count_) return std::nullopt;
  return found_[place] == message ? std::optional(place - found_first_) : std::nullopt;
}

bool Document::set_filter(const QString& wanted, filter::FilterError* error) {
  const QString trimmed = wanted.trimmed();
  std::optional<filter::Filter> compiled;
  if (!trimmed.isEmpty()) {
    auto made = filter::compile(trimmed.toStdString());
    if (!made) {
      if (error != nullptr) *error = made.error();
      return false;
    }
    compiled = std::move(*made);
  }
  filter_ = trimmed;
  search_.reset();
  found_.clear();
  last_found_ = {};
  searching_ = false;
  search_worker_->drop_waiting();
  if (compiled && store_ != nullptr) {
    search_ = std::make_shared<index::Search>(*store_, frames(), std::move(*compiled));
    search_on();
  }
  find_range();
  Q_EMIT rows_changed();
  return true;
}

Document::Searched Document::searched() const {
  if (search_ == nullptr) return {};
  return {last_found_.done, last_found_.total, !searching_};
}

void Document::search_on() {
  if (searching_ || search_ == nullptr || !last_found_.error.empty()) return;
  searching_ = true;
  search_worker_->post(
      this, [search = search_] { return std::make_pair(search.get(), search->step()); },
      [this, of = search_](std::pair<index::Search*, index::Search::Found> result) {
        // The result can belong to a filter that was replaced.
        if (result.first != search_.get()) return;
        took(result.second);
      });
}

void Document::took(const index::Search::Found& found) {
  searching_ = false;
  // Only a few sort before earlier ones: Calls that ended late.
  found_.add(found.messages);
  last_found_ = found;
  if (!found.error.empty()) Q_EMIT trouble(text(found.error));
  find_range();
  Q_EMIT rows_changed();
  if (!found.idle) search_on();
}

void Document::select_message(std::uint64_t id) {
  if (store_ == nullptr || id == selected_) return;
  std::uint32_t index = 0;
  const bool known = store_->read([&](const index::Content& c) {
    if (id == 0 || id > c.rows.size()) return false;
    index = c.canonical(c.rows[id - 1].connection);
    return true;
  });
  if (!known) return;
  selected_ = id;
  excerpt_.reset();
  if (excerpt_cancelled_) *excerpt_cancelled_ = true;
  const auto cancelled = excerpt_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  Q_EMIT message_selected(id);
  if (connection_ != index) {
    connection_ = index;
    Q_EMIT connection_selected(index);
  }
  using Result = capture::Expected<index::Excerpt>;
  excerpt_worker_->post(
      this,
      [store = store_.get(), file = frames(), id, cancelled]() -> Result {
        if (*cancelled) return capture::fail({});
        const auto stretch =
            store->read([&](const index::Content& c) { return index::stretch_of(c, id); });
        return index::read_excerpt(*store, file, stretch, *cancelled);
      },
      [this, cancelled](Result result) {
        if (*cancelled) return;
        if (!result) {
          Q_EMIT trouble(text(result.error().message));
          return;
        }
        excerpt_ = std::make_shared<const index::Excerpt>(std::move(*result));
        Q_EMIT excerpt_read();
      });
}

void Document::select_frame(std::uint64_t frame) {
  if (store_ == nullptr) return;
  // The message that ends with this frame, or the first one after it.
  const std::uint64_t id = store_->read([&](const index::Content& c) {
    std::uint64_t low = 0;
    std::uint64_t high = c.rows.size();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (c.rows[middle].frame < frame) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return std::min<std::uint64_t>(low + 1, c.rows.size());
  });
  select_message(id);
}

void Document::select_connection(std::uint32_t index) {
  if (connection_ == index) return;
  connection_ = index;
  Q_EMIT connection_selected(index);
}

void Document::read_ladder(std::uint64_t first, std::uint64_t last) {
  if (store_ == nullptr || first == 0 || last < first) return;
  if (ladder_cancelled_) *ladder_cancelled_ = true;
  const auto cancelled = ladder_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  using Result = std::shared_ptr<const index::Excerpt>;
  excerpt_worker_->post(
      this,
      [store = store_.get(), file = frames(), first, last, cancelled]() -> Result {
        if (*cancelled) return nullptr;
        const auto stretch =
            store->read([&](const index::Content& c) { return index::stretch_of(c, first, last); });
        auto excerpt = index::read_excerpt(*store, file, stretch, *cancelled);
        if (!excerpt) return nullptr;
        return std::make_shared<const index::Excerpt>(std::move(*excerpt));
      },
      [this, cancelled, first, last](const Result& result) {
        if (!*cancelled && result) Q_EMIT ladder_read(result, first, last);
      });
}

}  // namespace rpcrdma::gui
