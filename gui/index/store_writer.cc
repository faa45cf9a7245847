// Everything except rows is small or bounded: kinds of findings, procedures and outcomes, credits
// of connections, slow Calls. Rows are appended, and each is changed once, when its Call is over.
#include "store_writer.h"

#include <algorithm>
#include <bit>

#include <rpcrdma/base/thread.h>

namespace rpcrdma::index {

namespace {

constexpr std::size_t kMaxKinds = 4096;       // of findings
constexpr std::size_t kMaxFound = 1'000'000;  // findings on messages that a search can find
constexpr std::size_t kMaxSetUpFrames = 16;   // of one connection
constexpr std::size_t kMaxChunkSums = 1024;   // connections
constexpr std::size_t kMaxProcedures = 512;   // with times: 45 KiB each

template <typename T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T& at(std::vector<T>& list, std::size_t i) {
  if (i >= list.size()) list.resize(i + 1);
  return list[i];
}

}  // namespace

StoreWriter::~StoreWriter() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StoreWriter::start(std::function<void()> written) {
  written_ = std::move(written);
  if (auto thread = base::start_thread([this] { run(); })) thread_ = std::move(*thread);
}

std::unique_ptr<Batch> StoreWriter::put(std::unique_ptr<Batch> batch) {
  if (!thread_.joinable()) {
    write(*batch);
    batch->clear();
    if (written_) written_();
    return batch;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.size() < kMostWaiting || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  waiting_.push_back(std::move(batch));
  changed_.notify_all();
  if (spare_.empty()) return std::make_unique<Batch>();
  auto empty = std::move(spare_.back());
  spare_.pop_back();
  return empty;
}

void StoreWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void StoreWriter::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Batch& batch = *waiting_.front();
    lock.unlock();
    // No exception may leave a thread.
    try {
      write(batch);
      batch.clear();
      written_();
      lock.lock();
      spare_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      failure_ = std::current_exception();
      changed_.notify_all();
      return;
    }
    changed_.notify_all();
  }
}

void StoreWriter::write(const Batch& batch) {
  store_.write([&](Content& to) {
    to.report = batch.report;
    put_rows(to, batch);
    put_connections(to, batch);
    put_credits(to, batch);
    put_findings(to, batch);
    put_times(to, batch);
    put_congestion(to, batch);
    put_activity(to, batch);
    put_states(to, batch);
    put_totals(to, batch);
    to.notable.insert(to.notable.end(), batch.notable.begin(), batch.notable.end());
    to.notable_omitted = batch.notable_omitted;
    if (batch.last) put_conclusions(to, *batch.report);
  });
}

