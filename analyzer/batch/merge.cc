#include <utility>

#include <fmt/core.h>

#include <rpcrdma/batch/merge.h>
#include <rpcrdma/batch/whole_file.h>
#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::batch {

base::Expected<void> merge_files(const std::vector<std::string>& paths, const std::string& result) {
  std::vector<report::Report> reports;
  for (const std::string& path : paths) {
    const auto text = read_whole(path);
    if (!text) return tl::unexpected(text.error());
    auto report = report::read_json(*text);
    if (!report) {
      return base::fail(
          fmt::format("{}: not a report of analyze --json: {}", path, report.error()));
    }
    reports.push_back(std::move(*report));
  }
  const auto whole = report::merge(std::move(reports), paths);
  if (!whole) return base::fail(whole.error());
  return write_whole(result, [&](const Write& write) { report::write_json(*whole, write); });
}

}  // namespace rpcrdma::batch
