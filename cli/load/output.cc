#include "load/output.h"

#include "endpoint.h"
#include "input.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/core.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::cli {

namespace {

using fabric::Time;

constexpr Time kShortest = 10 * fabric::kMillisecond;

}  // namespace

void add_load_output(command_line::Command& command, LoadOutputOptions& options) {
  command
      .option("--interval", options.interval,
              "Print a line with rate and latency after each interval, also into a pipe (on "
              "standard error with --json); the interval of --json-stream and --hlog, too (1s)")
      .value("DURATION");
  command
      .option("--json-stream", options.json_stream,
              "Write one JSON object for each interval to this file; -: standard output "
              "(docs/load.md)")
      .value("FILE");
  command
      .option("--hgrm", options.hgrm,
              "Write the distribution of latency to this file, in milliseconds, as HdrHistogram's "
              "plotter reads it")
      .value("FILE");
  command
      .option("--hlog", options.hlog,
              "Write a histogram of latency for each interval to this file, in HdrHistogram's log "
              "format 1.3")
      .value("FILE");
  command
      .option("--html", options.html,
              "Also write a self-contained page for a browser: throughput and latency over time, "
              "percentiles")
      .value("FILE");
}

bool LoadOutput::open_file(File& file, const char* option, const std::string& path) {
  if (path.empty()) return true;
  const bool standard = path == "-";
  file.name = fmt::format("{}: {}", option, standard ? "standard output" : path);
  file.file.reset(standard ? stdout : std::fopen(path.c_str(), "we"));
  if (file.file != nullptr) return true;
  complain(fmt::format("load: {}: {}", file.name, std::strerror(errno)));
  return false;
}

std::optional<LoadOutput> LoadOutput::open(const LoadOutputOptions& options, bool json) {
  LoadOutput out;
  if (!options.interval.empty()) {
    const auto interval = duration_option(options.interval, "load", "--interval");
    if (!interval) return std::nullopt;
    if (*interval < kShortest) {
      complain(fmt::format("load: --interval {}: give at least 10ms", options.interval));
      return std::nullopt;
    }
    out.interval_ = *interval;
    out.lines_ = json || options.json_stream == "-" ? stderr : stdout;
  }
  for (const auto& [path, option] :
       {std::pair(&options.hgrm, "--hgrm"), std::pair(&options.hlog, "--hlog"),
        std::pair(&options.html, "--html")}) {
    if (*path != "-") continue;
    complain(fmt::format("load: {} -: give a file; standard output has the report", option));
    return std::nullopt;
  }
  if (!open_file(out.stream_, "--json-stream", options.json_stream) ||
      !open_file(out.hgrm_, "--hgrm", options.hgrm) ||
      !open_file(out.hlog_, "--hlog", options.hlog) ||
      !open_file(out.html_, "--html", options.html)) {
    return std::nullopt;
  }
  // A reader that exits is an error of write(), not the end of the process.
  if (out.wants_intervals() || out.wants_page()) std::signal(SIGPIPE, SIG_IGN);
  return out;
}

bool LoadOutput::wants_intervals() const {
  return lines_ != nullptr || stream_.file != nullptr || hgrm_.file != nullptr ||
         hlog_.file != nullptr;
}

bool LoadOutput::write(File& file, const std::string& text) {
  if (file.file == nullptr) return true;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file.file.get()) == text.size() &&
      std::fflush(file.file.get()) == 0) {
    return true;
  }
  complain(fmt::format("load: {}: {}", file.name,
                       errno != 0 ? std::strerror(errno) : "not all could be written"));
  std::clearerr(file.file.get());
  file.file.reset();
  return complete_ = false;
}

void LoadOutput::begin() {
  epoch_ = base::wall_clock_ns();
  last_ = 0;
  write(hlog_, load::hlog_header(epoch_, fmt::format("Logged with rpcrdma {}", version::text())));
}

bool LoadOutput::add(const load::Interval& interval, Time end) {
  const Time begun = last_;
  const load::IntervalTime time{epoch_ + end, end, end - last_};
  last_ = end;
  whole_.merge(interval.latency);
  if (hlog_.file != nullptr) write(hlog_, load::hlog_line(begun, time.length, interval.latency));
  bool read = true;
  if (stream_.file != nullptr) {
    const bool standard = stream_.file.get() == stdout;
    read = write(stream_, load::interval_json(interval, time) + '\n') || !standard;
  }
  if (lines_ != nullptr) {
    fmt::print(lines_, "{}\n", load::interval_line(interval, time));
    if (std::fflush(lines_) != 0 && lines_ == stdout) {
      complain(fmt::format("load: standard output: {}", std::strerror(errno)));
      lines_ = nullptr;
      complete_ = read = false;
    }
  }
  return read;
}

bool LoadOutput::finish() {
  if (hgrm_.file != nullptr) write(hgrm_, whole_.to_hgrm());
  if (html_.file != nullptr) write(html_, page_);
  for (File* const file : {&stream_, &hgrm_, &hlog_, &html_}) {
    std::FILE* const closing = file->file.release();
    if (closing == nullptr || closing == stdout || std::fclose(closing) == 0) continue;
    complain(fmt::format("load: {}: {}", file->name, std::strerror(errno)));
    complete_ = false;
  }
  return complete_;
}

}  // namespace rpcrdma::cli
