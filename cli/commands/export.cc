// rpcrdma export: writes a timeline for other tools.
#include "commands.h"
#include "confined_input.h"
#include "filter_option.h"
#include "input.h"
#include "output_file.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include <rpcrdma/ends/read.h>
#include <rpcrdma/timeline/perfetto.h>
#include <rpcrdma/timeline/qlog.h>
#include <rpcrdma/timeline/timeline.h>

namespace rpcrdma::cli {

namespace {

struct ExportOptions {
  std::vector<std::string> paths;
  std::string format;
  std::string output = "-";
  std::string filter;
  std::optional<wire::Dialect> dialect;
  bool no_icrc = false;
  rules::Profile profile = rules::Profile::k8166;
  unsigned jobs = 0;
};

// Returns whether the files may show both ends of Calls, to be drawn. They are read twice then,
// which standard input does not permit. A filter selects Calls of the one view that is followed.
bool may_show_ends(const ExportOptions& options) {
  return options.format == "perfetto" && options.paths.size() > 1 && options.filter.empty() &&
         std::find(options.paths.begin(), options.paths.end(), "-") == options.paths.end();
}

// Returns nothing after an error, which is reported on stderr.
std::optional<ends::Ends> both_ends(const ExportOptions& options) {
  if (!may_show_ends(options)) return ends::Ends{};
  confine_opening();
  ends::EndsOptions how;
  how.keep_calls = true;
  how.threads = options.jobs;
  how.check_icrc = !options.no_icrc;
  how.dialect = options.dialect;
  auto ends = ends::read_ends(options.paths, how);
  if (!ends) {
    complain(ends.error().message);
    return std::nullopt;
  }
  if (ends->not_kept != 0) {
    complain(fmt::format("export: {} Calls are beyond the limit; both ends of them are not drawn",
                         ends->not_kept));
  }
  return std::move(*ends);
}

// From the clock of the reference to that of the merged files.
std::int64_t shift_of(const ends::Ends& ends, const capture::Source& source,
                      const std::vector<std::string>& paths) {
  for (const ends::Source& s : ends.sources) {
    if (!s.reference || s.files.empty() || s.files[0] >= paths.size()) continue;
    for (const capture::MergedFile& f : source.files()) {
      if (f.path == paths[s.files[0]]) return f.shift_ns;
    }
  }
  return 0;
}

// Returns false after an error, which is reported on stderr. Everything read before the error is
// still written.
bool produce(capture::Source& source, const ExportOptions& options, const ends::Ends& ends,
             std::optional<filter::Filter> filter, const Write& write) {
  const auto format = options.format == "qlog"
                          ? timeline::make_qlog(write)
                          : timeline::make_perfetto(write, ends::any(ends) ? &ends : nullptr,
                                                    shift_of(ends, source, options.paths));
  timeline::Timeline timeline(
      *format, {.profile = options.profile,
                .model = {.dialect = options.dialect, .check_icrc = !options.no_icrc},
                .filter = std::move(filter)});
  session::Pipeline& pipeline = timeline.pipeline();
  const bool done = run_pipeline(pipeline, source, options.paths, options.jobs);
  if (!done) pipeline.finish();
  timeline.finish(pipeline.dropped(source.stats()));
  return done;
}

int export_timeline(const ExportOptions& options) {
  std::optional<filter::Filter> filter;
  if (!read_filter(options.filter, "export", filter)) return kUnreadable;
  if (filter && filter->needs_findings()) {
    complain(
        "export: --filter: rpcrdma.finding: a Call is written when it ends, and many findings on "
        "it are made later; find the XIDs with decode --filter and select them with rpcrdma.xid");
    return kUnreadable;
  }
  if (is_input(options.output, options.paths)) {
    complain(fmt::format("export: {}: is an input, so it cannot be the output", options.output));
    return kUnreadable;
  }
  const auto ends = both_ends(options);
  if (!ends) return kUnreadable;
  const auto source = open_confined_input(options.paths, {options.output});
  if (!source) return kUnreadable;
  bool done = false;
  const auto write = [&](const Write& to) {
    done = produce(*source, options, *ends, std::move(filter), to);
  };
  if (options.output == "-") {
    write(buffered_stdout());
  } else if (!write_file(options.output, write)) {
    return kUnreadable;
  }
  return done ? kOk : kUnreadable;
}

}  // namespace

Run add_export(command_line::Command& command) {
  auto options = std::make_shared<ExportOptions>();
  add_files(command, options->paths).required();
  command
      .option("--format", options->format,
              "perfetto: Trace Event Format, for ui.perfetto.dev, chrome://tracing and others; "
              "qlog: one event per record (docs/timelines.md describes both)")
      .required()
      .one_of({"perfetto", "qlog"});
  command.option("-o,--output", options->output, "Output file; - for standard output")
      .value("FILE")
      .show_default();
  add_profile(command, options->profile);
  add_dialect(command, options->dialect);
  add_icrc(command, options->no_icrc);
  add_filter(command, options->filter, "Export only Calls and their Replies");
  add_jobs(command, options->jobs);
  add_vxlan_ports(command);
  command.example("rpcrdma export --format perfetto -o nfs.json nfs.pcap",
                  "Write a timeline to open at ui.perfetto.dev.");
  command.example("rpcrdma export --format perfetto -o nfs.json client.dat server.dat",
                  "Show client, network and server beside each other, with arrows between them.");
  command.example("rpcrdma export --format qlog -Y 'nfs.op == WRITE' nfs.pcap | jq --seq .data",
                  "Follow NFS WRITEs, event by event.");
  return [options] { return export_timeline(*options); };
}

}  // namespace rpcrdma::cli
