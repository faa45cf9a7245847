// The rows are those of the document, which grow at their end, or also near it where a filter
// decides late. Checkpoints note which message stood where, so that only the rows behind a change
// are gone through again.
#include "call_list.h"

#include <algorithm>

namespace rpcrdma::gui {

namespace {

constexpr std::uint64_t kPiece = 16384;  // rows at once
constexpr std::size_t kLocked = 1024;    // rows while the store is locked
constexpr int kRankEachMs = 500;         // while Calls come in

using Ids = std::vector<std::uint64_t>;

// Returns the Calls that the messages are or answer, sorted.
Ids calls_of(const index::Store& store, const Ids& messages) {
  Ids calls;
  calls.reserve(messages.size() / 2 + 1);
  for (std::size_t begin = 0; begin < messages.size(); begin += kLocked) {
    const std::size_t end = std::min(messages.size(), begin + kLocked);
    store.read([&](const index::Content& c) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t id = messages[i];
        if (id == 0 || id > c.rows.size()) continue;
        const index::MessageRow& row = c.rows[id - 1];
        if (row.kind == model::Kind::kCall) {
          calls.push_back(id);
        } else if (c.call_of(row)) {
          calls.push_back(row.match);
        }
      }
    });
  }
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  return calls;
}

}  // namespace

CallList::CallList(Document& document, QObject* parent)
    : QObject(parent), document_(document), worker_(std::make_unique<Worker>()) {
  rank_timer_.setSingleShot(true);
  rank_timer_.setInterval(kRankEachMs);
  connect(&rank_timer_, &QTimer::timeout, this, &CallList::rank);
  connect(&document_, &Document::reset, this, [this] {
    stale_ = true;
    advance();
  });
  connect(&document_, &Document::rows_changed, this, &CallList::advance);
  connect(&document_, &Document::changed, this, [this] {
    rank_again_ = true;
    if (active_ && by_latency() && !rank_timer_.isActive()) rank_timer_.start();
  });
}

CallList::~CallList() = default;

std::size_t CallList::size() const {
  return by_latency() ? ranked_.size() : calls_.size();
}

std::uint64_t CallList::at(std::size_t place) const {
  const std::size_t count = size();
  if (place >= count) return 0;
  const std::size_t i = reversed() ? count - 1 - place : place;
  return by_latency() ? ranked_[i].call : calls_[i];
}

std::optional<std::size_t> CallList::place_of(std::uint64_t call) const {
  std::size_t i = 0;
  if (by_latency()) {
    // Its latency may have changed since the sorting.
    const auto ns = document_.store().read([&](const index::Content& c) {
      return call != 0 && call <= c.rows.size() ? c.rows[call - 1].latency_ns : -1;
    });
    auto it = ranked_.end();
    for (const std::int64_t latency : {ns, std::int64_t{-1}}) {
      const Ranked wanted{latency, call};
      const auto found = std::lower_bound(ranked_.begin(), ranked_.end(), wanted);
      if (found != ranked_.end() && found->call == call) it = found;
    }
    if (it == ranked_.end()) return std::nullopt;
    i = static_cast<std::size_t>(it - ranked_.begin());
  } else {
    i = calls_.lower_bound(call);
    if (i == calls_.size() || calls_[i] != call) return std::nullopt;
  }
  return reversed() ? size() - 1 - i : i;
}

bool CallList::is_complete() const {
  const std::uint64_t done = checkpoints_.empty() ? 0 : checkpoints_.back().rows;
  return !stale_ && !busy_ && done == document_.row_count() &&
         (!by_latency() || (!ranking_ && ranked_.size() == calls_.size()));
}

void CallList::set_active(bool active) {
  if (active_ == active) return;
  active_ = active;
  if (!active) return;
  advance();
  if (by_latency()) rank();
}

void CallList::set_order(Order order) {
  if (order == order_) return;
  Q_EMIT replacing();
  order_ = order;
  Q_EMIT replaced();
  if (by_latency()) rank();
}

void CallList::restart() {
  Q_EMIT replacing();
  stale_ = false;
  ++run_;
  ++rank_run_;
  busy_ = ranking_ = false;
  worker_->drop_waiting();
  calls_.clear();
  ranked_.clear();
  checkpoints_.clear();
  filter_ = document_.filter();
  range_ = document_.time_range().range();
  first_ = document_.row_count() != 0 ? document_.message_at(0) : 0;
  Q_EMIT replaced();
}

