#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/batch/whole_file.h>
#include <rpcrdma/batch/work.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/session/align.h>

namespace rpcrdma::batch {

namespace {

// A unit that ended so many processes, as one that needs too much memory may, is not tried again in
// the same run.
constexpr std::size_t kMostAbandoned = 2;

std::string without_path(const std::string& text, const std::string& path) {
  const std::string prefix = path + ": ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// The clocks of hosts that captured the same connections differ.
std::vector<capture::FileClock> clocks_of(const Plan& plan, const Unit& unit,
                                          const std::vector<std::string>& paths) {
  std::vector<capture::FileClock> all;
  std::uint32_t runs = 0;
  for (const Cluster& cluster : unit.clusters) {
    std::vector<std::string> together;
    for (const std::uint32_t file : cluster) {
      const std::string& path = plan.files[file].path;
      if (std::count(paths.begin(), paths.end(), path) != 0) together.push_back(path);
    }
    std::uint32_t most = 0;
    for (capture::FileClock& clock : session::compare_clocks(together)) {
      most = std::max(most, clock.run);
      if (clock.run != 0) clock.run += runs;
      all.push_back(std::move(clock));
    }
    runs += most;
  }
  return all;
}

base::Expected<UnitResult> analyze_files(const std::vector<std::string>& paths,
                                         const std::vector<capture::FileClock>& clocks,
                                         bool several, const MakeOptions& options,
                                         unsigned threads) {
  UnitResult result;
  report::Analysis analysis(options());
  capture::SourceStats stats;
  if (!paths.empty()) {
    // The same text about damage, and the same treatment of recordings, as in one analysis of all.
    const auto source =
        several ? capture::open_merged(paths, clocks) : capture::open_file(paths.front());
    if (!source) return tl::unexpected(source.error());
    if (auto done = analysis.pipeline().run(
            **source, nullptr, threads != 0 ? threads : std::thread::hardware_concurrency());
        !done) {
      return tl::unexpected(done.error());
    }
    stats = (*source)->stats();
  }
  analysis.pipeline().finish();
  analysis.finish(stats, paths.size());
  result.report = analysis.take_report();
  return result;
}

// Reads a file to its end; returns what is wrong with it.
std::string damage_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && status.st_size == 0) return "the file is empty";
  const auto source = capture::open_file(path);
  if (!source) return without_path(source.error().message, path);
  capture::Frame frame;
  while (true) {
    const auto more = (*source)->next(frame);
    if (!more) return without_path(more.error().message, path);
    if (!*more) return (*source)->stats().damage;
  }
}

// The first file that is not what it was when it was planned.
std::optional<std::string> changed_file(const Plan& plan, const Unit& unit) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (const Cluster& cluster : unit.clusters) {
    for (const std::uint32_t index : cluster) {
      const PlannedFile& file = plan.files[index];
      struct stat status {};
      const bool there = ::stat(file.path.c_str(), &status) == 0;
      if (!there || static_cast<std::uint64_t>(status.st_size) != file.size ||
          status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec != file.mtime_ns) {
        return file.path;
      }
    }
  }
  return std::nullopt;
}

std::string damaged_text(const std::vector<DamagedFile>& files) {
  std::string text;
  for (const DamagedFile& file : files) {
    text += plot::escape_terminal(
                fmt::format("{}{}: {}", file.read ? "" : "not read: ", file.path, file.reason)) +
            "\n";
  }
  return text;
}

