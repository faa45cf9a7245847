// Reads the members of a JSON object from the bus: each with its type and limit. The first error
// stays; after it all values are empty.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace rpcrdma::fleet {

class Fields {
 public:
  // `error` is shared by all Fields of one text. `where`: "endpoints[3]."; for errors.
  Fields(const nlohmann::json& object, std::string where, std::string& error)
      : object_(object), where_(std::move(where)), error_(error) {
    if (error_.empty() && !object_.is_object()) {
      error_ = where_.empty() ? "not a JSON object" : where_ + " is no object";
    }
  }

  [[nodiscard]] bool failed() const { return !error_.empty(); }
  void fail(const char* key, const char* what) {
    if (error_.empty()) error_ = fmt::format("{}{}: {}", where_, key, what);
  }

  std::uint64_t number(const char* key,
                       std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return 0;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > most) {
      fail(key, "not a whole number within its limit");
      return 0;
    }
    return value->get<std::uint64_t>();
  }
  std::int64_t time(const char* key) {
    return static_cast<std::int64_t>(
        number(key, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
  }
  std::uint32_t small(const char* key) {
    return static_cast<std::uint32_t>(number(key, std::numeric_limits<std::uint32_t>::max()));
  }
  bool flag(const char* key) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) fail(key, "neither true nor false");
    return value->is_boolean() && value->get<bool>();
  }
  std::string text(const char* key, std::size_t most) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return {};
    const auto* const string = value->get_ptr<const std::string*>();
    if (string == nullptr) {
      fail(key, "not a string");
      return {};
    }
    if (string->size() > most) {
      fail(key, "longer than its limit");
      return {};
    }
    return *string;
  }
  // Returns the list, or null.
  const nlohmann::json* list(const char* key, std::size_t most) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return nullptr;
    if (!value->is_array()) {
      fail(key, "not a list");
      return nullptr;
    }
    if (value->size() > most) {
      fail(key, "longer than its limit");
      return nullptr;
    }
    return value;
  }
  template <std::size_t N>
  std::array<std::uint64_t, N> numbers(const char* key) {
    std::array<std::uint64_t, N> values{};
    const nlohmann::json* const elements = list(key, N);
    if (elements == nullptr) return values;
    if (elements->size() != N) fail(key, "has another length");
    for (std::size_t i = 0; i < elements->size() && !failed(); ++i) {
      if (!(*elements)[i].is_number_unsigned()) {
        fail(key, "not a list of whole numbers");
      } else {
        values[i] = (*elements)[i].get<std::uint64_t>();
      }
    }
    return values;
  }
  // Returns the member, or null after an error.
  const nlohmann::json* find(const char* key) {
    if (failed()) return nullptr;
    const auto at = object_.find(key);
    if (at != object_.end()) return &*at;
    fail(key, "missing");
    return nullptr;
  }

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::string& error_;
};

}  // namespace rpcrdma::fleet
