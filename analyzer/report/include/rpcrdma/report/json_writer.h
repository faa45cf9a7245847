// Writes JSON without a tree in memory, because a capture can have millions of messages.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// RapidJSON compares null plus a size with null while a buffer is empty.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include <rpcrdma/report/json_memory.h>

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

// Extends RapidJSON's writer, which tests each byte of each string for characters to escape. Most
// strings of a report are keys, which need no escapes, and texts without any.
using JsonBuffer = rapidjson::GenericStringBuffer<rapidjson::UTF8<>, JsonMemory>;
using JsonBufferWriter =
    rapidjson::Writer<JsonBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>, JsonMemory>;
class PlainStringWriter : public JsonBufferWriter {
 public:
  using JsonBufferWriter::JsonBufferWriter;

  // `text` contains no character that JSON escapes.
  void plain(std::string_view text) {
    Prefix(rapidjson::kStringType);
    char* const at = os_->Push(text.size() + 2);
    at[0] = '"';
    if (!text.empty()) std::memcpy(at + 1, text.data(), text.size());
    at[text.size() + 1] = '"';
  }

  // Into the buffer at once, as RapidJSON's own writer does for its own buffer alone.
  void number(std::uint64_t v) {
    Prefix(rapidjson::kNumberType);
    constexpr std::size_t kMost = 20;
    char* const at = os_->Push(kMost);
    const char* const end = rapidjson::internal::u64toa(v, at);
    os_->Pop(kMost - static_cast<std::size_t>(end - at));
  }
  void number(std::int64_t v) {
    Prefix(rapidjson::kNumberType);
    constexpr std::size_t kMost = 20;
    char* const at = os_->Push(kMost);
    const char* const end = rapidjson::internal::i64toa(v, at);
    os_->Pop(kMost - static_cast<std::size_t>(end - at));
  }

  [[nodiscard]] static bool is_plain(std::string_view text) {
    unsigned escaped = 0;  // without an early exit, so that the loop is vectorized
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      escaped |= unsigned{byte < 0x20} | unsigned{byte == '"'} | unsigned{byte == '\\'};
    }
    return escaped == 0;
  }
};

// Keys must contain no character that JSON escapes.
class JsonWriter {
 public:
  // Open an object or an array: without a key as an element of an array, with a key as a value of
  // an object. end() closes the innermost one.
  void object() {
    writer_.StartObject();
    open_ += '{';
  }
  void array() {
    writer_.StartArray();
    open_ += '[';
  }
  void object(const char* key) {
    writer_.plain(key);
    object();
  }
  void array(const char* key) {
    writer_.plain(key);
    array();
  }
  void end() {
    open_.back() == '{' ? writer_.EndObject() : writer_.EndArray();
    open_.pop_back();
  }

  template <typename T>
  void field(const char* key, const T& value) {
    writer_.plain(key);
    this->value(value);
  }
  // Writes null unless `present`.
  template <typename T>
  void optional(const char* key, bool present, const T& value) {
    writer_.plain(key);
    present ? this->value(value) : null();
  }
  // Writes a key; the caller writes its value next.
  void key(const char* name) { writer_.plain(name); }
  void null(const char* key) {
    writer_.plain(key);
    null();
  }

  void value(bool v) { writer_.Bool(v); }
  void value(double v) { writer_.Double(v); }
  template <std::unsigned_integral T>
  void value(T v) {
    writer_.number(std::uint64_t{v});
  }
  template <std::signed_integral T>
  void value(T v) {
    writer_.number(std::int64_t{v});
  }
  // UTF-8; a null pointer is null.
  void value(const char* v) { v != nullptr ? value(std::string_view(v)) : null(); }
  void value(Decimal v) {
    const DecimalText text(v);
    writer_.RawValue(text.view().data(), text.view().size(), rapidjson::kNumberType);
  }
  void value(std::string_view v) {
    if (PlainStringWriter::is_plain(v)) return writer_.plain(v);
    writer_.String(v.data(), static_cast<rapidjson::SizeType>(v.size()));
  }
  void value(const std::string& v) { value(std::string_view(v)); }
  void null() { writer_.Null(); }

  // The number of bytes that drain() would pass on.
  [[nodiscard]] std::size_t size() const { return buffer_.GetSize(); }
  // Passes on the text so far of an unfinished object.
  template <typename Write>
  void drain(const Write& write) {
    write(std::string_view(buffer_.GetString(), buffer_.GetSize()));
    buffer_.Clear();
  }

  // Passes on the text since the last call, one complete object, as a line.
  template <typename Write>
  void line(const Write& write) {
    buffer_.Put('\n');
    drain(write);
    writer_.Reset(buffer_);
  }

  // Returns that line.
  [[nodiscard]] std::string take() {
    std::string text(buffer_.GetString(), buffer_.GetSize());
    text += '\n';
    buffer_.Clear();
    writer_.Reset(buffer_);
    return text;
  }

 private:
  JsonBuffer buffer_;
  PlainStringWriter writer_{buffer_};
  std::string open_;  // the open containers, outermost first
};

}  // namespace rpcrdma::report