void StoreWriter::put_rows(Content& to, const Batch& from) {
  for (const MessageRow& row : from.rows) to.rows.push_back(row);
  for (const Batch::Patch& p : from.patches) {
    if (p.message == 0 || p.message > to.rows.size()) continue;
    MessageRow row = to.rows[p.message - 1];
    row.latency_ns = p.latency_ns;
    if (p.match != 0) row.match = p.match;
    row.moved = p.moved;
    row.operations = p.operations;
    if (p.procedure != 0) row.procedure = p.procedure;
    if (p.outcome != 0) row.outcome = p.outcome;
    if (p.over) row.flags |= MessageRow::kOver;
    to.rows.set(p.message - 1, row);
  }
  const auto append_all = [](auto& list, const auto& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  append_all(to.procedures, from.procedures);
  append_all(to.outcomes, from.outcomes);
  append_all(to.files, from.files);
  append_all(to.marks, from.marks);
  for (const Batch::Detail& d : from.details) put_detail(to, d);
  for (const auto& [index, frame] : from.set_up) {
    if (index >= Content::kMostConnections) continue;
    auto& frames = at(to.set_up, index);
    if (frames.size() < kMaxSetUpFrames) frames.push_back(frame);
  }
}

// Later ones complete earlier ones. An endpoint knows its parts better than packets show them.
void StoreWriter::put_detail(Content& to, const Batch::Detail& d) {
  if (d.message == 0 || d.message > to.rows.size()) return;
  MessageRow row = to.rows[d.message - 1];
  if (row.detail == 0) {
    to.details.push_back(d.detail);
    row.detail = static_cast<std::uint32_t>(to.details.size());
    to.rows.set(d.message - 1, row);
    return;
  }
  CallDetail& kept = to.details[row.detail - 1];
  if (d.detail.offset != CallDetail::kNoOffset) kept.offset = d.detail.offset;
  if (d.detail.count != CallDetail::kNoCount) kept.count = d.detail.count;
  if (d.detail.file != 0) kept.file = d.detail.file;
  if (d.detail.parts == CallDetail::Parts::kNone) return;
  kept.parts = d.detail.parts;
  kept.part = d.detail.part;
}

void StoreWriter::put_credits(Content& to, const Batch& from) {
  for (const Batch::Credit& c : from.credits) {
    if (c.connection >= Content::kMostConnections) continue;
    auto& log = at(to.credits, std::size_t{c.connection} * 2 + c.side);
    if (log == nullptr) log = std::make_unique<CreditLog>();
    CreditEntry entry = c.entry;
    if (log->size() != 0) {
      const CreditEntry& before = log->last();
      if (!c.has_grant) entry.granted = before.granted;
      // Only endpoints report these values: the latest one is valid.
      if (entry.message != 0) {
        entry.waiting = before.waiting;
        entry.limit = before.limit;
      }
    }
    log->add(entry);
    if (entry.exhausted()) to.activity.at(entry.time_ns).no_credit = true;
  }
}

const std::string& StoreWriter::kind_key(const Batch::Violation& b) {
  draft_.assign(b.rule->name);
  append(draft_, b.severity);
  append(draft_, b.connection);
  append(draft_, b.topic);
  draft_ += b.peer;
  return draft_;
}

// Updates the text and spans of a finding that was counted before.
void StoreWriter::sum_up(Content& to, const Batch::Violation& b) {
  const auto it = kinds_.find(kind_key(b));
  if (it == kinds_.end()) return;
  FoundKind& kind = to.kinds[it->second];
  kind.text = b.text;
  for (rules::Span& span : kind.spans) {
    if (span.since_ns == b.span.since_ns) span.until_ns = b.span.until_ns;
  }
}

void StoreWriter::put_findings(Content& to, const Batch& from) {
  for (const Batch::Violation& b : from.violations) {
    if (b.phase != rules::ReportPhase::kFound) {
      sum_up(to, b);
      continue;
    }
    ++to.found_total[static_cast<std::size_t>(b.severity)];
    if (b.connection != 0 && b.connection <= Content::kMostConnections) {
      ++at(to.connections, b.connection - 1).findings[static_cast<std::size_t>(b.severity)];
    }
    auto it = kinds_.find(kind_key(b));
    if (it == kinds_.end()) {
      if (to.kinds.size() == kMaxKinds) continue;
      it = kinds_.emplace(draft_, static_cast<std::uint32_t>(to.kinds.size())).first;
      FoundKind& kind = to.kinds.emplace_back();
      kind.rule = b.rule;
      kind.severity = b.severity;
      kind.connection = b.connection;
      kind.peer = b.peer;
      kind.role = b.role;
      kind.text = b.text;
      kind.advice = b.advice;
    }
    FoundKind& kind = to.kinds[it->second];
    kind.count += b.count;
    if (b.span.since_ns != 0 && kind.spans.size() < rules::kMaxSpans) {
      kind.spans.push_back(b.span);
    }
    if (b.of != 0) kind.text = b.text;  // with the latest numbers
    if (kind.places.size() < FoundKind::kMostPlaces) kind.places.push_back({b.message, b.frame});
    if (b.message == 0 || b.message > to.rows.size()) continue;
    MessageRow row = to.rows[b.message - 1];
    row.worst = std::min(row.worst, static_cast<std::uint8_t>(b.severity));
    to.rows.set(b.message - 1, row);
    if (to.found.size() == kMaxFound) continue;
    to.found.push_back({b.message, it->second});
    to.kinds_of.emplace(b.message, it->second);
  }
}

ProcedureTimes& StoreWriter::times_of(Content& to, const report::ProcedureKey& key,
                                      std::uint32_t procedure) {
  const std::uint32_t hash = (key.program * 31 + key.version) * 31 + key.procedure * 7 +
                             key.operation * 2 + (key.reverse ? 1 : 0);
  RecentTimes& recent = recent_times_[hash % kRecentTimes];
  if (recent.times != nullptr && recent.key == key) return *recent.times;
  auto it = to.times.find(key);
  const bool full = it == to.times.end() && to.times.size() >= kMaxProcedures;
  const report::ProcedureKey used = full ? report::ProcedureKey::others(key.reverse) : key;
  if (it == to.times.end()) it = to.times.try_emplace(used).first;
  ProcedureTimes& times = it->second;
  times.key = used;
  if (times.label.empty()) {
    times.label = full ? "all others"
                  : procedure < to.procedures.size() && procedure != 0
                      ? to.procedures[procedure].label
                      : "not known";
  }
  recent = {key, &times};
  return times;
}

void StoreWriter::put_times(Content& to, const Batch& from) {
  for (const Batch::Ended& e : from.ended) {
    ProcedureTimes& t = times_of(to, e.key, e.procedure);
    ++t.calls;
    ++to.calls_over;
    if (e.error) ++t.errors;
    if (e.latency < 0) continue;
    t.total.add(e.latency);
    if (e.before >= 0) {
      t.before_data.add(e.before);
      t.data.add(e.data);
      t.after_data.add(e.after);
    }
    if (t.slowest.size() == ProcedureTimes::kMostSlow && t.slowest.back().latency_ns >= e.latency) {
      continue;
    }
    const ProcedureTimes::Slow slow{e.latency, e.message, e.frame, e.time_ns};
    t.slowest.insert(
        std::upper_bound(t.slowest.begin(), t.slowest.end(), slow,
                         [](const auto& a, const auto& b) { return a.latency_ns > b.latency_ns; }),
        slow);
    if (t.slowest.size() > ProcedureTimes::kMostSlow) t.slowest.pop_back();
  }
  for (const Batch::Parts& p : from.parts) {
    ProcedureTimes& t = times_of(to, p.key, 0);
    base::Histogram* const parts[] = {&t.waiting,   &t.sending, &t.turn, &t.completion,
                                      &t.slot_wait, &t.marshal, &t.post};
    for (std::size_t i = 0; i < p.ns.size(); ++i) {
      if (p.ns[i] >= 0) parts[i]->add(p.ns[i]);
    }
  }
  const auto sums_of = [&to](std::uint32_t index) -> ChunkSums* {
    if (index >= kMaxChunkSums) return nullptr;
    auto& sums = at(to.chunks, index);
    if (sums == nullptr) sums = std::make_unique<ChunkSums>();
    return sums.get();
  };
  for (const Batch::Moved& m : from.moved) {
    if (ChunkSums* const sums = sums_of(m.connection)) {
      sums->over_time.at(m.time_ns).bytes[m.list] += m.bytes;
    }
  }
  for (const Batch::Offered& o : from.offered) {
    if (ChunkSums* const sums = sums_of(o.connection)) {
      const auto power = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(o.length)),
                                               sums->sizes[o.list].size() - 1);
      ++sums->sizes[o.list][power];
    }
  }
}

