// Completes a word of a command line: finds the option or argument at the cursor, and offers its
// values.
#include "completion.h"

#include "message_printer.h"
#include "parse.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <pwd.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/decode/schema.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/kernel_launch/launch.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/load/echo_requests.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::cli {

namespace {

using command_line::Command;
using command_line::Option;
using command_line::OptionKind;
using command_line::OptionSpec;

// Returns whether a shell takes the text literally, without quoting.
bool is_literal(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.,:+@%/").find(c) != std::string_view::npos;
  });
}

// A word being completed. Candidates that start with `prefix` are added, preceded by `before`, an
// earlier part of the word.
struct Word {
  std::string before;
  std::string prefix;
  Completions& found;

  // Skips names that are no literal words, such as `$(id)`: bash inserts what it is offered, and
  // interfaces, users and endpoints choose their names.
  void add(const std::string& text, const std::string& description = {}) const {
    if (!is_literal(text)) return;
    if (lower_case(text).starts_with(lower_case(prefix))) {
      found.candidates.push_back({before + text, description});
    }
  }
};

void interfaces(const Word& word) {
  // On an error there is nothing to offer.
  const auto all = capture::list_interfaces();
  if (!all) return;
  for (const capture::ListedInterface& i : *all) word.add(i.name, i.description);
}

// An endpoint whose name is no literal word, or looks like an option, is offered by its process ID.
void endpoints(const Word& word) {
  const auto all = trace::list_endpoints();
  if (!all) return;
  for (const trace::RunningEndpoint& e : *all) {
    const bool plain = is_literal(e.name) && e.name.front() != '-';
    word.add(plain ? e.name : std::to_string(e.process), e.role);
  }
  if (std::ranges::none_of(*all, [](const auto& e) { return e.name == kernel::kEndpointName; })) {
    word.add(kernel::kEndpointName, "Linux's own NFS/RDMA, traced from now on");
  }
}

void users(const Word& word) {
  ::setpwent();
  while (const passwd* entry = ::getpwent()) word.add(entry->pw_name);
  ::endpwent();
}

void types(const Word& word) {
  for (const std::string& type : message_types()) word.add(type);
}

void rule_names(const Word& word) {
  for (const rules::Rule& r : rules::rules()) word.add(r.name, r.sentence);
}

void field_names(const Word& word) {
  for (const decode::FieldSpec& field : decode::schema()) {
    if (filter::is_filter_field(field.id)) word.add(field.name, field.label);
  }
}

// In a filter, completes the field name at its end.
void filter_fields(const Word& word) {
  const std::size_t end = word.prefix.find_last_of(" !(&|") + 1;
  field_names({word.before + word.prefix.substr(0, end), word.prefix.substr(end), word.found});
}

// In a list of procedures with weights, completes the last procedure.
void procedures(const Word& word) {
  const std::size_t end = word.prefix.rfind(',') + 1;
  const Word last{word.before + word.prefix.substr(0, end), word.prefix.substr(end), word.found};
  for (const std::string& name : load::echo_procedures()) last.add(name);
  if (end == 0) last.add("mix");
}

struct Values {
  const char* type;
  void (*add)(const Word& word);
};

constexpr std::array<Values, 11> kValues{{
    {"FILE", [](const Word& word) { word.found.files = true; }},
    {"DIR", [](const Word& word) { word.found.directories = true; }},
    {"INTERFACE", interfaces},
    {"ENDPOINT", endpoints},
    {"USER", users},
    {"TYPE", types},
    {"RULE", rule_names},
    {"FIELD", field_names},
    {"PATTERN", field_names},
    {"EXPR", filter_fields},
    {"NAMES", procedures},
}};

// Offers values of an option or argument.
void values(const Option& option, Word word) {
  const OptionSpec& spec = option.spec();
  // In a list, completes the last member.
  if (spec.delimiter != '\0') {
    const std::size_t end = word.prefix.rfind(spec.delimiter) + 1;
    word.before += word.prefix.substr(0, end);
    word.prefix.erase(0, end);
  }
  for (const std::string& choice : spec.choices) word.add(choice);
  if (!spec.choices.empty()) return;
  const std::string& name = spec.kind == OptionKind::kArgument ? spec.argument : spec.value_name;
  for (const Values& v : kValues) {
    if (name == v.type) v.add(word);
  }
}

void option_names(const Command& command, const Word& word) {
  for (const auto& option : command.options()) {
    const OptionSpec& spec = option->spec();
    for (const std::string& name : spec.long_names) word.add("--" + name, spec.help);
    // Short names are offered only when the user typed a single dash.
    if (word.prefix.starts_with("--")) continue;
    for (const std::string& name : spec.short_names) word.add("-" + name, spec.help);
  }
}

void commands(const Command& program, const Word& word) {
  for (const auto& command : program.commands()) word.add(command->name(), command->summary());
}

// Returns the argument at position `index` after the command; the last one may repeat.
const Option* find_argument(const Command& command, std::size_t index) {
  const Option* found = nullptr;
  for (const auto& option : command.options()) {
    if (option->spec().kind != OptionKind::kArgument) continue;
    found = option.get();
    if (index == 0) return found;
    --index;
  }
  return found != nullptr && found->spec().list ? found : nullptr;
}

}  // namespace

Completions complete(const Command& program, const std::vector<std::string>& words) {
  Completions found;
  const Command* command = &program;
  const Option* pending = nullptr;  // its value is the next word
  std::size_t arguments = 0;
  bool options_ended = false;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "=") continue;  // bash splits --option=value
    if (pending != nullptr) {
      pending = nullptr;
    } else if (!options_ended && word == "--") {
      options_ended = true;
    } else if (!options_ended && word.size() > 1 && word.starts_with('-')) {
      const Option* const option = command->find_option(word);
      if (option != nullptr && option->takes_value()) pending = option;
    } else if (const Command* const named =
                   command == &program ? program.find_command(word) : nullptr) {
      command = named;
    } else {
      ++arguments;
    }
  }

  const std::string last = words.empty() ? "" : words.back();
  const Word word{"", last == "=" ? "" : last, found};
  const std::size_t equals = last.find('=');
  if (pending != nullptr) {
    values(*pending, word);
  } else if (!options_ended && last.starts_with("--") && equals != std::string::npos) {
    const Option* const option = command->find_option(last.substr(0, equals));
    if (option != nullptr) {
      values(*option, {last.substr(0, equals + 1), last.substr(equals + 1), found});
    }
  } else if (!options_ended && last.starts_with('-')) {
    option_names(*command, word);
  } else if (command == &program) {
    commands(program, word);
  } else if (const Option* const argument = find_argument(*command, arguments)) {
    // An argument that names a command.
    if (argument->spec().argument == "COMMAND") {
      commands(program, word);
    } else {
      values(*argument, word);
    }
  }
  return found;
}

std::string completion_lines(const Completions& found) {
  std::string lines;
  for (const Completions::Candidate& c : found.candidates) {
    lines += decode::escape_text(c.text);
    if (!c.description.empty()) lines += '\t' + decode::escape_text(c.description);
    lines += '\n';
  }
  if (found.files) lines += ":files\n";
  if (found.directories) lines += ":directories\n";
  return lines;
}

}  // namespace rpcrdma::cli
