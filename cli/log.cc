// The log of a service, by spdlog, which formats and writes the lines.
#include "log.h"

#include "input.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/write_all.h>
#include <rpcrdma/plot/escape.h>

namespace rpcrdma::cli {

namespace {

using spdlog::sinks::sink;

constexpr std::array<const char*, 4> kLevels{"debug", "info", "warning", "error"};
// The journal's priorities are those of syslog(3).
constexpr std::array<const char*, 4> kPrefixes{"<7>", "<6>", "<4>", "<3>"};

spdlog::level::level_enum level_of(LogLevel level) {
  constexpr std::array<spdlog::level::level_enum, 4> kTheirs{
      spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
  return kTheirs[static_cast<std::size_t>(level)];
}

const char* pattern_of(LogFormat format) {
  switch (format) {
    case LogFormat::kText:
      return "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v";
    case LogFormat::kJson:
      return R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";
    case LogFormat::kJournal:
      break;
  }
  return "%v";
}

// Appends to a file. A line is written whole or not at all, and counted then.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  FileSink(base::FileDescriptor fd, std::string path, std::atomic<std::uint64_t>& lost)
      : fd_(std::move(fd)), path_(std::move(path)), lost_(lost) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const base::Written done = base::write_all(fd_.get(), {line.data(), line.size()});
    if (done.error == 0) return;
    cut(done.bytes);
    if (lost_.fetch_add(1) != 0) return;
    // complain() may lead here.
    const std::string path = plot::escape_terminal(path_);
    std::fprintf(stderr,
                 "rpcrdma: --log-file %s: %s; what it has no room for is lost and counted\n",
                 path.c_str(), std::strerror(done.error));
  }
  void flush_() override {}

 private:
  void cut(std::size_t bytes) {
    struct stat status {};
    if (bytes == 0 || ::fstat(fd_.get(), &status) != 0) return;
    [[maybe_unused]] const int done =
        ::ftruncate(fd_.get(), status.st_size - static_cast<off_t>(bytes));
  }

  base::FileDescriptor fd_;
  const std::string path_;
  std::atomic<std::uint64_t>& lost_;  // outlives it
};

// Standard output, or the file.
base::Expected<std::shared_ptr<sink>> make_sink(const LogOptions& options,
                                                std::atomic<std::uint64_t>& lost) {
  std::shared_ptr<sink> made;
  if (options.file.empty()) {
    made = std::make_shared<spdlog::sinks::stdout_sink_mt>();
  } else {
    const std::filesystem::path folder = std::filesystem::path(options.file).parent_path();
    std::error_code ignored;  // open() reports it
    if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
    base::FileDescriptor fd(
        ::open(options.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (fd.get() < 0) {
      return base::fail(fmt::format("--log-file {}: {}", options.file, std::strerror(errno)));
    }
    made = std::make_shared<FileSink>(std::move(fd), options.file, lost);
  }
  made->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      pattern_of(options.format), spdlog::pattern_time_type::utc, "\n"));
  return made;
}

// Splits what complain() writes: "serve: warning: no live socket".
LogLevel take_level(std::string_view& text) {
  const auto took = [&](std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
  };
  (void)(took("serve: ") || took("agent: "));
  return took("warning: ") ? LogLevel::kWarning : LogLevel::kError;
}

}  // namespace

void add_log_options(command_line::Command& command, LogText& text) {
  command.group("Log");
  command.option("--log-level", text.level, "Log lines of this level and above")
      .value("LEVEL")
      .one_of({"debug", "info", "warning", "error"})
      .show_default();
  command
      .option("--log-format", text.format,
              "text: time, level and message; json: one object a line; journal: systemd's "
              "priorities, without time; auto: journal if standard output leads there, else text")
      .value("FORMAT")
      .one_of({"auto", "text", "json", "journal"})
      .show_default();
  command
      .option("--log-file", text.file,
              "Append the log to this file instead of standard output; SIGUSR1 opens it again")
      .value("FILE");
}

LogOptions parse_log(const LogText& text) {
  LogOptions options;
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (text.level == kLevels[i]) options.level = static_cast<LogLevel>(i);
  }
  const bool journal = text.format == "auto" && text.file.empty() && is_journal(STDOUT_FILENO);
  options.format = text.format == "json"                 ? LogFormat::kJson
                   : text.format == "journal" || journal ? LogFormat::kJournal
                                                         : LogFormat::kText;
  options.file = text.file;
  return options;
}

bool is_journal(int fd) {
  const char* const variable = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  return variable != nullptr && ::fstat(fd, &status) == 0 &&
         fmt::format("{}:{}", status.st_dev, status.st_ino) == variable;
}

const char* journal_prefix(LogLevel level) {
  return kPrefixes[static_cast<std::size_t>(level)];
}

struct Log::Impl {
  explicit Impl(const LogOptions& o)
      : options(o), sinks(std::make_shared<spdlog::sinks::dist_sink_mt>()), logger("", sinks) {
    logger.set_level(level_of(o.level));
    logger.flush_on(spdlog::level::trace);
  }

  const LogOptions options;
  std::atomic<std::uint64_t> lost{0};  // lines that the file had no room for
  std::shared_ptr<spdlog::sinks::dist_sink_mt> sinks;
  spdlog::logger logger;
};

base::Expected<std::unique_ptr<Log>> Log::open(const LogOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  auto made = make_sink(options, impl->lost);
  if (!made) return tl::unexpected(made.error());
  impl->sinks->add_sink(std::move(*made));
  return std::unique_ptr<Log>(new Log(std::move(impl)));
}

Log::Log(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

void Log::take_complaints() {
  complain_to([this](std::string_view text, bool is_fault) {
    const LogLevel level = take_level(text);
    write(is_fault ? level : LogLevel::kInfo, text);
  });
}

Log::~Log() {
  complain_to({});
}

bool Log::finish() {
  complain_to({});
  const std::uint64_t lost = impl_->lost;
  if (lost == 0) return true;
  complain(fmt::format("--log-file {}: {} line{} not written", impl_->options.file, lost,
                       lost == 1 ? " was" : "s were"));
  return false;
}

void Log::write(LogLevel level, std::string_view message, const nlohmann::ordered_json& fields) {
  const auto theirs = level_of(level);
  if (!impl_->logger.should_log(theirs)) return;
  switch (impl_->options.format) {
    case LogFormat::kText:
      return impl_->logger.log(theirs, "{}", plot::escape_terminal(message));
    case LogFormat::kJournal:
      return impl_->logger.log(theirs, "{}{}", journal_prefix(level),
                               plot::escape_terminal(message));
    case LogFormat::kJson:
      break;
  }
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  object["message"] = message;
  for (const auto& [name, value] : fields.items()) object[name] = value;
  // Escapes all non-ASCII characters, and replaces what is not UTF-8.
  const std::string text =
      object.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  impl_->logger.log(theirs, "{}", std::string_view(text).substr(1, text.size() - 2));
}

void Log::write(LogLevel level, std::string_view message) {
  write(level, message, nlohmann::ordered_json::object());
}

void Log::set_level(LogLevel level) {
  impl_->logger.set_level(level_of(level));
}

base::Expected<void> Log::reopen() {
  if (impl_->options.file.empty()) return {};
  auto made = make_sink(impl_->options, impl_->lost);
  if (!made) return tl::unexpected(made.error());
  impl_->sinks->set_sinks({std::move(*made)});
  return {};
}

}  // namespace rpcrdma::cli