void StoreWriter::put_congestion(Content& to, const Batch& from) {
  for (const Batch::Signal& s : from.signals) {
    if (s.connection >= kMaxChunkSums) continue;
    auto& series = at(to.congestion, s.connection);
    if (series == nullptr) series = std::make_unique<report::Series<CongestionBin>>();
    CongestionBin& bin = series->at(s.time_ns);
    ++(s.cnp ? bin.cnps : bin.marked)[s.side];
  }
  for (const Batch::Paused& p : from.paused) {
    PauseBin& bin = to.pauses.at(p.time_ns);
    if (!p.by_class) ++bin.paused.back();
    for (std::size_t n = 0; p.by_class && n < 8; ++n) bin.paused[n] += p.classes >> n & 1U;
  }
}

void StoreWriter::put_activity(Content& to, const Batch& from) {
  for (const MessageRow& row : from.rows) {
    if (row.kind == model::Kind::kCall) ++to.activity.at(row.time_ns).calls;
  }
}

// Moves the data of `from` to `into`: both are directions of one connection.
void StoreWriter::join(Content& to, std::uint32_t from, std::uint32_t into) {
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t slot = std::size_t{from} * 2 + side;
    if (slot >= to.credits.size() || to.credits[slot] == nullptr) continue;
    const std::unique_ptr<CreditLog> log = std::move(to.credits[slot]);
    auto& kept = at(to.credits, std::size_t{into} * 2 + 1 - side);
    if (kept == nullptr) kept = std::make_unique<CreditLog>();
    kept->merge(*log);
  }
  if (from < to.set_up.size()) {
    const std::vector<std::uint64_t> frames = std::move(to.set_up[from]);
    auto& kept = at(to.set_up, into);
    kept.insert(kept.end(), frames.begin(), frames.end());
  }
  if (from < to.congestion.size() && to.congestion[from] != nullptr) {
    const auto series = std::move(to.congestion[from]);
    auto& kept = at(to.congestion, into);
    if (kept == nullptr) kept = std::make_unique<report::Series<CongestionBin>>();
    for (std::int64_t n = series->first(); n <= series->last(); ++n) {
      const CongestionBin& b = series->bin(n);
      kept->at(n * series->width_ns()).join({{b.marked[1], b.marked[0]}, {b.cnps[1], b.cnps[0]}});
    }
  }
  if (from < to.states.size() && to.states[from] != nullptr) {
    const std::unique_ptr<StatesLog> log = std::move(to.states[from]);
    auto& kept = at(to.states, into);
    if (kept == nullptr) kept = std::make_unique<StatesLog>();
    kept->over_time.merge(log->over_time);
  }
  if (from >= to.chunks.size() || to.chunks[from] == nullptr) return;
  const std::unique_ptr<ChunkSums> sums = std::move(to.chunks[from]);
  auto& kept = at(to.chunks, into);
  if (kept == nullptr) kept = std::make_unique<ChunkSums>();
  kept->over_time.merge(sums->over_time);
  for (std::size_t list = 0; list < sums->sizes.size(); ++list) {
    for (std::size_t i = 0; i < sums->sizes[list].size(); ++i) {
      kept->sizes[list][i] += sums->sizes[list][i];
    }
  }
}

