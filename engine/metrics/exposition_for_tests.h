// A strict reader of the text that Prometheus scrapes (exposition format 0.0.4): what would be
// refused, or misunderstood, is a problem.
#pragma once

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace rpcrdma::metrics::testing {

class Exposition {
 public:
  explicit Exposition(std::string_view text) {
    if (!text.empty() && text.back() != '\n') problem("the last line has no end", text);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      line(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    for (const auto& [series, histogram] : histograms_) check(series, histogram);
  }

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  // By name and labels in the order of their names: `calls_total{kind="a",role="b"}`.
  [[nodiscard]] const std::map<std::string, double>& samples() const { return samples_; }
  // NaN if it is not there.
  [[nodiscard]] double operator[](const std::string& series) const {
    const auto found = samples_.find(series);
    return found == samples_.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
  }
  // Names of families, with their types.
  [[nodiscard]] const std::map<std::string, std::string>& types() const { return types_; }

 private:
  using Labels = std::map<std::string, std::string>;
  struct Histogram {
    std::vector<std::pair<double, double>> buckets;  // as they come
    double count = -1;
    bool has_sum = false;
  };

  void problem(std::string_view what, std::string_view where) {
    problems_.push_back(fmt::format("{}: {}", what, where));
  }

  static bool is_name(std::string_view name, bool colon) {
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
    for (const char c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && !(colon && c == ':')) {
        return false;
      }
    }
    return true;
  }

  static bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
  }
  // Up to one of these, or the end.
  static std::string_view take_until(std::string_view& text, std::string_view ends) {
    const std::string_view taken = text.substr(0, text.find_first_of(ends));
    text.remove_prefix(taken.size());
    return taken;
  }

  void line(std::string_view whole) {
    std::string_view rest = whole;
    if (take(rest, "# HELP ")) {
      const std::string name(take_until(rest, " "));
      if (!is_name(name, true)) problem("no name", whole);
      if (!helps_.insert(name).second) problem("a second HELP", whole);
      if (rest.size() < 2) problem("a HELP that says nothing", whole);
      for (std::size_t i = 0; i < rest.size(); ++i) {
        if (rest[i] != '\\') continue;
        if (++i == rest.size() || (rest[i] != '\\' && rest[i] != 'n')) {
          problem("a backslash that escapes nothing", whole);
        }
      }
    } else if (take(rest, "# TYPE ")) {
      const std::string name(take_until(rest, " "));
      const std::string type(rest.substr(rest.empty() ? 0 : 1));
      static const std::set<std::string> kTypes{"counter", "gauge", "histogram", "summary",
                                                "untyped"};
      if (!kTypes.contains(type)) problem("no such type", whole);
      if (!types_.emplace(name, type).second) problem("a second TYPE", whole);
      current_ = name;
    } else if (!whole.empty() && whole[0] != '#') {
      sample(whole);
    }
  }

  void sample(std::string_view whole) {
    std::string_view rest = whole;
    const std::string name(take_until(rest, "{ "));
    if (!is_name(name, true)) return problem("no name", whole);
    Labels labels;
    if (take(rest, "{") && !read_labels(rest, labels)) return problem("no labels", whole);
    if (!take(rest, " ")) return problem("no value", whole);
    const std::string text(rest);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    // A time may follow; nobody here writes one.
    if (text.empty() || *end != 0) return problem("no number", whole);
    if (!samples_.emplace(series(name, labels), value).second) problem("it was there", whole);
    classify(name, labels, value, whole);
  }

  static bool read_labels(std::string_view& rest, Labels& labels) {
    while (!take(rest, "}")) {
      const std::string name(take_until(rest, "="));
      if (!is_name(name, false) || !take(rest, "=\"")) return false;
      std::string value;
      for (; !rest.starts_with('"'); rest.remove_prefix(1)) {
        if (rest.empty()) return false;
        if (rest[0] != '\\') {
          value += rest[0];
          continue;
        }
        rest.remove_prefix(1);
        if (rest.empty() || std::string_view("\\\"n").find(rest[0]) == std::string_view::npos) {
          return false;
        }
        value += rest[0] == 'n' ? '\n' : rest[0];
      }
      rest.remove_prefix(1);
      if (!labels.emplace(name, value).second) return false;
      if (!take(rest, ",") && !rest.starts_with('}')) return false;
    }
    return true;
  }

  static std::string series(const std::string& name, const Labels& labels) {
    std::string text;
    for (const auto& [key, value] : labels) {
      text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", key, value);
    }
    return text.empty() ? name : fmt::format("{}{{{}}}", name, text);
  }

  // What belongs to its family, which stands together below its TYPE.
  void classify(const std::string& name, Labels labels, double value, std::string_view whole) {
    const auto type = types_.find(current_);
    if (type == types_.end() || !name.starts_with(current_)) {
      return problem("not below its TYPE", whole);
    }
    const std::string suffix = name.substr(current_.size());
    if (type->second == "histogram") {
      const auto le = labels.find("le");
      const bool is_bucket = suffix == "_bucket";
      if (is_bucket != (le != labels.end())) return problem("le and no bucket", whole);
      const double bound = is_bucket ? std::strtod(le->second.c_str(), nullptr) : 0;
      labels.erase("le");
      Histogram& h = histograms_[series(current_, labels)];
      if (is_bucket) {
        h.buckets.emplace_back(bound, value);
      } else if (suffix == "_count") {
        h.count = value;
      } else if (suffix == "_sum") {
        h.has_sum = true;
      } else {
        problem("no part of a histogram", whole);
      }
    } else if (type->second == "summary") {
      if (suffix != "_count" && suffix != "_sum" &&
          !(suffix.empty() && labels.contains("quantile"))) {
        problem("no part of a summary", whole);
      }
    } else if (!suffix.empty()) {
      problem("not below its TYPE", whole);
    } else if (type->second == "counter" && (!(value >= 0) || std::isinf(value))) {
      problem("a counter that counts no such thing", whole);
    }
  }

  void check(const std::string& series, const Histogram& h) {
    if (h.buckets.empty() || !h.has_sum || h.count < 0) return problem("not all parts", series);
    for (std::size_t i = 1; i < h.buckets.size(); ++i) {
      if (!(h.buckets[i - 1].first < h.buckets[i].first)) problem("bounds fall", series);
      if (!(h.buckets[i - 1].second <= h.buckets[i].second)) problem("counts fall", series);
    }
    if (!std::isinf(h.buckets.back().first)) problem("no bucket without end", series);
    if (h.buckets.back().second != h.count) problem("the last bucket is not the count", series);
  }

  std::vector<std::string> problems_;
  std::map<std::string, double> samples_;
  std::map<std::string, std::string> types_;
  std::set<std::string> helps_;
  std::map<std::string, Histogram> histograms_;  // by series, without le
  std::string current_;
};

}  // namespace rpcrdma::metrics::testing
