// Describes a program's command line as data: commands, options, arguments and their help. The
// parser (parse.h), the manual pages and the completions read this description. It includes no
// header of the parser, which takes seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rpcrdma::command_line {

class Command;
class Option;

// The variable or function that receives an option's value. It outlives the parsing. The value of
// the variable before that is the default.
class Target {
 public:
  using Function = std::function<void(const std::string&)>;
  using Variable = std::variant<bool*, std::string*, std::uint32_t*, std::uint64_t*, double*,
                                std::optional<std::uint32_t>*, std::optional<double>*,
                                std::vector<std::string>*, std::vector<std::uint32_t>*, Function>;

  Target(bool& flag);
  Target(std::string& text);
  Target(std::uint32_t& number);
  Target(std::uint64_t& number);
  Target(double& number);
  Target(std::optional<std::uint32_t>& number);  // stays empty unless the option is given
  Target(std::optional<double>& number);
  Target(std::vector<std::string>& list);
  Target(std::vector<std::uint32_t>& list);
  Target(Function take);
  Target(const Target& other);
  ~Target();

  [[nodiscard]] const Variable& variable() const { return variable_; }

 private:
  Variable variable_;
};

// Returns an empty string for a valid value, else what is wrong with it.
using Check = std::function<std::string(const std::string&)>;

struct Range {
  double least = 0;
  double most = 0;
};

enum class OptionKind : std::uint8_t { kFlag, kOption, kArgument, kHelp, kVersion };

// The description of one option, flag or argument.
struct OptionSpec {
  OptionKind kind = OptionKind::kFlag;
  std::vector<std::string> short_names;  // without the dashes, in the order of definition
  std::vector<std::string> long_names;
  std::string group;                 // heading in the help; empty: the general one
  std::string argument;              // an argument's name in the help; else empty
  std::string help;                  // one line, without a full stop
  std::string value_name;            // "FILE": the name of the value in the help; empty for a flag
  std::vector<std::string> choices;  // the permitted values; empty: any
  std::optional<Range> range;        // of numbers
  std::string default_text;          // default shown in the help; empty: none
  char delimiter = '\0';             // separator of list values in one word; '\0': none
  bool list = false;                 // accepts several values
  bool one_word = false;             // for a list: each use of the option consumes one word
  bool required = false;
  bool whole_number = false;
  bool meta = false;  // about the other options: cannot be set by a configuration file
  std::vector<Check> checks;
  std::vector<const Option*> excludes;  // mutual: each option is in the other's list
  std::vector<const Option*> needs;
};

// Created by a Command. The functions that add to its description return the option itself.
class Option {
 public:
  Option(Command& command, OptionSpec spec, Target target);
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;
  ~Option();

  // Sets the name of the value in the help, such as FILE. Completion offers what fits this name.
  Option& value(std::string name);
  Option& one_of(std::vector<std::string> choices);
  Option& range(double least, double most);  // both ends are valid
  // The help shows the current value of the target as the default.
  Option& show_default();
  // Lets one word hold several values of a list, separated by this character.
  Option& delimiter(char separator);
  // Makes a list consume one word at each use. Otherwise it consumes all words up to the next
  // option.
  Option& one_word();
  Option& required();
  // Accepts decimal and hexadecimal (0x) numbers of up to 64 bits, without a sign. CLI11 by itself
  // reads -5 as 2^64 - 5, and a number that is too large as the largest.
  Option& whole_number();
  Option& check(Check check);
  // Makes two options mutually exclusive. `name`, such as "--port", is an option of the same
  // command that was added before; std::logic_error if there is none.
  Option& excludes(Option& other);
  Option& excludes(std::string_view name);
  // Marks an option about the others, such as one that prints them: a configuration file cannot set
  // it.
  Option& meta();
  // Rejects the option without the other one.
  Option& needs(std::string_view name);

  [[nodiscard]] const OptionSpec& spec() const { return spec_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] bool takes_value() const { return !spec_.value_name.empty(); }
  // "--port", "-p" if it has no long name, or an argument's name.
  [[nodiscard]] std::string name() const;
  // True if the command line contains the option. False before parsing.
  [[nodiscard]] bool given() const { return given_; }
  void set_given(bool given) { given_ = given; }  // called by the parser
  // The words that the command line, or a configuration file, gives as values. Empty before
  // parsing.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  void set_words(std::vector<std::string> words) { words_ = std::move(words); }  // the same

 private:
  Command& command_;
  OptionSpec spec_;
  Target target_;
  bool given_ = false;
  std::vector<std::string> words_;
};

// An example of use, for the manual page.
struct Example {
  std::string line;
  std::string description;
};

// A program, or one of its commands. Each has -h and --help.
class Command {
 public:
  explicit Command(std::string name, std::string summary, const Command* parent = nullptr);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  // Heading of the options that are added from now on, such as "Load"; empty: the general heading.
  // Options of one group may be added at several places; the help lists them together.
  void group(std::string heading);
  // `names` such as "-v,--verbose". The help lists options in the order in which they are added. If
  // an option that takes one value is given several times, the last value is used.
  Option& flag(std::string_view names, bool& target, std::string help);
  Option& option(std::string_view names, Target target, std::string help);
  Option& option(std::string_view names, Target::Function take, std::string help);
  // A positional argument; `name` is its name in the help, such as FILE.
  Option& argument(std::string name, Target target, std::string help);
  // Adds --config FILE, which names a configuration file with values of the other options
  // (config_file.h). The command line has precedence. `path`: receives the name.
  Option& config_file(std::string& path);
  // Adds --version, which prints this line.
  void version(std::string line);
  // Text below the options in the help.
  void footer(std::string text);
  void example(std::string line, std::string description);
  // Adds a command to the program, which owns it. `summary`: one line.
  Command& command(std::string name, std::string summary);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const std::string& footer() const { return footer_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] const Command* parent() const { return parent_; }  // null: the program itself
  [[nodiscard]] const std::vector<Example>& examples() const { return examples_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Option>>& options() const { return options_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Command>>& commands() const { return commands_; }
  // The option that config_file() added; null: none.
  [[nodiscard]] const Option* config_option() const { return config_option_; }
  // The command line that was parsed, with the name of the program. Empty before that.
  [[nodiscard]] const std::vector<std::string>& command_line() const { return command_line_; }
  void set_command_line(std::vector<std::string> words) { command_line_ = std::move(words); }
  // Finds an option by "--port", "-p" or an argument's name; null if there is none.
  [[nodiscard]] Option* find_option(std::string_view name) const;
  [[nodiscard]] Command* find_command(std::string_view name) const;

 private:
  Option& add(OptionSpec spec, Target target);

  std::string name_;
  std::string summary_;
  const Command* parent_;
  std::string footer_;
  std::string version_;
  std::string group_;
  bool unused_ = false;  // target of --help and --version
  std::vector<Example> examples_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<Command>> commands_;
  const Option* config_option_ = nullptr;
  std::vector<std::string> command_line_;
};

}  // namespace rpcrdma::command_line
