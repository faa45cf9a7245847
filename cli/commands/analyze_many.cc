// rpcrdma analyze-many: one report of many captures, made by many processes. It plans, starts the
// processes, waits for them, and merges. A process that takes a share is the same command with
// --shard.
#include "batch_state.h"
#include "commands.h"
#include "filter_option.h"
#include "input.h"
#include "report_input.h"
#include "report_output.h"
#include "slow_option.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/batch/folder.h>
#include <rpcrdma/batch/inputs.h>
#include <rpcrdma/batch/merge.h>
#include <rpcrdma/batch/plan.h>
#include <rpcrdma/batch/shard.h>
#include <rpcrdma/batch/whole_file.h>
#include <rpcrdma/batch/work.h>
#include <rpcrdma/batch_run/runner.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/plot/escape.h>

namespace rpcrdma::cli {

namespace {

constexpr const char* kName = "analyze-many";

struct ManyOptions {
  std::vector<std::string> inputs;
  std::string out;
  std::uint32_t slice = batch::Settings{}.slice;
  std::uint32_t scan = batch::Settings{}.scan;
  bool restart = false;
  bool only_plan = false;
  batch_run::Runner runner = batch_run::Runner::kLocal;
  std::optional<std::uint32_t> jobs;
  std::uint32_t threads = 0;
  std::string hosts;
  std::vector<std::string> arguments;
  std::string program;
  std::string shard;
  rules::Profile profile = rules::Profile::k8166;
  std::optional<wire::Dialect> dialect;
  bool no_icrc = false;
  std::string filter;
  std::vector<std::string> limits;
  ReportOutput output;
};

batch::Settings settings_of(const ManyOptions& o) {
  batch::Settings s;
  s.profile = report::profile_name(o.profile);
  if (o.dialect) s.dialect = wire::dialect_name(*o.dialect);
  s.check_icrc = !o.no_icrc;
  s.filter = o.filter;
  s.slow = o.limits;
  for (const std::uint16_t port : capture::link_options.vxlan_ports) {
    if (port != 0) s.vxlan_ports.push_back(port);
  }
  s.slice = o.slice;
  s.scan = o.scan;
  return s;
}

// Which options have other values in the plan.
std::string differences(const batch::Settings& a, const batch::Settings& b) {
  std::string names;
  const auto note = [&](bool same, const char* name) {
    if (!same) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  note(a.profile == b.profile, "--profile");
  note(a.dialect == b.dialect, "--v2-dialect");
  note(a.check_icrc == b.check_icrc, "--no-icrc");
  note(a.filter == b.filter, "--filter");
  note(a.slow == b.slow, "--slow");
  note(a.vxlan_ports == b.vxlan_ports, "--vxlan-port");
  note(a.slice == b.slice, "--slice");
  note(a.scan == b.scan, "--scan");
  return names;
}

// Applies a plan's settings to this process. Returns nothing, after reporting it, if they are not
// valid.
std::optional<batch::MakeOptions> apply(const batch::Settings& s) {
  std::optional<filter::Filter> filter;
  if (!read_filter(s.filter, kName, filter)) return std::nullopt;
  const auto limits = parse_slow(s.slow, kName);
  if (!limits) return std::nullopt;
  auto& ports = capture::link_options.vxlan_ports;
  std::copy_n(s.vxlan_ports.begin(), std::min(s.vxlan_ports.size(), ports.size()), ports.begin());
  rules::Profile profile = rules::Profile::k8166;
  if (s.profile == report::profile_name(rules::Profile::k5666)) profile = rules::Profile::k5666;
  model::ModelOptions model;
  for (std::size_t i = 0; i < wire::kDialects; ++i) {
    const auto dialect = static_cast<wire::Dialect>(i);
    if (s.dialect == wire::dialect_name(dialect)) model.dialect = dialect;
  }
  model.check_icrc = s.check_icrc;
  return [profile, model, text = s.filter, limits = *limits] {
    report::AnalysisOptions options;
    options.profile = profile;
    options.model = model;
    options.limits = limits;
    options.filter_text = text;
    if (text.empty()) return options;
    if (auto compiled = filter::compile(text)) options.filter = std::move(*compiled);
    return options;
  };
}

int take_share(const ManyOptions& options, const batch::Folder& folder) {
  const auto shard =
      batch::parse_shard(options.shard, [](const char* name) -> std::optional<std::string> {
        const char* const value = std::getenv(name);
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
      });
  if (!shard) {
    complain(fmt::format("{}: --shard: {}", kName, shard.error().message));
    return kUnreadable;
  }
  if (!options.inputs.empty()) {
    complain(fmt::format("{}: --shard takes its files from the plan of --out", kName));
    return kUnreadable;
  }
  const auto plan = folder.read_plan();
  if (!plan) {
    complain(fmt::format("{} (a plan is made with --plan)", plan.error().message));
    return kUnreadable;
  }
  const auto make = apply(plan->settings);
  if (!make) return kUnreadable;
  if (::chdir(plan->folder.c_str()) != 0) {
    complain(
        fmt::format("{}: cannot enter it, and the plan's paths are relative to it", plan->folder));
    return kUnreadable;
  }
  const auto worked = batch::work(folder, *plan, *shard, *make, std::max(options.threads, 1U));
  if (!worked) {
    complain(worked.error().message);
    return kUnreadable;
  }
  fmt::print("share {}/{}: {} units analyzed, {} done before, {} failed\n", shard->k, shard->n,
             worked->analyzed, worked->done_before, worked->failed);
  return worked->failed == 0 ? kOk : kUnreadable;
}

std::string working_folder() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

// The plan in the folder, if it fits the options, or a new one. Nothing, after reporting it: there
// is none.
std::optional<batch::Plan> plan_for(const ManyOptions& options, const batch::Folder& folder) {
  std::vector<batch::Input> inputs;
  if (!options.inputs.empty()) {
    auto found = batch::find_inputs(options.inputs, folder.path());
    if (!found) {
      complain(found.error().message);
      return std::nullopt;
    }
    inputs = std::move(*found);
  }
  const batch::Settings settings = settings_of(options);
  if (folder.has_plan()) {
    auto plan = folder.read_plan();
    if (!plan) {
      complain(plan.error().message);
      return std::nullopt;
    }
    // Without inputs, the plan is continued as it is.
    std::string changed =
        options.inputs.empty() ? "" : changes_since(*plan, inputs, working_folder());
    if (!options.inputs.empty() || settings != batch::Settings{}) {
      if (const std::string names = differences(settings, plan->settings); !names.empty()) {
        changed += fmt::format("{}other options: {}", changed.empty() ? "" : ", ", names);
      }
    }
    if (changed.empty()) return std::move(*plan);
    complain(fmt::format(
        "{}: was planned for other files or options: {}; use --restart to discard its results",
        folder.path(), changed));
    return std::nullopt;
  }
  if (inputs.empty()) {
    complain(options.inputs.empty()
                 ? fmt::format("{}: has no plan to continue: name the capture files", folder.path())
                 : fmt::format("{}: no file found", options.inputs.front()));
    return std::nullopt;
  }
  BatchProgress progress;
  const unsigned threads = 2 * std::max(std::thread::hardware_concurrency(), 1U);
  auto plan = batch::make_plan(inputs, settings, working_folder(), threads, [&](std::size_t done) {
    if (progress.due()) {
      progress.show(fmt::format("planning: {} of {} files read", done, inputs.size()));
    }
  });
  const std::string text = batch::write_plan(plan);
  if (auto done =
          batch::write_whole(folder.plan(), [&](const batch::Write& write) { write(text); });
      !done) {
    complain(done.error().message);
    return std::nullopt;
  }
  return plan;
}

std::string own_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "rpcrdma" : path.string();
}

batch_run::RunOptions run_options(const ManyOptions& options, const batch::Folder& folder,
                                  std::size_t undone) {
  constexpr std::size_t kMostShards = 100;
  const bool local = options.runner == batch_run::Runner::kLocal;
  const std::size_t cores = std::max(std::thread::hardware_concurrency(), 1U);
  batch_run::RunOptions run;
  run.runner = options.runner;
  run.shards_given = options.jobs.has_value();
  run.shards = options.jobs.value_or(
      static_cast<std::uint32_t>(std::min(undone, local ? cores : kMostShards)));
  if (local) run.shards = static_cast<std::uint32_t>(std::min<std::size_t>(run.shards, undone));
  run.threads = options.threads;
  if (local && run.threads == 0) {
    run.threads = static_cast<std::uint32_t>(std::max<std::size_t>(cores / run.shards, 1));
  }
  run.hosts = options.hosts;
  run.arguments = options.arguments;
  run.program = options.program.empty() ? own_program() : options.program;
  run.folder = folder.path();
  return run;
}

// Claims that no process holds are left from one that was killed.
void remove_old_claims(const batch::Folder& folder, const std::vector<std::size_t>& undone) {
  for (const std::size_t unit : undone) {
    if (::access(folder.claim(unit).c_str(), F_OK) != 0) continue;
    auto claim = batch::Claim::take(folder.claim(unit));
    if (claim && claim->taken() != batch::Claim::Taken::kBusy) claim->give_back();
  }
}

// Processes that another user or an earlier run has started may be at work.
bool others_work(const batch::Folder& folder, const std::vector<std::size_t>& undone) {
  return std::any_of(undone.begin(), undone.end(), [&](std::size_t unit) {
    if (::access(folder.claim(unit).c_str(), F_OK) != 0) return false;
    auto claim = batch::Claim::take(folder.claim(unit));
    if (!claim) return false;
    if (claim->taken() == batch::Claim::Taken::kYes) claim->give_back();
    return claim->taken() == batch::Claim::Taken::kBusy;
  });
}

// Runs shares until all units are done, or nothing more comes of it.
void run_rounds(const ManyOptions& options, const batch::Folder& folder, const batch::Plan& plan,
                BatchState& state) {
  constexpr int kRounds = 3;  // a node can fail, and a process may be killed
  std::vector<std::size_t> undone = folder.undone(plan);
  remove_old_claims(folder, undone);
  state.done_before = plan.units.size() - undone.size();
  batch_run::Said said;
  for (int round = 0; round < kRounds && !undone.empty(); ++round) {
    const batch_run::RunOptions run = run_options(options, folder, undone.size());
    BatchProgress progress;
    const auto tick = [&] {
      if (!progress.due()) return;
      const std::size_t done = plan.units.size() - folder.undone(plan).size();
      progress.show(fmt::format("{} of {} units done, {} %", done, plan.units.size(),
                                100 * done / plan.units.size()));
    };
    said = batch_run::run_all(batch_run::command_lines(run), tick);
    const std::size_t before = undone.size();
    undone = folder.undone(plan);
    while (others_work(folder, undone)) {
      tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      undone = folder.undone(plan);
    }
    if (undone.size() == before) break;
  }
  state.analyzed = plan.units.size() - undone.size() - state.done_before;
  if (!undone.empty()) state.failures = reasons(folder, undone, said);
}

// "cannot" and why, or the report.
int finish(const ManyOptions& options, const batch::Folder& folder, const batch::Plan& plan,
           const BatchState& state) {
  const std::size_t left = state.units - state.analyzed - state.done_before;
  if (left != 0) {
    complain(fmt::format(
        "{}: {} of {} units are not done: {}{}; the same command continues", folder.path(), left,
        state.units, state.failures.empty() ? "their processes ended" : state.failures.front(),
        state.failures.size() > 1
            ? fmt::format(", and {} more (summary.json)", state.failures.size() - 1)
            : ""));
    return kUnreadable;
  }
  if (state.analyzed != 0 || ::access(folder.report().c_str(), F_OK) != 0) {
    std::vector<std::string> reports;
    for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
      reports.push_back(folder.unit(unit));
    }
    if (auto merged = batch::merge_files(reports, folder.report()); !merged) {
      const bool overlap = merged.error().message.find(" overlap: ") != std::string::npos;
      complain(merged.error().message +
               (overlap ? ", or find all that overlap with --restart --scan 0" : ""));
      return kUnreadable;
    }
  }
  const auto report = read_report(folder.report());
  if (!report) {
    complain(report.error());
    return kUnreadable;
  }
  std::vector<std::string> paths;
  for (const batch::PlannedFile& file : plan.files) {
    if (file.unreadable.empty()) paths.push_back(file.path);
  }
  inform(summary_text(state, folder));
  const int status = write_report(*report, paths, options.output, 0);
  return state.not_read != 0 ? kUnreadable : status;
}

int coordinate(const ManyOptions& options, const batch::Folder& folder) {
  if (!may_write(options.output, options.inputs, kName)) return kUnreadable;
  if (!apply(settings_of(options))) return kUnreadable;
  if (auto made = folder.create(); !made) {
    complain(made.error().message);
    return kUnreadable;
  }
  auto lock = batch::Claim::take(folder.file("lock"));
  if (!lock || lock->taken() == batch::Claim::Taken::kBusy) {
    complain(lock ? fmt::format("{}: another analyze-many works on it", folder.path())
                  : lock.error().message);
    return kUnreadable;
  }
  if (options.restart) {
    auto cleared = folder.clear();
    if (cleared) cleared = folder.create();
    if (!cleared) {
      complain(cleared.error().message);
      return kUnreadable;
    }
  }
  const auto plan = plan_for(options, folder);
  if (!plan) return kUnreadable;
  BatchState state;
  state.files = plan->files.size();
  state.others = plan->others.size();
  state.units = plan->units.size();
  if (options.only_plan) {
    fmt::print("{}: {} files in {} units\n", plot::escape_terminal(folder.plan()), state.files,
               state.units);
  } else if (!plan->units.empty()) {
    run_rounds(options, folder, *plan, state);
  }
  for (const auto& written : {write_damaged(folder, *plan, state), write_summary(folder, state)}) {
    if (written) continue;
    complain(written.error().message);
    return kUnreadable;
  }
  if (plan->units.empty()) {
    complain(plan->files.empty()
                 ? fmt::format("{}: none of the files found is a capture", options.inputs.front())
                 : fmt::format("{}: none of {} files can be read: see {}", plan->files.front().path,
                               plan->files.size(), folder.damaged()));
    return kUnreadable;
  }
  const int status = options.only_plan ? kOk : finish(options, folder, *plan, state);
  lock->give_back();
  return status;
}

int analyze_many(const ManyOptions& options) {
  const batch::Folder folder(options.out);
  return options.shard.empty() ? coordinate(options, folder) : take_share(options, folder);
}

void add_run(command_line::Command& command, ManyOptions& options) {
  command.group("Processes");
  command
      .option(
          "--run",
          [&options](const std::string& name) {
            using batch_run::Runner;
            options.runner = name == "slurm"      ? Runner::kSlurm
                             : name == "srun"     ? Runner::kSrun
                             : name == "mpi"      ? Runner::kMpi
                             : name == "parallel" ? Runner::kParallel
                                                  : Runner::kLocal;
          },
          "Where the processes run: local (the default); slurm, an array job (sbatch --wait); "
          "srun; mpi (mpirun); parallel (GNU parallel)")
      .one_of({"local", "slurm", "srun", "mpi", "parallel"})
      .value("HOW");
  command
      .option("-j,--jobs", options.jobs,
              "Number of processes (local: as many as there are cores; mpi: all slots; else one "
              "for each unit, at most 100)")
      .range(1, 100000)
      .value("N");
  command.option("--threads", options.threads, "Threads of each process (1; local: cores / N)")
      .range(0, 1024)
      .value("N");
  command
      .option("--hosts", options.hosts,
              "Hosts for mpi and parallel, separated by commas; they see the same files and "
              "directory")
      .value("HOST,...");
  command
      .option("--run-arg", options.arguments,
              "A further argument for sbatch, srun, mpirun or parallel, such as --partition=long")
      .one_word()
      .value("ARG");
  command.option("--program", options.program, "Path of rpcrdma on the hosts (the same as here)")
      .value("FILE");
  command
      .option("--shard", options.shard,
              "Only analyze this share of the units of the plan: 3/8, or auto (task of Slurm, or "
              "rank of MPI)")
      .value("K/N");
  command.group("");
}

}  // namespace

