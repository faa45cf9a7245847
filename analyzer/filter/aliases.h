// Names of fields as Wireshark's users type them: those that mean a field of ours, and answers to
// those that none of ours means.
#pragma once

#include <cstdint>
#include <string_view>

namespace rpcrdma::filter {

struct Alias {
  std::string_view name;
  std::string_view field;         // ours
  std::uint32_t nfs_version = 0;  // it is present in messages of this NFS version only; 0: in all
};

// Returns the alias with this name in any case, or null.
[[nodiscard]] const Alias* find_alias(std::string_view name);

// Returns what to write instead of a name that no field has, or an empty text.
[[nodiscard]] std::string_view hint_for(std::string_view name);

}  // namespace rpcrdma::filter
