// Random expressions, evaluated by the filter and by a few lines that directly follow the
// documentation.
#include "messages_for_tests.h"

#include <algorithm>
#include <random>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <rpcrdma/filter/filter.h>

namespace rpcrdma::filter {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t end) {
  return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random);
}

enum class Field { kCredit, kHandle, kLatency, kFinding };

struct Node {
  enum class Kind { kLeaf, kNot, kAnd, kOr };
  Kind kind = Kind::kLeaf;
  std::vector<Node> parts;
  // Leaf. No operator: existence.
  Field field = Field::kCredit;
  std::string op;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> values;  // ranges
};

Node make(Random& random, unsigned depth) {
  Node node;
  const std::uint64_t choice = depth == 0 ? 0 : below(random, 4);
  if (choice != 0) {
    node.kind = static_cast<Node::Kind>(choice);
    const std::uint64_t parts = node.kind == Node::Kind::kNot ? 1 : 2 + below(random, 2);
    for (std::uint64_t i = 0; i < parts; ++i) node.parts.push_back(make(random, depth - 1));
    return node;
  }
  node.field = static_cast<Field>(below(random, 4));
  static const std::vector<std::string> kOps = {"", "==", "!=", "in", "<", "<=", ">", ">="};
  node.op = kOps[below(random, node.field == Field::kFinding ? 4 : kOps.size())];
  const std::uint64_t values = node.op == "in" ? 1 + below(random, 3) : 1;
  for (std::uint64_t i = 0; i < values; ++i) {
    const std::uint64_t low = below(random, 8);
    const bool range = node.op == "in" && node.field != Field::kFinding && below(random, 2) == 0;
    node.values.emplace_back(low, range ? low + below(random, 3) : low);
  }
  return node;
}

std::string value_text(Random& random, Field field, std::uint64_t value) {
  switch (field) {
    case Field::kFinding:
      return fmt::format("\"R{}\"", value);
    case Field::kLatency:
      return below(random, 2) == 0 ? fmt::format("{}ms", value) : fmt::format("0.00{}", value);
    default:
      return below(random, 2) == 0 ? fmt::format("{}", value) : fmt::format("0x{:x}", value);
  }
}

std::string op_text(Random& random, const std::string& op) {
  static const std::pair<const char*, const char*> kWords[] = {
      {"==", "eq"}, {"!=", "ne"}, {"<", "lt"}, {"<=", "le"}, {">", "gt"}, {">=", "ge"}};
  for (const auto& [symbol, word] : kWords) {
    if (op == symbol && below(random, 2) == 0) return word;
  }
  return op;
}

std::string print_leaf(Random& random, const Node& node) {
  static const char* const kNames[] = {"rpcrdma.credit", "rpcrdma.segment.handle",
                                       "rpcrdma.latency", "rpcrdma.finding"};
  std::string text = kNames[static_cast<std::size_t>(node.field)];
  if (node.op.empty()) return text;
  text += ' ' + op_text(random, node.op) + ' ';
  if (node.op != "in") return text + value_text(random, node.field, node.values[0].first);
  const char* separator = "{";
  for (const auto& [low, high] : node.values) {
    text += separator + value_text(random, node.field, low);
    if (high != low) text += ".." + value_text(random, node.field, high);
    separator = ", ";
  }
  return text + '}';
}

// Prints the required parentheses, and sometimes more.
std::string print(Random& random, const Node& node) {
  if (node.kind == Node::Kind::kLeaf) return print_leaf(random, node);
  std::string text;
  if (node.kind == Node::Kind::kNot) {
    const Node& part = node.parts[0];
    const bool open = part.kind != Node::Kind::kLeaf && part.kind != Node::Kind::kNot;
    text = below(random, 2) == 0 ? "!" : "not ";
    return text + (open ? "(" + print(random, part) + ")" : print(random, part));
  }
  const bool is_and = node.kind == Node::Kind::kAnd;
  for (const Node& part : node.parts) {
    if (!text.empty()) {
      text += below(random, 2) == 0 ? (is_and ? " && " : "||") : (is_and ? " and " : " or ");
    }
    const bool open = (is_and && part.kind == Node::Kind::kOr) || below(random, 5) == 0;
    text += open ? "(" + print(random, part) + ")" : print(random, part);
  }
  return text;
}

// The input of these filters: values of each field.
using Facts = std::array<std::vector<std::uint64_t>, 4>;

