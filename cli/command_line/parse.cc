// Together with config_file.cc the only file that includes CLI11. It passes the description on and
// rewords CLI11's errors.
#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <rpcrdma/command_line/config_file.h>
#include <rpcrdma/command_line/parse.h>

namespace rpcrdma::command_line {

namespace {

std::string all_names(const Option& option) {
  const OptionSpec& spec = option.spec();
  std::string names = spec.argument;
  const auto add = [&](const char* dashes, const std::string& name) {
    if (!names.empty()) names += ',';
    names += dashes + name;
  };
  for (const std::string& name : spec.short_names) add("-", name);
  for (const std::string& name : spec.long_names) add("--", name);
  return names;
}

// Adds an option of the variable's type.
struct AddOption {
  CLI::App& app;
  std::string names;
  const std::string& help;

  CLI::Option* operator()(bool* flag) const { return app.add_flag(names, *flag, help); }
  CLI::Option* operator()(const Target::Function& take) const {
    return app.add_option_function<std::string>(names, take, help);
  }
  template <typename T>
  CLI::Option* operator()(T* variable) const {
    return app.add_option(names, *variable, help);
  }
};

bool is_whole_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && rest == end;
}

void refuse_other_numbers(CLI::Option* option) {
  option->check([option](const std::string& text) {
    if (!is_whole_number(text))
      throw CLI::ConversionError(option->get_name(), CLI::results_t{text});
    return std::string();
  });
}

CLI::Validator validator(const Range& range, const std::string& type) {
  if (type == "FLOAT") return CLI::Range(range.least, range.most);
  return CLI::Range(static_cast<std::uint64_t>(range.least),
                    static_cast<std::uint64_t>(range.most));
}

CLI::Option* add_option(CLI::App& app, const Command& command, const Option& option) {
  const OptionSpec& spec = option.spec();
  if (spec.kind == OptionKind::kHelp) return app.set_help_flag(all_names(option), spec.help);
  if (spec.kind == OptionKind::kVersion) {
    return app.set_version_flag(all_names(option), command.version(), spec.help);
  }
  CLI::Option* const added =
      std::visit(AddOption{app, all_names(option), spec.help}, option.target().variable());
  if (!spec.group.empty()) added->group(spec.group);
  if (!option.takes_value()) return added;
  // An alias or a script gives defaults, and its user overrides them.
  if (spec.kind == OptionKind::kOption && !spec.list) {
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  const std::string type = added->get_type_name();  // of the variable
  added->type_name(spec.value_name);
  if (spec.required) added->required();
  if (!spec.choices.empty()) added->check(CLI::IsMember(spec.choices));
  if (spec.range) added->check(validator(*spec.range, type));
  if (spec.whole_number) refuse_other_numbers(added);
  for (const Check& check : spec.checks) added->check(check);
  if (!spec.default_text.empty()) added->default_str(spec.default_text);
  if (spec.delimiter != '\0') added->delimiter(spec.delimiter);
  if (spec.one_word) added->allow_extra_args(false);
  return added;
}

// A command and its counterpart in CLI11.
struct Entry {
  const Command* command;
  CLI::App* app;
  std::vector<std::pair<Option*, CLI::Option*>> options;
};

Entry describe(const Command& command, CLI::App& app) {
  Entry entry{&command, &app, {}};
  for (const auto& option : command.options()) {
    entry.options.emplace_back(option.get(), add_option(app, command, *option));
  }
  const auto of = [&](const Option* option) {
    for (const auto& [ours, theirs] : entry.options) {
      if (ours == option) return theirs;
    }
    throw std::logic_error(command.name() + " has no option " + option->name());
  };
  for (const auto& [option, added] : entry.options) {
    for (const Option* other : option->spec().excludes) added->excludes(of(other));
    for (const Option* other : option->spec().needs) added->needs(of(other));
  }
  app.footer(command.footer());
  return entry;
}

// Rewords CLI11's messages in the style of our own.
std::string problem_of(const CLI::Error& e) {
  const std::string what = e.what();
  const std::size_t colon = what.find(": ");
  if (colon == std::string::npos) return what;
  std::string about = what.substr(colon + 2);
  if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    return about + (about.starts_with('-') ? ": no such option" : ": not expected here");
  }
  if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ConversionError)) {
    if (const std::size_t sign = about.find(" = "); sign != std::string::npos) {
      about.replace(sign, 3, " ");
    }
    return about + ": not a whole number, or too large";
  }
  return what;
}

// Holds the CLI11 app of the whole program, for one parse.
class Parser {
 public:
  explicit Parser(const Command& program)
      : program_(program), app_(program.summary(), program.name()) {
    entries_.push_back(describe(program, app_));
    if (program.commands().empty()) return;
    app_.require_subcommand(0, 1);
    // parse() looks for unknown commands: CLI11 would report them as missing.
    app_.allow_extras();
    for (const auto& command : program.commands()) {
      CLI::App* const app = app_.add_subcommand(command->name(), command->summary());
      app->allow_extras(false);
      entries_.push_back(describe(*command, *app));
    }
  }

