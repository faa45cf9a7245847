// Reads the fields of a report's structs from untrusted JSON: checks types, ranges and lengths of
// lists. FieldWriter (field_writer.h) has the same members and explains them.
#pragma once

#include "json/json_node.h"
#include "report_fields_base.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace rpcrdma::report {

// Inserts an entry of a list into a map; a later entry replaces an earlier one with the same key.
template <typename Map>
void insert_entry(const JsonNode& /*node*/, Map& to, typename Map::node_type&& entry) {
  auto inserted = to.insert(std::move(entry));
  if (!inserted.inserted) inserted.position->second = std::move(inserted.node.mapped());
}

class FieldReader {
 public:
  static constexpr bool kReads = true;
  static constexpr std::size_t kMostNames = 32;  // of an enumeration

  // Reads from an object. `ids`: the highest valid connection ID.
  FieldReader(const JsonNode& node, std::uint32_t ids) : node_(node), ids_(ids) {}

  [[nodiscard]] const JsonNode& node() const { return node_; }
  void fail(const char* key, std::string_view why) const { node_.get(key).fail(why); }

  template <typename T>
  void operator()(const char* key, T& to) const {
    node_.into(key, to);
  }
  void operator()(const char* key, std::uint8_t& to) const {
    const std::uint32_t value = node_.get(key).u32();
    if (value > UINT8_MAX) fail(key, "not an 8-bit number");
    to = static_cast<std::uint8_t>(value);
  }
  void duration(const char* key, std::int64_t& to) const { to = node_.get(key).duration_ns(); }
  void id(const char* key, std::uint32_t& to) const { to = id_of(node_.get(key)); }
  void id_or_none(const char* key, std::uint32_t& to) const {
    const JsonNode n = node_.get(key);
    to = n.is_null() ? 0 : id_of(n);
  }
  template <typename Enum>
  void name(const char* key, Enum& to, const char* (*name_of)(Enum), std::size_t count) const {
    std::array<const char*, kMostNames> names{};
    for (std::size_t i = 0; i < count; ++i) names[i] = name_of(static_cast<Enum>(i));
    to = static_cast<Enum>(node_.get(key).one_of(names.data(), count));
  }
  void either(const char* key, bool& to, const char* if_false, const char* if_true) const {
    to = node_.get(key).second_of(if_false, if_true);
  }

  template <typename T>
  bool optional(const char* key, bool /*present*/, T& to) const {
    if (!node_.has(key)) return false;
    (*this)(key, to);
    return true;
  }
  template <typename T>
  void optional(const char* key, std::optional<T>& to) const {
    if (node_.has(key)) (*this)(key, to.emplace());
  }
  template <typename T>
  void nullable(const char* key, T& to) const {
    optional(key, false, to);
  }
  template <typename T>
  void given(const char* key, bool present, T& to) const {
    if (present) (*this)(key, to);
  }
  bool present(const char* key, bool /*present*/) const { return node_.has(key); }
  void if_filtered(const char* key, bool& to) const { nullable(key, to); }
  template <typename T>
  void derived(const char* /*key*/, const T& /*value*/) const {}

  template <typename Function>
  void object(const char* key, Function&& f) const {
    FieldReader inner(node_.get(key), ids_);
    f(inner);
  }
  template <typename T>
  void object_of(const char* key, T& to) const {
    FieldReader inner(node_.get(key), ids_);
    fields(inner, to);
  }
  template <typename T>
  void object_or_null(const char* key, bool /*present*/, T& to) const {
    if (node_.has(key)) object_of(key, to);
  }
  template <typename T>
  void object_or_null(const char* key, std::optional<T>& to) const {
    if (node_.has(key)) object_of(key, to.emplace());
  }
  template <typename List>
  void objects(const char* key, List& to, std::size_t most) const {
    for_each(key, most, [&](const JsonNode& n) {
      FieldReader inner(n, ids_);
      fields(inner, to.emplace_back());
    });
  }
  template <typename Map, typename Function>
  void entries(const char* key, Map& to, Function&& f) const {
    for_each(key, SIZE_MAX, [&](const JsonNode& n) {
      FieldReader inner(n, ids_);
      // Read in place: the statistics of a procedure are large.
      Map one;
      auto entry = one.extract(one.try_emplace(typename Map::key_type{}).first);
      f(inner, entry.key(), entry.mapped());
      insert_entry(n, to, std::move(entry));
    });
  }
  template <typename Map>
  void counts(const char* key, Map& to) const {
    node_.get(key).for_each_member([&](std::string_view name, const JsonNode& count) {
      to[typename Map::key_type(name)] = count.u64();
    });
  }
  template <typename List>
  void numbers(const char* key, List& to, std::size_t most) const {
    for_each(key, most, [&](const JsonNode& n) { to.push_back(n.u64()); });
  }
  template <typename List, typename Function>
  void rows(const char* key, List& to, const RowShape& shape, Function&& f) const {
    for_each(key, shape.most, [&](const JsonNode& n) {
      if (n.size() != shape.columns) return n.fail(shape.otherwise);
      Row row(n);
      f(row, to.emplace_back());
    });
  }

  template <typename Counts>
  void sparse(const char* key, Counts& to) const {
    node_.get(key).for_each([&](const JsonNode& pair) {
      if (pair.size() != 2) return pair.fail("expected two integers");
      const std::uint64_t index = pair.at(0).u64();
      if (index >= to.size()) return pair.fail("no such bucket");
      to[index] = pair.at(1).u64();
    });
  }
  template <typename Enum>
  void names(const char* key, std::uint64_t& to, const char* (*name_of)(Enum),
             std::uint64_t (*bit_of)(Enum), unsigned count) const {
    std::array<const char*, kMostNames> known{};
    for (unsigned i = 0; i < count; ++i) known[i] = name_of(static_cast<Enum>(i + 1));
    node_.get(key).for_each([&](const JsonNode& name) {
      to |= bit_of(static_cast<Enum>(name.one_of(known.data(), count) + 1));
    });
  }

  class Row {
   public:
    explicit Row(const JsonNode& list) : list_(list) {}
    void operator()(std::uint64_t& to) { to = list_.at(next_++).u64(); }
    void operator()(std::uint32_t& to) { to = list_.at(next_++).u32(); }
    void operator()(std::int64_t& to) { to = list_.at(next_++).ns(); }
    // Reports that the integer read last is invalid.
    void fail(std::string_view why) const { list_.at(next_ - 1).fail(why); }

   private:
    const JsonNode& list_;
    std::size_t next_ = 0;
  };

 private:
  template <typename Function>
  void for_each(const char* key, std::size_t most, Function&& f) const {
    const JsonNode list = node_.get(key);
    if (list.size() > most) return list.fail("too many entries");
    list.for_each(f);
  }
  std::uint32_t id_of(const JsonNode& n) const {
    const std::uint32_t value = n.u32();
    if (value == 0 || value > ids_) n.fail("not an ID from 1 to connection_ids");
    return value;
  }

  JsonNode node_;
  std::uint32_t ids_;
};

}  // namespace rpcrdma::report