void StoreWriter::put_connections(Content& to, const Batch& from) {
  for (const auto& [index, into] : from.merged) {
    if (index >= Content::kMostConnections) continue;
    while (to.goes_on_as.size() <= index) {
      to.goes_on_as.push_back(static_cast<std::uint32_t>(to.goes_on_as.size()));
    }
    to.goes_on_as[index] = into;
    join(to, index, into);
    if (index < to.connections.size()) to.connections[index] = {};
  }
  const auto put = [&to](const ConnectionInfo& info, std::uint32_t index) {
    if (info.id == 0 || index >= Content::kMostConnections) return;
    ConnectionInfo& place = at(to.connections, index);
    const auto findings = place.findings;
    place = info;
    place.findings = findings;
  };
  for (const ConnectionInfo& info : from.evicted) put(info, info.id - 1);
  for (const auto& [index, info] : from.touched) put(info, index);
}

void StoreWriter::put_states(Content& to, const Batch& from) {
  for (const Batch::StatesSample& s : from.samples) {
    auto& log = at(to.states, s.connection);
    if (log == nullptr) log = std::make_unique<StatesLog>();
    // When a connection has ended, none of its Calls is outstanding.
    const bool ended = s.counts.visible == 0;
    const std::uint8_t visible = log->now.visible;
    log->now = s.counts;
    if (ended) log->now.visible = visible;
    StatesBin sample;
    sample.most = sample.last = s.counts.calls;
    sample.any = true;
    log->over_time.at(s.time_ns).join(sample);
  }
}

void StoreWriter::put_totals(Content& to, const Batch& from) {
  to.integrity = from.integrity;
  to.first_ns = from.first_ns;
  to.last_ns = from.last_ns;
  to.progress.bytes_read = from.bytes_read;
  to.progress.bytes_total = from.bytes_total;
}

// Adds the findings that follow from the totals, which the rules do not report.
void StoreWriter::put_conclusions(Content& to, const report::Report& report) {
  for (const report::Finding& f : report.findings) {
    const rules::Rule* const rule = f.concluded ? rules::find_rule(f.rule) : nullptr;
    if (rule == nullptr || to.kinds.size() == kMaxKinds) continue;
    ++to.found_total[static_cast<std::size_t>(f.severity)];
    if (f.connection != 0 && f.connection <= to.connections.size()) {
      ++to.connections[f.connection - 1].findings[static_cast<std::size_t>(f.severity)];
    }
    FoundKind& kind = to.kinds.emplace_back();
    kind.rule = rule;
    kind.severity = f.severity;
    kind.connection = f.connection;
    kind.peer = f.peer;
    kind.role = f.role;
    kind.count = f.count;
    kind.spans = f.spans;
    kind.text = f.text;
    kind.advice = f.advice;
    for (const std::uint64_t frame : f.frames) kind.places.push_back({0, frame});
  }
}

}  // namespace rpcrdma::index
