#include <array>
#include <ctime>

#include <fmt/core.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/outcome.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

std::string reply_status(const model::RpcInfo& rpc) {
  if (!rpc.header_seen) return {};
  const char* name = model::outcome_name(rpc);
  return name != nullptr ? std::string(name) : fmt::format("status {}", rpc.status);
}

namespace {

std::string format_with(const char* pattern, std::int64_t time_ns) {
  std::int64_t seconds = time_ns / 1000000000;
  std::int64_t rest = time_ns % 1000000000;
  if (rest < 0) {
    --seconds;
    rest += 1000000000;
  }
  std::tm tm{};
  const std::time_t t = seconds;
  std::array<char, 64> text{};
  if (gmtime_r(&t, &tm) == nullptr || std::strftime(text.data(), text.size(), pattern, &tm) == 0) {
    return fmt::format("{}.{:09}", seconds, rest);
  }
  return rest % 1000 == 0 ? fmt::format("{}.{:06}", text.data(), rest / 1000)
                          : fmt::format("{}.{:09}", text.data(), rest);
}

}  // namespace

std::string format_time(std::int64_t time_ns) {
  return format_with("%Y-%m-%d %H:%M:%S", time_ns);
}
std::string format_clock(std::int64_t time_ns) {
  return format_with("%H:%M:%S", time_ns);
}

}  // namespace rpcrdma::report
