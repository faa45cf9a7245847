// Serializes metric families to OpenMetrics 1.0 text.
#include "openmetrics.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace rpcrdma::metrics {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

namespace {

using SampleLabels = std::vector<ClientMetric::Label>;

constexpr std::string_view kTotal = "_total";
constexpr std::array<std::string_view, 2> kUnits{"seconds", "bytes"};

// Null for a type that is not written.
const char* type_name(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    default:
      return nullptr;
  }
}

std::string_view family_name(const MetricFamily& family) {
  std::string_view name = family.name;
  if (family.type == MetricType::Counter && name.ends_with(kTotal)) {
    name.remove_suffix(kTotal.size());
  }
  return name;
}

// Empty without a unit.
std::string_view unit_of(std::string_view name) {
  for (const std::string_view unit : kUnits) {
    if (name.ends_with(unit) && name.substr(0, name.size() - unit.size()).ends_with('_')) {
      return unit;
    }
  }
  return {};
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else {
      out += c;
    }
  }
  return out;
}

// Databases compare bounds as text, so the specification defines one way to write each: as %g does,
// with as many digits as needed, and never like an integer ("Canonical Numbers").
std::string canonical(double bound) {
  if (std::isinf(bound)) return bound > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), bound, std::chars_format::general)
          .ptr;
  std::string text(digits.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// The samples of one family.
class Samples {
 public:
  Samples(std::string& out, std::string_view family) : out_(out), family_(family) {}

  template <typename Number>
  void add(std::string_view suffix, const SampleLabels& labels, Number value) {
    fmt::format_to(std::back_inserter(out_), "{}{}", family_, suffix);
    const char* before = "{";
    for (const ClientMetric::Label& l : labels) {
      fmt::format_to(std::back_inserter(out_), "{}{}=\"{}\"", before, l.name, escaped(l.value));
      before = ",";
    }
    fmt::format_to(std::back_inserter(out_), "{} {}\n", labels.empty() ? "" : "}", value);
  }

  void add(const ClientMetric& metric) {
    const ClientMetric::Histogram& h = metric.histogram;
    double last = -std::numeric_limits<double>::infinity();
    for (const ClientMetric::Bucket& b : h.bucket) {
      add_bucket(metric.label, b.upper_bound, b.cumulative_count);
      last = b.upper_bound;
    }
    // prometheus-cpp allows it to be omitted.
    const double endless = std::numeric_limits<double>::infinity();
    if (last != endless) add_bucket(metric.label, endless, h.sample_count);
    add("_count", metric.label, h.sample_count);
    add("_sum", metric.label, h.sample_sum);
  }

 private:
  void add_bucket(SampleLabels labels, double bound, std::uint64_t count) {
    labels.push_back({"le", canonical(bound)});
    add("_bucket", labels, count);
  }

  std::string& out_;
  std::string_view family_;
};

void write(std::string& out, const MetricFamily& family) {
  const char* const type = type_name(family.type);
  if (type == nullptr) return;
  const std::string_view name = family_name(family);
  const std::string_view unit = unit_of(name);
  fmt::format_to(std::back_inserter(out), "# TYPE {} {}\n", name, type);
  if (!unit.empty()) fmt::format_to(std::back_inserter(out), "# UNIT {} {}\n", name, unit);
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n", name, escaped(family.help));
  Samples samples(out, name);
  for (const ClientMetric& m : family.metric) {
    if (family.type == MetricType::Histogram) {
      samples.add(m);
    } else if (family.type == MetricType::Counter) {
      samples.add(kTotal, m.label, m.counter.value);
    } else {
      samples.add("", m.label, m.gauge.value);
    }
  }
}

}  // namespace

std::string openmetrics(std::span<const MetricFamily> families) {
  std::string out;
  for (const MetricFamily& f : families) write(out, f);
  return out + "# EOF\n";
}

}  // namespace rpcrdma::metrics
