// Lists the keys of a report's JSON with their types, from the same lists of fields that write and
// read it: an archive like FieldWriter that visits every field, whatever a report holds.
#pragma once

#include "../../analyzer/report/report_fields.h"

#include <concepts>
#include <map>
#include <string>
#include <utility>

namespace rpcrdma::report {

class FieldLister {
 public:
  static constexpr bool kReads = false;

  // Maps each key's path, such as "connections[].id", to its type as named in docs/json.md.
  [[nodiscard]] const std::map<std::string, std::string>& keys() const { return keys_; }

  template <typename T>
  void operator()(const char* key, const T& /*value*/) {
    add(key, type_of<T>());
  }
  void duration(const char* key, std::int64_t /*ns*/) { add(key, "integer"); }
  void id(const char* key, std::uint32_t /*id*/) { add(key, "integer"); }
  void id_or_none(const char* key, std::uint32_t /*id*/) { add(key, "integer or null"); }
  template <typename Enum>
  void name(const char* key, Enum /*value*/, const char* (*)(Enum), std::size_t) {
    add(key, "string");
  }
  void either(const char* key, bool /*value*/, const char*, const char*) { add(key, "string"); }
  template <typename T>
  bool optional(const char* key, bool /*present*/, const T& /*value*/) {
    add(key, type_of<T>() + " or null");
    return true;
  }
  template <typename T>
  void optional(const char* key, const std::optional<T>& /*value*/) {
    add(key, type_of<T>() + " or null");
  }
  template <typename T>
  void nullable(const char* key, const T& /*value*/) {
    add(key, type_of<T>() + " or null");
  }
  template <typename T>
  void given(const char* key, bool /*present*/, const T& value) {
    nullable(key, value);
  }
  bool present(const char* /*key*/, bool /*present*/) { return true; }
  void if_filtered(const char* key, bool /*value*/) { add(key, "boolean"); }
  template <typename T>
  void derived(const char* key, const T& /*value*/) {
    add(key, type_of<T>());
  }
  template <typename T>
  void derived(const char* key, const std::optional<T>& value) {
    optional(key, value);
  }
  void derived(const char* key, const char* /*value*/) { add(key, "string or null"); }

  template <typename Function>
  void object(const char* key, Function&& f) {
    add(key, "object");
    inside(key, f);
  }
  template <typename T>
  void object_of(const char* key, const T& value) {
    object(key, [&](FieldLister& in) { fields(in, value); });
  }
  template <typename T>
  void object_or_null(const char* key, bool /*present*/, const T& value) {
    object_of(key, value);
    add(key, "object or null");
  }
  template <typename T>
  void object_or_null(const char* key, const std::optional<T>& /*value*/) {
    object_or_null(key, true, T{});
  }
  template <typename List>
  void objects(const char* key, const List& /*list*/, std::size_t /*most*/) {
    add(key, "list");
    inside(std::string(key) + "[]",
           [](FieldLister& in) { fields(in, typename List::value_type{}); });
  }
  template <typename Map, typename Function>
  void entries(const char* key, const Map& /*map*/, Function&& f) {
    const typename Map::key_type k{};
    const typename Map::mapped_type v{};
    add(key, "list");
    inside(std::string(key) + "[]", [&](FieldLister& in) { f(in, k, v); });
  }
  template <typename Map>
  void counts(const char* key, const Map& /*map*/) {
    object(key, [](FieldLister& in) { in("NAME", std::uint64_t{}); });
  }
  template <typename List>
  void numbers(const char* key, const List& /*list*/, std::size_t /*most*/) {
    add(key, "list");
  }
  template <typename List, typename Function>
  void rows(const char* key, const List& /*list*/, const RowShape& /*shape*/, Function&& /*f*/) {
    add(key, "list");
  }
  template <typename Counts>
  void sparse(const char* key, const Counts& /*counts*/) {
    add(key, "list");
  }
  template <typename Enum>
  void names(const char* key, std::uint64_t /*set*/, const char* (*)(Enum), std::uint64_t (*)(Enum),
             unsigned /*count*/) {
    add(key, "list");
  }
  void bins(const char* key, const TrafficSeries& /*series*/) {
    add(key, "list");
    inside(std::string(key) + "[]", [](FieldLister& in) {
      in("bin", std::int64_t{});
      in("time_ns", std::int64_t{});
      fields(in, TrafficBin{});
    });
  }
  void bins(const char* key, const CreditSeries& /*series*/) { add(key, "list"); }
  void bins(const char* key, const LatencySeries& /*series*/) { add(key, "list"); }

 private:
  template <typename T>
  static std::string type_of() {
    if constexpr (std::same_as<T, bool>) return "boolean";
    if constexpr (std::floating_point<T>) return "number";
    if constexpr (std::integral<T>) return "integer";
    return "string";
  }
  void add(const std::string& key, const std::string& type) { keys_[prefix_ + key] = type; }
  template <typename Function>
  void inside(const std::string& key, Function&& f) {
    std::string outer = prefix_;
    prefix_ += key + '.';
    f(*this);
    prefix_ = std::move(outer);
  }

  std::string prefix_;
  std::map<std::string, std::string> keys_;
};

}  // namespace rpcrdma::report
