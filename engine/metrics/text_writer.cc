#include <charconv>
#include <cstring>

#include <rpcrdma/metrics/text_writer.h>

namespace rpcrdma::metrics {

namespace {

constexpr std::string_view kTotalEnding = "_total";

char* put(char* at, std::string_view text) {
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

// Writes a sample up to its number, and passes the place of the number to `number`, which has room
// for 24 digits and returns their end.
template <typename Number>
void append_sample(std::string& to, std::string_view name, std::string_view labels,
                   std::string_view more, Number number) {
  constexpr std::size_t kDigits = 24, kOthers = 5;
  const std::size_t before = to.size();
  to.resize(before + name.size() + labels.size() + more.size() + kDigits + kOthers);
  char* at = put(to.data() + before, name);
  if (!labels.empty() || !more.empty()) {
    *at++ = '{';
    at = put(at, labels);
    if (!labels.empty() && !more.empty()) *at++ = ',';
    at = put(at, more);
    *at++ = '}';
  }
  *at++ = ' ';
  at = number(at, at + kDigits);
  *at++ = '\n';
  to.resize(static_cast<std::size_t>(at - to.data()));
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
  return true;
}

void TextWriter::sample(std::string_view labels, std::string_view more, std::uint64_t value) {
  if (!begin(labels, more)) return;
  append_sample(text_, name_, labels, more,
                [value](char* at, char* end) { return std::to_chars(at, end, value).ptr; });
}

void TextWriter::milliseconds(std::string_view labels, std::string_view more, std::uint64_t value) {
  if (!begin(labels, more)) return;
  append_sample(text_, name_, labels, more, [value](char* at, char* end) {
    at = std::to_chars(at, end, value / 1000).ptr;
    *at++ = '.';
    for (const std::uint64_t unit : {100U, 10U, 1U}) {
      *at++ = static_cast<char>('0' + value / unit % 10);
    }
    return at;
  });
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
