// Splits a filter into words as the filter's own lexer does, also while it is being typed.
#include "filter_text.h"

#include <algorithm>
#include <vector>

#include <rpcrdma/filter/filter.h>

namespace rpcrdma::gui {

namespace {

struct Token {
  enum class Kind : std::uint8_t { kWord, kString, kSymbol };
  Kind kind = Kind::kWord;
  int begin = 0, end = 0;
  QString text;
  bool whole = true;  // a string with its closing quote
};

bool is_word(QChar c) {
  return c.isLetterOrNumber() || QStringView(u"_.:/-+").contains(c);
}

// The end of the string whose opening quote is at `at`.
int string_end(const QString& text, int at, bool escapes, bool& whole) {
  const int size = static_cast<int>(text.size());
  for (++at; at < size && text[at] != '"'; ++at) {
    if (escapes && text[at] == '\\' && at + 1 < size) ++at;
  }
  whole = at < size;
  return std::min(at + 1, size);
}

std::vector<Token> tokens(const QString& text) {
  std::vector<Token> out;
  const int size = static_cast<int>(text.size());
  for (int at = 0; at < size;) {
    if (text[at].isSpace()) {
      ++at;
      continue;
    }
    Token token{Token::Kind::kSymbol, at, at + 1, {}, true};
    const bool raw = text[at] == 'r' && at + 1 < size && text[at + 1] == '"';
    if (text[at] == '"' || raw) {
      token.kind = Token::Kind::kString;
      token.end = string_end(text, raw ? at + 1 : at, !raw, token.whole);
    } else if (QStringView(text).mid(at, 2) == u"..") {
      token.end = at + 2;
    } else if (is_word(text[at])) {
      token.kind = Token::Kind::kWord;
      while (token.end < size && is_word(text[token.end]) &&
             QStringView(text).mid(token.end, 2) != u"..") {
        ++token.end;
      }
    } else {
      for (const char* two : {"&&", "||", "==", "!=", "<=", ">="}) {
        if (QStringView(text).mid(at, 2) == QLatin1String(two)) token.end = at + 2;
      }
    }
    token.text = text.mid(at, token.end - at);
    at = token.end;
    out.push_back(std::move(token));
  }
  return out;
}

bool is_any(const Token& token, std::initializer_list<const char*> of) {
  if (token.kind == Token::Kind::kString) return false;
  return std::any_of(of.begin(), of.end(), [&](const char* t) {
    return token.text.compare(QLatin1String(t), Qt::CaseInsensitive) == 0;
  });
}

bool is_and(const Token& t) {
  return is_any(t, {"&&", "and"});
}
bool is_or(const Token& t) {
  return is_any(t, {"||", "or"});
}
bool is_comparison(const Token& t) {
  return is_any(t, {"==", "!=", "<", "<=", ">", ">=", "~", "eq", "ne", "lt", "le", "gt", "ge",
                    "contains", "matches"});
}

// Calls f(token) for tokens outside of parentheses and braces.
template <typename Function>
void at_top(const std::vector<Token>& all, Function&& f) {
  int depth = 0;
  for (const Token& t : all) {
    if (is_any(t, {")", "}"})) --depth;
    if (depth == 0) f(t);
    if (is_any(t, {"(", "{"})) ++depth;
  }
}

bool has_or(const QString& filter) {
  bool any = false;
  at_top(tokens(filter), [&](const Token& t) { any |= is_or(t); });
  return any;
}

// Without parentheses around the whole.
QString bare(QString filter) {
  for (;;) {
    filter = filter.trimmed();
    const std::vector<Token> all = tokens(filter);
    if (all.size() < 3 || all.front().text != "(" || all.back().text != ")") return filter;
    int depth = 0;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (is_any(all[i], {"("})) ++depth;
      if (is_any(all[i], {")"})) --depth;
      if (depth == 0) return filter;
    }
    filter = filter.mid(1, filter.size() - 2);
  }
}

QString in_parentheses(const QString& part) {
  return has_or(part) ? '(' + part + ')' : part;
}

std::optional<decode::FieldId> field_of(const Token& token) {
  if (token.kind != Token::Kind::kWord) return std::nullopt;
  const auto id = filter::field_named(token.text.toStdString());
  return id ? std::optional(*id) : std::nullopt;
}

}  // namespace

QStringList filter_parts(const QString& filter) {
  const QString text = bare(filter);
  if (text.isEmpty()) return {};
  if (has_or(text)) return {text};
  QStringList parts;
  int begin = 0;
  const auto add = [&](int end) {
    const QString part = text.mid(begin, end - begin).trimmed();
    if (!part.isEmpty()) parts << part;
  };
  at_top(tokens(text), [&](const Token& t) {
    if (!is_and(t)) return;
    add(t.begin);
    begin = t.end;
  });
  add(static_cast<int>(text.size()));
  return parts;
}

