// Writes JSON without a tree in memory, because a capture can have millions of messages.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <rpcrdma/report/json_text.h>

namespace rpcrdma::report {

// A number of `units` of 10^-places, written exactly: 1234567 with 3 places is 1234.567.
struct Decimal {
  std::int64_t units = 0;
  unsigned places = 0;  // at most 18
};
// The digits of a Decimal, without trailing zeros in the fraction.
class DecimalText {
 public:
  explicit DecimalText(Decimal d);
  [[nodiscard]] std::string_view view() const { return {&text_[begin_], text_.size() - begin_}; }

 private:
  std::array<char, 24> text_{};
  std::size_t begin_ = text_.size();
};

// Keys must contain no character that JSON escapes. Containers are nested at most 64 deep.
class JsonWriter {
 public:
  // Open an object or an array: without a key as an element of an array, with a key as a value of
  // an object. end() closes the innermost one.
  void object() { open('{', true); }
  void array() { open('[', false); }
  [[gnu::always_inline]] void object(std::string_view name) {
    key(name);
    object();
  }
  [[gnu::always_inline]] void array(std::string_view name) {
    key(name);
    array();
  }
  void end() {
    text_.put((objects_ & 1U) != 0 ? '}' : ']');
    objects_ >>= 1U;
    comma_ = true;
  }

  template <typename T>
  [[gnu::always_inline]] void field(std::string_view name, const T& value) {
    key(name);
    this->value(value);
  }
  // Writes null unless `present`.
  template <typename T>
  [[gnu::always_inline]] void optional(std::string_view name, bool present, const T& value) {
    key(name);
    present ? this->value(value) : null();
  }
  // Writes a key; the caller writes its value next.
  [[gnu::always_inline]] void key(std::string_view name) {
    constexpr std::size_t kAround = 4;  // comma, quotes and colon
    char* const begin = text_.room(name.size() + kAround);
    char* at = begin;
    *at = ',';
    at += comma_ ? 1 : 0;
    *at++ = '"';
    std::memcpy(at, name.data(), name.size());
    at += name.size();
    *at++ = '"';
    *at++ = ':';
    text_.grow(static_cast<std::size_t>(at - begin));
    comma_ = false;
  }
  void null(std::string_view name) {
    key(name);
    null();
  }

  void value(bool v) { raw(v ? std::string_view("true") : std::string_view("false")); }
  void value(double v) {
    begin_value();
    text_.put_double(v);
  }
  template <std::integral T>
  void value(T v) {
    begin_value();
    text_.put(+v);
  }
  // UTF-8; a null pointer is null.
  void value(const char* v) { v != nullptr ? value(std::string_view(v)) : null(); }
  void value(Decimal v) { raw(DecimalText(v).view()); }
  void value(std::string_view v) {
    begin_value();
    text_.quote(v);
  }
  void value(const std::string& v) { value(std::string_view(v)); }
  // Text in which JSON escapes no character.
  void plain(std::string_view v) {
    begin_value();
    text_.quote_plain(v);
  }
  void null() { raw("null"); }
  // Writes a value that is JSON already.
  void raw(std::string_view json) {
    begin_value();
    text_.put(json);
  }

  // The number of bytes that drain() would pass on.
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  // Passes on the text so far of an unfinished object.
  template <typename Write>
  void drain(const Write& write) {
    write(text_.view());
    text_.clear();
  }

  // Passes on the text since the last call, one complete object, as a line.
  template <typename Write>
  void line(const Write& write) {
    text_.put('\n');
    drain(write);
    comma_ = false;
  }

  // Returns that line.
  [[nodiscard]] std::string take() {
    std::string text;
    line([&text](std::string_view whole) { text = whole; });
    return text;
  }

 private:
  void open(char bracket, bool is_object) {
    begin_value();
    text_.put(bracket);
    objects_ = objects_ << 1U | std::uint64_t{is_object};
    comma_ = false;
  }
  void begin_value() {
    if (comma_) text_.put(',');
    comma_ = true;
  }

  JsonText text_;
  std::uint64_t objects_ =
      0;                // a bit for each open container, the innermost last: is it an object?
  bool comma_ = false;  // another value or key must follow a comma
};

}  // namespace rpcrdma::report
