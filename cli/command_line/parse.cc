// The one file that knows CLI11: it hands the description over, and words its errors as ours.
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

// A command as CLI11 knows it.
struct Known {
  const Command* command;
  CLI::App* app;
  std::vector<std::pair<Option*, CLI::Option*>> options;
};

Known describe(const Command& command, CLI::App& app) {
  Known known{&command, &app, {}};
  for (const auto& option : command.options()) {
    known.options.emplace_back(option.get(), add_option(app, command, *option));
  }
  const auto of = [&](const Option* option) {
    for (const auto& [ours, theirs] : known.options) {
      if (ours == option) return theirs;
    }
    throw std::logic_error(command.name() + " has no option " + option->name());
  };
  for (const auto& [option, added] : known.options) {
    for (const Option* other : option->spec().excludes) added->excludes(of(other));
    for (const Option* other : option->spec().needs) added->needs(of(other));
  }
  app.footer(command.footer());
  return known;
}

// The whole program, for one parse.
class Parser {
 public:
  explicit Parser(const Command& program)
      : program_(program), app_(program.what(), program.name()) {
    known_.push_back(describe(program, app_));
    if (program.commands().empty()) return;
    app_.require_subcommand(0, 1);
    // Looked at afterwards: CLI11 would call an unknown command a missing one.
    app_.allow_extras();
    for (const auto& command : program.commands()) {
      CLI::App* const app = app_.add_subcommand(command->name(), command->what());
      app->allow_extras(false);
      known_.push_back(describe(*command, *app));
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
    const Known* const known = program_.commands().empty() ? &known_.front() : chosen();
    if (known == nullptr) return refused(nullptr, "a subcommand is required");
    for (const auto& [option, added] : known->options) option->set_given(added->count() != 0);
    return {Parsed::Outcome::kRun, known->command, {}};
  }

 private:
  static Parsed shown(std::string text) {
    return {Parsed::Outcome::kShow, nullptr, std::move(text)};
  }

  // The command that the command line names; null: none.
  [[nodiscard]] const Known* chosen() const {
    for (const Known& known : known_) {
      if (known.app != &app_ && known.app->parsed()) return &known;
    }
    return nullptr;
  }

  [[nodiscard]] Parsed refused(const Known* known, const std::string& why) const {
    const std::string name = known != nullptr ? known->command->name() : "";
    std::string text = name.empty() ? why : name + ": " + why;
    text += " (see `" + program_.name() + (name.empty() ? "" : " " + name) + " --help`)";
    return {Parsed::Outcome::kRefused, nullptr, std::move(text)};
  }

  // In the words of the other messages, where CLI11 has its own.
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
  std::vector<Known> known_;  // the program first
};

}  // namespace

Parsed parse(const Command& program, int argc, const char* const* argv) {
  return Parser(program).parse(argc, argv);
}

}  // namespace rpcrdma::command_line