QString filter_and(const QStringList& parts) {
  QStringList all;
  for (const QString& part : parts) {
    const QString text = bare(part);
    if (!text.isEmpty()) all << text;
  }
  if (all.size() == 1) return all.front();
  for (QString& part : all) part = in_parentheses(part);
  return all.join(" && ");
}

QString filter_or(const QString& a, const QString& b) {
  if (a.trimmed().isEmpty()) return b;
  const auto one = [](const QString& text) {
    return filter_parts(text).size() > 1 ? '(' + bare(text) + ')' : bare(text);
  };
  return one(a) + " || " + one(b);
}

QString filter_not(const QString& part) {
  return "!(" + bare(part) + ')';
}

bool is_same_filter(const QString& a, const QString& b) {
  const std::vector<Token> x = tokens(bare(a));
  const std::vector<Token> y = tokens(bare(b));
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const Token& s, const Token& t) { return s.text == t.text; });
}

QString with_part(const QString& filter, const QString& part) {
  QStringList parts = filter_parts(filter);
  for (const QString& p : parts) {
    if (is_same_filter(p, part)) return filter;
  }
  return filter_and(parts << part);
}

QString without_part(const QString& filter, const std::function<bool(const QString&)>& is) {
  QStringList left;
  for (const QString& part : filter_parts(filter)) {
    if (!is(part)) left << part;
  }
  return filter_and(left);
}

QString filter_string(const std::string& text) {
  const QString decoded = QString::fromStdString(text);
  const bool valid = decoded.toStdString() == text;
  const auto escaped = [](const QByteArray& bytes) {
    QString out;
    for (const char c : bytes) {
      out += QString("\\x%1").arg(static_cast<unsigned char>(c), 2, 16, QChar('0'));
    }
    return out;
  };
  if (!valid) return '"' + escaped(QByteArray::fromStdString(text)) + '"';
  QString out = "\"";
  for (const QChar c : decoded) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c.isPrint() || c.isSurrogate()) {
      out += c;
    } else {
      out += escaped(QString(c).toUtf8());
    }
  }
  return out + '"';
}

QString filter_number(const decode::FieldSpec& field, std::uint64_t value,
                      const std::string& name) {
  if (!name.empty() && filter::compile(std::string(field.name) + " == " + name)) {
    return QString::fromStdString(name);
  }
  switch (field.type) {
    case decode::FieldType::kBool:
      return value != 0 ? "true" : "false";
    case decode::FieldType::kDuration:
      return QString::number(static_cast<qint64>(value)) + "ns";
    case decode::FieldType::kInt64:
      return QString::number(static_cast<qint64>(value));
    case decode::FieldType::kIpv4:
      return QString::fromStdString(decode::format_value(field, value));
    case decode::FieldType::kTime: {
      const auto ns = static_cast<qint64>(value);
      return QString("%1.%2").arg(ns / 1'000'000'000).arg(ns % 1'000'000'000, 9, 10, QChar('0'));
    }
    default:
      break;
  }
  return field.base == decode::Base::kHex ? "0x" + QString::number(value, 16)
                                          : QString::number(value);
}

FilterPlace filter_place(const QString& text, int cursor) {
  FilterPlace place;
  place.begin = place.end = cursor;
  std::vector<Token> before = tokens(text.left(cursor));
  // A word, or a string without its end, that reaches up to the cursor is being typed.
  if (!before.empty() && before.back().end == cursor &&
      (before.back().kind == Token::Kind::kWord ||
       (before.back().kind == Token::Kind::kString && !before.back().whole))) {
    place.begin = before.back().begin;
    before.pop_back();
  }
  using Wanted = FilterPlace::Wanted;
  std::optional<decode::FieldId> field;
  bool in_set = false;
  for (const Token& t : before) {
    if (is_and(t) || is_or(t) || is_any(t, {"!", "not", "("})) {
      place.wanted = Wanted::kField;
      field.reset();
      in_set = false;
    } else if (is_comparison(t) || is_any(t, {"in"})) {
      place.wanted = Wanted::kValue;
    } else if (is_any(t, {"{"})) {
      in_set = true;
      place.wanted = Wanted::kValue;
    } else if (in_set && is_any(t, {",", ".."})) {
      place.wanted = Wanted::kValue;
    } else if (is_any(t, {"}"})) {
      in_set = false;
      place.wanted = Wanted::kJoin;
    } else if (place.wanted == Wanted::kField) {
      field = field_of(t);
      place.wanted = field ? Wanted::kOperator : Wanted::kJoin;
    } else {
      place.wanted = Wanted::kJoin;  // a value, or a closing parenthesis
    }
  }
  place.field = field;
  return place;
}

}  // namespace rpcrdma::gui
