// Builds one line of a table (RFC 4180).
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace rpcrdma::report {

class CsvRow {
 public:
  CsvRow& text(std::string_view value);
  template <std::integral T>
  CsvRow& number(T value) {
    return raw(fmt::format("{}", value));
  }
  CsvRow& number(double value) { return raw(fmt::format("{:.3f}", value)); }
  // An empty cell if there is no value.
  template <typename T>
  CsvRow& number(const std::optional<T>& value) {
    return value ? number(*value) : raw({});
  }
  CsvRow& none() { return raw({}); }

  // Returns the line with its line break, and starts the next line.
  [[nodiscard]] std::string take();

 private:
  CsvRow& raw(std::string_view cell);

  std::string line_;
  bool first_ = true;
};

}  // namespace rpcrdma::report
