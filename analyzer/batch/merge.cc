#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/batch/merge.h>
#include <rpcrdma/batch/whole_file.h>
#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::batch {

namespace {

tl::expected<report::Report, std::string> read_report(const std::string& path) {
  const auto text = read_whole(path);
  if (!text) return tl::unexpected(text.error().message);
  auto report = report::read_json(*text);
  if (report) return std::move(*report);
  return tl::unexpected(
      fmt::format("{}: not a report of analyze --json: {}", path, report.error()));
}

}  // namespace

base::Expected<void> merge_files(const std::vector<std::string>& paths, const std::string& result) {
  return base::or_out_of_memory("merging", [&]() -> base::Expected<void> {
    const auto read = [&](std::size_t i) { return read_report(paths[i]); };
    const auto whole = report::merge(paths.size(), read, paths);
    if (!whole) return base::fail(whole.error());
    return write_whole(result, [&](const Write& write) { report::write_json(*whole, write); });
  });
}

}  // namespace rpcrdma::batch
