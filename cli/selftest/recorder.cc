#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/selftest/recorder.h>

namespace rpcrdma::selftest {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxErrors = 8;
constexpr std::size_t kMaxFileName = 96;

std::string file_name(std::string_view cell, std::string_view end) {
  std::string name(cell.substr(0, kMaxFileName));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!plain) c = '_';
  }
  const bool hidden = name.empty() || name.front() == '.';
  return fmt::format("{}{}-{}.pcapng", hidden ? "_" : "", name, end);
}

// Returns the connection of the cell's Calls; the others only asked about an earlier cell.
const report::Connection* busiest(const report::Report& report) {
  const auto at = std::ranges::max_element(report.connections, {}, &report::Connection::messages);
  return at == report.connections.end() ? nullptr : &*at;
}

void judge(const report::Report& report, std::uint32_t version, Judgement& judgement) {
  const auto wrong = [&](std::string text) {
    if (judgement.errors.size() < kMaxErrors) judgement.errors.push_back(std::move(text));
  };
  for (const rules::Finding& f : report.findings) {
    if (f.severity != rules::Severity::kError) continue;
    wrong(fmt::format("{} ({}): {}", f.rule, f.role.empty() ? "neither peer" : f.role, f.text));
  }
  const trace_reader::ReaderStats& events = report.recording.events;
  if (events.lost + events.missing != 0 || !report.capture.damage.empty()) {
    wrong(fmt::format("{} events are missing from the recording", events.lost + events.missing));
  }
  const report::Connection* const connection = busiest(report);
  if (connection == nullptr || connection->messages == 0) return wrong("nothing was recorded");
  judgement.messages = connection->messages;
  if (connection->version != version) {
    wrong(fmt::format("version {} was spoken, expected {}", connection->version, version));
  }
}

}  // namespace

fabric::Expected<std::unique_ptr<Recorder>> Recorder::create(std::string end, std::string folder) {
  const bool keep = !folder.empty();
  std::error_code error;
  if (keep) {
    fs::create_directories(folder, error);
    if (error) {
      return fabric::fail(fabric::Errc::kSystem, fmt::format("{}: {}", folder, error.message()));
    }
  } else {
    const fs::path base = fs::temp_directory_path(error);
    folder = (error ? fs::path("/tmp") : base) / "rpcrdma-selftest-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) {
      return fabric::fail(fabric::Errc::kSystem,
                          fmt::format("{}: {}", folder, std::strerror(errno)));
    }
  }
  trace::HubOptions options;
  options.name = "selftest";
  options.role = fmt::format("{} of a selftest", end);
  auto hub = trace::Hub::start(options);
  if (!hub) {
    if (!keep) fs::remove(folder, error);
    return fabric::fail(fabric::Errc::kSystem, hub.error().message);
  }
  return std::unique_ptr<Recorder>(
      new Recorder(std::move(end), std::move(folder), keep, std::move(*hub)));
}

Recorder::Recorder(std::string end, std::string folder, bool keep, std::unique_ptr<trace::Hub> hub)
    : end_(std::move(end)),
      folder_(std::move(folder)),
      keep_(keep),
      hub_(std::move(hub)),
      tracer_(hub_->add()) {}

Recorder::~Recorder() {
  hub_->stop();
  std::error_code error;
  fs::remove(fs::path(folder_) / file_name("unnamed", end_), error);
  if (!keep_) fs::remove(folder_, error);
}

fabric::Expected<void> Recorder::begin() {
  const auto begun = hub_->record(fs::path(folder_) / file_name("unnamed", end_));
  if (!begun) return fabric::fail(fabric::Errc::kSystem, begun.error().message);
  recording_ = true;
  return {};
}

void Recorder::abandon() {
  (void)hub_->end_recordings();
  recording_ = false;
}

Judgement Recorder::end(std::string_view cell, rules::Profile profile, std::uint32_t version) {
  Judgement judgement;
  const auto wrong = [&](std::string text) {
    judgement.errors.push_back(std::move(text));
    return judgement;
  };
  const auto counters = hub_->end_recordings();
  recording_ = false;
  if (counters.empty()) return wrong("nothing was recorded");
  if (!counters[0].error.empty()) return wrong(counters[0].error);
  fs::path file = counters[0].file;
  if (keep_) {
    const fs::path named = fs::path(folder_) / file_name(cell, end_);
    std::error_code error;
    fs::rename(file, named, error);
    if (error) return wrong(fmt::format("{}: {}", named.string(), error.message()));
    file = named;
  }
  const auto source = capture::open_file(file);
  if (!source) return wrong(source.error().message);
  // Too large for the stack.
  const auto analysis =
      std::make_unique<report::Analysis>(report::AnalysisOptions{.profile = profile});
  if (const auto read = analysis->pipeline().run(**source, nullptr, 1); !read) {
    return wrong(read.error().message);
  }
  analysis->pipeline().finish();
  analysis->finish((*source)->stats());
  judge(analysis->report(), version, judgement);
  return judgement;
}

}  // namespace rpcrdma::selftest
