// Names of files, each kept once. A lookup of a known name allocates nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rpcrdma/model/file_use.h>

namespace rpcrdma::index {

class FileNames {
 public:
  static constexpr std::size_t kMost = 65536;     // names
  static constexpr std::size_t kMostBytes = 160;  // of one; a longer one keeps its end

  // The place of the file's name in the list that put() fills; 0: it has none, or too many are
  // kept.
  [[nodiscard]] std::uint32_t id_of(const model::FileUse& use);
  // Appends the names that are new since the last call.
  void put(std::vector<std::string>& to);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };

  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> named_;
  std::unordered_map<std::uint32_t, std::uint32_t> unnamed_;  // by decode::handle_hash()
  std::vector<std::string> new_;
  std::uint32_t last_ = 0;
};

}  // namespace rpcrdma::index
