// Draws the screens of `rpcrdma top` as lines of styled text.
#include "bars.h"
#include "call_lines.h"
#include "row.h"
#include "values.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/core.h>

#include <rpcrdma/plot/units.h>
#include <rpcrdma/top/draw.h>
#include <rpcrdma/top/gather.h>

namespace rpcrdma::top {

namespace {

using Side = Row::Side;
using plot::Unit;

constexpr std::size_t kHead = 6;  // lines above the connections: totals, column names
constexpr std::size_t kWide = 100;
constexpr std::size_t kLabel = 9;  // columns left of the bars
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// Calls that take longer without any message are worth a look.
constexpr std::int64_t kSilentNs = 2 * kNsPerSecond;

// The lines of each part of a screen.
struct Layout {
  std::size_t table = 0;
  std::size_t chart = 0;     // chart of the selected connection's credits in use; 0: not shown
  std::size_t findings = 0;  // 0: not shown
  std::size_t network = 0;   // devices and fabrics
  std::size_t ends = 0;      // connections whose both ends are shown; 0: not shown
};

constexpr std::size_t kDetail = 8;  // lines above and below the chart

// How many lines these parts would fill.
struct Wanted {
  std::size_t network = 0;
  std::size_t ends = 0;
};

Layout layout(std::size_t height, const Wanted& wanted) {
  constexpr std::size_t kWhole = 22;
  constexpr std::size_t kWithFindings = 14;
  Layout l;
  std::size_t used = kHead + 1;
  if (height >= kWithFindings) {
    l.network = std::min<std::size_t>(wanted.network, height >= 2 * kWhole ? 4 : 1);
    l.ends = std::min<std::size_t>(wanted.ends, 1 + (height - kWithFindings) / 8);
  }
  const std::size_t more = l.network + (l.ends != 0 ? l.ends + 1 : 0);
  used += more;
  // On a screen with these parts, the others fill what they would fill of a smaller one.
  const std::size_t rest = height > more ? height - more : 0;
  if (rest >= kWithFindings) {
    l.findings = rest >= kWhole ? std::min<std::size_t>(2 + (rest - kWhole) / 6, 10) : 2;
    used += l.findings + 1;
  }
  if (rest >= kWhole) {
    l.chart = std::min<std::size_t>(2 + (rest - kWhole) / 6, 8);
    used += l.chart + kDetail + (wanted.network != 0 ? 1 : 0);
  }
  l.table = height > used ? height - used : 0;
  return l;
}

Wanted wanted(const Shown& s) {
  return {s.network.size(), s.ends.size()};
}

const char* rule_glyph(bool utf8) {
  return utf8 ? "─" : "-";
}

std::string rate(const Shown& s, Unit unit, double value) {
  if (!s.measured) return "-";
  return plot::format_value(unit, unit == Unit::kBytesPerSecond ? value : rounded(value));
}

std::string bytes(std::uint64_t value) {
  return plot::format_value(Unit::kBytes, static_cast<double>(value));
}

std::string count(std::uint64_t value) {
  return plot::format_value(Unit::kCount, static_cast<double>(value));
}

Style style_of(rules::Severity severity) {
  return severity == rules::Severity::kError     ? Style::kBad
         : severity == rules::Severity::kWarning ? Style::kWarning
                                                 : Style::kDim;
}

const char* sort_name(Sort sort) {
  constexpr std::array<const char*, kSorts> kNames{"calls/s", "p99", "in use", "waiting", "ID"};
  return kNames[static_cast<std::size_t>(sort)];
}

// Puts optional text only if it fits as a whole.
bool put_if_whole(Row& row, const std::string& text, Style style = Style::kPlain) {
  if (row.left() < text.size()) return false;
  row.put(text, style);
  return true;
}

// Draws all parts of one screen.
class Drawer {
 public:
  Drawer(const Shown& shown, const View& view, std::size_t width, bool utf8)
      : s_(shown), view_(view), width_(width), utf8_(utf8) {}

  void screen(std::size_t height);
  void all();
  [[nodiscard]] std::vector<Line> take() { return std::move(lines_); }

 private:
  [[nodiscard]] Row row() const { return {width_, utf8_}; }
  void add(Line line) { lines_.push_back(std::move(line)); }
  void blank() { add(row().take()); }

