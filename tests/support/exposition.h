// A strict parser of the two formats that are scraped, OpenMetrics 1.0 and Prometheus's exposition
// format 0.0.4: text that would be refused, or misunderstood, is a problem.
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

#include <fmt/core.h>

namespace rpcrdma::metrics::testing {

enum class Syntax { kOpenMetrics, kText };

class Exposition {
 public:
  explicit Exposition(std::string_view text, Syntax syntax = Syntax::kOpenMetrics)
      : syntax_(syntax) {
    if (!text.empty() && text.back() != '\n') problem("the last line has no end", text);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      line(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    for (const auto& [series, histogram] : histograms_) check(series, histogram);
    if (!is_openmetrics()) return;
    if (!ended_) problem("no EOF", "");
    check_names();
  }

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  // By name and labels in the order of their names: `calls_total{kind="a",role="b"}`.
  [[nodiscard]] const std::map<std::string, double>& samples() const { return samples_; }
  // NaN if it is not there.
  [[nodiscard]] double operator[](const std::string& series) const {
    const auto found = samples_.find(series);
    return found == samples_.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
  }
  // Names of families, with their types. OpenMetrics names a counter's family without `_total`.
  [[nodiscard]] const std::map<std::string, std::string>& types() const { return types_; }
  // Names of families, with their units; OpenMetrics only.
  [[nodiscard]] const std::map<std::string, std::string>& units() const { return units_; }

 private:
  using Labels = std::map<std::string, std::string>;
  struct Histogram {
    std::vector<std::pair<double, double>> buckets;  // in the order of the text
    double count = -1;
    bool has_sum = false;
  };

  [[nodiscard]] bool is_openmetrics() const { return syntax_ == Syntax::kOpenMetrics; }

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
  // Up to one of these characters, or the end.
  static std::string_view take_until(std::string_view& text, std::string_view ends) {
    const std::string_view taken = text.substr(0, text.find_first_of(ends));
    text.remove_prefix(taken.size());
    return taken;
  }

  void line(std::string_view whole) {
    std::string_view rest = whole;
    if (ended_) problem("more after EOF", whole);
    if (take(rest, "# HELP ")) {
      help(rest, whole);
    } else if (take(rest, "# TYPE ")) {
      type(rest, whole);
    } else if (is_openmetrics() && take(rest, "# UNIT ")) {
      unit(rest, whole);
    } else if (is_openmetrics() && whole == "# EOF") {
      ended_ = true;
    } else if (!whole.empty() && whole[0] != '#') {
      sampled_ = true;
      sample(whole);
    } else if (is_openmetrics()) {
      problem("no such line", whole);
    }
  }

  void help(std::string_view rest, std::string_view whole) {
    const std::string name(take_until(rest, " "));
    if (!is_name(name, true)) problem("no name", whole);
    if (!helps_.insert(name).second) problem("a second HELP", whole);
    if (is_openmetrics() && (name != current_ || sampled_)) problem("not below its TYPE", whole);
    if (rest.size() < 2) problem("a HELP that says nothing", whole);
    const std::string_view escaped = is_openmetrics() ? "\\n\"" : "\\n";
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (is_openmetrics() && rest[i] == '"') problem("a quote that is not escaped", whole);
      if (rest[i] != '\\') continue;
      if (++i == rest.size() || escaped.find(rest[i]) == std::string_view::npos) {
        problem("a backslash that escapes nothing", whole);
      }
    }
  }

  void type(std::string_view rest, std::string_view whole) {
    const std::string name(take_until(rest, " "));
    const std::string type(rest.substr(rest.empty() ? 0 : 1));
    static const std::set<std::string> kTypes{"counter", "gauge", "histogram", "summary"};
    if (!is_name(name, true)) problem("no name", whole);
    if (!kTypes.contains(type) && type != (is_openmetrics() ? "unknown" : "untyped")) {
      problem("no such type", whole);
    }
    if (!types_.emplace(name, type).second) problem("a second TYPE", whole);
    current_ = name;
    sampled_ = false;
  }

  void unit(std::string_view rest, std::string_view whole) {
    const std::string name(take_until(rest, " "));
    const std::string unit(rest.substr(rest.empty() ? 0 : 1));
    if (name != current_ || sampled_) problem("not below its TYPE", whole);
    if (helps_.contains(name)) problem("not above its HELP", whole);
    if (!units_.emplace(name, unit).second) problem("a second UNIT", whole);
    if (!is_name(unit, true) || !name.ends_with("_" + unit)) problem("not its unit", whole);
  }

  // A number by OpenMetrics; strtod accepts more.
  static bool is_number(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string_view unsigned_text = text;
    if (text.starts_with('+') || text.starts_with('-')) unsigned_text.remove_prefix(1);
    if (text == "nan" || unsigned_text == "inf" || unsigned_text == "infinity") return true;
    return !text.empty() && text.find_first_not_of("0123456789.e+-") == std::string::npos;
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
    // A time may follow; this project never writes one.
    if (text.empty() || *end != 0 || (is_openmetrics() && !is_number(text))) {
      return problem("no number", whole);
    }
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

  // Checks that a sample belongs to its family and directly follows its TYPE.
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
      if (is_bucket && is_openmetrics() && !is_float(le->second)) problem("no float", whole);
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
    } else if (suffix != (is_openmetrics() && type->second == "counter" ? "_total" : "")) {
      problem("not below its TYPE", whole);
    } else if (type->second == "counter" && (!(value >= 0) || std::isinf(value))) {
      problem("a counter that counts no such thing", whole);
    }
  }

  static bool is_float(const std::string& text) {
    return text == "+Inf" || (is_number(text) && text.find_first_of(".e") != std::string::npos);
  }

  // No family may have samples whose names could be those of another, whether they exist or not.
  void check_names() {
    static const std::map<std::string, std::vector<std::string>> kSuffixes{
        {"counter", {"_total", "_created"}},
        {"gauge", {""}},
        {"histogram", {"_count", "_sum", "_bucket", "_created"}},
        {"summary", {"", "_count", "_sum", "_created"}},
        {"unknown", {""}}};
    std::set<std::string> names;
    for (const auto& [name, type] : types_) {
      const auto suffixes = kSuffixes.find(type);
      if (suffixes == kSuffixes.end()) continue;
      for (const std::string& suffix : suffixes->second) {
        if (!names.insert(name + suffix).second) problem("a name of two families", name + suffix);
      }
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

  Syntax syntax_;
  bool ended_ = false;    // EOF was seen
  bool sampled_ = false;  // the current family has samples
  std::vector<std::string> problems_;
  std::map<std::string, double> samples_;
  std::map<std::string, std::string> types_;
  std::map<std::string, std::string> units_;
  std::set<std::string> helps_;
  std::map<std::string, Histogram> histograms_;  // by series, without le
  std::string current_;
};

}  // namespace rpcrdma::metrics::testing
