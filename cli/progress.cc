#include "progress.h"

#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

namespace rpcrdma::cli {

namespace {
constexpr auto kDelay = std::chrono::milliseconds(500);
constexpr auto kProgressInterval = std::chrono::milliseconds(100);
}  // namespace

Progress::Progress()
    : terminal_(isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now() + kDelay) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::tick(const capture::SourceStats& stats) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kProgressInterval;
  shown_ = true;
  const std::string share =
      stats.bytes_total != 0
          ? fmt::format("{:3.0f} %", 100.0 * static_cast<double>(stats.bytes_read) /
                                         static_cast<double>(stats.bytes_total))
          : fmt::format("{} MiB", stats.bytes_read >> 20);
  fmt::print(stderr, "\r\033[K{} read, {} packets", share, stats.frames);
  std::fflush(stderr);
}

}  // namespace rpcrdma::cli
