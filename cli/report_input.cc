#include "report_input.h"

#include "input.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include <fmt/core.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/load/report_read.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::cli {

namespace {

using File = std::unique_ptr<std::FILE, void (*)(std::FILE*)>;

File open_report(const std::string& path) {
  return {path == "-" ? stdin : std::fopen(path.c_str(), "rb"), [](std::FILE* f) {
            if (f != nullptr && f != stdin) std::fclose(f);
          }};
}

tl::expected<std::string, std::string> read_whole(const std::string& path) {
  const File file = open_report(path);
  if (file != nullptr) {
    std::string text;
    char piece[65536];
    while (const std::size_t n = std::fread(piece, 1, sizeof piece, file.get())) {
      text.append(piece, n);
    }
    if (std::ferror(file.get()) == 0) return text;
  }
  return tl::unexpected(fmt::format("{}: {}", path, std::strerror(errno)));
}

// It has no schema, and these keys.
bool is_of_load(const std::string& text) {
  return text.find("\"schema\"") == std::string::npos &&
         text.find("\"latency_us\"") != std::string::npos &&
         text.find("\"parts_us\"") != std::string::npos;
}

static_assert(load::LatencyBins::kBuckets == report::kLatencyBuckets);

report::Report report_of(const load::ReadReport& load) {
  report::Report r;
  constexpr double kMostSeconds = 1e9;
  r.capture.last_ns = static_cast<std::int64_t>(std::clamp(load.seconds, 0.0, kMostSeconds) * 1e9);
  for (const load::ReadProcedure& one : load.procedures) {
    const std::uint32_t program = service::echo::kProgram;
    const std::uint32_t version = service::echo::kVersion;
    const report::ProcedureKey key{program, version, one.number, UINT32_MAX, false};
    report::Procedure& p = r.procedures[key];
    p.label = fmt::format("{} v{} {}", decode::program_name(program, version, 0), version,
                          decode::procedure_name(program, version, one.number));
    p.calls = one.calls;
    p.replies = one.latency.count();
    p.errors = one.calls - one.latency.count();
    p.total = one.latency;
    report::LatencySeries* const series = r.latencies.series(key);
    for (std::size_t n = 0; series != nullptr && n < one.over_time.size(); ++n) {
      // Only the order of the bins matters to a comparison.
      report::LatencyBin& bin =
          series->restore(report::LatencySeries::kMinShift, static_cast<std::int64_t>(n));
      std::copy(one.over_time[n].begin(), one.over_time[n].end(), bin.counts.begin());
    }
  }
  return r;
}

tl::expected<report::Report, std::string> parse_report(const std::string& path,
                                                       const std::string& text) {
  auto report = report::read_json(text);
  if (report) return std::move(*report);
  return tl::unexpected(
      fmt::format("{}: not a report of analyze --json: {}", path, report.error()));
}

// Returns nothing after an error, which it prints.
template <typename T>
std::optional<T> or_complain(tl::expected<T, std::string> value) {
  if (value) return std::move(*value);
  complain(value.error());
  return std::nullopt;
}

}  // namespace

tl::expected<report::Report, std::string> read_report(const std::string& path) {
  const auto text = read_whole(path);
  if (!text) return tl::unexpected(text.error());
  return parse_report(path, *text);
}

std::optional<report::Report> read_report_or_load(const std::string& path, bool& is_load) {
  const auto text = or_complain(read_whole(path));
  if (!text) return std::nullopt;
  is_load = is_of_load(*text);
  if (!is_load) return or_complain(parse_report(path, *text));
  const auto load = load::read_json(*text);
  if (load) return report_of(*load);
  complain(fmt::format("{}: not the output of load --json: {}", path, load.error()));
  return std::nullopt;
}

bool looks_like_report(const std::string& path) {
  if (path == "-") return true;
  const File file = open_report(path);
  if (file == nullptr) return false;
  char begin[256];
  const std::string_view text(begin, std::fread(begin, 1, sizeof begin, file.get()));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace rpcrdma::cli
