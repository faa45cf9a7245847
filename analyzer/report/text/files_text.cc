#include "files_text.h"

#include <fmt/format.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

bool has_several_servers(const Files& files) {
  return !files.list.empty() &&
         files.list.begin()->first.server != files.list.rbegin()->first.server;
}

// "sequential 94 %"
std::string pattern_text(const FileStats& file) {
  if (*pattern_of(file) == '\0') return "-";
  return fmt::format(
      "{} {:.0f} %", pattern_of(file),
      100.0 * static_cast<double>(file.sequential) / static_cast<double>(file.compared));
}

std::string sizes_text(const FileStats& file) {
  const std::uint64_t size = typical_size(file);
  if (file.sizes.empty()) return "-";
  return (file.sizes.size() > 1 ? "mostly " : "") + format_bytes(size);
}

}  // namespace

void files_text(const Report& r, std::size_t most, bool colour, std::string& out) {
  if (r.files.empty()) return;
  const auto to = std::back_inserter(out);
  const bool servers = has_several_servers(r.files);
  std::string head = fmt::format(
      "\n{:<32} {:>6} {:>6} {:>6} {:>10} {:>10} {:>9} {:>9} {:>9}  {:<16} {}", "File", "READs",
      "WRITEs", "other", "read", "written", "p50", "p99", "max", "sequential", "request");
  if (servers) head += "  server";
  out += colour ? fmt::format("\033[1m{}\033[0m\n", head) : head + '\n';
  const auto shown = busiest_files(r.files, most);
  for (const FileEntry* entry : shown) {
    const FileStats& f = entry->second;
    const base::Histogram latency = f.latency.expanded();
    const bool any = latency.count() != 0;
    const auto q = [&](double v) { return any ? format_duration(latency.quantile(v)) : "-"; };
    fmt::format_to(to, "{:<32} {:>6} {:>6} {:>6} {:>10} {:>10} {:>9} {:>9} {:>9}  {:<16} {}",
                   plot::escape_terminal(file_name(*entry)), f.reads, f.writes, f.other,
                   format_bytes(f.read_bytes), format_bytes(f.written_bytes), q(0.5), q(0.99),
                   any ? format_duration(latency.max()) : "-", pattern_text(f), sizes_text(f));
    if (servers) out += "  " + plot::escape_terminal(entry->first.server);
    if (f.unmatched != 0) fmt::format_to(to, "  {} without an answer", f.unmatched);
    if (f.errors != 0) fmt::format_to(to, "  {} errors", f.errors);
    out += '\n';
  }
  if (shown.size() < r.files.with_calls()) {
    fmt::format_to(to, "and {} more files (--files all lists them)\n",
                   r.files.with_calls() - shown.size());
  }
  if (r.files.others.calls != 0) {
    fmt::format_to(to, "{} Calls were about files beyond these {}: {} read, {} written\n",
                   r.files.others.calls, kMaxFiles, format_bytes(r.files.others.read_bytes),
                   format_bytes(r.files.others.written_bytes));
  }
}

}  // namespace rpcrdma::report
