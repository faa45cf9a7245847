// Writes the fields of a report's structs as JSON. report_fields.h lists the fields; FieldReader
// (field_reader.h) has the same members and reads them.
#pragma once

#include "report_fields_base.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::report {

class FieldWriter {
 public:
  static constexpr bool kReads = false;

  // `filtered`: the report has a display filter. `write` receives the text in pieces; null: the
  // text stays in `json`.
  FieldWriter(JsonWriter& json, bool filtered, const Write* write = nullptr)
      : json_(json), write_(write), filtered_(filtered) {}

  [[nodiscard]] JsonWriter& json() { return json_; }

  // A number, a boolean or a text.
  template <typename T>
  void operator()(const char* key, const T& value) {
    json_.field(key, value);
  }
  // A duration, which can need more bits than a time.
  void duration(const char* key, std::int64_t ns) { json_.field(key, ns); }
  // The ID of a connection; with id_or_none() null for zero.
  void id(const char* key, std::uint32_t id) { json_.field(key, id); }
  void id_or_none(const char* key, std::uint32_t id) { json_.optional(key, id != 0, id); }
  // An enumeration with values from 0 to count - 1.
  template <typename Enum>
  void name(const char* key, Enum value, const char* (*name_of)(Enum), std::size_t /*count*/) {
    json_.field(key, name_of(value));
  }
  // A boolean that has a name for each value.
  void either(const char* key, bool value, const char* if_false, const char* if_true) {
    json_.field(key, value ? if_true : if_false);
  }

  // Null unless `present`. Returns whether there is a value.
  template <typename T>
  bool optional(const char* key, bool present, const T& value) {
    json_.optional(key, present, value);
    return present;
  }
  template <typename T>
  void optional(const char* key, const std::optional<T>& value) {
    json_.optional(key, value.has_value(), value.value_or(T{}));
  }
  // Null for zero and for an empty text.
  template <typename T>
  void nullable(const char* key, const T& value) {
    json_.optional(key, value != T{}, value);
  }
  // Null unless `present`, which follows from an earlier key.
  template <typename T>
  void given(const char* key, bool present, const T& value) {
    json_.optional(key, present, value);
  }
  // Returns whether the key exists.
  bool present(const char* /*key*/, bool present) { return present; }
  // A key of reports with a display filter only.
  void if_filtered(const char* key, bool value) {
    if (filtered_) json_.field(key, value);
  }
  // A field that follows from others.
  template <typename T>
  void derived(const char* key, const T& value) {
    json_.field(key, value);
  }
  template <typename T>
  void derived(const char* key, const std::optional<T>& value) {
    optional(key, value);
  }

  template <typename Function>
  void object(const char* key, Function&& f) {
    json_.object(key);
    f(*this);
    json_.end();
  }
  template <typename T>
  void object_of(const char* key, const T& value) {
    json_.object(key);
    fields(*this, value);
    json_.end();
  }
  // Null unless `present`.
  template <typename T>
  void object_or_null(const char* key, bool present, const T& value) {
    present ? object_of(key, value) : json_.null(key);
  }
  template <typename T>
  void object_or_null(const char* key, const std::optional<T>& value) {
    value ? object_of(key, *value) : json_.null(key);
  }
  // A list of at most `most` objects.
  template <typename List>
  void objects(const char* key, const List& list, std::size_t /*most*/) {
    json_.array(key);
    for (const auto& value : list) element(value);
    json_.end();
  }
  // A map as a list of objects; f(archive, key, value).
  template <typename Map, typename Function>
  void entries(const char* key, const Map& map, Function&& f) {
    json_.array(key);
    for (const auto& [k, v] : map) {
      json_.object();
      f(*this, k, v);
      json_.end();
      drain();
    }
    json_.end();
  }
  // A map of names and numbers as an object.
  template <typename Map>
  void counts(const char* key, const Map& map) {
    json_.object(key);
    for (const auto& [name, count] : map) json_.field(name.c_str(), count);
    json_.end();
  }
  template <typename List>
  void numbers(const char* key, const List& list, std::size_t /*most*/) {
    json_.array(key);
    for (const auto value : list) json_.value(value);
    json_.end();
  }
  // A list of lists of integers, for values that a report has many of; f(row, value).
  template <typename List, typename Function>
  void rows(const char* key, const List& list, const RowShape& /*shape*/, Function&& f) {
    const auto row = [this](const auto& value) { json_.value(value); };
    json_.array(key);
    for (const auto& value : list) {
      json_.array();
      f(row, value);
      json_.end();
    }
    json_.end();
  }

  // Counts as pairs of index and count, without zeros.
  template <typename Counts>
  void sparse(const char* key, const Counts& counts) {
    json_.array(key);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      json_.array();
      json_.value(i);
      json_.value(counts[i]);
      json_.end();
    }
    json_.end();
  }
  // The bits of a set as a list of names. Value n, from 1 to `count`, has the bit bit_of(n).
  template <typename Enum>
  void names(const char* key, std::uint64_t set, const char* (*name_of)(Enum),
             std::uint64_t (*bit_of)(Enum), unsigned count) {
    json_.array(key);
    for (unsigned n = 1; n <= count; ++n) {
      const auto value = static_cast<Enum>(n);
      if ((set & bit_of(value)) != 0) json_.value(name_of(value));
    }
    json_.end();
  }
  // The bins that are not empty, and the first and the last bin. write_bin() writes one bin.
  template <typename Series>
  void bins(const char* key, const Series& series) {
    json_.array(key);
    for (std::int64_t n = series.first(); n <= series.last(); ++n) {
      const auto& bin = series.bin(n);
      if (bin == std::decay_t<decltype(bin)>{} && n != series.first() && n != series.last())
        continue;
      write_bin(*this, n, series.width_ns(), bin);
    }
    json_.end();
  }

  template <typename T>
  void element(const T& value) {
    json_.object();
    fields(*this, value);
    json_.end();
    drain();
  }

 private:
  // Small pieces: a buffer that stays in the first-level cache is about 4 % faster.
  void drain() {
    constexpr std::size_t kPiece = 4096;
    if (write_ != nullptr && json_.size() >= kPiece) json_.drain(*write_);
  }

  JsonWriter& json_;
  const Write* write_;
  bool filtered_;
};

}  // namespace rpcrdma::report
