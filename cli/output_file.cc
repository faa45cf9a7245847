#include "output_file.h"

#include "input.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace rpcrdma::cli {

namespace {

// Output is megabytes, and stdio's default buffer one page.
constexpr std::size_t kOutputBuffer = std::size_t{1} << 18;

std::atomic<int> first_stdout_error{0};

}  // namespace

bool is_input(const std::string& output, const std::vector<std::string>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(output, ignored) &&
           std::filesystem::equivalent(path, output, ignored);
  });
}

Write buffered_stdout() {
  // glibc honours the size only if it is given the memory.
  static std::array<char, kOutputBuffer> buffer;
  std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
  return write_stdout;
}

void write_stdout(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && first_stdout_error == 0) {
    first_stdout_error = errno;
  }
}

void flush_stdout() {
  errno = 0;
  if (std::fflush(stdout) != 0 && first_stdout_error == 0) first_stdout_error = errno;
}

int stdout_error() {
  return first_stdout_error;
}

bool write_file(const std::string& path, const std::function<void(const Write&)>& produce) {
  const auto written = base::write_whole(path, produce);
  if (!written) complain(written.error().message);
  return written.has_value();
}

}  // namespace rpcrdma::cli
