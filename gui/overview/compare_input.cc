#include "compare_input.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include <fmt/core.h>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/session/align.h>

namespace rpcrdma::gui {

namespace {

// A report keeps its limits whatever a file holds; a text that is larger is none.
constexpr std::size_t kLargestReport = std::size_t{256} << 20;

// Ends early when the user no longer wants the result.
class Cancellable final : public capture::Source {
 public:
  Cancellable(std::unique_ptr<capture::Source> source, const std::atomic<bool>& cancelled)
      : source_(std::move(source)), cancelled_(cancelled) {}
  capture::Expected<bool> next(capture::Frame& frame) override {
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    return source_->next(frame);
  }
  [[nodiscard]] bool frames_stay() const override { return source_->frames_stay(); }
  [[nodiscard]] const capture::SourceStats& stats() const override { return source_->stats(); }

 private:
  std::unique_ptr<capture::Source> source_;
  const std::atomic<bool>& cancelled_;
};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Returns the text of a file that begins as a report does; nothing: it is something else.
std::optional<std::string> report_text(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (file == nullptr) return std::nullopt;
  std::string text(256, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return std::nullopt;
  std::string piece(65536, '\0');
  while (text.size() <= kLargestReport) {
    const std::size_t n = std::fread(piece.data(), 1, piece.size(), file.get());
    if (n == 0) break;
    text.append(piece, 0, n);
  }
  return text;
}

}  // namespace

std::string filter_of(const CompareInput::Range& range) {
  const auto time = [](std::int64_t ns) {
    return fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  };
  return fmt::format("frame.time >= {} && frame.time <= {}", time(range.from_ns),
                     time(range.to_ns));
}

tl::expected<report::Report, std::string> analyze(const CompareInput& input,
                                                  const std::atomic<bool>& cancelled) {
  if (input.empty()) return tl::unexpected<std::string>("nothing is chosen");
  if (input.paths.size() == 1 && !input.range) {
    if (const auto text = report_text(input.paths.front())) {
      if (text->size() > kLargestReport) {
        return tl::unexpected(input.paths.front() + ": too large for a report");
      }
      auto report = report::read_json(*text);
      if (report) return std::move(*report);
      return tl::unexpected(fmt::format("{}: not a report of analyze --json: {}",
                                        input.paths.front(), report.error()));
    }
  }
  auto source = session::open_aligned(input.paths);
  if (!source) return tl::unexpected(source.error().message);
  report::AnalysisOptions options;
  options.model.check_icrc = input.check_icrc;
  if (input.range) {
    options.filter_text = filter_of(*input.range);
    auto filter = filter::compile(options.filter_text);
    if (!filter) return tl::unexpected(filter.error().message);
    options.filter = std::move(*filter);
  }
  Cancellable watched(std::move(*source), cancelled);
  const auto analysis = std::make_unique<report::Analysis>(std::move(options));
  const auto read = analysis->pipeline().run(
      watched, [](const capture::SourceStats&) {},
      std::max(1U, std::thread::hardware_concurrency()));
  if (cancelled) return tl::unexpected<std::string>("cancelled");
  if (!read) return tl::unexpected(read.error().message);
  analysis->pipeline().finish();
  analysis->finish(watched.stats(), input.paths.size());
  return analysis->report();
}

}  // namespace rpcrdma::gui
