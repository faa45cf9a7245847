// The only file that includes CLI11. It passes the description on and rewords CLI11's errors.
#include <charconv>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

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
  if (!option.takes_value()) return added;
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

  Parsed parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      return shown(app_.help());
    } catch (const CLI::CallForVersion&) {
      return shown(program_.version() + '\n');
    } catch (const CLI::ParseError& e) {
      return refused(chosen(), problem(e));
    }
    if (const auto unknown = app_.remaining(); !unknown.empty()) {
      return refused(nullptr, unknown.front() + ": no such command");
    }
    const Entry* const entry = program_.commands().empty() ? &entries_.front() : chosen();
    if (entry == nullptr) return refused(nullptr, "a subcommand is required");
    for (const auto& [option, added] : entry->options) option->set_given(added->count() != 0);
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

  // Rewords CLI11's messages in the style of our own.
  static std::string problem(const CLI::Error& e) {
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

  const Command& program_;
  CLI::App app_;
  std::vector<Entry> entries_;  // the program first
};

}  // namespace

Parsed parse(const Command& program, int argc, const char* const* argv) {
  return Parser(program).parse(argc, argv);
}

}  // namespace rpcrdma::command_line
