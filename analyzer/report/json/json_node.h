// Reads values of an untrusted JSON document by key. The first error is stored with its path, such
// as a missing key or a wrong type. After an error, values are zero or empty, so that the reader
// can continue and test for an error once, at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// RapidJSON compares null plus a size with null while a buffer is empty.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wignored-attributes"
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/document.h>
#ifdef __clang__
#pragma clang attribute pop
#pragma clang diagnostic pop
#endif

#include <rpcrdma/report/json_memory.h>

namespace rpcrdma::report {

using JsonDocument =
    rapidjson::GenericDocument<rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<JsonMemory>,
                               JsonMemory>;
using JsonValue = JsonDocument::ValueType;

// A node must not outlive the node from which it was obtained.
class JsonNode {
 public:
  JsonNode(const JsonValue& value, std::string& problem) : value_(&value), problem_(&problem) {}

  // Returns a member of this object, which must exist.
  [[nodiscard]] JsonNode get(const char* key) const;
  // Returns whether a member exists and is not null.
  [[nodiscard]] bool has(const char* key) const;
  // An element of this list; `index` must be less than size().
  [[nodiscard]] JsonNode at(std::size_t index) const;
  [[nodiscard]] std::size_t size() const;  // of this list
  // Calls f(name, node) for each member of this object.
  template <typename Function>
  void for_each_member(Function&& f) const {
    if (!value_->IsObject()) return fail("expected an object");
    for (const auto& m : value_->GetObject()) {
      f(std::string_view(m.name.GetString(), m.name.GetStringLength()),
        child(m.value, m.name.GetString()));
    }
  }
  template <typename Function>
  void for_each(Function&& f) const {
    const std::size_t n = size();
    for (std::size_t i = 0; i < n; ++i) f(at(i));
  }

  [[nodiscard]] std::uint64_t u64() const;
  [[nodiscard]] std::uint32_t u32() const;
  // A time in nanoseconds, in a range in which the difference of two times does not overflow.
  [[nodiscard]] std::int64_t ns() const;
  // A duration in nanoseconds. The time between two times can be longer than either.
  [[nodiscard]] std::int64_t duration_ns() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_null() const { return value_->IsNull(); }
  // Returns the index of this string in `names`, which has `count` entries.
  [[nodiscard]] std::size_t one_of(const char* const* names, std::size_t count) const;

  // Returns whether this string is `second`; it must be one of the two.
  [[nodiscard]] bool second_of(const char* first, const char* second) const {
    const char* const names[] = {first, second};
    return one_of(names, 2) == 1;
  }

  // Stores the value of a key in `to`.
  void into(const char* key, std::uint64_t& to) const { to = get(key).u64(); }
  void into(const char* key, std::uint32_t& to) const { to = get(key).u32(); }
  void into(const char* key, std::int64_t& to) const { to = get(key).ns(); }
  void into(const char* key, bool& to) const { to = get(key).boolean(); }
  void into(const char* key, std::string& to) const { to = get(key).text(); }

  // Stores an error at this place, unless there was one before.
  void fail(std::string_view why) const;

 private:
  [[nodiscard]] JsonNode child(const JsonValue& value, const char* key) const {
    JsonNode n(value, *problem_);
    n.parent_ = this;
    n.key_ = key;
    return n;
  }
  [[nodiscard]] std::string path() const;

  const JsonValue* value_;
  std::string* problem_;
  const JsonNode* parent_ = nullptr;
  const char* key_ = nullptr;  // in the parent; null: an element of a list
  std::size_t index_ = 0;
};

}  // namespace rpcrdma::report
