// Checks a parsed filter against the field schema, and turns its literals into constants.
#include "check.h"

#include "aliases.h"
#include "fail.h"
#include "literal.h"
#include "operations.h"
#include "suggest.h"

#include <algorithm>

#include <fmt/core.h>
#include <re2/re2.h>

#include <rpcrdma/decode/possible_names.h>
#include <rpcrdma/filter/filter.h>

namespace rpcrdma::filter {

namespace {

using decode::FieldId;
using decode::FieldSpec;
using decode::FieldType;
using Read = tl::expected<Constant, FilterError>;

constexpr std::int64_t kPatternMemory = 4 << 20;  // bytes that one regular expression may use

Failure fail(const Literal& at, std::string message) {
  return fail_at(at.offset, at.length, std::move(message));
}

tl::expected<const FieldSpec*, FilterError> find(const Literal& name) {
  const FieldSpec* field = decode::find_field(lower(name.text));
  if (const Alias* const alias = find_alias(name.text); field == nullptr && alias != nullptr) {
    field = decode::find_field(alias->field);
  }
  if (field == nullptr) {
    if (const std::string_view hint = hint_for(name.text); !hint.empty()) {
      return fail(name, fmt::format("there is no field {}: {}", name.text, hint));
    }
    std::vector<std::string_view> names;
    for (const FieldSpec& f : decode::schema()) {
      if (is_filter_field(f.id)) names.emplace_back(f.name);
    }
    const std::string near = suggestion(name.text, names);
    return fail(name, fmt::format("there is no field {}{}", name.text,
                                  near.empty() ? " (`rpcrdma fields` lists them)" : near));
  }
  if (!is_filter_field(field->id)) {
    return fail(
        name, fmt::format("{} belongs to packets and connections: no message has it", field->name));
  }
  return field;
}

bool is_ordered(ValueClass type) {
  return type == ValueClass::kNumber || type == ValueClass::kDuration ||
         type == ValueClass::kTime || type == ValueClass::kAddress;
}

bool allowed(Relation relation, ValueClass type) {
  switch (relation) {
    case Relation::kExists:
      return true;
    case Relation::kEqual:
    case Relation::kNotEqual:
    case Relation::kIn:
      return type != ValueClass::kPresence;
    case Relation::kLess:
    case Relation::kLessEqual:
    case Relation::kGreater:
    case Relation::kGreaterEqual:
      return is_ordered(type);
    case Relation::kContains:
    case Relation::kMatches:
      return type == ValueClass::kText || type == ValueClass::kBytes;
  }
  return false;
}

std::string relations_of(ValueClass type) {
  if (type == ValueClass::kPresence) return "it can only be tested for presence";
  std::string list = "it allows == !=";
  if (is_ordered(type)) list += " < <= > >=";
  if (allowed(Relation::kContains, type)) list += " contains matches";
  return list + " in";
}

Constant number_constant(std::uint64_t value) {
  Constant c;
  c.low = c.high = value;
  return c;
}

Constant text_constant(std::string text) {
  Constant c;
  c.low_text = std::move(text);
  return c;
}

// Returns the names that values of a field can have. Fields that repeat a number's name as text
// have the names of that number.
std::vector<decode::ValueName> names_of(FieldId id) {
  switch (id) {
    case FieldId::kRpcProgramName:
      return decode::possible_names(FieldId::kRpcProgram);
    case FieldId::kNfsOp:
    case FieldId::kNfsOpName:
    case FieldId::kRpcProcedure:
    case FieldId::kRpcProcedureName: {
      const bool procedure = id == FieldId::kRpcProcedure || id == FieldId::kRpcProcedureName;
      auto names = decode::possible_names(FieldId::kNfsOp);
      const auto more =
          procedure ? decode::possible_names(FieldId::kRpcProcedure) : early_nfs_procedures();
      names.insert(names.end(), more.begin(), more.end());
      return names;
    }
    default:
      return decode::possible_names(id);
  }
}

// Whether a string field holds the name of a number.
bool repeats_a_name(FieldId id) {
  return id == FieldId::kRpcProgramName || id == FieldId::kRpcProcedureName ||
         id == FieldId::kNfsOpName;
}

// NFS3ERR_NOENT and NFS4ERR_NOENT are one number, which ERR_NOENT or NOENT means in either version.
bool is_short_name(std::string_view name, std::string_view word) {
  const std::size_t prefix = std::string_view("NFS3").size();
  if (!name.starts_with("NFS") || name.size() <= prefix) return false;
  std::string_view rest = name.substr(prefix);
  if (equal_names(rest, word)) return true;
  constexpr std::string_view kError = "ERR_";
  return rest.starts_with(kError) && equal_names(rest.substr(kError.size()), word);
}

// Reads a named value. `order`: values are compared by order, not just for equality.
Read read_name(const FieldSpec& field, const Literal& literal, bool order) {
  const auto names = names_of(field.id);
  auto found = std::find_if(names.begin(), names.end(), [&](const decode::ValueName& n) {
    return equal_names(n.name, literal.text);
  });
  if (found == names.end() && field.id == FieldId::kNfsStatus && !order) {
    found = std::find_if(names.begin(), names.end(), [&](const decode::ValueName& n) {
      return is_short_name(n.name, literal.text);
    });
    if (found != names.end()) return number_constant(found->value);
  }
  if (found == names.end()) {
    std::vector<std::string_view> words;
    for (const decode::ValueName& n : names) words.emplace_back(n.name);
    return fail(literal, names.empty()
                             ? fmt::format("{} is {}: a number is expected", field.name,
                                           describe_type(field.type))
                             : fmt::format("{} has no value {}{}", field.name, literal.text,
                                           suggestion(literal.text, words)));
  }
  if (field.type == FieldType::kString) {
    Constant c = text_constant(found->name);
    c.by_name = repeats_a_name(field.id);
    return c;
  }
  if (!decode::names_depend_on_context(field.id)) return number_constant(found->value);
  if (order) {
    return fail(literal, fmt::format("the number of {} is not the same in every message: use the "
                                     "number itself",
                                     found->name));
  }
  Constant c = text_constant(found->name);
  c.by_name = true;
  return c;
}

Read read_number(const FieldSpec& field, const Literal& literal, bool order) {
  const auto integer = literal.quoted ? std::nullopt : parse_integer(literal.text);
  if (!integer) return read_name(field, literal, order);
  if ((integer->negative && integer->magnitude != 0) || integer->magnitude > largest(field.type)) {
    return fail(literal, fmt::format("{} does not fit {}, which is {}", literal.text, field.name,
                                     describe_type(field.type)));
  }
  return number_constant(integer->magnitude);
}

Read read_bool(const FieldSpec& field, const Literal& literal) {
  for (const char* word : {"true", "1"}) {
    if (equal_names(literal.text, word)) return number_constant(1);
  }
  for (const char* word : {"false", "0"}) {
    if (equal_names(literal.text, word)) return number_constant(0);
  }
  return fail(literal, fmt::format("{} is true or false", field.name));
}

Read read_text(const FieldSpec& field, const Literal& literal, Relation relation) {
  const bool named = !field.values.empty() || repeats_a_name(field.id);
  if (named && relation != Relation::kContains) {
    return read_name(field, literal, false);
  }
  if (!literal.quoted) {
    return fail(literal, fmt::format("{} is a string: write \"{}\"", field.name, literal.text));
  }
  return text_constant(literal.text);
}

Read read_bytes(const FieldSpec& field, const Literal& literal) {
  if (literal.quoted) return text_constant(literal.text);
  auto bytes = parse_bytes(literal.text);
  if (!bytes) {
    return fail(literal, fmt::format("{} is bytes: write 00:01:ff, or \"text\"", field.name));
  }
  return text_constant(std::move(*bytes));
}

Read read_address(const FieldSpec& field, const Literal& literal) {
  auto range = parse_address(literal.text);
  if (!range) {
    return fail(literal, fmt::format("{} is an address: write 10.0.0.1, 10.0.0.0/8, fe80::1, "
                                     "fe80::/10 or \"lid 5\"",
                                     field.name));
  }
  Constant c;
  c.low_text = std::move(range->low);
  c.high_text = std::move(range->high);
  return c;
}

Read read_clock(const FieldSpec& field, const Literal& literal) {
  const bool time = field.type == FieldType::kTime;
  const auto ns = time ? parse_time(literal.text) : parse_duration(literal.text);
  // A number of milliseconds or microseconds is meant, as in the tools that print them.
  constexpr std::int64_t kLongest = 100'000'000'000;
  const bool bare =
      !time && field.id != FieldId::kFrameTimeRelative && parse_integer(literal.text).has_value();
  if (ns && bare && *ns >= kLongest) {
    return fail(literal, fmt::format("{0} without a unit means {0} seconds: write {0}us, {0}ms or "
                                     "{0}s",
                                     literal.text));
  }
  if (ns) return number_constant(rank(*ns));
  return fail(literal,
              time ? fmt::format("{} is a time: write \"YYYY-MM-DD HH:MM:SS\" (UTC), or seconds "
                                 "since 1970",
                                 field.name)
                   : fmt::format("{} is a duration: write 1.5ms, 200us, or seconds", field.name));
}

Read read(const FieldSpec& field, const Literal& literal, Relation relation, bool range) {
  switch (value_class(field.type)) {
    case ValueClass::kNumber:
      return read_number(field, literal,
                         range || (relation != Relation::kEqual &&
                                   relation != Relation::kNotEqual && relation != Relation::kIn));
    case ValueClass::kBool:
      return read_bool(field, literal);
    case ValueClass::kText:
      return read_text(field, literal, relation);
    case ValueClass::kBytes:
      return read_bytes(field, literal);
    case ValueClass::kAddress:
      return read_address(field, literal);
    case ValueClass::kDuration:
    case ValueClass::kTime:
      return read_clock(field, literal);
    case ValueClass::kPresence:
      break;
  }
  return Constant{};
}

Read read_range(const FieldSpec& field, const Operand& operand, Relation relation) {
  Read low = read(field, operand.low, relation, operand.high.has_value());
  if (!low || !operand.high) return low;
  if (!is_ordered(value_class(field.type))) {
    return fail(*operand.high, fmt::format("{} is {}, which has no ranges", field.name,
                                           describe_type(field.type)));
  }
  Read high = read(field, *operand.high, relation, true);
  if (!high) return high;
  if (low->low_text.size() != high->low_text.size()) {
    return fail(*operand.high, "the ends of the range are different kinds of addresses");
  }
  if (high->low < low->low || high->low_text < low->low_text) {
    return fail(*operand.high, fmt::format("the range ends before it begins: write {}..{}",
                                           operand.high->text, operand.low.text));
  }
  low->high = high->high;
  low->high_text = high->high_text;
  return low;
}

tl::expected<std::shared_ptr<const re2::RE2>, FilterError> pattern(const FieldSpec& field,
                                                                   const Literal& literal) {
  if (!literal.quoted) {
    return fail(literal, fmt::format("a regular expression must be in quotes: write {} matches "
                                     "\"{}\"",
                                     field.name, literal.text));
  }
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // fields may hold any bytes
  options.set_case_sensitive(false);
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  auto compiled = std::make_shared<const re2::RE2>(literal.text, options);
  if (!compiled->ok()) {
    return fail(literal, fmt::format("not a regular expression: {}", compiled->error()));
  }
  return compiled;
}

// A string with a list of values has none that a test on its parts could find.
std::optional<FilterError> matches_no_name(const Condition& c, const FieldSpec& field,
                                           const Test& test) {
  if (field.type != FieldType::kString || field.values.empty()) return std::nullopt;
  if (c.relation != Relation::kContains && c.relation != Relation::kMatches) return std::nullopt;
  const bool some =
      std::any_of(field.values.begin(), field.values.end(), [&](const decode::ValueName& value) {
        if (c.pattern != nullptr) return re2::RE2::PartialMatch(value.name, *c.pattern);
        return std::string_view(value.name).find(c.constants.front().low_text) !=
               std::string_view::npos;
      });
  if (some) return std::nullopt;
  return fail(test.operands.front().low,
              fmt::format("no value of {} fits: the filter can match nothing", field.name))
      .value();
}

// The type of an RPC message is one of two: a third is none.
std::optional<FilterError> outside_enumeration(const Condition& c, const FieldSpec& field,
                                               const Test& test) {
  if (field.id != FieldId::kRpcMsgType ||
      (c.relation != Relation::kEqual && c.relation != Relation::kIn)) {
    return std::nullopt;
  }
  const bool some = std::any_of(c.constants.begin(), c.constants.end(),
                                [](const Constant& k) { return k.by_name || k.low <= 1; });
  if (some) return std::nullopt;
  return fail(test.operands.front().low,
              fmt::format("{} is 0 (Call) or 1 (Reply): the filter can match nothing", field.name))
      .value();
}

}  // namespace

std::uint64_t largest(FieldType type) {
  switch (type) {
    case FieldType::kUint8:
      return 0xff;
    case FieldType::kUint16:
      return 0xffff;
    case FieldType::kUint24:
      return 0xffffff;
    case FieldType::kUint32:
      return 0xffffffff;
    default:
      return UINT64_MAX;
  }
}

std::optional<std::int64_t> parse_span(std::string_view text) {
  const auto ns = parse_duration(text);
  return ns && *ns >= 0 ? ns : std::nullopt;
}

tl::expected<FieldId, std::string> field_named(std::string_view name) {
  const auto found = find(Literal{std::string(name), false, 0, name.size()});
  if (!found) return tl::unexpected(found.error().message);
  return (*found)->id;
}

tl::expected<Condition, FilterError> check(const Test& test) {
  const auto found = find(test.field);
  if (!found) return Failure(found.error());
  const FieldSpec& field = **found;
  Condition c;
  c.field = field.id;
  c.type = value_class(field.type);
  c.relation = test.relation;
  if (!allowed(test.relation, c.type)) {
    return fail_at(
        test.offset, test.length,
        fmt::format("{} cannot be used with {}, which is {}: {}", relation_name(test.relation),
                    field.name, describe_type(field.type), relations_of(c.type)));
  }
  // A boolean field alone tests whether it is true; its presence means nothing.
  if (test.relation == Relation::kExists && c.type == ValueClass::kBool) {
    c.relation = Relation::kEqual;
    c.constants.push_back(number_constant(1));
    return c;
  }
  if (test.relation == Relation::kMatches) {
    auto compiled = pattern(field, test.operands.front().low);
    if (!compiled) return Failure(std::move(compiled.error()));
    c.pattern = std::move(*compiled);
    if (auto error = matches_no_name(c, field, test)) return Failure(std::move(*error));
    return c;
  }
  for (const Operand& operand : test.operands) {
    Read constant = read_range(field, operand, test.relation);
    if (!constant) return Failure(std::move(constant.error()));
    c.constants.push_back(std::move(*constant));
  }
  if (auto error = matches_no_name(c, field, test)) return Failure(std::move(*error));
  if (auto error = outside_enumeration(c, field, test)) return Failure(std::move(*error));
  return c;
}

}  // namespace rpcrdma::filter