  [[nodiscard]] std::string whose() const;
  [[nodiscard]] bool runs_again(const ShownEndpoint& ended) const;
  [[nodiscard]] std::string trouble() const;
  void title(bool live);
  void trace();
  void calls();
  void chunks();
  void network(std::size_t rows);
  void ends(std::size_t rows);
  void network_history();
  void heading(const std::string& text, const std::string& behind);
  void column_names();
  [[nodiscard]] std::string peer_text(const ShownConnection& c) const;
  void connection(const ShownConnection& c, bool selected);
  void table(std::size_t rows);
  void detail(std::size_t chart);
  // Returns false if there was no room for the inline thresholds.
  bool credits(const ShownConnection& c, std::size_t chart);
  void bars(const ShownConnection& c, std::uint32_t Credits::*what, const char* name,
            std::uint32_t full, Style style);
  // Returns the selected connection; null if it is not shown.
  [[nodiscard]] const ShownConnection* selected() const;
  void counted_chunks(const ShownConnection& c);
  void procedures(const ShownConnection& c, std::size_t rows);
  // Whether Calls of any endpoint are only counted.
  [[nodiscard]] bool any_counted() const;
  void findings_heading(const char* behind);
  void finding(const ShownFinding& f, bool selected);
  void findings(std::size_t rows);
  void findings_page(std::size_t height);
  void wrapped(const std::string& text, std::size_t lines, Style style);
  void help();
  void keys();
  [[nodiscard]] std::size_t peer_width() const {
    return 24 + std::min<std::size_t>(width_ > 80 ? (width_ - 80) / 2 : 0, 30);
  }

