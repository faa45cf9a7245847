// Parses hex dumps of several programs, and times.
#include "parse.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <initializer_list>

namespace rpcrdma::cli {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool begins_with_pair(std::string_view text) {
  return text.size() >= 2 && hex_digit(text[0]) >= 0 && hex_digit(text[1]) >= 0 &&
         (text.size() == 2 || text[2] == ' ');
}

// Returns the text before the first of these.
std::string_view before(std::string_view text, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends) text = text.substr(0, text.find(end));
  return text;
}

// Returns the columns before the two spaces that separate them from their text. The halves of a
// line of 16 pairs are separated by two spaces, too.
std::string_view before_text(std::string_view columns) {
  constexpr std::size_t kHalf = 8 * 3 - 1;
  const bool halves = columns.size() > kHalf + 2 && columns.find("  ") == kHalf &&
                      columns[2] == ' ' && begins_with_pair(columns.substr(kHalf + 2));
  if (!halves) return before(columns, {"  "});
  return columns.substr(0, kHalf + 2 + before(columns.substr(kHalf + 2), {"  "}).size());
}

// Returns the byte columns of a line of a hex dump, which starts `so_far` bytes after the dump's
// start; the whole line if it is not one. `in_dump`: an earlier line was one. Formats:
//   0010  e2 22 00 5a ... 01   ."......           tshark, Wireshark
//   00000010  e2 22 00 ...  5a 01 ...  |."......| hexdump -C
//   000010 e2 22 00 5a ... 01  >."......<         od -A x -t x1z
//   00000010: e222 005a ... 0001  ."......        xxd
//   0x0010:  e222 005a ... 0001  ."......         tcpdump -x
std::string_view dump_columns(std::string_view line, std::size_t so_far, bool in_dump) {
  std::string_view rest = line.substr(std::min(line.size(), line.find_first_not_of(" \t")));
  const bool prefixed = rest.starts_with("0x");
  if (prefixed) rest.remove_prefix(2);
  std::size_t digits = 0;
  while (digits < rest.size() && hex_digit(rest[digits]) >= 0) ++digits;
  if (digits < 4 || digits > 8) return line;
  std::size_t offset = 0;
  std::from_chars(rest.data(), rest.data() + digits, offset, 16);
  rest.remove_prefix(digits);
  const bool colon = rest.starts_with(":");
  if (colon) rest.remove_prefix(1);
  const std::size_t blanks = std::min(rest.size(), rest.find_first_not_of(' '));
  const std::string_view columns = rest.substr(blanks);
  if (columns.empty()) {  // od and hexdump end with a line that holds the length
    return colon || (in_dump && offset == so_far) ? columns : line;
  }
  if (colon) {
    // In "aa:bb:cc" there are no spaces between bytes.
    return blanks != 0 ? before_text(columns) : line;
  }
  const bool dump = !prefixed && begins_with_pair(columns) &&
                    (blanks >= 2 || (blanks == 1 && offset == so_far && digits > 4));
  return dump ? before(columns, {"   ", " |", " >"}) : line;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  int high = -1;
  bool in_dump = false;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view whole = text.substr(0, newline);
    std::string_view line = dump_columns(whole, bytes.size(), in_dump);
    in_dump |= line.size() != whole.size();
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (c == '0' && high < 0 && i + 1 < line.size() &&
          (line[i + 1] == 'x' || line[i + 1] == 'X')) {
        ++i;
        continue;
      }
      const int digit = hex_digit(c);
      if (digit < 0) {
        const bool separator =
            c == ' ' || c == '\t' || c == '\r' || c == ':' || c == ',' || c == '-';
        if (!separator || high >= 0) return std::nullopt;
        continue;
      }
      if (high < 0) {
        high = digit;
      } else {
        bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit));
        high = -1;
      }
    }
  }
  if (high >= 0) return std::nullopt;
  return bytes;
}

namespace {

constexpr std::int64_t kSecond = 1000000000;

// Parses the digits after a decimal point as nanoseconds; digits after the ninth are dropped. Moves
// `p` past them.
std::int64_t parse_fraction(const char*& p) {
  std::int64_t ns = 0;
  std::int64_t unit = kSecond / 10;
  for (; *p >= '0' && *p <= '9'; ++p) {
    ns += unit * (*p - '0');
    unit /= 10;
  }
  return ns;
}

// Parses "", "Z" or "+HH:MM" as seconds east of Greenwich. Moves `p` past it.
std::optional<std::int64_t> parse_zone(const char*& p) {
  if (*p == 'Z') ++p;
  if (*p != '+' && *p != '-') return 0;
  const std::int64_t sign = *p == '-' ? -1 : 1;
  std::tm tm{};
  const char* const rest = strptime(p + 1, "%H:%M", &tm);
  if (rest == nullptr) return std::nullopt;
  p = rest;
  return sign * (tm.tm_hour * 3600 + tm.tm_min * 60);
}

}  // namespace

std::optional<Moment> parse_moment(const std::string& text) {
  constexpr std::int64_t kFirstEpoch = 100000000;
  constexpr std::int64_t kLastEpoch = 9000000000;
  std::int64_t seconds = 0;
  const char* end = text.c_str() + text.size();
  const char* rest = std::from_chars(text.c_str(), end, seconds).ptr;
  if (rest != text.c_str() && (*rest == '.' || *rest == '\0')) {
    if (*rest == '.') ++rest;
    const std::int64_t fraction = parse_fraction(rest);
    if (rest != end || seconds < 0 || seconds > kLastEpoch) return std::nullopt;
    return Moment{seconds < kFirstEpoch, seconds * kSecond + fraction};
  }
  std::tm tm{};
  rest = strptime(text.c_str(), "%Y-%m-%d", &tm);
  const bool date = rest != nullptr;
  if (date && *rest != ' ' && *rest != 'T') return std::nullopt;
  rest = strptime(date ? rest + 1 : text.c_str(), "%H:%M", &tm);
  if (rest == nullptr) return std::nullopt;
  std::int64_t fraction = 0;
  if (*rest == ':') {
    rest = strptime(rest + 1, "%S", &tm);
    if (rest == nullptr) return std::nullopt;
    if (*rest == '.') fraction = parse_fraction(++rest);
  }
  const auto east = parse_zone(rest);
  if (!east || rest != end) return std::nullopt;
  if (date) {
    return Moment{false, (static_cast<std::int64_t>(timegm(&tm)) - *east) * kSecond + fraction};
  }
  constexpr std::int64_t kDay = 86400;
  const std::int64_t seconds_of_day = tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec - *east;
  return Moment{false, (seconds_of_day + kDay) % kDay * kSecond + fraction, true};
}

}  // namespace rpcrdma::cli
