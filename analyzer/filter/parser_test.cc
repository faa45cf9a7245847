#include "parser.h"

#include <gtest/gtest.h>

namespace rpcrdma::filter {
namespace {

// The expression with all its parentheses, operators in front.
std::string shape(const Expression& e) {
  if (e.kind == Expression::Kind::kTest) {
    std::string out = e.test.field.text;
    if (e.test.relation == Relation::kExists) return out;
    out = std::string("(") + relation_name(e.test.relation) + ' ' + out;
    for (const Operand& o : e.test.operands) {
      out += ' ' + o.low.text + (o.high ? ".." + o.high->text : "");
    }
    return out + ')';
  }
  std::string out = e.kind == Expression::Kind::kNot   ? "(!"
                    : e.kind == Expression::Kind::kAnd ? "(&&"
                                                       : "(||";
  for (const Expression& part : e.parts) out += ' ' + shape(part);
  return out + ')';
}

std::string parsed(std::string_view text) {
  const auto e = parse(text);
  return e ? shape(*e)
           : "column " + std::to_string(e.error().offset + 1) + ": " + e.error().message;
}

TEST(Parser, AndBindsTighterThanOr) {
  EXPECT_EQ(parsed("a || b && c || d"), "(|| a (&& b c) d)");
  EXPECT_EQ(parsed("(a or b) and c"), "(&& (|| a b) c)");
}

TEST(Parser, NotBindsTightest) {
  EXPECT_EQ(parsed("!a && not b"), "(&& (! a) (! b))");
  EXPECT_EQ(parsed("!!(a || b)"), "(! (! (|| a b)))");
  EXPECT_EQ(parsed("!a == 1"), "(! (== a 1))");
}

TEST(Parser, EveryOperatorInBothSpellings) {
  EXPECT_EQ(parsed("a == 1"), parsed("a eq 1"));
  EXPECT_EQ(parsed("a != 1"), parsed("a ne 1"));
  EXPECT_EQ(parsed("a < 1"), parsed("a lt 1"));
  EXPECT_EQ(parsed("a <= 1"), parsed("a le 1"));
  EXPECT_EQ(parsed("a > 1"), parsed("a gt 1"));
  EXPECT_EQ(parsed("a >= 1"), parsed("a ge 1"));
  EXPECT_EQ(parsed("a ~ \"x\""), parsed("a matches \"x\""));
  EXPECT_EQ(parsed("a contains \"x\""), "(contains a x)");
}

TEST(Parser, Sets) {
  EXPECT_EQ(parsed("a in {1, 3..5, \"x y\"}"), "(in a 1 3..5 x y)");
}

TEST(Parser, ShowsWhatIsExpectedAndWhere) {
  EXPECT_EQ(parsed(""), "column 1: the filter is empty");
  EXPECT_EQ(parsed("a =="), "column 5: a value is expected here");
  EXPECT_EQ(parsed("a == == 1"), "column 6: a value is expected here");
  EXPECT_EQ(parsed("(a"), "column 3: a ) is expected here");
  EXPECT_EQ(parsed("a)"), "column 2: this ) has no matching (");
  EXPECT_EQ(parsed("a b"), "column 3: an operator, && or || is expected here");
  EXPECT_EQ(parsed("a &&"), "column 5: a field is expected here");
  EXPECT_EQ(parsed("\"a\" == 1"), "column 1: a field is expected here");
  EXPECT_EQ(parsed("a in 1"), "column 6: a { is expected here");
  EXPECT_EQ(parsed("a in {}"), "column 7: a value is expected here");
  EXPECT_EQ(parsed("a in {1 2}"), "column 9: a , or } is expected here");
  EXPECT_EQ(parsed("a in {1..}"), "column 10: the end of the range is expected here");
  EXPECT_EQ(parsed("a == 1..2"), "column 7: a range must follow `in`: {1..5}");
}

TEST(Parser, DepthIsBounded) {
  const auto nested = [](std::size_t depth, const std::string& open, const std::string& close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += "a";
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return parse(text).has_value();
  };
  EXPECT_TRUE(nested(kMaxDepth, "(", ")"));
  EXPECT_FALSE(nested(kMaxDepth + 1, "(", ")"));
  EXPECT_TRUE(nested(kMaxDepth, "!", ""));
  EXPECT_FALSE(nested(8000, "!", ""));
  EXPECT_FALSE(nested(4000, "!(", ")"));
}

TEST(Parser, AChainIsNotDeep) {
  std::string text = "a";
  for (int i = 0; i < 1300; ++i) text += i % 2 == 0 ? "&&a" : "||a";
  EXPECT_TRUE(parse(text).has_value());
}

}  // namespace
}  // namespace rpcrdma::filter
