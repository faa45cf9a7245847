#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/load/echo_requests.h>
#include <rpcrdma/load/report_read.h>

namespace rpcrdma::load {

namespace {

using ReadJson = nlohmann::json;

// A member of an object; null if it is missing.
const ReadJson& member(const ReadJson& object, const char* key) {
  static const ReadJson none;
  if (!object.is_object()) return none;
  const auto at = object.find(key);
  return at == object.end() ? none : *at;
}

bool read(const ReadJson& from, std::uint64_t& to) {
  if (!from.is_number_unsigned()) return false;
  to = from.get<std::uint64_t>();
  return true;
}

bool read(const ReadJson& from, std::int64_t& to) {
  std::uint64_t value = 0;
  if (!read(from, value) || value > INT64_MAX) return false;
  to = static_cast<std::int64_t>(value);
  return true;
}

bool read(const ReadJson& from, std::uint32_t& to) {
  std::uint64_t value = 0;
  if (!read(from, value) || value > UINT32_MAX) return false;
  to = static_cast<std::uint32_t>(value);
  return true;
}

bool read(const ReadJson& from, base::Histogram& to) {
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::uint64_t sum = 0;
  const ReadJson& list = member(from, "buckets");
  if (!read(member(from, "min"), min) || !read(member(from, "max"), max) ||
      !read(member(from, "sum"), sum) || !list.is_array()) {
    return false;
  }
  std::vector<base::Histogram::Bucket> buckets;
  for (const ReadJson& pair : list) {
    base::Histogram::Bucket& b = buckets.emplace_back();
    if (!pair.is_array() || pair.size() != 2 || !read(pair[0], b.index) ||
        !read(pair[1], b.count)) {
      return false;
    }
  }
  const auto restored = base::Histogram::restore(min, max, sum, buckets);
  if (restored) to = *restored;
  return restored.has_value();
}

bool read(const ReadJson& from, LatencyBins::Counts& to) {
  if (!from.is_array()) return false;
  for (const ReadJson& pair : from) {
    std::uint32_t bucket = 0;
    if (!pair.is_array() || pair.size() != 2 || !read(pair[0], bucket) || bucket >= to.size() ||
        !read(pair[1], to[bucket])) {
      return false;
    }
  }
  return true;
}

bool read(const ReadJson& from, std::vector<LatencyBins::Counts>& to) {
  const ReadJson& bins = member(from, "bins");
  if (!bins.is_array()) return false;
  std::int64_t first = 0;
  for (const ReadJson& bin : bins) {
    std::int64_t n = 0;
    if (!read(member(bin, "bin"), n)) return false;
    if (to.empty()) first = n;
    n -= first;
    if (n < static_cast<std::int64_t>(to.size()) || n >= LatencyBins::kMost) return false;
    to.resize(static_cast<std::size_t>(n) + 1);
    if (!read(member(bin, "log2"), to.back())) return false;
  }
  return true;
}

}  // namespace

tl::expected<ReadReport, std::string> read_json(std::string_view text) {
  const ReadJson json = ReadJson::parse(text, nullptr, false);
  if (json.is_discarded()) return tl::unexpected(std::string("not JSON"));
  ReadReport report;
  const ReadJson& seconds = member(json, "seconds");
  const ReadJson& procedures = member(json, "procedures");
  if (!seconds.is_number() || !procedures.is_array()) {
    return tl::unexpected(std::string("seconds or procedures: missing"));
  }
  report.seconds = seconds.get<double>();
  const std::vector<std::string> names = echo_procedures();
  for (const ReadJson& one : procedures) {
    const ReadJson& name = member(one, "name");
    const auto known =
        std::find_if(names.begin(), names.end(), [&](const std::string& n) { return name == n; });
    ReadProcedure p;
    p.number = static_cast<std::uint32_t>(known - names.begin());
    if (known == names.end() ||
        std::any_of(report.procedures.begin(), report.procedures.end(),
                    [&](const ReadProcedure& other) { return other.number == p.number; })) {
      return tl::unexpected(std::string("procedures: an unknown name, or one that is there twice"));
    }
    if (!read(member(one, "calls"), p.calls) || !read(member(one, "histogram_ns"), p.latency) ||
        !read(member(one, "over_time"), p.over_time) || p.latency.count() > p.calls) {
      return tl::unexpected(fmt::format(
          "procedures: {} has no valid calls, histogram_ns and over_time (older versions of load "
          "do not write them)",
          *known));
    }
    report.procedures.push_back(std::move(p));
  }
  return report;
}

}  // namespace rpcrdma::load
