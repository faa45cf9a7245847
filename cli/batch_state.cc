#include "batch_state.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <rpcrdma/batch/whole_file.h>
#include <rpcrdma/decode/utf8.h>
#include <rpcrdma/plot/escape.h>

namespace rpcrdma::cli {

namespace {

constexpr auto kBatchInterval = std::chrono::milliseconds(200);

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

// Complaints of this program among what processes print; else the last line.
std::vector<std::string> complaints(const std::vector<std::string>& lines) {
  constexpr std::string_view kOurs = "rpcrdma: ";
  std::vector<std::string> ours;
  for (const std::string& line : lines) {
    const std::size_t at = line.find(kOurs);
    if (at != std::string::npos) ours.push_back(line.substr(at + kOurs.size()));
  }
  if (ours.empty() && !lines.empty()) ours.push_back(lines.back());
  return ours;
}

// Tasks of Slurm write their lines into files.
std::vector<std::string> logged(const batch::Folder& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder.logs(), error)) {
    if (const auto text = batch::read_whole(entry.path().string())) {
      for (std::string& line : lines_of(*text)) lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace

BatchProgress::BatchProgress()
    : terminal_(isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + kBatchInterval) {}

BatchProgress::~BatchProgress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

bool BatchProgress::due() {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now < next_) return false;
  next_ = now + kBatchInterval;
  return true;
}

void BatchProgress::show(const std::string& text) {
  shown_ = true;
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

base::Expected<void> write_damaged(const batch::Folder& folder, const batch::Plan& plan,
                                   BatchState& state) {
  std::string text;
  state.not_read = state.read_in_part = 0;
  for (const batch::PlannedFile& file : plan.files) {
    if (file.unreadable.empty()) continue;
    ++state.not_read;
    text +=
        plot::escape_terminal(fmt::format("not read: {}: {}", file.path, file.unreadable)) + "\n";
  }
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    const auto damaged = batch::read_whole(folder.unit_damaged(unit));
    if (!damaged) continue;  // none is
    for (const std::string& line : lines_of(*damaged)) {
      ++(line.starts_with("not read: ") ? state.not_read : state.read_in_part);
      text += line + "\n";
    }
  }
  if (text.empty()) {
    ::unlink(folder.damaged().c_str());
    return {};
  }
  return batch::write_whole(folder.damaged(), [&](const batch::Write& write) { write(text); });
}

std::vector<std::string> reasons(const batch::Folder& folder,
                                 const std::vector<std::size_t>& undone,
                                 const batch_run::Said& said) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> all;
  for (const std::size_t unit : undone) {
    if (const auto text = batch::read_whole(folder.unit_failed(unit))) {
      for (std::string& line : lines_of(*text)) all.push_back(std::move(line));
    }
    if (all.size() >= kMost) return all;
  }
  if (all.empty()) all = complaints(said.lines);
  if (all.empty()) all = complaints(logged(folder));
  if (all.empty() && !said.ended_badly.empty()) all.push_back(said.ended_badly);
  if (all.size() > kMost) all.resize(kMost);
  return all;
}

std::string summary_text(const BatchState& state, const batch::Folder& folder) {
  const auto counted = [](std::size_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  std::string text =
      fmt::format("{} in {}: {} analyzed now, {} done before", counted(state.files, "file"),
                  counted(state.units, "unit"), state.analyzed, state.done_before);
  if (state.others != 0) {
    text += fmt::format("; {} skipped, no captures by name and content",
                        counted(state.others, "other file"));
  }
  if (state.not_read + state.read_in_part != 0) {
    text += fmt::format("; damaged: {} not read, {} read up to the damage ({})", state.not_read,
                        state.read_in_part, folder.damaged());
  }
  return text;
}

base::Expected<void> write_summary(const batch::Folder& folder, const BatchState& state) {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const std::string& failure : state.failures) failures.push_back(decode::valid_utf8(failure));
  const nlohmann::ordered_json summary{
      {"schema", "rpcrdma-batch-summary-1"},
      {"files", state.files},
      {"other_files", state.others},
      {"units", state.units},
      {"analyzed", state.analyzed},
      {"done_before", state.done_before},
      {"not_done", state.units - state.analyzed - state.done_before},
      {"not_read", state.not_read},
      {"read_in_part", state.read_in_part},
      {"failures", std::move(failures)}};
  return batch::write_whole(folder.file("summary.json"),
                            [&](const batch::Write& write) { write(summary.dump() + "\n"); });
}

}  // namespace rpcrdma::cli
