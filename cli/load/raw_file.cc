#include "load/raw_file.h"

#include <algorithm>

#include <fmt/format.h>

namespace rpcrdma::cli {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

}  // namespace

tl::expected<std::unique_ptr<RawFile>, std::string> RawFile::open(const std::string& path) {
  auto file = base::LineFile::create(path);
  if (!file) return tl::unexpected(fmt::format("--raw {}", file.error().message));
  return std::unique_ptr<RawFile>(new RawFile(std::move(*file)));
}

void RawFile::add(fabric::Time latency) {
  const fmt::format_int line(std::max<fabric::Time>(latency, 0));
  const std::scoped_lock lock(mutex_);
  if (!written_) return;
  lines_.append(line.data(), line.size());
  lines_ += '\n';
  if (lines_.size() >= kBufferBytes) flush();
}

void RawFile::flush() {
  written_ = file_.write(lines_);
  lines_.clear();
}

tl::expected<void, std::string> RawFile::finish() {
  const std::scoped_lock lock(mutex_);
  if (written_) flush();
  if (written_) written_ = file_.finish();
  if (written_) return {};
  return tl::unexpected(fmt::format("--raw {}", written_.error().message));
}

}  // namespace rpcrdma::cli
