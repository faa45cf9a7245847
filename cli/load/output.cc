#include "load/output.h"

#include "endpoint.h"
#include "input.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

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

bool LoadOutput::open_file(Growing& file, const std::string& path) {
  if (path.empty()) return true;
  file.standard = path == "-";
  if (file.standard) return true;
  auto opened = base::LineFile::create(path);
  if (!opened) {
    complain(fmt::format("load: {}: {}", file.option, opened.error().message));
    return false;
  }
  file.file.emplace(std::move(*opened));
  return true;
}

bool LoadOutput::open_file(Whole& file, const std::string& path) {
  if (path.empty()) return true;
  auto opened = base::WholeFile::create(path);
  if (!opened) {
    complain(fmt::format("load: {}: {}", file.option, opened.error().message));
    return false;
  }
  file.file.emplace(std::move(*opened));
  return true;
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
  if (!open_file(out.stream_, options.json_stream) || !open_file(out.hgrm_, options.hgrm) ||
      !open_file(out.hlog_, options.hlog) || !open_file(out.html_, options.html)) {
    return std::nullopt;
  }
  // A reader that exits is an error of write(), not the end of the process.
  if (out.wants_intervals() || out.wants_page()) std::signal(SIGPIPE, SIG_IGN);
  return out;
}

bool LoadOutput::wants_intervals() const {
  return lines_ != nullptr || stream_.on() || hgrm_.file || hlog_.on();
}

void LoadOutput::failed(const char* option, const std::string& why) {
  complain(fmt::format("load: {}: {}", option, why));
  complete_ = false;
}

bool LoadOutput::write(Growing& file, const std::string& text) {
  if (file.file) {
    const auto written = file.file->write(text);
    if (written) return true;
    failed(file.option, written.error().message);
    file.file.reset();
    return false;
  }
  if (!file.standard) return true;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return true;
  }
  failed(file.option, fmt::format("standard output: {}",
                                  errno != 0 ? std::strerror(errno) : "not all could be written"));
  std::clearerr(stdout);
  file.standard = false;
  return false;
}

void LoadOutput::finish(Growing& file) {
  if (!file.file) return;
  if (const auto closed = file.file->finish(); !closed) failed(file.option, closed.error().message);
  file.file.reset();
}

void LoadOutput::finish(Whole& file, const std::string& text) {
  if (!file.file) return;
  file.file->write(text);
  const auto finished = file.file->finish();
  if (!finished) failed(file.option, finished.error().message);
  file.file.reset();
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
  if (hlog_.on()) write(hlog_, load::hlog_line(begun, time.length, interval.latency));
  bool read = true;
  if (stream_.on()) {
    const bool standard = stream_.standard;
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
  if (hgrm_.file) finish(hgrm_, whole_.to_hgrm());
  if (!page_.empty()) finish(html_, page_);
  finish(stream_);
  finish(hlog_);
  return complete_;
}

}  // namespace rpcrdma::cli