bool fits(const std::string& op, std::uint64_t v, std::pair<std::uint64_t, std::uint64_t> value) {
  if (op == "<") return v < value.first;
  if (op == "<=") return v <= value.first;
  if (op == ">") return v > value.first;
  if (op == ">=") return v >= value.first;
  return v >= value.first && v <= value.second;
}

bool holds(const Node& node, const Facts& facts) {
  const auto part = [&](const Node& n) { return holds(n, facts); };
  switch (node.kind) {
    case Node::Kind::kNot:
      return !part(node.parts[0]);
    case Node::Kind::kAnd:
      return std::all_of(node.parts.begin(), node.parts.end(), part);
    case Node::Kind::kOr:
      return std::any_of(node.parts.begin(), node.parts.end(), part);
    case Node::Kind::kLeaf:
      break;
  }
  const auto& values = facts[static_cast<std::size_t>(node.field)];
  if (node.op.empty()) return !values.empty();
  bool any = false;
  for (const std::uint64_t v : values) {
    for (const auto& value : node.values) any |= fits(node.op, v, value);
  }
  return node.op == "!=" ? !values.empty() && !any : any;
}

Facts make_facts(Random& random, testing::Sample& sample) {
  static constexpr std::string_view kIds[] = {"R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7"};
  Facts facts;
  model::Message& m = sample.message;
  m.credit = static_cast<std::uint32_t>(below(random, 8));
  facts[0] = {m.credit};
  m.write_counts.clear();
  m.write_segments.clear();
  m.reads.clear();
  for (std::uint64_t i = below(random, 4); i != 0; --i) {
    const std::uint64_t handle = below(random, 8);
    facts[1].push_back(handle);
    m.reads.push_back({0, {static_cast<std::uint32_t>(handle), 1, 1}});
  }
  m.latency_ns = -1;
  if (below(random, 3) != 0) {
    facts[2] = {below(random, 8)};
    m.latency_ns = static_cast<std::int64_t>(facts[2][0]) * 1'000'000;
  }
  sample.findings.clear();
  for (std::uint64_t i = below(random, 4); i != 0; --i) {
    facts[3].push_back(below(random, 8));
    sample.findings.push_back(kIds[facts[3].back()]);
  }
  return facts;
}

TEST(RandomFilters, MeanWhatTheyMeanWhenReadSlowly) {
  Random random(1);
  testing::Sample sample;
  int matched = 0;
  int empty = 0;
  for (int i = 0; i < 3000; ++i) {
    const Node node = make(random, static_cast<unsigned>(below(random, 6)));
    const std::string text = print(random, node);
    if (text.size() > 8000) continue;
    auto filter = compile(text);
    if (!filter) {
      ASSERT_NE(filter.error().message.find("can match nothing"), std::string::npos)
          << explain(text, filter.error());
      ++empty;
      for (int j = 0; j < 100; ++j) ASSERT_FALSE(holds(node, make_facts(random, sample))) << text;
      continue;
    }
    for (int j = 0; j < 10; ++j) {
      const Facts facts = make_facts(random, sample);
      const bool expected = holds(node, facts);
      matched += expected ? 1 : 0;
      ASSERT_EQ(filter->matches(sample.inputs()), expected) << text;
    }
  }
  EXPECT_GT(empty, 10);
  EXPECT_LT(empty, 500);
  // Neither always nor never; otherwise this would prove nothing.
  EXPECT_GT(matched, 10000);
  EXPECT_LT(matched, 20000);
}

// A damaged filter text is rejected or works.
TEST(RandomFilters, DamagedTextIsRefusedOrWorks) {
  Random random(2);
  const testing::Sample sample;
  static constexpr std::string_view kCharacters = "(){}!&|=<>\"\\.,~ ax0-:/\x80";
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = print(random, make(random, 3));
    for (std::uint64_t n = 1 + below(random, 3); n != 0; --n) {
      const std::size_t at = below(random, text.size());
      const char c = kCharacters[below(random, kCharacters.size())];
      if (below(random, 2) == 0) {
        text[at] = c;
      } else {
        text.insert(at, 1, c);
      }
    }
    auto filter = compile(text);
    if (filter) {
      static_cast<void>(filter->matches(sample.inputs()));
      continue;
    }
    ++refused;
    EXPECT_LE(filter.error().offset + filter.error().length, text.size()) << text;
    EXPECT_FALSE(filter.error().message.empty()) << text;
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 5000);
}

}  // namespace
}  // namespace rpcrdma::filter
