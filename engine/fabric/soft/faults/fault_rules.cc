// Parses a fault plan: splits it into rules and words, and reports errors with line and column.
#include "fault_ops.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/soft/fault_rules.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

template <typename T>
using Parsed = tl::expected<T, FaultSyntaxError>;

// A word of a rule, with its position for error messages.
struct Word {
  std::string_view text;
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  [[nodiscard]] Word part(std::size_t from, std::size_t length = std::string_view::npos) const {
    return {text.substr(from, length), line, column + static_cast<std::uint32_t>(from)};
  }
};

tl::unexpected<FaultSyntaxError> wrong(const Word& at, std::string message) {
  return tl::unexpected(FaultSyntaxError{at.line, at.column, std::move(message)});
}

// Quotes untrusted text: shortened, and printable.
std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string shown = "\"";
  for (const char c : text.substr(0, kLongest)) shown += c >= ' ' && c <= '~' ? c : '?';
  shown += text.size() > kLongest ? "...\"" : "\"";
  return shown;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// Splits a plan into rules and a rule into words.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  // Returns the next word of the rule. False: the rule has ended, and the next call starts the next
  // one.
  bool next(Word& word) {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ < text_.size() && text_[at_] == '#')
      at_ = std::min(text_.find('\n', at_), text_.size());
    if (at_ == text_.size()) {
      ended_ = true;
      return false;
    }
    if (text_[at_] == ';' || text_[at_] == '\n') {
      if (text_[at_++] == '\n') {
        ++line_;
        line_start_ = at_;
      }
      return false;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ';' && text_[at_] != '\n' &&
           text_[at_] != '#') {
      ++at_;
    }
    word = {text_.substr(begin, at_ - begin), line_,
            static_cast<std::uint32_t>(begin - line_start_ + 1)};
    return true;
  }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  bool ended_ = false;
};

Parsed<std::uint64_t> number(const Word& word, std::uint64_t least, std::uint64_t most) {
  std::string_view digits = word.text;
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex) digits.remove_prefix(2);
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, ec] = std::from_chars(digits.data(), end, value, hex ? 16 : 10);
  if (ec == std::errc::invalid_argument || stop != end) {
    return wrong(word, fmt::format("{} is not a number", quote(word.text)));
  }
  if (ec != std::errc() || value < least || value > most) {
    return wrong(word, fmt::format("{} is not within {} to {}", quote(word.text), least, most));
  }
  return value;
}

// Ranges wrap around only where the numbers do.
Parsed<FaultRange> range(const Word& word, std::uint64_t least, std::uint64_t most, bool wraps) {
  const std::size_t dash = word.text.find('-');
  const auto first = number(word.part(0, dash), least, most);
  if (!first) return tl::unexpected(first.error());
  if (dash == std::string_view::npos) return FaultRange{*first, *first};
  if (dash + 1 == word.text.size()) return FaultRange{*first, most};
  const auto last = number(word.part(dash + 1), least, most);
  if (!last) return tl::unexpected(last.error());
  if (*last < *first && !wraps) return wrong(word, "the range ends before it begins");
  return FaultRange{*first, *last};
}

