// The log of a service, by spdlog, which formats and writes the lines.
#include "log.h"

#include "input.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Standard output, or the file.
std::shared_ptr<sink> make_sink(const LogOptions& options) {
  std::shared_ptr<sink> made;
  if (options.file.empty()) {
    made = std::make_shared<spdlog::sinks::stdout_sink_mt>();
  } else {
    made = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
  }
  made->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      pattern_of(options.format), spdlog::pattern_time_type::utc, "\n"));
  return made;
}

base::Expected<std::shared_ptr<sink>> try_to_make_sink(const LogOptions& options) {
  try {
    return make_sink(options);
  } catch (const spdlog::spdlog_ex& e) {
    return base::fail(fmt::format("--log-file {}: {}", options.file, std::strerror(errno)));
  }
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
  std::shared_ptr<spdlog::sinks::dist_sink_mt> sinks;
  spdlog::logger logger;
};

base::Expected<std::unique_ptr<Log>> Log::open(const LogOptions& options) {
  auto made = try_to_make_sink(options);
  if (!made) return tl::unexpected(made.error());
  auto impl = std::make_unique<Impl>(options);
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

void Log::write(LogLevel level, std::string_view message, const nlohmann::ordered_json& fields) {
  const auto theirs = level_of(level);
  if (!impl_->logger.should_log(theirs)) return;
  switch (impl_->options.format) {
    case LogFormat::kText:
      return impl_->logger.log(theirs, spdlog::string_view_t(message.data(), message.size()));
    case LogFormat::kJournal:
      return impl_->logger.log(theirs, "{}{}", journal_prefix(level), message);
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
  auto made = try_to_make_sink(impl_->options);
  if (!made) return tl::unexpected(made.error());
  impl_->sinks->set_sinks({std::move(*made)});
  return {};
}

}  // namespace rpcrdma::cli