void CallList::check() {
  const std::uint64_t count = document_.row_count();
  const std::uint64_t first = count != 0 ? document_.message_at(0) : 0;
  const bool same = filter_ == document_.filter() && range_ == document_.time_range().range();
  if (stale_ || !same || (first != first_ && !checkpoints_.empty())) return restart();
  first_ = first;
  const auto holds = [&](const Checkpoint& c) {
    return c.rows <= count && document_.message_at(c.rows - 1) == c.last;
  };
  if (checkpoints_.empty() || holds(checkpoints_.back())) return;
  ++run_;  // what the worker does is behind the change
  busy_ = false;
  while (!checkpoints_.empty() && !holds(checkpoints_.back())) checkpoints_.pop_back();
  const std::uint64_t last = checkpoints_.empty() ? 0 : checkpoints_.back().last;
  Q_EMIT replacing();
  calls_.keep_up_to(last);
  Q_EMIT replaced();
}

void CallList::advance() {
  if (!active_) return;
  check();
  if (busy_) return;
  const std::uint64_t count = document_.row_count();
  const std::uint64_t done = checkpoints_.empty() ? 0 : checkpoints_.back().rows;
  if (done >= count) return;
  Ids messages;
  const std::uint64_t until = std::min(count, done + kPiece);
  messages.reserve(until - done);
  for (std::uint64_t row = done; row < until; ++row) messages.push_back(document_.message_at(row));
  const Checkpoint reached{until, messages.back()};
  busy_ = true;
  worker_->post(
      this,
      [store = document_.shared_store(), messages = std::move(messages)] {
        return store != nullptr ? calls_of(*store, messages) : Ids{};
      },
      [this, reached, run = run_](const Ids& calls) {
        if (run != run_) return;
        busy_ = false;
        take(calls, reached);
        advance();
      });
}

void CallList::take(const Ids& calls, const Checkpoint& reached) {
  // Their number depends on the rows, and not on how often some more came.
  const std::size_t kept = checkpoints_.size();
  if (kept >= 2 && reached.rows - checkpoints_[kept - 2].rows <= kPiece) checkpoints_.pop_back();
  checkpoints_.push_back(reached);
  rank_again_ = true;
  // Replies bring Calls of earlier rows that are not shown themselves.
  Ids fresh;
  for (const std::uint64_t id : calls) {
    if (calls_.empty() || id > calls_.back() || !calls_.contains(id)) fresh.push_back(id);
  }
  if (!fresh.empty()) {
    const bool behind = calls_.empty() || fresh.front() > calls_.back();
    const bool seen = !by_latency();
    const auto count = static_cast<qsizetype>(fresh.size());
    if (seen && behind) {
      Q_EMIT growing(reversed() ? 0 : static_cast<qsizetype>(calls_.size()), count);
    } else if (seen) {
      Q_EMIT replacing();
    }
    calls_.add(fresh);
    if (seen && behind) {
      Q_EMIT grown();
    } else if (seen) {
      Q_EMIT replaced();
    }
  }
  if (!by_latency() || rank_timer_.isActive()) return;
  if (ranked_.empty()) {
    rank();
  } else {
    rank_timer_.start();
  }
}

void CallList::rank() {
  if (!active_ || !by_latency() || ranking_ || !rank_again_) return;
  ranking_ = true;
  rank_again_ = false;
  worker_->post(
      this,
      [store = document_.shared_store(), calls = calls_.share()] {
        std::vector<Ranked> ranked;
        if (store == nullptr) return ranked;
        ranked.reserve(calls.size());
        for (std::size_t begin = 0; begin < calls.size(); begin += kLocked) {
          const std::size_t end = std::min(calls.size(), begin + kLocked);
          store->read([&](const index::Content& c) {
            for (std::size_t i = begin; i < end; ++i) {
              if (calls[i] > c.rows.size()) continue;
              ranked.push_back({c.rows[calls[i] - 1].latency_ns, calls[i]});
            }
          });
        }
        std::sort(ranked.begin(), ranked.end());
        return ranked;
      },
      [this, run = rank_run_](std::vector<Ranked> ranked) {
        if (run != rank_run_) return;
        ranking_ = false;
        if (!by_latency()) {
          rank_again_ = true;
          return;
        }
        Q_EMIT replacing();
        ranked_ = std::move(ranked);
        Q_EMIT replaced();
        if (rank_again_ && !rank_timer_.isActive()) rank_timer_.start();
      });
}

}  // namespace rpcrdma::gui
