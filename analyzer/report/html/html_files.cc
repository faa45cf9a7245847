// The table of files.
#include "html.h"

#include <fmt/core.h>

#include <rpcrdma/report/context.h>

namespace rpcrdma::report::html {

std::string files(const Report& r) {
  if (r.files.empty()) return {};
  using Align = Table::Align;
  Table table("Files");
  table
      .column("File", Align::kLeft,
              "Path as far as the capture shows it, or the file handle's hash")
      .column("Server", Align::kLeft)
      .column("READs", Align::kRight)
      .column("WRITEs", Align::kRight)
      .column("Other", Align::kRight, "Calls that neither read nor write data")
      .column("Errors", Align::kRight)
      .column("Read", Align::kRight)
      .column("Written", Align::kRight)
      .column("p50", Align::kRight, "From Call to Reply")
      .column("p99", Align::kRight)
      .column("Max", Align::kRight)
      .column("Pattern", Align::kLeft,
              "How many READs and WRITEs begin where another one ends, or end where one begins")
      .column("Request", Align::kRight, "The length that most READs and WRITEs ask for");
  const auto shown = busiest_files(r.files, kMostFiles);
  for (const FileEntry* entry : shown) {
    const FileStats& f = entry->second;
    table.row();
    table.cell(file_name(*entry));
    table.cell(entry->first.server);
    table.count(f.reads);
    table.count(f.writes);
    table.count(f.other);
    table.count(f.errors);
    const auto bytes = [&](std::uint64_t n) {
      table.cell(n != 0 ? format_bytes(n) : "", static_cast<double>(n));
    };
    bytes(f.read_bytes);
    bytes(f.written_bytes);
    const base::Histogram all = f.latency.expanded();
    const auto latency = [&](std::int64_t ns) {
      table.cell(all.count() != 0 ? format_duration(ns) : "", static_cast<double>(ns));
    };
    latency(all.quantile(0.5));
    latency(all.quantile(0.99));
    latency(all.max());
    const double share = f.compared == 0 ? 0.0
                                         : 100.0 * static_cast<double>(f.sequential) /
                                               static_cast<double>(f.compared);
    table.cell(
        *pattern_of(f) == '\0' ? "" : fmt::format("{}, {:.0f} % in order", pattern_of(f), share),
        share);
    bytes(typical_size(f));
  }
  std::string body = table.take();
  if (shown.size() < r.files.with_calls()) {
    body += aside(fmt::format("The {} busiest of {} files.", shown.size(), r.files.with_calls()));
  }
  if (r.files.others.calls != 0) {
    body += aside(fmt::format("{} Calls were about further files: {} read, {} written.",
                              r.files.others.calls, format_bytes(r.files.others.read_bytes),
                              format_bytes(r.files.others.written_bytes)));
  }
  return section("files", "Files", body);
}

}  // namespace rpcrdma::report::html
