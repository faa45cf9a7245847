#include "completion.h"

#include "message_printer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include <fmt/format.h>
#include <pwd.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/decode/schema.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/load/echo_requests.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/trace_live/endpoints.h>

namespace rpcrdma::cli {

namespace {

// A word being completed: candidates that go on from `prefix` are added, with `before`, an earlier
// part of the word, in front.
struct Word {
  std::string before;
  std::string prefix;
  Completions& found;

  // A shell would take a name that a terminal cannot show for another.
  void add(const std::string& text, const std::string& description = {}) const {
    if (plot::escape_terminal(text) != text) return;
    if (CLI::detail::to_lower(text).starts_with(CLI::detail::to_lower(prefix))) {
      found.candidates.push_back({before + text, plot::escape_terminal(description)});
    }
  }
};

void interfaces(const Word& word) {
  // Without an answer there is nothing to offer.
  const auto all = capture::list_interfaces();
  if (!all) return;
  for (const capture::ListedInterface& i : *all) word.add(i.name, i.description);
}

// A shell takes it as it is.
bool is_plain_word(const std::string& text) {
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.,:+@%/").find(c) != std::string_view::npos;
  });
}

// What an endpoint calls itself is put into a command line only where it is a plain word.
void endpoints(const Word& word) {
  const auto all = trace::list_endpoints();
  if (!all) return;
  for (const trace::RunningEndpoint& e : *all) {
    word.add(is_plain_word(e.name) ? e.name : std::to_string(e.process), e.role);
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

void fields(const Word& word) {
  for (const decode::FieldSpec& field : decode::schema()) {
    if (filter::is_filter_field(field.id)) word.add(field.name, field.label);
  }
}

// Of a filter, the field's name at its end.
void filter_fields(const Word& word) {
  const std::size_t end = word.prefix.find_last_of(" !(&|") + 1;
  fields({word.before + word.prefix.substr(0, end), word.prefix.substr(end), word.found});
}

// Of a load, the procedure at the end.
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
    {"FIELD", fields},
    {"PATTERN", fields},
    {"EXPR", filter_fields},
    {"NAMES", procedures},
}};

// What an option's value or an argument may be.
void values(const CLI::Option& option, Word word) {
  // Of a list, its last member.
  if (option.get_delimiter() != '\0') {
    const std::size_t end = word.prefix.rfind(option.get_delimiter()) + 1;
    word.before += word.prefix.substr(0, end);
    word.prefix.erase(0, end);
  }
  // "TEXT:{one,other}" with CLI::IsMember.
  const std::string type = option.get_type_name();
  const std::size_t set = type.find(":{");
  if (set != std::string::npos && type.ends_with('}')) {
    for (const std::string& one :
         CLI::detail::split(type.substr(set + 2, type.size() - set - 3), ',')) {
      word.add(one);
    }
    return;
  }
  const std::string& name = option.get_positional() ? option.get_single_name() : type;
  for (const Values& v : kValues) {
    if (name == v.type) v.add(word);
  }
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() != 0;
}

void option_names(const CLI::App& app, const Word& word) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      word.add(fmt::format("--{}", name), option->get_description());
    }
    // A short name is one letter more than nothing: offered only where it is asked for.
    if (word.prefix.starts_with("--")) continue;
    for (const std::string& name : option->get_snames()) {
      word.add(fmt::format("-{}", name), option->get_description());
    }
  }
}

void commands(const CLI::App& app, const Word& word) {
  for (const CLI::App* command : app.get_subcommands({})) {
    word.add(command->get_name(), command->get_description());
  }
}

const CLI::Option* find_option(const CLI::App& app, const std::string& word) {
  return app.get_option_no_throw(word);
}

// The argument that stands `index` places behind the command; the last one may be given often.
const CLI::Option* find_argument(const CLI::App& app, std::size_t index) {
  const CLI::Option* found = nullptr;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    found = option;
    if (index == 0) return found;
    --index;
  }
  return found != nullptr && found->get_expected_max() > 1 ? found : nullptr;
}

const CLI::App* find_command(const CLI::App& app, const std::string& word) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == word) return command;
  }
  return nullptr;
}

}  // namespace

Completions complete(const CLI::App& root, const std::vector<std::string>& words) {
  Completions found;
  const CLI::App* app = &root;
  const CLI::Option* pending = nullptr;  // its value comes next
  std::size_t arguments = 0;
  bool options_ended = false;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "=") continue;  // where bash takes --option=value apart
    if (pending != nullptr) {
      pending = nullptr;
    } else if (!options_ended && word == "--") {
      options_ended = true;
    } else if (!options_ended && word.size() > 1 && word.starts_with('-')) {
      const CLI::Option* option = find_option(*app, word);
      if (option != nullptr && takes_value(*option)) pending = option;
    } else if (const CLI::App* command = app == &root ? find_command(root, word) : nullptr) {
      app = command;
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
    const CLI::Option* option = find_option(*app, last.substr(0, equals));
    if (option != nullptr) {
      values(*option, {last.substr(0, equals + 1), last.substr(equals + 1), found});
    }
  } else if (!options_ended && last.starts_with('-')) {
    option_names(*app, word);
  } else if (app == &root) {
    commands(root, word);
  } else if (const CLI::Option* argument = find_argument(*app, arguments)) {
    // Of a command that is about commands.
    if (argument->get_single_name() == "COMMAND") {
      commands(root, word);
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
