// JSON as it is made: no tree in memory, since a capture has millions of messages.
#pragma once

#include <concepts>
#include <cstdint>
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

namespace rpcrdma::report {

class JsonWriter {
 public:
  // Containers of an object's value or of an array's element; each is closed with end().
  void object() {
    writer_.StartObject();
    open_ += '{';
  }
  void array() {
    writer_.StartArray();
    open_ += '[';
  }
  void object(const char* key) {
    writer_.Key(key);
    object();
  }
  void array(const char* key) {
    writer_.Key(key);
    array();
  }
  void end() {
    open_.back() == '{' ? writer_.EndObject() : writer_.EndArray();
    open_.pop_back();
  }

  template <typename T>
  void field(const char* key, const T& value) {
    writer_.Key(key);
    this->value(value);
  }
  // null unless `present`.
  template <typename T>
  void optional(const char* key, bool present, const T& value) {
    writer_.Key(key);
    present ? this->value(value) : null();
  }
  // Its value follows.
  void key(const char* name) { writer_.Key(name); }
  void null(const char* key) {
    writer_.Key(key);
    null();
  }

  void value(bool v) { writer_.Bool(v); }
  void value(double v) { writer_.Double(v); }
  template <std::unsigned_integral T>
  void value(T v) {
    writer_.Uint64(v);
  }
  template <std::signed_integral T>
  void value(T v) {
    writer_.Int64(v);
  }
  // UTF-8; a null pointer is null.
  void value(const char* v) { v != nullptr ? value(std::string_view(v)) : null(); }
  void value(std::string_view v) {
    writer_.String(v.data(), static_cast<rapidjson::SizeType>(v.size()));
  }
  void value(const std::string& v) { value(std::string_view(v)); }
  void null() { writer_.Null(); }

  // Gives out what was written so far of an object that is not whole yet.
  template <typename Write>
  void drain(const Write& write) {
    write(std::string_view(buffer_.GetString(), buffer_.GetSize()));
    buffer_.Clear();
  }

  // What was written since the last call, on one line with a newline behind it.
  [[nodiscard]] std::string take() {
    std::string text(buffer_.GetString(), buffer_.GetSize());
    text += '\n';
    buffer_.Clear();
    writer_.Reset(buffer_);
    return text;
  }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
  std::string open_;  // the containers that are open, outermost first
};

}  // namespace rpcrdma::report
