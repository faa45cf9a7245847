#include <algorithm>
#include <charconv>
#include <optional>

#include <rpcrdma/tracepoints/text_line.h>

namespace rpcrdma::tracepoints {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

bool matches(std::string_view text, std::string_view literal) {
  if (text.size() < literal.size()) return false;
  return std::equal(literal.begin(), literal.end(), text.begin(),
                    [](char l, char t) { return l == '.' || l == t; });
}

std::size_t find_literal(std::string_view text, std::string_view literal) {
  if (literal.empty()) return text.size();
  for (std::size_t at = 0; at + literal.size() <= text.size(); ++at) {
    if (matches(text.substr(at), literal)) return at;
  }
  return text.size();
}

// Takes a number from the front; nothing if there is none.
std::optional<std::uint64_t> take_value(std::string_view& text, bool hex) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  if (rest.starts_with("0x")) {
    rest.remove_prefix(2);
    hex = true;
  }
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(rest.data(), rest.data() + rest.size(), value, hex ? 16 : 10);
  if (error != std::errc{}) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  text = rest;
  return negative ? ~value + 1 : value;
}

void read_fields(std::string_view pattern, std::string_view text, Record& record) {
  pattern = pattern.substr(0, pattern.find('|'));
  while (!pattern.empty()) {
    const std::size_t open = std::min(pattern.find('{'), pattern.size());
    if (!matches(text, pattern.substr(0, open))) return;
    text.remove_prefix(open);
    pattern.remove_prefix(open);
    if (pattern.empty()) return;
    const std::size_t close = pattern.find('}');
    std::string_view name = pattern.substr(1, close - 1);
    pattern.remove_prefix(close + 1);
    const std::string_view next = pattern.substr(0, pattern.find('{'));
    char kind = ' ';
    if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
      kind = name[colon + 1];
      name = name.substr(0, colon);
    }
    Field field{};
    const bool known = find_field(name, field);
    if (known && (kind == ' ' || kind == 'x')) {
      if (const auto value = take_value(text, kind == 'x')) {
        record.set(field, *value);
        continue;
      }
    }
    std::size_t length = find_literal(text, next);
    if (kind == 'v') {
      const std::string_view word = text.substr(0, text.find(' '));
      length = std::min(word.rfind('v'), word.size());
    }
    if (known) record.set(field, text.substr(0, length));
    text.remove_prefix(length);
  }
}

// "53.875613:" in ns.
std::optional<std::int64_t> time_of(std::string_view word) {
  if (!word.ends_with(':')) return std::nullopt;
  word.remove_suffix(1);
  std::uint64_t seconds = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seconds);
  if (error != std::errc{}) return std::nullopt;
  word.remove_prefix(static_cast<std::size_t>(end - word.data()));
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  constexpr std::uint64_t kLatest = INT64_MAX / kNsPerSecond / 4;
  if (word.empty()) {
    // A clock that is printed as a number of ns.
    return seconds > INT64_MAX / 4 ? std::nullopt
                                   : std::optional(static_cast<std::int64_t>(seconds));
  }
  if (!word.starts_with('.') || word.size() > 10 || seconds > kLatest) return std::nullopt;
  word.remove_prefix(1);
  std::uint64_t ns = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    if (i < word.size() && !is_digit(word[i])) return std::nullopt;
    ns = ns * 10 + (i < word.size() ? static_cast<std::uint64_t>(word[i] - '0') : 0);
  }
  return static_cast<std::int64_t>(seconds * kNsPerSecond + ns);
}

std::uint64_t count_in(std::string_view text) {
  std::uint64_t count = 0;
  const std::size_t at = text.find_first_of("0123456789");
  if (at == std::string_view::npos) return 1;
  std::from_chars(text.data() + at, text.data() + text.size(), count);
  return std::max<std::uint64_t>(count, 1);
}

// The start of "[000]" after "comm-pid"; npos if there is none.
std::size_t find_cpu(std::string_view line) {
  for (std::size_t at = line.find('['); at != std::string_view::npos; at = line.find('[', at + 1)) {
    std::size_t end = at + 1;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end - at > 3 && end < line.size() && line[end] == ']') return at;
  }
  return std::string_view::npos;
}

std::optional<std::int32_t> pid_before(std::string_view text) {
  const auto trim = [&text] {
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  };
  trim();
  // The column of the thread group.
  if (text.ends_with(')')) {
    const std::size_t open = text.rfind('(');
    if (open == std::string_view::npos) return std::nullopt;
    text = text.substr(0, open);
    trim();
  }
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  text.remove_prefix(dash + 1);
  std::int32_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return pid;
}

bool is_heading(std::string_view line) {
  return line.empty() || line.starts_with('#') || line.starts_with("cpus=") ||
         line.starts_with("version = ") ||
         (line.starts_with("CPU ") && line.ends_with(" is empty")) || line.starts_with("trace-cmd");
}

}  // namespace

Line read_line(std::string_view line, Record& record, std::uint64_t& lost) {
  constexpr std::size_t kLongest = 4096;
  if (line.size() > kLongest) return Line::kUnknown;
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  const std::size_t cpu_at = find_cpu(line);
  if (cpu_at == std::string_view::npos) {
    if (line.starts_with("CPU:") && line.find('[') != std::string_view::npos &&
        (line.find("LOST") != std::string_view::npos ||
         line.find("DROPPED") != std::string_view::npos)) {
      lost = count_in(line.substr(line.find('[')));
      return Line::kLost;
    }
    return is_heading(line) ? Line::kOther : Line::kUnknown;
  }
  const auto pid = pid_before(line.substr(0, cpu_at));
  std::string_view rest = line.substr(cpu_at + 1);
  std::uint32_t cpu = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), cpu);
  rest.remove_prefix(rest.find(']') + 1);
  skip_spaces(rest);
  std::string_view word = take_word(rest);
  auto time = time_of(word);
  if (!time) {
    // Flags of the context.
    skip_spaces(rest);
    word = take_word(rest);
    time = time_of(word);
  }
  skip_spaces(rest);
  word = take_word(rest);
  if (!pid || !time || !word.ends_with(':')) return Line::kUnknown;
  word.remove_suffix(1);
  const EventInfo* const event = find_event(word);
  if (event == nullptr) return Line::kOther;
  skip_spaces(rest);
  record.clear();
  record.event = event->event;
  record.time = *time;
  record.cpu = cpu;
  record.pid = *pid;
  record.is_text = true;
  record.swapped = false;
  read_fields(event->pattern, rest, record);
  return Line::kRecord;
}

}  // namespace rpcrdma::tracepoints
