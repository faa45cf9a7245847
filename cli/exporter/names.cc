#include "families.h"

#include <rpcrdma/decode/utf8.h>

namespace rpcrdma::exporter {

namespace {

constexpr std::string_view kTotal = "_total";

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

void label(std::string& labels, std::string_view name, std::string_view value) {
  metrics::add_label(labels, name, decode::valid_utf8(value));
}

std::string snake_case(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool begins_word =
        is_upper(c) && i != 0 &&
        (is_lower(name[i - 1]) || is_digit(name[i - 1]) ||
         (is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1])));
    if (begins_word) out += '_';
    out += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::string_view base_name(std::string_view metric) {
  if (metric.ends_with(kTotal)) metric.remove_suffix(kTotal.size());
  return metric;
}

std::string metric_name(std::string_view prefix, std::string_view file, TextType type) {
  std::string name(prefix);
  name += base_name(snake_case(file));
  if (type == TextType::kCounter) name += kTotal;
  return name;
}

}  // namespace rpcrdma::exporter
