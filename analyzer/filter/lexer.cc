// Splits the text of a filter into tokens, and reports text that forms none.
#include "lexer.h"

#include "fail.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/core.h>

namespace rpcrdma::filter {

namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || c == ':' || c == '/' || c == '-' || c == '+';
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

struct Symbol {
  std::string_view text;
  TokenKind kind;
};

// Longer symbols come before their prefixes.
constexpr std::array kSymbols = {
    Symbol{"&&", TokenKind::kAnd},       Symbol{"||", TokenKind::kOr},
    Symbol{"==", TokenKind::kEqual},     Symbol{"!=", TokenKind::kNotEqual},
    Symbol{"<=", TokenKind::kLessEqual}, Symbol{">=", TokenKind::kGreaterEqual},
    Symbol{"..", TokenKind::kRange},     Symbol{"(", TokenKind::kOpen},
    Symbol{")", TokenKind::kClose},      Symbol{"{", TokenKind::kOpenSet},
    Symbol{"}", TokenKind::kCloseSet},   Symbol{",", TokenKind::kComma},
    Symbol{"!", TokenKind::kNot},        Symbol{"<", TokenKind::kLess},
    Symbol{">", TokenKind::kGreater},    Symbol{"~", TokenKind::kTilde},
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  tl::expected<std::vector<Token>, FilterError> run() {
    std::vector<Token> out;
    for (;;) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      if (at_ == text_.size()) break;
      auto token = next();
      if (!token) return Failure(std::move(token.error()));
      out.push_back(std::move(*token));
    }
    out.push_back({TokenKind::kEnd, {}, at_, 0});
    return out;
  }

 private:
  using Result = tl::expected<Token, FilterError>;

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  Result next() {
    if (peek() == '"') return string(0, true);
    if (peek() == 'r' && peek(1) == '"') return string(1, false);
    for (const Symbol& symbol : kSymbols) {
      if (!text_.substr(at_).starts_with(symbol.text)) continue;
      at_ += symbol.text.size();
      return Token{symbol.kind, {}, at_ - symbol.text.size(), symbol.text.size()};
    }
    if (is_word(peek())) return word();
    return unexpected_character();
  }

  Token word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_]) && !text_.substr(at_).starts_with("..")) ++at_;
    return {TokenKind::kWord, std::string(text_.substr(begin, at_ - begin)), begin, at_ - begin};
  }

  // `prefix`: characters before the opening quote. A raw string ends at the next quote.
  Result string(std::size_t prefix, bool escapes) {
    const std::size_t begin = at_;
    Token token{TokenKind::kString, {}, begin, 0};
    at_ += prefix + 1;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (escapes && text_[at_] == '\\') {
        if (auto error = escape(token.text)) return Failure(std::move(*error));
      } else {
        token.text += text_[at_++];
      }
    }
    if (at_ == text_.size()) {
      return fail_at(begin, prefix + 1, "this string has no closing quote");
    }
    token.length = ++at_ - begin;
    return token;
  }

  std::optional<FilterError> escape(std::string& out) {
    switch (peek(1)) {
      case '"':
      case '\\':
        out += peek(1);
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'x': {
        const auto high = hex_digit(peek(2));
        const auto low = hex_digit(peek(3));
        if (!high || !low)
          return FilterError{at_, 2, "\\x must be followed by two hexadecimal digits"};
        out += static_cast<char>(*high << 4 | *low);
        at_ += 4;
        return std::nullopt;
      }
      default:
        return FilterError{at_, std::min<std::size_t>(2, text_.size() - at_),
                           "not an escape: \\\\ \\\" \\n \\t \\r \\xHH are; r\"...\" keeps "
                           "backslashes as they are"};
    }
    at_ += 2;
    return std::nullopt;
  }

  Failure unexpected_character() const {
    const char c = peek();
    std::string message;
    if (c == '=') {
      message = "= is not an operator: write ==";
    } else if (c == '&' || c == '|') {
      message = fmt::format("{0} is not an operator: write {0}{0}{1}", c,
                            c == '&' ? ", or compare with a range instead of a mask" : "");
    } else if (c == '^') {
      message = "^ is not an operator: write (a || b) && !(a && b)";
    } else if (c == '\'') {
      message = "strings must be in double quotes";
    } else if (c > ' ' && c <= '~') {
      message = fmt::format("'{}' has no meaning here", c);
    } else {
      message = "only ASCII is allowed outside a string";
    }
    return fail_at(at_, 1, std::move(message));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

tl::expected<std::vector<Token>, FilterError> tokens(std::string_view text) {
  if (text.size() > kMaxFilterLength) {
    return fail_at(kMaxFilterLength, 0,
                   fmt::format("a filter has at most {} characters", kMaxFilterLength));
  }
  return Lexer(text).run();
}

}  // namespace rpcrdma::filter
