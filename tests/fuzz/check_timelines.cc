#include "check_timelines.h"

#include "fuzz_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <rpcrdma/timeline/perfetto.h>
#include <rpcrdma/timeline/qlog.h>
#include <rpcrdma/timeline/timeline.h>

namespace rpcrdma::fuzz {

namespace {

using nlohmann::json;

std::string export_as(std::unique_ptr<timeline::Format> (*make)(timeline::Write),
                      const std::uint8_t* data, std::size_t size) {
  std::string text;
  const auto source = capture::open_memory({data, size});
  require(source.has_value());
  const auto format = make([&](std::string_view piece) { text += piece; });
  timeline::Timeline timeline(*format);
  require(timeline.pipeline().run(**source, {}, 1).has_value());
  timeline.pipeline().finish();
  timeline.finish(0);
  return text;
}

// Nanoseconds. Absurd times do not fit a double.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
constexpr double kExact = 1e15;

void require_nested(std::vector<Slice>& slices) {
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
  std::vector<Slice> open;
  for (const Slice& s : slices) {
    while (!open.empty() && open.back().end <= s.begin) open.pop_back();
    require(open.empty() || s.end <= open.back().end);
    open.push_back(s);
  }
}

std::size_t calls_of_trace(const std::string& text) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Slice>> threads;
  std::size_t calls = 0;
  const json trace = json::parse(text);
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    calls += e["cat"] == "call" ? 1 : 0;
    const double begin = e["ts"].get<double>() * 1000;
    const double duration = e["dur"].get<double>() * 1000;
    require(begin >= 0 && duration >= 0);
    if (begin + duration > kExact) continue;
    threads[{e["pid"], e["tid"]}].push_back(
        {std::llround(begin), std::llround(begin) + std::llround(duration)});
  }
  for (auto& thread : threads) require_nested(thread.second);
  return calls;
}

std::size_t calls_of_sequence(const std::string& text) {
  std::size_t calls = 0;
  for (std::size_t at = 0; at < text.size();) {
    require(text[at] == '\x1e');
    const std::size_t end = std::min(text.find('\x1e', at + 1), text.size());
    const json record = json::parse(text.substr(at + 1, end - at - 1));
    calls += record.value("name", "") == "rpcrdma:call_ended" ? 1 : 0;
    at = end;
  }
  return calls;
}

}  // namespace

void check_timelines(const std::uint8_t* data, std::size_t size) {
  const std::size_t calls = calls_of_trace(export_as(timeline::make_perfetto, data, size));
  require(calls == calls_of_sequence(export_as(timeline::make_qlog, data, size)));
}

}  // namespace rpcrdma::fuzz