Run add_analyze_many(command_line::Command& command) {
  auto options = std::make_shared<ManyOptions>();
  command.argument("INPUT", options->inputs,
                   "Capture files, directories, globs, and lists with one of them a line (@FILE, "
                   "@- for standard input); none: continue the plan of --out");
  command
      .option("--out", options->out,
              "Directory of the plan, the reports of units and the whole report")
      .required()
      .value("DIR");
  command.flag("--restart", options->restart, "Discard the plan and the results in --out");
  command.flag("--plan", options->only_plan, "Only write the plan");
  command
      .option("--slice", options->slice,
              "Analyze so many consecutive files, of a ring for example, as one unit")
      .range(1, 100000)
      .value("N")
      .show_default();
  command
      .option("--scan", options->scan,
              "Look so many frames into each file for the hosts that it shows; 0: read it all")
      .value("N")
      .show_default();
  add_run(command, *options);
  add_profile(command, options->profile);
  add_dialect(command, options->dialect);
  add_icrc(command, options->no_icrc);
  add_filter(command, options->filter, "Count only Calls and Replies");
  add_slow(command, options->limits);
  add_report_output(command, options->output);
  add_vxlan_ports(command);
  command.footer(
      "Exit status: 0 no finding as severe as --fail-on, or more; 1 such a finding; 2 a file could "
      "not be read at all (DIR/damaged.txt), a unit is not done, an output cannot be written or an "
      "argument is invalid.");
  command.example("rpcrdma analyze-many /var/captures --out /scratch/report",
                  "Analyze all captures in a directory on all cores.");
  command.example("rpcrdma analyze-many @files.txt --out /nfs/report --run slurm --jobs 40",
                  "The same as an array job of 40 tasks.");
  return [options] { return analyze_many(*options); };
}

}  // namespace rpcrdma::cli
