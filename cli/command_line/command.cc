// Commands, options and arguments: stores the description that the parser, the manual pages and the
// completions read.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::command_line {

namespace {

// Parses "-p,--port".
void split_names(std::string_view names, OptionSpec& spec) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, end);
    if (name.starts_with("--")) {
      spec.long_names.emplace_back(name.substr(2));
    } else {
      spec.short_names.emplace_back(name.substr(1));
    }
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

// The help's name for a value that was given none.
struct ValueName {
  const char* operator()(const bool*) const { return ""; }
  const char* operator()(const std::string*) const { return "TEXT"; }
  const char* operator()(const std::uint32_t*) const { return "UINT"; }
  const char* operator()(const std::uint64_t*) const { return "UINT"; }
  const char* operator()(const double*) const { return "FLOAT"; }
  const char* operator()(const std::optional<std::uint32_t>*) const { return "UINT"; }
  const char* operator()(const std::optional<double>*) const { return "FLOAT"; }
  const char* operator()(const std::vector<std::string>*) const { return "TEXT"; }
  const char* operator()(const std::vector<std::uint32_t>*) const { return "UINT"; }
  const char* operator()(const Target::Function&) const { return "TEXT"; }
};

bool is_list(const Target& target) {
  return std::holds_alternative<std::vector<std::string>*>(target.variable()) ||
         std::holds_alternative<std::vector<std::uint32_t>*>(target.variable());
}

void describe_value(const Target& target, OptionSpec& spec) {
  spec.value_name = std::visit(ValueName(), target.variable());
  spec.list = is_list(target);
}

bool named(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_once(std::vector<const Option*>& options, const Option* option) {
  if (std::find(options.begin(), options.end(), option) == options.end()) options.push_back(option);
}

Option& option_of(const Command& command, std::string_view name) {
  Option* const option = command.find_option(name);
  if (option == nullptr) {
    throw std::logic_error(command.name() + " has no option " + std::string(name));
  }
  return *option;
}

}  // namespace

Target::Target(bool& flag) : variable_(&flag) {}
Target::Target(std::string& text) : variable_(&text) {}
Target::Target(std::uint32_t& number) : variable_(&number) {}
Target::Target(std::uint64_t& number) : variable_(&number) {}
Target::Target(double& number) : variable_(&number) {}
Target::Target(std::optional<std::uint32_t>& number) : variable_(&number) {}
Target::Target(std::optional<double>& number) : variable_(&number) {}
Target::Target(std::vector<std::string>& list) : variable_(&list) {}
Target::Target(std::vector<std::uint32_t>& list) : variable_(&list) {}
Target::Target(Function take) : variable_(std::move(take)) {}
Target::Target(const Target& other) = default;
Target::~Target() = default;

Option::Option(Command& command, OptionSpec spec, Target target)
    : command_(command), spec_(std::move(spec)), target_(std::move(target)) {}
Option::~Option() = default;

Option& Option::value(std::string name) {
  spec_.value_name = std::move(name);
  return *this;
}

Option& Option::one_of(std::vector<std::string> choices) {
  spec_.choices = std::move(choices);
  return *this;
}

Option& Option::range(double least, double most) {
  spec_.range = Range{least, most};
  return *this;
}

Option& Option::show_default() {
  const Target::Variable& variable = target_.variable();
  if (const auto* text = std::get_if<std::string*>(&variable)) {
    spec_.default_text = **text;
  } else if (const auto* number = std::get_if<std::uint32_t*>(&variable)) {
    spec_.default_text = std::to_string(**number);
  } else if (const auto* large = std::get_if<std::uint64_t*>(&variable)) {
    spec_.default_text = std::to_string(**large);
  } else {
    throw std::logic_error(name() + " has no default to show");
  }
  return *this;
}

Option& Option::delimiter(char separator) {
  spec_.delimiter = separator;
  return *this;
}

Option& Option::one_word() {
  spec_.one_word = true;
  return *this;
}

Option& Option::required() {
  spec_.required = true;
  return *this;
}

