// Bounded reading of files in procfs and sysfs, whose contents a container, a test or a FUSE mount
// may have chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/error.h>

namespace rpcrdma::host {

// Error: "PATH: REASON"; a file longer than `most` is one, too.
[[nodiscard]] base::Expected<std::string> read_file(const std::string& path, std::size_t most);
// Names in a folder except hidden ones, ordered. `most`: of them; the rest is counted in
// `left_out`. Error: "PATH: REASON".
[[nodiscard]] base::Expected<std::vector<std::string>> list_folder(const std::string& path,
                                                                   std::size_t most,
                                                                   std::uint64_t& left_out);

// Without blanks, newlines and NULs at either end.
[[nodiscard]] std::string_view trimmed(std::string_view text);
// Decimal digits only; nothing if it is anything else, or too large.
[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view text);
// Letters, digits and '_' only, at most 100, and at least one.
[[nodiscard]] bool is_plain_name(std::string_view name);
// The text up to `separator`, which is removed from `rest` with the separator.
[[nodiscard]] std::string_view take_until(std::string_view& rest, char separator);

}  // namespace rpcrdma::host
