// rpcrdma analyze: reports the verdict, findings and statistics of a capture.
#include "commands.h"
#include "confined_input.h"
#include "filter_option.h"
#include "input.h"
#include "report_output.h"
#include "slow_option.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <rpcrdma/ends/read.h>
#include <rpcrdma/report/analysis.h>

namespace rpcrdma::cli {

namespace {

struct AnalyzeOptions {
  std::vector<std::string> paths;
  unsigned jobs = 0;
  rules::Profile profile = rules::Profile::k8166;
  std::optional<wire::Dialect> dialect;
  bool no_icrc = false;
  std::string filter;
  std::vector<std::string> limits;
  ReportOutput output;
};

// Whether the session that merged all files found, or is likely to have missed, that some of them
// show the same connections.
bool show_the_same(const capture::Source& source, const report::Report& report) {
  std::set<std::uint32_t> runs;
  for (const capture::MergedFile& file : source.files()) {
    if (file.run != 0 && !runs.insert(file.run).second) return true;
  }
  return std::any_of(report.connections.begin(), report.connections.end(),
                     [](const report::Connection& c) { return !c.views.empty(); });
}

bool add_ends(const AnalyzeOptions& options, const std::vector<report::SlowLimit>& limits,
              report::Analysis& analysis) {
  ends::EndsOptions how;
  for (const report::SlowLimit& limit : limits) {
    how.limits.push_back({limit.procedure, limit.limit_ns});
  }
  how.threads = options.jobs;
  how.check_icrc = !options.no_icrc;
  how.dialect = options.dialect;
  auto ends = ends::read_ends(options.paths, how);
  if (!ends) {
    complain(ends.error().message);
    return false;
  }
  analysis.set_ends(std::move(*ends));
  return true;
}

int analyze(const AnalyzeOptions& options) {
  std::optional<filter::Filter> filter;
  if (!read_filter(options.filter, "analyze", filter)) return kUnreadable;
  const auto limits = parse_slow(options.limits, "analyze");
  if (!limits) return kUnreadable;
  if (!may_write(options.output, options.paths, "analyze")) return kUnreadable;
  const auto source = open_confined_input(options.paths, outputs_of(options.output));
  if (!source) return kUnreadable;
  // Never destroyed: the process exits with the command, and the kernel reclaims its memory faster
  // than destructors could free it piece by piece.
  static auto& analysis =
      *new report::Analysis({.profile = options.profile,
                             .model = {.dialect = options.dialect, .check_icrc = !options.no_icrc},
                             .filter = std::move(filter),
                             .filter_text = options.filter,
                             .limits = *limits});
  if (!run_pipeline(analysis.pipeline(), *source, options.paths, options.jobs)) return kUnreadable;
  analysis.finish(source->stats(), options.paths.size());
  if (show_the_same(*source, analysis.report()) && !add_ends(options, *limits, analysis)) {
    return kUnreadable;
  }
  return write_report(analysis.report(), options.paths, options.output, options.jobs);
}

}  // namespace

Run add_analyze(command_line::Command& command) {
  auto options = std::make_shared<AnalyzeOptions>();
  add_files(command, options->paths).required();
  add_profile(command, options->profile);
  add_dialect(command, options->dialect);
  add_icrc(command, options->no_icrc);
  add_filter(command, options->filter, "Count only Calls and Replies");
  add_slow(command, options->limits);
  add_report_output(command, options->output);
  add_jobs(command, options->jobs);
  add_vxlan_ports(command);
  command.footer(kReportStatus);
  command.example("rpcrdma analyze /var/tmp/nfs_*.pcapng",
                  "Read the files of a ring as one capture.");
  command.example("rpcrdma analyze client.dat server.dat wire.pcap",
                  "Follow each Call through both ends and the network between them.");
  command.example("rpcrdma analyze --slow READ=20ms --slow WRITE=50ms --fail-on warning nfs.pcapng",
                  "Exit with 1 if a READ or WRITE took longer, or for any other warning.");
  return [options] { return analyze(*options); };
}

}  // namespace rpcrdma::cli
