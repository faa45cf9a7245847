#include "file_names.h"

#include <algorithm>

#include <fmt/core.h>

namespace rpcrdma::cli {

namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

}  // namespace

std::string FileNames::of(const model::FileUse& use) {
  const std::uint32_t handle = use.handle.value_or(0);
  std::string_view path = use.name();
  while (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return fmt::format("fh-{:08x}", handle);
  if (path.size() > kMaxBytes) path.remove_prefix(path.size() - kMaxBytes);
  std::string name(path);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_plain(c); }, '_');
  if (name.front() == '.' || name.front() == '-') name.front() = '_';
  const File file{use.server, handle};
  if (owners_.size() < kMaxNames || owners_.contains(name)) {
    if (owners_.try_emplace(name, file).first->second == file) return name;
  }
  return fmt::format("{}-{:08x}", name, handle);
}

}  // namespace rpcrdma::cli