// Parses digits and a point only; from_chars() would accept more.
Parsed<double> decimal(const Word& word) {
  double value = 0;
  const char* const end = word.text.data() + word.text.size();
  const bool digits = std::all_of(word.text.begin(), word.text.end(),
                                  [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  const auto [stop, ec] = std::from_chars(word.text.data(), end, value, std::chars_format::fixed);
  if (!digits || ec != std::errc() || stop != end) {
    return wrong(word, fmt::format("{} is not a number", quote(word.text)));
  }
  return value;
}

Parsed<fabric::Time> duration(const Word& word) {
  constexpr std::pair<std::string_view, fabric::Time> kUnits[] = {{"ns", 1},
                                                                  {"us", fabric::kMicrosecond},
                                                                  {"ms", fabric::kMillisecond},
                                                                  {"s", fabric::kSecond}};
  for (const auto& [name, unit] : kUnits) {
    if (!word.text.ends_with(name)) continue;
    const auto value = decimal(word.part(0, word.text.size() - name.size()));
    if (!value) return wrong(word, fmt::format("{} is not a time", quote(word.text)));
    const double time = *value * static_cast<double>(unit) + 0.5;
    if (time > static_cast<double>(kMaxFaultDelay)) return wrong(word, "longer than an hour");
    return static_cast<fabric::Time>(time);
  }
  return wrong(word, fmt::format("{} has no unit: ns, us, ms, s", quote(word.text)));
}

using Done = Parsed<void>;

template <typename T, typename To>
Done store(const Parsed<T>& value, To& to) {
  if (!value) return tl::unexpected(value.error());
  to = *value;
  return {};
}

constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();

Done set_dir(FaultRule& rule, const Word& value) {
  if (value.text == "out") {
    rule.direction = FaultDirection::kOut;
  } else if (value.text == "in") {
    rule.direction = FaultDirection::kIn;
  } else {
    return wrong(value, "a direction must be out or in");
  }
  return {};
}

Done set_op(FaultRule& rule, const Word& value) {
  FaultOps ops;
  for (std::size_t at = 0;;) {
    const std::size_t bar = value.text.find('|', at);
    const Word name = value.part(at, bar == std::string_view::npos ? bar : bar - at);
    if (!name.text.empty() && name.text[0] >= '0' && name.text[0] <= '9') {
      const auto opcode = number(name, 0, 255);
      if (!opcode) return tl::unexpected(opcode.error());
      ops.opcodes.set(*opcode);
    } else if (!add_fault_op(name.text, ops)) {
      return wrong(name, fmt::format("there is no opcode {}", quote(name.text)));
    }
    if (bar == std::string_view::npos) break;
    at = bar + 1;
  }
  rule.ops = ops;
  return {};
}

Done set_attempt(FaultRule& rule, const Word& value) {
  return value.text == "any" ? Done() : store(range(value, 1, kMost, false), rule.attempt);
}

Done set_rate(FaultRule& rule, const Word& value) {
  const auto rate = decimal(value);
  if (rate && (*rate <= 0 || *rate > 1)) {
    return wrong(value, "a rate must be above 0 and at most 1");
  }
  return store(rate, rule.rate);
}

Done set_seed(FaultRule& rule, const Word& value) {
  return store(number(value, 0, std::numeric_limits<std::uint64_t>::max()), rule.seed);
}

Done set_by(FaultRule& rule, const Word& value) {
  if (rule.action == FaultAction::kDelay) return store(duration(value), rule.delay);
  return store(number(value, 1, 1'000'000), rule.hold);
}

using Actions = unsigned;  // one bit each
constexpr Actions bit_of(FaultAction action) {
  return 1U << static_cast<unsigned>(action);
}
constexpr Actions kAll = ~0U;

struct Key {
  std::string_view name;
  Actions actions;
  Done (*set)(FaultRule& rule, const Word& value);
};

constexpr Key kKeys[] = {
    {"dir", kAll, set_dir},
    {"conn", kAll,
     [](FaultRule& r, const Word& v) { return store(range(v, 1, kMost, false), r.connection); }},
    {"qp", kAll,
     [](FaultRule& r, const Word& v) {
       return store(range(v, 0, wire::kPsnMask, false), r.queue_pair);
     }},
    {"op", kAll, set_op},
    {"psn", kAll,
     [](FaultRule& r, const Word& v) { return store(range(v, 0, wire::kPsnMask, true), r.psn); }},
    {"msg", kAll,
     [](FaultRule& r, const Word& v) { return store(range(v, 1, kMost, false), r.message); }},
    {"attempt", kAll, set_attempt},
    {"nth", kAll,
     [](FaultRule& r, const Word& v) { return store(range(v, 1, kMost, false), r.nth); }},
    {"rate", kAll, set_rate},
    {"seed", kAll, set_seed},
    {"count", kAll,
     [](FaultRule& r, const Word& v) { return store(number(v, 1, kMost), r.count); }},
    {"by", bit_of(FaultAction::kReorder) | bit_of(FaultAction::kDelay), set_by},
    {"jitter", bit_of(FaultAction::kDelay),
     [](FaultRule& r, const Word& v) { return store(duration(v), r.jitter); }},
    {"byte", bit_of(FaultAction::kCorrupt),
     [](FaultRule& r, const Word& v) { return store(number(v, 0, 0xffff), r.byte); }},
    {"bit", bit_of(FaultAction::kCorrupt),
     [](FaultRule& r, const Word& v) { return store(number(v, 0, 7), r.bit); }},
};
using Seen = std::array<std::optional<Word>, std::size(kKeys)>;

const std::optional<Word>& seen_as(const Seen& seen, std::string_view name) {
  const auto* const key = std::find_if(std::begin(kKeys), std::end(kKeys),
                                       [name](const Key& k) { return k.name == name; });
  return seen[static_cast<std::size_t>(key - kKeys)];
}

Done set_key(FaultRule& rule, const Word& word, Seen& seen) {
  const std::size_t equals = word.text.find('=');
  const std::string_view name = word.text.substr(0, equals);
  const auto* const key = std::find_if(std::begin(kKeys), std::end(kKeys),
                                       [name](const Key& k) { return k.name == name; });
  if (key == std::end(kKeys)) {
    return wrong(word, fmt::format("there is no key {}", quote(name)));
  }
  if (equals == std::string_view::npos) {
    return wrong(word, fmt::format("{} needs a value: {}=...", name, name));
  }
  if ((key->actions & bit_of(rule.action)) == 0) {
    return wrong(word, fmt::format("{} does not accept {}", fault_action_name(rule.action), name));
  }
  std::optional<Word>& before = seen[static_cast<std::size_t>(key - kKeys)];
  if (before) return wrong(word, fmt::format("{} appears twice", name));
  before = word;
  const Word value = word.part(equals + 1);
  if (value.text.empty()) return wrong(value, fmt::format("{} needs a value", name));
  return key->set(rule, value);
}

// Checks conditions that depend on all keys.
Done check(const FaultRule& rule, const Word& action, const Seen& seen) {
  if (rule.action == FaultAction::kDelay && !seen_as(seen, "by")) {
    return wrong(action, "a delay needs by=TIME");
  }
  const bool draws = rule.rate || rule.jitter != 0 ||
                     (rule.action == FaultAction::kCorrupt && (!rule.byte || !rule.bit));
  if (const auto& seed = seen_as(seen, "seed"); seed && !draws) {
    return wrong(*seed, "seed= has no effect: nothing is random in this rule");
  }
  return {};
}

constexpr FaultAction kActions[] = {FaultAction::kDrop, FaultAction::kDuplicate,
                                    FaultAction::kReorder, FaultAction::kDelay,
                                    FaultAction::kCorrupt};

Parsed<FaultRule> parse_rule(Words& words, const Word& action, std::uint64_t ordinal) {
  FaultRule rule;
  const auto* const found =
      std::find_if(std::begin(kActions), std::end(kActions),
                   [&action](FaultAction a) { return action.text == fault_action_name(a); });
  if (found == std::end(kActions)) {
    return wrong(action, fmt::format("{} is not one of drop, duplicate, reorder, delay, corrupt",
                                     quote(action.text)));
  }
  rule.action = *found;
  rule.seed = ordinal;
  rule.text = action.text;
  Seen seen;
  for (Word word; words.next(word);) {
    if (const auto done = set_key(rule, word, seen); !done) return tl::unexpected(done.error());
    rule.text += ' ';
    rule.text += word.text;
  }
  if (const auto done = check(rule, action, seen); !done) return tl::unexpected(done.error());
  return rule;
}

}  // namespace

const char* fault_action_name(FaultAction action) {
  switch (action) {
    case FaultAction::kPass:
      return "pass";
    case FaultAction::kDrop:
      return "drop";
    case FaultAction::kDuplicate:
      return "duplicate";
    case FaultAction::kReorder:
      return "reorder";
    case FaultAction::kDelay:
      return "delay";
    case FaultAction::kCorrupt:
      return "corrupt";
  }
  return "unknown";
}

std::string describe(const FaultSyntaxError& error) {
  return fmt::format("line {}, column {}: {}", error.line, error.column, error.message);
}

tl::expected<FaultPlan, FaultSyntaxError> parse_faults(std::string_view text) {
  FaultPlan plan;
  Words words(text);
  while (!words.ended()) {
    Word action;
    if (!words.next(action)) continue;
    if (plan.rules.size() == kMaxFaultRules) {
      return wrong(action, fmt::format("more than {} rules", kMaxFaultRules));
    }
    auto rule = parse_rule(words, action, plan.rules.size() + 1);
    if (!rule) return tl::unexpected(std::move(rule.error()));
    plan.rules.push_back(std::move(*rule));
  }
  return plan;
}

}  // namespace rpcrdma::soft
