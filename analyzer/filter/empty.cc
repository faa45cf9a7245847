// The values that a test allows are ranges of numbers or a list of texts. Two tests on a field that
// a message has once exclude each other if no value is in both. A test on a field that the message
// must not have excludes every other test on it.
#include "empty.h"

#include "check.h"
#include "suggest.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/filter/model_fields.h>

namespace rpcrdma::filter {

namespace {

using decode::FieldId;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
using Range = std::pair<std::uint64_t, std::uint64_t>;

// Fields that a message has once at most.
const FieldSet& single_fields() {
  static const FieldSet set = field_set({FieldId::kFrameNumber,
                                         FieldId::kFrameTime,
                                         FieldId::kFrameTimeRelative,
                                         FieldId::kConnection,
                                         FieldId::kKind,
                                         FieldId::kReverse,
                                         FieldId::kPeer,
                                         FieldId::kSource,
                                         FieldId::kDestination,
                                         FieldId::kSourceQpn,
                                         FieldId::kDestinationQpn,
                                         FieldId::kSourcePort,
                                         FieldId::kDestinationPort,
                                         FieldId::kSendLength,
                                         FieldId::kComplete,
                                         FieldId::kBadIcrc,
                                         FieldId::kCongestion,
                                         FieldId::kXid,
                                         FieldId::kVersion,
                                         FieldId::kCredit,
                                         FieldId::kProc,
                                         FieldId::kRpcXid,
                                         FieldId::kRpcMsgType,
                                         FieldId::kRpcProgram,
                                         FieldId::kRpcProgramName,
                                         FieldId::kRpcCredFlavor,
                                         FieldId::kNfsMinorVersion,
                                         FieldId::kNfsStatus,
                                         FieldId::kRpcStatus,
                                         FieldId::kLatency,
                                         FieldId::kMatchFrame,
                                         FieldId::kOperations,
                                         FieldId::kMoved,
                                         FieldId::kCreditRequested,
                                         FieldId::kCreditGranted,
                                         FieldId::kCreditInUse,
                                         FieldId::kThresholdCall,
                                         FieldId::kThresholdReply,
                                         FieldId::kInvalidatedHandle,
                                         FieldId::kExchange});
  return set;
}

bool has(const FieldSet& set, FieldId id) {
  return set[static_cast<std::size_t>(id)];
}

std::uint64_t least(const Condition& c) {
  const bool may_be_negative =
      c.type == ValueClass::kTime || c.field == FieldId::kFrameTimeRelative;
  return c.type == ValueClass::kDuration && !may_be_negative ? rank(0) : 0;
}

std::uint64_t most(const Condition& c) {
  if (c.type == ValueClass::kBool) return 1;
  return c.type == ValueClass::kNumber ? largest(decode::spec(c.field).type) : kMax;
}

bool is_numeric(const Condition& c) {
  switch (c.type) {
    case ValueClass::kNumber:
    case ValueClass::kBool:
    case ValueClass::kDuration:
    case ValueClass::kTime:
      return std::none_of(c.constants.begin(), c.constants.end(),
                          [](const Constant& k) { return k.by_name; });
    default:
      return false;
  }
}

// Returns the values that a test allows, of those that the field can have.
std::vector<Range> allowed(const Condition& c) {
  std::vector<Range> out;
  const std::uint64_t low = least(c);
  const std::uint64_t high = most(c);
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    from = std::max(from, low);
    to = std::min(to, high);
    if (from <= to) out.emplace_back(from, to);
  };
  const auto below = [&](std::uint64_t value) {
    if (value != 0) add(0, value - 1);
  };
  const auto above = [&](std::uint64_t value) {
    if (value != kMax) add(value + 1, kMax);
  };
  for (const Constant& k : c.constants) {
    switch (c.relation) {
      case Relation::kLess:
        below(k.low);
        break;
      case Relation::kLessEqual:
        add(0, k.high);
        break;
      case Relation::kGreater:
        above(k.high);
        break;
      case Relation::kGreaterEqual:
        add(k.low, kMax);
        break;
      case Relation::kNotEqual:
        below(k.low);
        above(k.high);
        break;
      default:
        add(k.low, k.high);
    }
  }
  return out;
}

bool is_list(const Condition& c) {
  return c.relation == Relation::kEqual || c.relation == Relation::kIn;
}

bool same(const Condition& c, const Constant& a, const Constant& b) {
  if (a.by_name || b.by_name) return a.by_name && b.by_name && equal_names(a.low_text, b.low_text);
  if (c.type == ValueClass::kText || c.type == ValueClass::kBytes) return a.low_text == b.low_text;
  if (c.type == ValueClass::kAddress) return a.low_text == b.low_text && a.high_text == b.high_text;
  return a.low == b.low && a.high == b.high;
}

bool all_names(const Condition& c) {
  return c.type == ValueClass::kText || std::all_of(c.constants.begin(), c.constants.end(),
                                                    [](const Constant& k) { return k.by_name; });
}

// Whether a message that passes one test on the field cannot pass the other.
bool exclude(const Condition& a, const Condition& b) {
  if (a.field != b.field || a.constants.empty() || b.constants.empty()) return false;
  const auto shared = [&] {
    return std::any_of(a.constants.begin(), a.constants.end(), [&](const Constant& x) {
      return std::any_of(b.constants.begin(), b.constants.end(),
                         [&](const Constant& y) { return same(a, x, y); });
    });
  };
  // == demands one equal value, != none.
  if ((a.relation == Relation::kEqual && b.relation == Relation::kNotEqual) ||
      (a.relation == Relation::kNotEqual && b.relation == Relation::kEqual)) {
    return shared();
  }
  if (!has(single_fields(), a.field)) return false;
  if (is_numeric(a) && is_numeric(b)) {
    const std::vector<Range> left = allowed(a);
    const std::vector<Range> right = allowed(b);
    return std::none_of(left.begin(), left.end(), [&](const Range& x) {
      return std::any_of(right.begin(), right.end(), [&](const Range& y) {
        return x.first <= y.second && y.first <= x.second;
      });
    });
  }
  return is_list(a) && is_list(b) && all_names(a) && all_names(b) && !shared();
}

FilterError at(const Test& t, std::string message) {
  std::size_t end = t.field.offset + t.field.length;
  for (const Operand& o : t.operands) {
    const Literal& last = o.high ? *o.high : o.low;
    end = std::max(end, last.offset + last.length);
  }
  return {t.field.offset, end - t.field.offset, std::move(message)};
}

struct Part {
  const Test* test;
  Condition condition;
  bool absent;  // the message must not have the field
};

std::optional<FilterError> of_all(const Expression& e) {
  std::vector<Part> parts;
  for (const Expression& part : e.parts) {
    if (auto error = why_empty(part)) return error;
    const bool negated = part.kind == Expression::Kind::kNot;
    const Expression& inner = negated ? part.parts.front() : part;
    if (inner.kind != Expression::Kind::kTest || inner.test.relation == Relation::kMatches) {
      continue;
    }
    auto condition = check(inner.test);
    if (!condition) continue;
    if (negated && condition->relation != Relation::kExists) continue;
    parts.push_back({&inner.test, std::move(*condition), negated});
  }
  // A filter of thousands of tests is not written by hand.
  constexpr std::size_t kMost = 64;
  if (parts.size() > kMost) return std::nullopt;
  for (std::size_t j = 1; j < parts.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const Part& a = parts[i];
      const Part& b = parts[j];
      const bool bad = a.absent == b.absent ? !a.absent && exclude(a.condition, b.condition)
                                            : a.condition.field == b.condition.field;
      if (bad) {
        return at(*b.test, fmt::format("no message passes both this and the test on {} before it: "
                                       "the filter can match nothing",
                                       a.test->field.text));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<FilterError> why_empty(const Expression& e) {
  switch (e.kind) {
    case Expression::Kind::kTest: {
      if (e.test.relation == Relation::kMatches) return std::nullopt;
      const auto c = check(e.test);
      if (!c || c->constants.empty() || !is_numeric(*c) || !allowed(*c).empty()) {
        return std::nullopt;
      }
      return at(e.test, fmt::format("{} has no such value: the filter can match nothing",
                                    e.test.field.text));
    }
    case Expression::Kind::kAnd:
      return of_all(e);
    case Expression::Kind::kOr: {
      std::optional<FilterError> first;
      for (const Expression& part : e.parts) {
        auto error = why_empty(part);
        if (!error) return std::nullopt;
        if (!first) first = std::move(error);
      }
      return first;
    }
    case Expression::Kind::kNot:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace rpcrdma::filter
