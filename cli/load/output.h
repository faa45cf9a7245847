// What `rpcrdma load` writes while it runs and at its end, besides the report: a line and a JSON
// object for each interval, and the latencies in HdrHistogram's formats.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <rpcrdma/base/line_file.h>
#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/command_line/command.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load/interval.h>

namespace rpcrdma::cli {

struct LoadOutputOptions {
  std::string interval;
  std::string json_stream;
  std::string hgrm;
  std::string hlog;
  std::string html;
};
// --interval, --json-stream, --hgrm, --hlog, --html.
void add_load_output(command_line::Command& command, LoadOutputOptions& options);

class LoadOutput {
 public:
  // Opens the files. `json`: the report on standard output is JSON, so that lines go to standard
  // error. On an error prints a line on stderr and returns nothing.
  [[nodiscard]] static std::optional<LoadOutput> open(const LoadOutputOptions& options, bool json);

  // Whether any of it needs intervals.
  [[nodiscard]] bool wants_intervals() const;
  // Whether the lines of add() replace the line that a terminal shows.
  [[nodiscard]] bool prints_lines() const { return lines_ != nullptr; }
  [[nodiscard]] fabric::Time interval() const { return interval_; }

  // Called when the load begins.
  void begin();
  // Writes the next interval, which ends so long after the begin. Returns false if the reader of
  // standard output has exited, for whom the load runs.
  [[nodiscard]] bool add(const load::Interval& interval, fabric::Time end);
  // For --hgrm: all latencies, if they are more than the sum of the intervals.
  void set_whole(load::HdrHistogram whole) { whole_ = std::move(whole); }
  // Whether --html needs set_page(): the page of the whole (load/page.h), which finish() writes.
  [[nodiscard]] bool wants_page() const { return html_.file.has_value(); }
  void set_page(std::string page) { page_ = std::move(page); }
  // Writes the whole. Returns false if something could not be written; it was reported then.
  [[nodiscard]] bool finish();

 private:
  // A file that grows with the load, or standard output.
  struct Growing {
    std::optional<base::LineFile> file = {};
    bool standard = false;
    const char* option = "";

    [[nodiscard]] bool on() const { return file || standard; }
  };
  struct Whole {
    std::optional<base::WholeFile> file = {};
    const char* option = "";
  };
  [[nodiscard]] static bool open_file(Growing& file, const std::string& path);
  [[nodiscard]] static bool open_file(Whole& file, const std::string& path);
  // Returns false after an error, which it reports; the file is closed then.
  bool write(Growing& file, const std::string& text);
  void finish(Growing& file);
  void finish(Whole& file, const std::string& text);
  void failed(const char* option, const std::string& why);

  fabric::Time interval_ = fabric::kSecond;
  std::FILE* lines_ = nullptr;
  Growing stream_{.option = "--json-stream"}, hlog_{.option = "--hlog"};
  Whole hgrm_{.option = "--hgrm"}, html_{.option = "--html"};
  std::string page_;
  load::HdrHistogram whole_;
  fabric::Time epoch_ = 0, last_ = 0;
  bool complete_ = true;
};

}  // namespace rpcrdma::cli
