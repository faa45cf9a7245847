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

constexpr std::int64_t kSecond = 1'000'000'000;

struct Split {
  std::int64_t seconds = 0;
  std::uint64_t rest = 0;  // ns
};
Split split(std::int64_t time_ns) {
  const std::int64_t rest = time_ns % kSecond;
  return rest < 0 ? Split{time_ns / kSecond - 1, static_cast<std::uint64_t>(rest + kSecond)}
                  : Split{time_ns / kSecond, static_cast<std::uint64_t>(rest)};
}

}  // namespace

std::string format_time(std::int64_t time_ns) {
  const auto [seconds, rest] = split(time_ns);
  std::tm tm{};
  const std::time_t t = seconds;
  std::array<char, 64> text{};
  if (gmtime_r(&t, &tm) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &tm) == 0) {
    return fmt::format("{}.{:09}", seconds, rest);
  }
  return rest % 1000 == 0 ? fmt::format("{}.{:06}", text.data(), rest / 1000)
                          : fmt::format("{}.{:09}", text.data(), rest);
}

void put_clock(base::TextBuffer& out, std::int64_t time_ns) {
  constexpr std::int64_t kDay = 86400;
  const auto [seconds, rest] = split(time_ns);
  const auto of_day = static_cast<std::uint64_t>((seconds % kDay + kDay) % kDay);
  const auto two = [](std::uint64_t value) { return base::Padded{value, 2, '0'}; };
  out.put(two(of_day / 3600), ':', two(of_day / 60 % 60), ':', two(of_day % 60), '.');
  rest % 1000 == 0 ? out.put(base::Padded{rest / 1000, 6, '0'})
                   : out.put(base::Padded{rest, 9, '0'});
}

std::string format_clock(std::int64_t time_ns) {
  base::TextBuffer text;
  put_clock(text, time_ns);
  return std::string(text.view());
}

}  // namespace rpcrdma::report
