#include "load/raw_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace rpcrdma::cli {

tl::expected<std::unique_ptr<RawFile>, std::string> RawFile::open(const std::string& path) {
  auto raw = std::make_unique<RawFile>();
  raw->path_ = path;
  raw->file_.reset(std::fopen(path.c_str(), "we"));
  if (raw->file_ == nullptr) {
    return tl::unexpected(fmt::format("--raw {}: {}", path, std::strerror(errno)));
  }
  return raw;
}

void RawFile::add(fabric::Time latency) {
  const fmt::format_int line(std::max<fabric::Time>(latency, 0));
  const std::scoped_lock lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), file_.get());
  std::fputc('\n', file_.get());
}

tl::expected<void, std::string> RawFile::finish() {
  const std::scoped_lock lock(mutex_);
  errno = 0;
  if (std::fflush(file_.get()) == 0 && std::ferror(file_.get()) == 0) return {};
  return tl::unexpected(fmt::format(
      "--raw {}: {}", path_, errno != 0 ? std::strerror(errno) : "not all could be written"));
}

}  // namespace rpcrdma::cli