  const Shown& s_;
  const View& view_;
  std::size_t width_;
  bool utf8_;
  std::vector<Line> lines_;
};

std::string Drawer::whose() const {
  if (s_.endpoints.empty()) return "waiting for an endpoint";
  if (s_.endpoints.size() == 1) {
    const ShownEndpoint& e = s_.endpoints.front();
    return e.role.empty() ? e.name : fmt::format("{}: {}", e.name, e.role);
  }
  std::string names;
  for (const ShownEndpoint& e : s_.endpoints) names += (names.empty() ? "" : ", ") + e.name;
  return fmt::format("{} endpoints: {}", s_.endpoints.size(), names);
}

bool Drawer::runs_again(const ShownEndpoint& ended) const {
  return std::ranges::any_of(
      s_.endpoints, [&](const ShownEndpoint& e) { return !e.ended && e.name == ended.name; });
}

std::string Drawer::trouble() const {
  std::string ended;
  if (s_.endpoints.size() >= Gather::kMostEndpoints) {
    return fmt::format(" only {} endpoints are shown ", Gather::kMostEndpoints);
  }
  constexpr std::ptrdiff_t kNamed = 2;
  const auto has_ended = [this](const ShownEndpoint& e) { return e.ended && !runs_again(e); };
  const auto gone = std::ranges::count_if(s_.endpoints, has_ended);
  if (gone > kNamed) return fmt::format(" {} endpoints have ended ", gone);
  for (const ShownEndpoint& e : s_.endpoints) {
    if (!has_ended(e)) continue;
    // Kept short: at 80 columns there is room for about 25 characters.
    ended += fmt::format("{}{} {} {}{}{}", ended.empty() ? " " : ", ", e.name,
                         e.in_order ? "has ended" : "killed?", clock_text(e.ended_ns),
                         e.why.empty() ? "" : ": ", e.why);
  }
  return ended.empty() ? ended : ended + " ";
}

void Drawer::title(bool live) {
  std::string state = trouble();
  const Style style = state.empty() ? Style::kWarning : Style::kBad;
  if (live && view_.paused) state += " PAUSED ";
  const std::string right =
      fmt::format(" {}, {} open  {} UTC ", plural(s_.connections, "connection"), s_.open,
                  clock_text(s_.now_ns));
  Row r = row();
  r.put(" rpcrdma top  ", Style::kBar);
  if (r.left() > right.size()) {
    // The counts and the time have priority.
    const std::size_t kept =
        std::min({width_ / 2, r.left() - right.size(),
                  plot::terminal_width(plot::fit_terminal(state, width_, utf8_))});
    r.cell(whose(), r.left() - kept - right.size(), Side::kLeft, Style::kBar);
    r.cell(state, kept, Side::kLeft, style);
    r.put(right, Style::kBar);
  } else {
    r.put(state, style);
  }
  add(r.take(Style::kBar));
}

// Shows whether all events were received.
void Drawer::trace() {
  const trace_reader::ReaderStats& e = s_.events;
  Row r = row();
  r.cell(" Trace", 10, Side::kLeft, Style::kBold);
  const std::uint64_t gone = e.lost + e.missing;
  if (gone != 0) {
    r.put("INCOMPLETE", Style::kBad);
  } else if (e.emitted == 0) {
    r.put("unknown");
  } else {
    r.put("complete", Style::kGood);
  }
  r.put(fmt::format("  emitted {} = received {} + ", e.emitted, e.received));
  r.put(fmt::format("lost {}", e.lost), e.lost != 0 ? Style::kBad : Style::kPlain);
  if (e.missing != 0) r.put(fmt::format(" + missing {}", e.missing), Style::kBad);
  const std::uint64_t odd = e.unknown + e.malformed + e.passed_over;
  if (odd != 0) r.put(fmt::format("  not decoded {}", odd), Style::kBad);
  r.put(fmt::format("  {}", rate(s_, Unit::kPerSecond, s_.events_rate)));
  add(r.take());
}

void Drawer::calls() {
  Row r = row();
  r.cell(" Calls", 10, Side::kLeft, Style::kBold);
  r.cell(rate(s_, Unit::kPerSecond, s_.rates.calls), 9, Side::kLeft);
  r.put("p50 ").cell(duration_text(s_.latency.p50_ns), 8, Side::kLeft);
  r.put("p99 ").cell(duration_text(s_.latency.p99_ns), 8, Side::kLeft);
  r.put("waiting " + brief(s_.waiting), s_.waiting != 0 ? Style::kWarning : Style::kPlain);
  r.put("  ").put("errors " + brief(s_.totals.errors),
                  s_.totals.errors != 0 ? Style::kBad : Style::kPlain);
  if (s_.faults != 0) r.put("  ").put("faults " + brief(s_.faults), Style::kWarning);
  put_if_whole(
      r, fmt::format("  all {}", plot::format_value(
                                     Unit::kCount, rounded(static_cast<double>(s_.totals.calls)))));
  add(r.take());
}

constexpr std::array<const char*, 3> kChunks{"Read", "Write", "Reply"};
// Of a source that counts: Reply chunks are among the Write chunks.
constexpr std::array<const char*, 2> kCountedChunks{"Read", "Write and Reply"};

bool is_counted(const ShownEndpoint& endpoint) {
  return endpoint.source == trace::EventSource::kKernelSums;
}

void Drawer::chunks() {
  Row r = row();
  r.cell(" Chunks", 10, Side::kLeft, Style::kBold);
  const bool counted = !s_.endpoints.empty() && std::ranges::all_of(s_.endpoints, is_counted);
  const std::span<const char* const> names = counted ? std::span<const char* const>(kCountedChunks)
                                                     : std::span<const char* const>(kChunks);
  for (std::size_t i = 0; i < names.size(); ++i) {
    r.put(names[i]).put(" ");
    r.cell(rate(s_, Unit::kBytesPerSecond, s_.rates.chunk_bytes[i]), 13, Side::kLeft);
    if (width_ >= kWide) r.cell(bytes(s_.totals.chunk_bytes[i]), 11, Side::kLeft);
    r.put("  ");
  }
  add(r.take());
}

void Drawer::network(std::size_t rows) {
  for (std::size_t i = 0; i < std::min(rows, s_.network.size()); ++i)
    add(network_line(s_.network[i], width_, utf8_));
}

void Drawer::ends(std::size_t rows) {
  if (rows == 0) return;
  add(ends_names(width_, utf8_));
  for (std::size_t i = 0; i < rows; ++i) add(ends_line(s_.ends[i], width_, utf8_));
}

// Below the credits, in the same columns.
void Drawer::network_history() {
  std::vector<Bar> all;
  std::uint64_t most = 1;
  for (const std::uint64_t one : s_.network_history) most = std::max(most, one);
  constexpr std::uint64_t kFull = 1000;
  for (const std::uint64_t one : s_.network_history) {
    all.push_back({static_cast<std::uint32_t>((one * kFull + most - 1) / most), Style::kBad});
  }
  Row r = row();
  r.cell("network", kLabel, Side::kRight, Style::kDim).put(" ");
  put_bars(r, all, kFull, 0, 1, r.left(), utf8_);
  add(r.take());
}

void Drawer::heading(const std::string& text, const std::string& behind) {
  Row r = row();
  const char* const glyph = rule_glyph(utf8_);
  r.put(glyph, Style::kDim).put(" ").put(text, Style::kBold).put(" ");
  const std::size_t kept = behind.empty() ? 0 : plot::terminal_width(behind) + 3;
  r.fill(glyph, Style::kDim, kept);
  if (r.left() == kept && kept != 0) r.put(" ").put(behind).put(" ").fill(glyph, Style::kDim);
  add(r.take());
}

void Drawer::column_names() {
  Row r = row();
  const auto style = [&](Sort sort) { return sort == view_.sort ? Style::kSelected : Style::kBar; };
  r.cell("ID", 5, Side::kRight, style(Sort::kId)).put("   ", Style::kBar);
  r.cell("PEER", peer_width() - 2, Side::kLeft, Style::kBar);
  r.put(" ", Style::kBar).cell("CALLS/s", 8, Side::kRight, style(Sort::kCalls));
  r.put(" ", Style::kBar).cell("p50", 7, Side::kRight, Style::kBar);
  r.put(" ", Style::kBar).cell("p99", 7, Side::kRight, style(Sort::kLatency));
  r.put(" ", Style::kBar).cell("USE/GRANT", 9, Side::kRight, style(Sort::kInUse));
  r.put(" ", Style::kBar).cell("WAIT", 5, Side::kRight, style(Sort::kWaiting));
  r.put(r.left() >= 20 ? "  CREDITS IN USE" : "  IN USE", Style::kBar);
  add(r.take(Style::kBar));
}

std::uint32_t most(const ShownConnection& c, std::uint32_t Credits::*what) {
  std::uint32_t most = c.credits.*what;
  for (const Credits& one : c.history) most = std::max(most, one.*what);
  return most;
}

std::vector<Bar> in_use(const ShownConnection& c) {
  std::vector<Bar> bars;
  bars.reserve(c.history.size());
  for (const Credits& one : c.history) {
    const bool full = one.waiting != 0 || (one.granted != 0 && one.in_use >= one.granted);
    bars.push_back({one.in_use, full ? Style::kWarning : Style::kGood});
  }
  return bars;
}

// Returns an arrow from the RPC client to the RPC server.
std::string direction(const ShownConnection& c) {
  return c.calls_here ? "> " : "< ";
}

// The end of an address is cut last: its queue pair distinguishes connections of one peer.
std::string Drawer::peer_text(const ShownConnection& c) const {
  const std::size_t width = peer_width();
  std::string peer = direction(c) + c.peer;
  const bool plain = std::ranges::all_of(peer, [](char x) { return x >= ' ' && x <= '~'; });
  if (!plain) return peer;
  if (peer.size() > width) {
    constexpr std::size_t kCut = 2;  // columns of ".."
    return direction(c) + ".." + peer.substr(peer.size() - width + direction(c).size() + kCut);
  }
  const std::size_t left = width - peer.size();
  if (s_.endpoints.size() < 2 || left < 3) return peer;
  return plot::fit_terminal(c.endpoint, left - 1, utf8_) + " " + peer;
}

void Drawer::connection(const ShownConnection& c, bool selected) {
  const Style style = selected ? Style::kSelected : c.open ? Style::kPlain : Style::kDim;
  const std::string peer = peer_text(c);
  Row r = row();
  r.cell(std::to_string(c.id), 5, Side::kRight, style).put(" ", style);
  r.cell(peer, peer_width(), Side::kLeft, style);
  const auto cell = [&](const std::string& text, std::size_t width, Style own) {
    r.put(" ", style).cell(text, width, Side::kRight, selected ? style : own);
  };
  if (!c.in_sample) {
    // Zeros would look as if it were idle.
    cell("-", 8, style);
    cell("not sampled", 15, style);
    cell("-", 9, style);
    cell("-", 5, style);
    r.put(" ", style);
    if (!c.open) r.put(c.state, style);
    return add(r.take(style));
  }
  cell(rate(s_, Unit::kCount, c.rates.calls), 8, style);
  if (c.silent_ns >= kSilentNs) {
    // Latencies of earlier Calls would look as if it went well.
    cell(fmt::format("silent {} s", c.silent_ns / kNsPerSecond), 15, Style::kWarning);
  } else {
    cell(duration_text(c.latency.p50_ns), 7, style);
    cell(duration_text(c.latency.p99_ns), 7, style);
  }
  cell(fmt::format("{}/{}", c.credits.in_use, c.credits.granted), 9, style);
  cell(std::to_string(c.credits.waiting), 5, c.credits.waiting != 0 ? Style::kWarning : style);
  r.put(" ", style);
  if (c.open) {
    const std::uint32_t full = std::max(most(c, &Credits::granted), most(c, &Credits::in_use));
    put_bars(r, in_use(c), full, 0, 1, r.left(), utf8_);
  } else {
    r.put(c.state, style);
  }
  add(r.take(style));
}

void Drawer::table(std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    if (i < s_.rows.size()) {
      connection(s_.rows[i], s_.rows[i].id == view_.selected);
    } else if (i == 0) {
      add(row()
              .put(s_.endpoints.empty() ? "      no running endpoint; waiting for one"
                                        : "      no connection yet",
                   Style::kDim)
              .take());
    } else {
      blank();
    }
  }
}

std::string inline_text(const ShownConnection& c) {
  return fmt::format("  inline {}/{}", c.inline_call, c.inline_reply);
}

// Puts what went wrong on a connection whose Calls are counted.
void counted_troubles(Row& r, const trace::ConnectionSums& sums) {
  const auto trouble = [&](const char* what, std::uint64_t times, const std::string& more) {
    if (times != 0) r.put(fmt::format("  {} {}{}", what, brief(times), more), Style::kWarning);
  };
  trouble("credit waits", sums.credit_waits,
          fmt::format(" ({})", duration_text(static_cast<std::int64_t>(sums.credit_wait_ns))));
  trouble("resent", sums.resent_calls, "");
  trouble("flushed", sums.flushed, "");
  trouble("invalid headers", sums.invalid_headers, "");
  trouble("send queue full", sums.send_queue_full, "");
}

// Their bytes alone are counted.
void Drawer::counted_chunks(const ShownConnection& c) {
  Row r = row();
  r.cell(" Chunks", 10, Side::kLeft, Style::kBold);
  for (std::size_t i = 0; i < kCountedChunks.size(); ++i) {
    r.put(fmt::format("{} {}, {}   ", kCountedChunks[i], bytes(c.totals.chunk_bytes[i]),
                      rate(s_, Unit::kBytesPerSecond, c.rates.chunk_bytes[i])));
  }
  add(r.take());
}

// Lines up with the columns of the connections.
void Drawer::procedures(const ShownConnection& c, std::size_t rows) {
  heading(fmt::format("Procedures of {}", c.id),
          width_ >= 80 ? "counted in the kernel; not judged" : "");
  const std::vector<ShownProcedure>& all = c.counts->procedures;
  for (std::size_t i = 0; i < rows; ++i) {
    if (i >= all.size()) {
      blank();
      continue;
    }
    const ShownProcedure& p = all[i];
    Row r = row();
    r.space(6).cell(p.name, peer_width(), Side::kLeft);
    const auto cell = [&](const std::string& text, std::size_t width) {
      r.put(" ").cell(text, width, Side::kRight);
    };
    cell(rate(s_, Unit::kCount, p.rate), 8);
    cell(duration_text(p.latency.p50_ns), 7);
    cell(duration_text(p.latency.p99_ns), 7);
    r.put(fmt::format("  all {}", brief(p.calls)));
    if (p.errors != 0) r.put(fmt::format("  errors {}", brief(p.errors)), Style::kBad);
    put_if_whole(r, "  slowest " + duration_text(p.slowest_ns));
    add(r.take());
  }
}

bool Drawer::any_counted() const {
  return std::ranges::any_of(s_.endpoints, is_counted);
}

bool Drawer::credits(const ShownConnection& c, std::size_t chart) {
  Row r = row();
  r.cell(" Credits", 10, Side::kLeft, Style::kBold);
  r.put(fmt::format("requested {}  granted {}  ", c.credits.requested, c.credits.granted));
  if (c.credits.limit != 0 && c.credits.limit != c.credits.granted) {
    r.put(fmt::format("limit {}  ", c.credits.limit));
  }
  r.put(fmt::format("in use {}  ", c.credits.in_use));
  r.put(fmt::format("waiting {}", c.credits.waiting),
        c.credits.waiting != 0 ? Style::kWarning : Style::kPlain);
  const bool with_inline = put_if_whole(r, inline_text(c));
  put_if_whole(r, "  (below: maximum in each second)", Style::kDim);
  add(r.take());
  const std::uint32_t asked = std::max(most(c, &Credits::requested), most(c, &Credits::granted));
  bars(c, &Credits::requested, "requested", asked, Style::kDim);
  bars(c, &Credits::granted, "granted", asked, Style::kPlain);
  const std::size_t width = width_ > kLabel + 1 ? width_ - kLabel - 1 : 0;
  const std::uint32_t full = std::max(most(c, &Credits::granted), most(c, &Credits::in_use));
  const std::vector<Bar> used = in_use(c);
  for (std::size_t line = 0; line < chart; ++line) {
    r = row();
    const std::string label = line == 0           ? std::to_string(full)
                              : line + 1 == chart ? std::string("in use")
                                                  : std::string();
    r.cell(label, kLabel, Side::kRight, Style::kDim).put(" ");
    put_bars(r, used, full, line, chart, width, utf8_);
    add(r.take());
  }
  bars(c, &Credits::waiting, "waiting", most(c, &Credits::waiting), Style::kWarning);
  if (!s_.network.empty()) network_history();
  return with_inline;
}

// Draws one line of bars.
void Drawer::bars(const ShownConnection& c, std::uint32_t Credits::*what, const char* name,
                  std::uint32_t full, Style style) {
  std::vector<Bar> all;
  for (const Credits& one : c.history) all.push_back({one.*what, style});
  Row r = row();
  r.cell(name, kLabel, Side::kRight, Style::kDim).put(" ");
  put_bars(r, all, full, 0, 1, r.left(), utf8_);
  add(r.take());
}

const ShownConnection* Drawer::selected() const {
  const auto at = std::ranges::find(s_.rows, view_.selected, &ShownConnection::id);
  return at == s_.rows.end() ? nullptr : &*at;
}

void Drawer::detail(std::size_t chart) {
  const ShownConnection* const at = selected();
  if (at == nullptr) {
    heading("No connection", "");
    const std::size_t lines = chart + kDetail + (s_.network.empty() ? 0 : 1);
    for (std::size_t i = 1; i < lines; ++i) blank();
    return;
  }
  const ShownConnection& c = *at;
  heading(fmt::format("{}: client {} > server {}", c.id, c.calls_here ? c.local : c.peer,
                      c.calls_here ? c.peer : c.local),
          c.state);
  add(states_line("Now in", c.outstanding, width_, utf8_));
  const bool with_inline = credits(c, chart);
  Row r = row();
  r.cell(" Calls", 10, Side::kLeft, Style::kBold);
  r.put(fmt::format("{}  answered {}  errors {}", count(c.totals.calls), count(c.totals.replies),
                    c.totals.errors));
  if (c.sent_again + c.naks + c.rnr_naks != 0) {
    r.put(fmt::format("  retrans {}  NAK {}  RNR {}", c.sent_again, c.naks, c.rnr_naks),
          Style::kWarning);
  }
  if (c.counts) counted_troubles(r, c.counts->sums);
  if (!with_inline) put_if_whole(r, inline_text(c));
  add(r.take());
  if (c.counts) return counted_chunks(c);
  r = row();
  r.cell(" Chunks", 10, Side::kLeft, Style::kBold);
  for (std::size_t i = 0; i < kChunks.size(); ++i) {
    std::string text = fmt::format("{} {}, {}", kChunks[i], count(c.totals.chunks[i]),
                                   bytes(c.totals.chunk_bytes[i]));
    if (width_ >= kWide) {
      text += ", " + rate(s_, Unit::kBytesPerSecond, c.rates.chunk_bytes[i]);
    }
    r.cell(text, (width_ - std::min<std::size_t>(width_, 11)) / 3 - 1, Side::kLeft).put(" ");
  }
  add(r.take());
}

void Drawer::findings_heading(const char* behind) {
  heading(fmt::format("Findings: {}, {}, {}", plural(s_.found[0], "error"),
                      plural(s_.found[1], "warning"), plural(s_.found[2], "note")),
          behind);
}

void Drawer::finding(const ShownFinding& f, bool selected) {
  const auto style = [&](Style own) { return selected ? Style::kSelected : own; };
  const Style plain = style(Style::kPlain);
  Row r = row();
  r.put(" ", plain).cell(clock_text(f.last_ns), 9, Side::kLeft, plain);
  r.cell(rules::severity_name(f.severity), 8, Side::kLeft, style(style_of(f.severity)));
  r.cell(f.rule.empty() ? "event" : f.rule, 7, Side::kLeft, plain);
  r.cell(f.connection != 0 ? std::to_string(f.connection) : "", 5, Side::kRight, plain);
  r.cell(fmt::format("x{}", count(f.count)), 8, Side::kRight, plain);
  const std::string when = rules::span_text(f.span);
  r.put("  ", plain).put(when.empty() ? f.text : when + ": " + f.text, plain);
  add(r.take(plain));
}

void Drawer::findings(std::size_t rows) {
  const ShownConnection* const c = selected();
  if (c != nullptr && c->counts) return procedures(*c, rows);
  findings_heading("f: show all");
  for (std::size_t i = 0; i < rows; ++i) {
    if (i < s_.findings.size()) {
      finding(s_.findings[i], false);
    } else {
      blank();
    }
  }
}

// Wraps text between words.
void Drawer::wrapped(const std::string& text, std::size_t lines, Style style) {
  const std::size_t width = width_ > 2 ? width_ - 2 : 0;
  std::string_view rest = text;
  for (std::size_t i = 0; i < lines; ++i) {
    std::size_t end = rest.size();
    if (end > width) {
      end = rest.rfind(' ', width);
      if (end == std::string_view::npos || end == 0 || i + 1 == lines) end = rest.size();
    }
    add(row().put(" ").put(rest.substr(0, end), style).take());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void Drawer::findings_page(std::size_t height) {
  constexpr std::size_t kAround = 10;  // lines
  const std::size_t rows = height > kAround ? height - kAround : 0;
  title(true);
  trace();
  findings_heading("newest first");
  Row names = row();
  names.put(" LAST     SEVERITY RULE   CONN    TIMES  WHAT", Style::kBar);
  add(names.take(Style::kBar));
  const std::size_t selected =
      s_.findings.empty() ? 0 : std::min(view_.finding, s_.findings.size() - 1);
  const std::size_t first = rows != 0 && selected >= rows ? selected + 1 - rows : 0;
  for (std::size_t i = first; i < first + rows; ++i) {
    if (i < s_.findings.size()) {
      finding(s_.findings[i], i == selected);
    } else if (i == 0) {
      add(row()
              .put(any_counted() ? " Calls are counted, not judged: see rpcrdma top kernel --events"
                                 : " no problems found so far",
                   Style::kDim)
              .take());
    } else {
      blank();
    }
  }
  if (s_.findings.empty()) {
    for (std::size_t i = 0; i < 5; ++i) blank();
  } else {
    const ShownFinding& f = s_.findings[selected];
    heading(f.peer.empty() ? "Advice" : "By " + f.peer, "");
    wrapped(f.text, 2, Style::kPlain);
    wrapped(f.advice, 2, Style::kDim);
  }
  keys();
}

void Drawer::help() {
  constexpr std::array kLines{
      " q, Ctrl-C      quit",
      " j k, arrows    select a connection; PgUp, PgDn, Home, End jump",
      " s              sort by calls/s, p99, credits in use, waiting Calls, ID",
      " p, space       pause the display; events are still read",
      " f              all findings, with advice on the selected one",
      " ?              this page; any key closes it",
      " Trace          emitted = received + lost, updated by endpoints each second;",
      "                INCOMPLETE: the display only reflects the events received",
      " PEER           < it calls the endpoint, > the endpoint calls it; address.QP",
      " p50 p99        from Call to Reply as the endpoint sees them, last 5 to 10 s;",
      "                silent: no message for so long, with Calls in flight",
      " USE/GRANT      credits in use / granted by the peer: Calls in flight and how",
      "                many may be; limit: the endpoint's own maximum if lower",
      " WAIT           Calls of the endpoint that wait for a credit",
      " Now in         outstanding Calls, by where they are; ? not visible from here,",
      "                + at least, ~ events were lost; earlier: older than this view",
      " BOTH/s         Calls that two endpoints show, and the shares of their time;",
      "                CLOCK: error of the clocks at most; SLOW NOW: side, slow/all",
      " Device Fabric  what the RDMA devices here, or an endpoint's own fabric, count",
      " bars           maximum in each second, up to the grant; yellow where no",
      "                credit was left",
      " kernel         counted there, and not judged: see rpcrdma top kernel --events",
  };
  title(true);
  blank();
  for (const char* line : kLines) add(row().put(line).take());
}

void Drawer::keys() {
  Row r = row();
  const auto key = [&](const char* name, const std::string& what) {
    r.put(" ").put(name, Style::kBold).put(" ").put(what).put(" ");
  };
  key("q", "quit");
  if (view_.page == Page::kFindings) {
    key("j/k", "select");
    key("f", "connections");
  } else {
    key("j/k", "select");
    key("s", fmt::format("sort: {}", sort_name(view_.sort)));
    key("f", "findings");
  }
  key("p", view_.paused ? "resume" : "pause");
  key("?", "help");
  if (view_.page == Page::kConnections && s_.rows.size() < s_.connections) {
    const std::string where =
        fmt::format("{}-{} of {} ", s_.first + 1, s_.first + s_.rows.size(), s_.connections);
    if (r.left() >= where.size()) r.cell(where, r.left(), Side::kRight, Style::kDim);
  }
  add(r.take());
}

void Drawer::screen(std::size_t height) {
  const Layout l = layout(height, wanted(s_));
  switch (view_.page) {
    case Page::kHelp:
      help();
      break;
    case Page::kFindings:
      findings_page(height);
      break;
    case Page::kConnections:
      title(true);
      trace();
      calls();
      chunks();
      add(states_line("Now in", s_.outstanding, width_, utf8_));
      network(l.network);
      ends(l.ends);
      column_names();
      table(l.table);
      if (l.chart != 0) detail(l.chart);
      if (l.findings != 0) findings(l.findings);
      keys();
      break;
  }
  while (lines_.size() < height) blank();
  lines_.resize(height);
}

void Drawer::all() {
  title(false);
  trace();
  calls();
  chunks();
  add(states_line("Now in", s_.outstanding, width_, utf8_));
  network(s_.network.size());
  ends(s_.ends.size());
  column_names();
  table(std::max<std::size_t>(s_.rows.size(), 1));
  for (const ShownConnection& c : s_.rows) {
    if (!c.counts) {
      if (c.open && c.outstanding.outstanding() != 0)
        add(states_line(fmt::format("{} in", c.id).c_str(), c.outstanding, width_, utf8_));
      continue;
    }
    procedures(c, c.counts->procedures.size());
    counted_chunks(c);
    Row r = row();
    r.cell(" Trouble", 9, Side::kLeft, Style::kBold);
    const std::size_t before = r.left();
    counted_troubles(r, c.counts->sums);
    if (r.left() == before) r.put("  none");
    add(r.take());
  }
  findings_heading(any_counted() ? "Calls are counted, not judged" : "");
  for (const ShownFinding& f : s_.findings) finding(f, false);
}

const char* escape_of(Style style, bool colour) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kDim:
      return "\033[2m";
    case Style::kBold:
      return "\033[1m";
    case Style::kBar:
      return "\033[7m";
    case Style::kSelected:
      return colour ? "\033[30;46m" : "\033[1;7m";
    case Style::kGood:
      return colour ? "\033[32m" : "";
    case Style::kWarning:
      return colour ? "\033[33m" : "\033[1m";
    case Style::kBad:
      return colour ? "\033[1;31m" : "\033[1m";
  }
  return "";
}

}  // namespace

std::size_t table_rows(const Size& size, const Shown& shown) {
  return layout(size.height, wanted(shown)).table;
}

std::vector<Line> draw(const Shown& shown, const View& view, const Size& size, bool utf8) {
  Drawer d(shown, view, size.width, utf8);
  d.screen(size.height);
  return d.take();
}

std::vector<Line> draw_plain(const Shown& shown, std::size_t width, bool utf8) {
  View view;
  view.sort = Sort::kId;
  Drawer d(shown, view, width, utf8);
  d.all();
  return d.take();
}

std::string plain(const Line& line) {
  std::string text;
  for (const Piece& p : line) text += p.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string ansi(const Line& line, bool colour) {
  std::string text;
  for (const Piece& p : line) {
    const std::string_view escape = escape_of(p.style, colour);
    text += escape;
    text += p.text;
    if (!escape.empty()) text += "\033[0m";
  }
  return text;
}

}  // namespace rpcrdma::top
