// rpcrdma merge: merges JSON reports.
#include "commands.h"
#include "input.h"
#include "report_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/core.h>

#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::cli {

namespace {

struct MergeOptions {
  std::vector<std::string> paths;
  ReportOutput output;
};

// Reads the whole file. Returns false after an error, which is reported on stderr.
bool read_whole(const std::string& path, std::string& text) {
  const auto close = [](std::FILE* f) {
    if (f != stdin) std::fclose(f);
  };
  const std::unique_ptr<std::FILE, decltype(close)> file(
      path == "-" ? stdin : std::fopen(path.c_str(), "rb"), close);
  if (file != nullptr) {
    char piece[65536];
    while (const std::size_t n = std::fread(piece, 1, sizeof piece, file.get())) {
      text.append(piece, n);
    }
    if (std::ferror(file.get()) == 0) return true;
  }
  complain(fmt::format("{}: {}", path, std::strerror(errno)));
  return false;
}

int merge(const MergeOptions& options) {
  if (!may_write(options.output, options.paths, "merge")) return kUnreadable;
  std::vector<report::Report> reports;
  for (const std::string& path : options.paths) {
    std::string text;
    if (!read_whole(path, text)) return kUnreadable;
    auto report = report::read_json(text);
    if (!report) {
      complain(fmt::format("{}: not a report of analyze --json: {}", path, report.error()));
      return kUnreadable;
    }
    reports.push_back(std::move(*report));
  }
  const auto whole = report::merge(std::move(reports));
  if (!whole) {
    complain(whole.error());
    return kUnreadable;
  }
  return write_report(*whole, options.paths, options.output, 1);
}

}  // namespace

Run add_merge(command_line::Command& command) {
  auto options = std::make_shared<MergeOptions>();
  command
      .argument("FILE", options->paths,
                "Reports of analyze --json or merge --json; - for standard input")
      .required();
  add_report_output(command, options->output);
  command.footer(
      "Exit status: 0 clean, 1 findings of severity error, 2 an input cannot be read or an output "
      "cannot be written.");
  return [options] { return merge(*options); };
}

}  // namespace rpcrdma::cli