Option& Option::meta() {
  spec_.meta = true;
  return *this;
}

Option& Option::whole_number() {
  spec_.whole_number = true;
  return *this;
}

Option& Option::check(Check check) {
  spec_.checks.push_back(std::move(check));
  return *this;
}

Option& Option::excludes(Option& other) {
  add_once(spec_.excludes, &other);
  add_once(other.spec_.excludes, this);
  return *this;
}

Option& Option::excludes(std::string_view name) {
  return excludes(option_of(command_, name));
}

Option& Option::needs(std::string_view name) {
  add_once(spec_.needs, &option_of(command_, name));
  return *this;
}

std::string Option::name() const {
  if (!spec_.argument.empty()) return spec_.argument;
  return spec_.long_names.empty() ? "-" + spec_.short_names.front()
                                  : "--" + spec_.long_names.front();
}

Command::Command(std::string name, std::string summary, const Command* parent)
    : name_(std::move(name)), summary_(std::move(summary)), parent_(parent) {
  OptionSpec spec;
  spec.kind = OptionKind::kHelp;
  spec.help = "Print this help message and exit";
  split_names("-h,--help", spec);
  add(std::move(spec), unused_);
}
Command::~Command() = default;

Option& Command::add(OptionSpec spec, Target target) {
  if (spec.kind == OptionKind::kFlag || spec.kind == OptionKind::kOption) spec.group = group_;
  options_.push_back(std::make_unique<Option>(*this, std::move(spec), std::move(target)));
  return *options_.back();
}

void Command::group(std::string heading) {
  group_ = std::move(heading);
}

Option& Command::flag(std::string_view names, bool& target, std::string help) {
  OptionSpec spec;
  spec.kind = OptionKind::kFlag;
  spec.help = std::move(help);
  split_names(names, spec);
  return add(std::move(spec), target);
}

Option& Command::option(std::string_view names, Target target, std::string help) {
  OptionSpec spec;
  spec.kind = OptionKind::kOption;
  spec.help = std::move(help);
  split_names(names, spec);
  describe_value(target, spec);
  return add(std::move(spec), std::move(target));
}

Option& Command::option(std::string_view names, Target::Function take, std::string help) {
  return option(names, Target(std::move(take)), std::move(help));
}

Option& Command::argument(std::string name, Target target, std::string help) {
  OptionSpec spec;
  spec.kind = OptionKind::kArgument;
  spec.argument = std::move(name);
  spec.help = std::move(help);
  describe_value(target, spec);
  return add(std::move(spec), std::move(target));
}

Option& Command::config_file(std::string& path) {
  Option& added = option("--config", path,
                         "Read options from this file, one NAME = VALUE a line (docs/operate.md); "
                         "the command line has precedence")
                      .value("FILE")
                      .meta();
  config_option_ = &added;
  return added;
}

void Command::version(std::string line) {
  version_ = std::move(line);
  OptionSpec spec;
  spec.kind = OptionKind::kVersion;
  spec.help = "Display program version information and exit";
  split_names("--version", spec);
  add(std::move(spec), unused_);
}

void Command::footer(std::string text) {
  footer_ = std::move(text);
}

void Command::example(std::string line, std::string description) {
  examples_.push_back({std::move(line), std::move(description)});
}

Command& Command::command(std::string name, std::string summary) {
  commands_.push_back(std::make_unique<Command>(std::move(name), std::move(summary), this));
  return *commands_.back();
}

Option* Command::find_option(std::string_view name) const {
  for (const auto& option : options_) {
    const OptionSpec& spec = option->spec();
    const bool found = name.starts_with("--")  ? named(spec.long_names, name.substr(2))
                       : name.starts_with('-') ? named(spec.short_names, name.substr(1))
                                               : !name.empty() && spec.argument == name;
    if (found) return option.get();
  }
  return nullptr;
}

Command* Command::find_command(std::string_view name) const {
  for (const auto& command : commands_) {
    if (command->name() == name) return command.get();
  }
  return nullptr;
}

}  // namespace rpcrdma::command_line
