#include <array>
#include <charconv>

#include <rpcrdma/metrics/text_writer.h>

namespace rpcrdma::metrics {

namespace {

constexpr std::string_view kTotalEnding = "_total";

void append(std::string& to, std::uint64_t value) {
  std::array<char, 20> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  to.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

}  // namespace

void TextWriter::family(std::string_view name, TextType type, std::string_view help) {
  name_ = name;
  type_ = type;
  help_ = help;
  has_header_ = false;
}

void TextWriter::header() {
  has_header_ = true;
  std::string_view name = name_;
  const bool is_openmetrics = format_ == TextFormat::kOpenMetrics;
  if (is_openmetrics && type_ == TextType::kCounter && name.ends_with(kTotalEnding)) {
    name.remove_suffix(kTotalEnding.size());
  }
  const auto line = [&](std::string_view what, std::string_view text) {
    text_.append("# ").append(what).append(" ").append(name).append(" ").append(text).append("\n");
  };
  line("TYPE", type_ == TextType::kCounter ? "counter" : "gauge");
  if (is_openmetrics) {
    for (const std::string_view unit : {"seconds", "bytes"}) {
      if (name.ends_with(unit) && name.size() > unit.size() &&
          name[name.size() - unit.size() - 1] == '_') {
        line("UNIT", unit);
      }
    }
  }
  line("HELP", help_);
}

bool TextWriter::begin(std::string_view labels, std::string_view more) {
  // With room for the header, the number, and what is between them.
  const std::size_t needed = 3 * name_.size() + help_.size() + labels.size() + more.size() + 128;
  if (most_ < needed || text_.size() > most_ - needed) {
    ++left_out_;
    return false;
  }
  if (!has_header_) header();
  text_.append(name_);
  if (!labels.empty() || !more.empty()) {
    text_ += '{';
    text_.append(labels);
    if (!labels.empty() && !more.empty()) text_ += ',';
    text_.append(more);
    text_ += '}';
  }
  text_ += ' ';
  return true;
}

void TextWriter::sample(std::string_view labels, std::string_view more, std::uint64_t value) {
  if (!begin(labels, more)) return;
  append(text_, value);
  text_ += '\n';
}

void TextWriter::milliseconds(std::string_view labels, std::string_view more, std::uint64_t value) {
  if (!begin(labels, more)) return;
  append(text_, value / 1000);
  text_ += '.';
  for (const std::uint64_t unit : {100U, 10U, 1U}) {
    text_ += static_cast<char>('0' + value / unit % 10);
  }
  text_ += '\n';
}

void add_label(std::string& labels, std::string_view name, std::string_view value) {
  if (!labels.empty()) labels += ',';
  labels.append(name).append("=\"");
  for (const char c : value) {
    if (c == '\n') {
      labels += "\\n";
    } else {
      if (c == '"' || c == '\\') labels += '\\';
      labels += c;
    }
  }
  labels += '"';
}

}  // namespace rpcrdma::metrics
