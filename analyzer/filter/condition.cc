// Evaluates conditions: the kinds of comparison that fields support, and the comparisons
// themselves.
#include "condition.h"

#include "operations.h"
#include "suggest.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>
#include <re2/re2.h>

#include <rpcrdma/filter/filter.h>

namespace rpcrdma::filter {

using decode::FieldType;

namespace {

bool compare_numbers(Relation relation, std::uint64_t value, const Constant& c) {
  switch (relation) {
    case Relation::kLess:
      return value < c.low;
    case Relation::kLessEqual:
      return value <= c.high;
    case Relation::kGreater:
      return value > c.high;
    case Relation::kGreaterEqual:
      return value >= c.low;
    default:
      return value >= c.low && value <= c.high;
  }
}

// Addresses of different families are unordered and never equal.
bool compare_addresses(Relation relation, std::string_view value, const Constant& c) {
  if (value.size() != c.low_text.size()) return false;
  switch (relation) {
    case Relation::kLess:
      return value < c.low_text;
    case Relation::kLessEqual:
      return value <= c.high_text;
    case Relation::kGreater:
      return value > c.high_text;
    case Relation::kGreaterEqual:
      return value >= c.low_text;
    default:
      return value >= c.low_text && value <= c.high_text;
  }
}

// memmem() is linear; std::string_view::find() is not.
bool contains(std::string_view text, std::string_view part) {
  return memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

bool fits(const Condition& c, const Constant& constant, const Values::Value& value,
          std::string_view text) {
  if (constant.by_name) return equal_names(text, constant.low_text);
  switch (c.type) {
    case ValueClass::kDuration:
    case ValueClass::kTime:
      return compare_numbers(c.relation, rank(static_cast<std::int64_t>(value.number)), constant);
    case ValueClass::kText:
    case ValueClass::kBytes:
      return c.relation == Relation::kContains ? contains(text, constant.low_text)
                                               : text == constant.low_text;
    case ValueClass::kAddress:
      return compare_addresses(c.relation, text, constant);
    default:
      // A value that has only a name has no order, and equals no number.
      return value.number != kNameOnly && compare_numbers(c.relation, value.number, constant);
  }
}

}  // namespace

bool is_filter_field(decode::FieldId id) {
  const std::string_view name = decode::spec(id).name;
  const std::string_view protocol = name.substr(0, name.find('.'));
  return protocol != "cm" && protocol != "ib" && !name.starts_with("rpcrdma.pd") &&
         !name.starts_with("rpcrdma.packet");
}

ValueClass value_class(FieldType type) {
  switch (type) {
    case FieldType::kUint8:
    case FieldType::kUint16:
    case FieldType::kUint24:
    case FieldType::kUint32:
    case FieldType::kUint64:
    case FieldType::kFrame:
      return ValueClass::kNumber;
    case FieldType::kBool:
      return ValueClass::kBool;
    case FieldType::kDuration:
      return ValueClass::kDuration;
    case FieldType::kTime:
      return ValueClass::kTime;
    case FieldType::kString:
      return ValueClass::kText;
    case FieldType::kBytes:
      return ValueClass::kBytes;
    case FieldType::kAddress:
      return ValueClass::kAddress;
    // No message has fields of the last three types.
    case FieldType::kSubtree:
    case FieldType::kInt64:
    case FieldType::kIpv4:
    case FieldType::kIpv6:
      return ValueClass::kPresence;
  }
  return ValueClass::kPresence;
}

std::string describe_type(FieldType type) {
  switch (value_class(type)) {
    case ValueClass::kPresence:
      return "a subtree";
    case ValueClass::kNumber:
      return fmt::format("a number ({})", decode::type_name(type));
    case ValueClass::kBool:
      return "true or false";
    case ValueClass::kDuration:
      return "a duration";
    case ValueClass::kTime:
      return "a time";
    case ValueClass::kText:
      return "a string";
    case ValueClass::kBytes:
      return "bytes";
    case ValueClass::kAddress:
      return "an address";
  }
  return "";
}

bool holds(const Condition& c, const Values& values) {
  const auto list = values.of(c.field);
  if (c.relation == Relation::kExists) return !list.empty();
  const auto one = [&](const Values::Value& value) {
    const std::string_view text = values.text(value);
    if (c.relation == Relation::kMatches) {
      return re2::RE2::PartialMatch({text.data(), text.size()}, *c.pattern);
    }
    return std::any_of(c.constants.begin(), c.constants.end(),
                       [&](const Constant& constant) { return fits(c, constant, value, text); });
  };
  if (c.relation == Relation::kNotEqual) {
    return !list.empty() && std::none_of(list.begin(), list.end(), one);
  }
  return std::any_of(list.begin(), list.end(), one);
}

}  // namespace rpcrdma::filter
