// The recursive-descent parser for the grammar in parser.h.
#include "parser.h"

#include "fail.h"
#include "lexer.h"
#include "suggest.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <fmt/core.h>

namespace rpcrdma::filter {

namespace {

using Parsed = tl::expected<Expression, FilterError>;

struct Operator {
  TokenKind kind;
  std::string_view word;
  Relation relation;
};

constexpr std::array kOperators = {
    Operator{TokenKind::kEqual, "eq", Relation::kEqual},
    Operator{TokenKind::kNotEqual, "ne", Relation::kNotEqual},
    Operator{TokenKind::kLess, "lt", Relation::kLess},
    Operator{TokenKind::kLessEqual, "le", Relation::kLessEqual},
    Operator{TokenKind::kGreater, "gt", Relation::kGreater},
    Operator{TokenKind::kGreaterEqual, "ge", Relation::kGreaterEqual},
    Operator{TokenKind::kEnd, "in", Relation::kIn},
    Operator{TokenKind::kEnd, "contains", Relation::kContains},
    Operator{TokenKind::kTilde, "matches", Relation::kMatches},
};

std::optional<Relation> relation_of(const Token& token) {
  for (const Operator& o : kOperators) {
    if (token.kind == TokenKind::kWord ? equal_names(token.text, o.word)
                                       : token.kind == o.kind && token.kind != TokenKind::kEnd) {
      return o.relation;
    }
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Parsed run() {
    if (here().kind == TokenKind::kEnd) return fail("the filter is empty");
    Parsed expression = either(0);
    if (!expression) return expression;
    if (here().kind == TokenKind::kClose) return fail("this ) has no matching (");
    if (here().kind != TokenKind::kEnd) return fail(after_a_test());
    return expression;
  }

 private:
  [[nodiscard]] const Token& here() const { return tokens_[at_]; }
  Token take() { return tokens_[at_++]; }

  // `word`: the operator spelled out.
  bool accept(TokenKind kind, std::string_view word) {
    if (here().kind != kind &&
        (here().kind != TokenKind::kWord || !equal_names(here().text, word))) {
      return false;
    }
    ++at_;
    return true;
  }

  // Returns what is wrong with the word after a whole test; habits of other languages get an
  // answer.
  [[nodiscard]] std::string after_a_test() const {
    const std::string& before = tokens_[at_ - 1].text;
    const std::string& word = here().text;
    const bool two_words = here().kind == TokenKind::kWord && !before.empty();
    const auto is_one = [](const std::string& text, std::initializer_list<std::string_view> list) {
      return std::any_of(list.begin(), list.end(),
                         [&](std::string_view name) { return equal_names(name, text); });
    };
    if (two_words && is_one(before, {"host", "net", "src", "dst"})) {
      return fmt::format("this is the language of capture filters: write rpcrdma.addr == {}", word);
    }
    if (two_words && is_one(before, {"port", "udp", "tcp", "proto", "vlan", "ip"})) {
      return "this is the language of capture filters: write rpcrdma.connection, rpcrdma.qpn or "
             "rpcrdma.port";
    }
    if (two_words && is_one(before, {"any"})) return "every test means any value: leave any out";
    if (two_words && is_one(before, {"all"})) {
      return "a test means any value: write !(FIELD != VALUE) for all";
    }
    if (two_words && is_one(word, {"ns", "us", "ms", "s", "m", "min", "h"}) &&
        before.front() >= '0' && before.front() <= '9') {
      return fmt::format("write {}{}, without a space", before, word);
    }
    if (two_words && is_one(word, {"xor"})) return "write (a || b) && !(a && b)";
    return "an operator, && or || is expected here";
  }

  [[nodiscard]] Failure fail(std::string message) const {
    return fail_at(here().offset, here().length, std::move(message));
  }

  Parsed either(unsigned depth) {
    return chain(Expression::Kind::kOr, TokenKind::kOr, "or", &Parser::both, depth);
  }
  Parsed both(unsigned depth) {
    return chain(Expression::Kind::kAnd, TokenKind::kAnd, "and", &Parser::negation, depth);
  }

  Parsed chain(Expression::Kind kind, TokenKind token, std::string_view word,
               Parsed (Parser::*part)(unsigned), unsigned depth) {
    Parsed first = (this->*part)(depth);
    if (!first || !accept(token, word)) return first;
    Expression all;
    all.kind = kind;
    all.parts.push_back(std::move(*first));
    do {
      Parsed next = (this->*part)(depth);
      if (!next) return next;
      all.parts.push_back(std::move(*next));
    } while (accept(token, word));
    return all;
  }

  Parsed negation(unsigned depth) {
    if (depth > kMaxDepth) {
      return fail(fmt::format("( and ! are nested more than {} deep", kMaxDepth));
    }
    if (!accept(TokenKind::kNot, "not")) return primary(depth);
    Parsed part = negation(depth + 1);
    if (!part) return part;
    Expression out;
    out.kind = Expression::Kind::kNot;
    out.parts.push_back(std::move(*part));
    return out;
  }

  Parsed primary(unsigned depth) {
    if (here().kind != TokenKind::kOpen) return test();
    ++at_;
    Parsed inner = either(depth + 1);
    if (!inner) return inner;
    if (here().kind != TokenKind::kClose) return fail("a ) is expected here");
    ++at_;
    return inner;
  }

  Parsed test() {
    if (here().kind != TokenKind::kWord) return fail("a field is expected here");
    Expression out;
    Test& t = out.test;
    t.field = literal(take());
    const auto relation = relation_of(here());
    if (!relation) return out;
    t.relation = *relation;
    const Token symbol = take();
    t.offset = symbol.offset;
    t.length = symbol.length;
    const auto error = t.relation == Relation::kIn ? set(t) : single(t);
    if (error) return Failure(*error);
    return out;
  }

  std::optional<FilterError> single(Test& t) {
    if (!is_literal()) return fail("a value is expected here").value();
    t.operands.push_back({literal(take()), std::nullopt});
    if (here().kind == TokenKind::kRange) return fail("a range must follow `in`: {1..5}").value();
    return std::nullopt;
  }

  std::optional<FilterError> set(Test& t) {
    if (here().kind != TokenKind::kOpenSet) return fail("a { is expected here").value();
    do {
      ++at_;
      if (!is_literal()) return fail("a value is expected here").value();
      Operand& operand = t.operands.emplace_back();
      operand.low = literal(take());
      if (here().kind != TokenKind::kRange) continue;
      ++at_;
      if (!is_literal()) return fail("the end of the range is expected here").value();
      operand.high = literal(take());
    } while (here().kind == TokenKind::kComma);
    if (here().kind != TokenKind::kCloseSet) return fail("a , or } is expected here").value();
    ++at_;
    return std::nullopt;
  }

  [[nodiscard]] bool is_literal() const {
    return here().kind == TokenKind::kWord || here().kind == TokenKind::kString;
  }

  static Literal literal(Token token) {
    return {std::move(token.text), token.kind == TokenKind::kString, token.offset, token.length};
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

const char* relation_name(Relation relation) {
  switch (relation) {
    case Relation::kExists:
      return "";
    case Relation::kEqual:
      return "==";
    case Relation::kNotEqual:
      return "!=";
    case Relation::kLess:
      return "<";
    case Relation::kLessEqual:
      return "<=";
    case Relation::kGreater:
      return ">";
    case Relation::kGreaterEqual:
      return ">=";
    case Relation::kIn:
      return "in";
    case Relation::kContains:
      return "contains";
    case Relation::kMatches:
      return "matches";
  }
  return "";
}

Parsed parse(std::string_view text) {
  auto list = tokens(text);
  if (!list) return Failure(std::move(list.error()));
  return Parser(std::move(*list)).run();
}

}  // namespace rpcrdma::filter