base::Expected<UnitResult> analyze_whole_unit(const Plan& plan, const Unit& unit,
                                              const MakeOptions& options, unsigned threads) {
  std::vector<std::uint32_t> files;
  for (const Cluster& cluster : unit.clusters) {
    files.insert(files.end(), cluster.begin(), cluster.end());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> paths;
  for (const std::uint32_t file : files) paths.push_back(plan.files[file].path);
  const auto readable = static_cast<std::size_t>(
      std::count_if(plan.files.begin(), plan.files.end(),
                    [](const PlannedFile& f) { return f.unreadable.empty(); }));
  std::vector<DamagedFile> left_out;
  while (true) {
    auto result =
        analyze_files(paths, clocks_of(plan, unit, paths), readable > 1, options, threads);
    if (!result && base::is_out_of_memory(result.error())) return result;
    if (result) {
      if (!result->report.capture.damage.empty()) {
        for (const std::string& path : paths) {
          if (std::string damage = damage_of(path); !damage.empty()) {
            result->damaged.push_back({path, std::move(damage), true});
          }
        }
      }
      result->damaged.insert(result->damaged.end(), left_out.begin(), left_out.end());
      return result;
    }
    // An error names the file that it is about.
    const std::string& message = result.error().message;
    const auto bad = std::find_if(paths.begin(), paths.end(), [&](const std::string& path) {
      return message.starts_with(path + ": ");
    });
    if (bad == paths.end()) return result;
    left_out.push_back({*bad, without_path(message, *bad), false});
    paths.erase(bad);
  }
}

base::Expected<void> write_result(const Folder& folder, std::size_t unit,
                                  const UnitResult& result) {
  if (!result.damaged.empty()) {
    const std::string text = damaged_text(result.damaged);
    if (auto done =
            write_whole(folder.unit_damaged(unit), [&](const Write& write) { write(text); });
        !done) {
      return done;
    }
  }
  return write_whole(folder.unit(unit),
                     [&](const Write& write) { report::write_json(result.report, write); });
}

enum class Outcome : std::uint8_t { kDone, kElsewhere, kFailed };

base::Expected<Outcome> take_unit(const Folder& folder, const Plan& plan, std::size_t unit,
                                  bool own, const MakeOptions& options, unsigned threads) {
  if (folder.done(unit)) return Outcome::kElsewhere;
  if (own) {
    ::unlink(folder.unit_failed(unit).c_str());
  } else if (::access(folder.unit_failed(unit).c_str(), F_OK) == 0) {
    return Outcome::kElsewhere;
  }
  auto claim = Claim::take(folder.claim(unit));
  if (!claim) return tl::unexpected(claim.error());
  // Without locks nothing prevents that another process does the same.
  const bool locked = claim->taken() == Claim::Taken::kYes;
  if (claim->taken() == Claim::Taken::kBusy || (!locked && !own)) return Outcome::kElsewhere;
  if (folder.done(unit)) {
    claim->give_back();
    return Outcome::kElsewhere;
  }
  std::string failure;
  if (claim->abandoned() >= kMostAbandoned) {
    failure = "the process that analyzed it ended each time, perhaps for lack of memory";
  } else if (const auto changed = changed_file(plan, plan.units[unit])) {
    failure = fmt::format("{}: changed since it was planned: use --restart", *changed);
  } else if (auto result = analyze_unit(plan, plan.units[unit], options, threads); !result) {
    failure = result.error().message;
  } else {
    if (auto done = write_result(folder, unit, *result); !done) {
      claim->give_back();
      return tl::unexpected(done.error());
    }
    claim->give_back();
    return Outcome::kDone;
  }
  const std::string line = plot::escape_terminal(failure) + "\n";
  if (auto done = write_whole(folder.unit_failed(unit), [&](const Write& write) { write(line); });
      !done) {
    return tl::unexpected(done.error());
  }
  if (claim->abandoned() < kMostAbandoned) claim->give_back();
  return Outcome::kFailed;
}

}  // namespace

base::Expected<UnitResult> analyze_unit(const Plan& plan, const Unit& unit,
                                        const MakeOptions& options, unsigned threads) {
  return base::or_out_of_memory("analyzing the unit",
                                [&] { return analyze_whole_unit(plan, unit, options, threads); });
}

base::Expected<Worked> work(const Folder& folder, const Plan& plan, Shard shard,
                            const MakeOptions& options, unsigned threads) {
  return base::or_out_of_memory("analyzing", [&]() -> base::Expected<Worked> {
    Worked worked;
    for (const bool own : {true, false}) {
      for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
        if ((unit % shard.n == shard.k - 1) != own) continue;
        if (own && folder.done(unit)) {
          ++worked.done_before;
          continue;
        }
        const auto outcome = take_unit(folder, plan, unit, own, options, threads);
        if (!outcome) return tl::unexpected(outcome.error());
        worked.analyzed += *outcome == Outcome::kDone ? 1U : 0U;
        worked.failed += *outcome == Outcome::kFailed ? 1U : 0U;
      }
    }
    return worked;
  });
}

}  // namespace rpcrdma::batch
