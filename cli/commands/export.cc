// rpcrdma export: writes a timeline for other tools.
#include "commands.h"
#include "confined_input.h"
#include "filter_option.h"
#include "input.h"
#include "output_file.h"

#include <memory>
#include <optional>

#include <fmt/core.h>

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

// Returns false after an error, which is reported on stderr. Everything read before the error is
// still written.
bool produce(capture::Source& source, const ExportOptions& options,
             std::optional<filter::Filter> filter, const Write& write) {
  const auto format =
      options.format == "qlog" ? timeline::make_qlog(write) : timeline::make_perfetto(write);
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
  const auto source = open_confined_input(options.paths, {options.output});
  if (!source) return kUnreadable;
  bool done = false;
  const auto write = [&](const Write& to) {
    done = produce(*source, options, std::move(filter), to);
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
  command.example("rpcrdma export --format qlog -Y 'nfs.op == WRITE' nfs.pcap | jq --seq .data",
                  "Follow NFS WRITEs, event by event.");
  return [options] { return export_timeline(*options); };
}

}  // namespace rpcrdma::cli
