#include "inflate_section.h"

#include <fmt/core.h>
#include <zstd.h>

namespace rpcrdma::trace_dat {
namespace {

constexpr std::uint32_t kMostBytes = 256U << 20U;

}  // namespace

bool knows_compression(std::string_view name) {
  return name == "zstd";
}

std::string unknown_compression(std::string_view name) {
  return fmt::format(
      "its compression \"{}\" is not supported, only zstd (convert it: trace-cmd convert "
      "--compression zstd)",
      name.substr(0, 32));
}

base::Expected<void> inflate_section(std::string_view compression,
                                     std::span<const std::uint8_t> stored, std::uint32_t whole,
                                     std::vector<std::uint8_t>& out) {
  if (!knows_compression(compression)) return base::fail(unknown_compression(compression));
  if (whole > kMostBytes) return base::fail(fmt::format("a compressed part has {} bytes", whole));
  out.resize(whole);
  const std::size_t n = ZSTD_decompress(out.data(), out.size(), stored.data(), stored.size());
  if (ZSTD_isError(n) != 0) {
    return base::fail(fmt::format("a compressed part is damaged: {}", ZSTD_getErrorName(n)));
  }
  if (n != whole) return base::fail("a compressed part is shorter than stated");
  return {};
}

}  // namespace rpcrdma::trace_dat
