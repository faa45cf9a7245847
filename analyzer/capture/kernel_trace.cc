#include "kernel_trace.h"

#include <algorithm>

namespace rpcrdma::capture {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "nfsd-169   [000] .....    58.508953: svc_process: ..."
bool is_record(std::string_view line) {
  for (std::size_t at = line.find(" ["); at != std::string_view::npos;
       at = line.find(" [", at + 1)) {
    std::size_t end = at + 2;
    while (end < line.size() && is_digit(line[end])) ++end;
    const bool has_cpu = end - at >= 5 && line.substr(end).starts_with("] ");
    const bool has_pid = line.substr(0, at).find('-') != std::string_view::npos;
    if (has_cpu && has_pid) return line.find(": ", end) != std::string_view::npos;
  }
  return false;
}

bool begins_trace(std::string_view line) {
  return line.starts_with("# tracer:") ||
         (line.starts_with("cpus=") && line.size() > 5 && is_digit(line[5])) ||
         (line.starts_with("CPU:") && line.find(" EVENTS") != std::string_view::npos) ||
         (line.starts_with("CPU ") && line.ends_with(" is empty"));
}

}  // namespace

bool is_trace_dat(std::span<const std::uint8_t> start) {
  using namespace std::string_view_literals;
  constexpr std::string_view kMagic = "\x17\x08\x44tracing"sv;
  return start.size() >= kMagic.size() &&
         std::equal(kMagic.begin(), kMagic.end(), start.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

bool is_trace_text(std::span<const std::uint8_t> start) {
  std::string_view rest(reinterpret_cast<const char*>(start.data()), start.size());
  // The first lines may belong to neither.
  constexpr int kLines = 4;
  for (int i = 0; i < kLines && !rest.empty(); ++i) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (begins_trace(line) || is_record(line)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace rpcrdma::capture
