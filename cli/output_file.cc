#include "output_file.h"

#include "input.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace rpcrdma::cli {

namespace {

// Output is megabytes, and stdio's default buffer one page.
constexpr std::size_t kOutputBuffer = std::size_t{1} << 18;

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
  return [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
}

bool write_file(const std::string& path, const std::function<void(const Write&)>& produce) {
  const auto written = base::write_whole(path, produce);
  if (!written) complain(written.error().message);
  return written.has_value();
}

}  // namespace rpcrdma::cli
