// The log of a service: lines with time and level, as text, as JSON objects, or with the priorities
// of systemd's journal, on standard output or in a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <rpcrdma/base/error.h>
#include <rpcrdma/command_line/command.h>

namespace rpcrdma::cli {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };
enum class LogFormat : std::uint8_t { kText, kJson, kJournal };

// --log-level, --log-format, --log-file as given.
struct LogText {
  std::string level = "info";
  std::string format = "auto";
  std::string file;
};
void add_log_options(command_line::Command& command, LogText& text);

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  std::string file;  // empty: standard output
};
// Of valid texts, as the command line checks them. "auto" is the journal's format if standard
// output leads there and no file is named, else text.
[[nodiscard]] LogOptions parse_log(const LogText& text);

// Returns whether systemd's journal reads this descriptor: JOURNAL_STREAM names its device and
// inode (systemd.exec(5)).
[[nodiscard]] bool is_journal(int fd);
// The prefix of a line for the journal: "<4>" (sd-daemon(3)).
[[nodiscard]] const char* journal_prefix(LogLevel level);

// Thread-safe.
class Log {
 public:
  // Appends to the file. Error: it cannot be opened.
  [[nodiscard]] static base::Expected<std::unique_ptr<Log>> open(const LogOptions& options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // `message`: becomes one line; control characters are escaped. `fields`: of the JSON object, in
  // addition to time, level and message, which the message repeats for people.
  void write(LogLevel level, std::string_view message, const nlohmann::ordered_json& fields);
  void write(LogLevel level, std::string_view message);
  void info(std::string_view message) { write(LogLevel::kInfo, message); }
  void warn(std::string_view message) { write(LogLevel::kWarning, message); }
  void error(std::string_view message) { write(LogLevel::kError, message); }

  // From now on, and while this exists, complain() and inform() (input.h) write to it, too. What
  // keeps a service from its start belongs on stderr.
  void take_complaints();

  // Call it last. Returns false, after a line on stderr, if lines were not written to the file.
  // (The first one was reported there at once.)
  [[nodiscard]] bool finish();

  void set_level(LogLevel level);
  // Opens the file anew, after another program has renamed it. Without success the old one stays in
  // use. Nothing to do for standard output.
  [[nodiscard]] base::Expected<void> reopen();

 private:
  struct Impl;
  explicit Log(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::cli