  // `words`: without the name of the program.
  Parsed parse(std::vector<std::string> words) {
    try {
      std::reverse(words.begin(), words.end());
      app_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      return shown(app_.help());
    } catch (const CLI::CallForVersion&) {
      return shown(program_.version() + '\n');
    } catch (const CLI::ParseError& e) {
      return refused(chosen(), problem_of(e));
    }
    if (const auto unknown = app_.remaining(); !unknown.empty()) {
      return refused(nullptr, unknown.front() + ": no such command");
    }
    const Entry* const entry = program_.commands().empty() ? &entries_.front() : chosen();
    if (entry == nullptr) return refused(nullptr, "a subcommand is required");
    for (const auto& [option, added] : entry->options) {
      option->set_given(added->count() != 0);
      option->set_words(added->results());
    }
    return {Parsed::Outcome::kRun, entry->command, {}};
  }

 private:
  static Parsed shown(std::string text) {
    return {Parsed::Outcome::kShow, nullptr, std::move(text)};
  }

  // Returns the command that the command line names, or null.
  [[nodiscard]] const Entry* chosen() const {
    for (const Entry& entry : entries_) {
      if (entry.app != &app_ && entry.app->parsed()) return &entry;
    }
    return nullptr;
  }

  [[nodiscard]] Parsed refused(const Entry* entry, const std::string& why) const {
    const std::string name = entry != nullptr ? entry->command->name() : "";
    std::string text = name.empty() ? why : name + ": " + why;
    text += " (see `" + program_.name() + (name.empty() ? "" : " " + name) + " --help`)";
    return {Parsed::Outcome::kRefused, nullptr, std::move(text)};
  }

  const Command& program_;
  CLI::App app_;
  std::vector<Entry> entries_;  // the program first
};

}  // namespace

namespace {

// What stands on the command line alone, before the configuration file is read.
struct CommandLine {
  std::vector<const Option*> given;
  std::string config;  // the file; empty: none
};

// One command, without its program: parses words of a file, and what precedes it.
class OneCommand {
 public:
  explicit OneCommand(const Command& command)
      : app_(command.summary(), command.name()), entry_(describe(command, app_)) {
    app_.allow_extras();
  }

  // Options that are missing or that need others may come from the file; all other errors are found
  // again when everything is parsed.
  CommandLine command_line(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    try {
      app_.parse(std::move(words));
    } catch (const CLI::Error&) {
      // see above
    }
    CommandLine line;
    for (const auto& [option, added] : entry_.options) {
      if (added->count() == 0) continue;
      line.given.push_back(option);
      if (option == entry_.command->config_option()) line.config = added->results().back();
    }
    return line;
  }

  // Returns what is wrong with these words, or nothing.
  std::string problem(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    try {
      app_.parse(std::move(words));
    } catch (const CLI::RequiredError&) {
    } catch (const CLI::RequiresError&) {
    } catch (const CLI::ExcludesError&) {
    } catch (const CLI::ParseError& e) {
      return problem_of(e);
    }
    return {};
  }

 private:
  CLI::App app_;
  Entry entry_;
};

std::vector<std::string> words_of(const ConfigEntry& entry) {
  std::vector<std::string> words;
  for (const std::string& value : entry.values) {
    // CLI11 takes the next word if nothing follows the equals sign.
    if (value.empty()) {
      words.insert(words.end(), {entry.option->name(), value});
    } else {
      words.push_back(entry.option->name() + '=' + value);
    }
  }
  return words;
}

// Returns the command that is the first word, if it reads configuration files.
const Command* configured(const Command& program, const std::vector<std::string>& words) {
  const Command* const command = words.empty() ? nullptr : program.find_command(words.front());
  return command != nullptr && command->config_option() != nullptr ? command : nullptr;
}

// Inserts the words of the configuration file, if the command line names one.
base::Expected<std::vector<std::string>> with_config(const Command& program,
                                                     std::vector<std::string> words) {
  const Command* const command = configured(program, words);
  if (command == nullptr) return words;
  OneCommand one(*command);
  const CommandLine line = one.command_line({words.begin() + 1, words.end()});
  if (line.config.empty()) return words;
  const auto entries = read_config(line.config, *command);
  if (!entries) return tl::unexpected(entries.error());
  std::vector<std::string> inserted;
  for (const ConfigEntry& entry : *entries) {
    const std::vector<std::string> more = words_of(entry);
    if (const std::string what = one.problem(more); !what.empty()) {
      return base::fail(line.config + ':' + std::to_string(entry.line) + ": " + what);
    }
    if (std::find(line.given.begin(), line.given.end(), entry.option) != line.given.end()) continue;
    inserted.insert(inserted.end(), more.begin(), more.end());
  }
  words.insert(words.begin() + 1, inserted.begin(), inserted.end());
  return words;
}

}  // namespace

Parsed parse(const Command& program, int argc, const char* const* argv) {
  return parse(program, std::vector<std::string>(argv, argv + argc));
}

Parsed parse(const Command& program, const std::vector<std::string>& command_line) {
  const std::vector<std::string> words(command_line.begin() + (command_line.empty() ? 0 : 1),
                                       command_line.end());
  auto all = with_config(program, words);
  if (!all) {
    return {Parsed::Outcome::kRefused, nullptr,
            words.front() + ": --config " + all.error().message};
  }
  if (Command* const command = words.empty() ? nullptr : program.find_command(words.front())) {
    command->set_command_line(command_line);
  }
  return Parser(program).parse(std::move(*all));
}

}  // namespace rpcrdma::command_line
