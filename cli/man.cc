// Writes manual pages in roff from the description of the command line.
#include "man.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace rpcrdma::cli {

namespace {

using command_line::Command;
using command_line::Option;
using command_line::OptionKind;
using command_line::OptionSpec;

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nSuccess.\n"
    ".TP\n.B 1\n"
    "analyze: there are findings of severity error. header: the header is malformed. ping: no "
    "answer, or a refusal. load: a Call failed, a limit was exceeded, data was wrong, or no Call "
    "was "
    "answered. call: any reply other than the correct one. nfs-probe: a step failed. selftest: a "
    "cell failed.\n"
    ".TP\n.B 2\n"
    "An input cannot be read, an output cannot be written (or a \\-\\-pcapng or \\-\\-record file "
    "reached a full disk), a server cannot be reached, or an argument is invalid.\n";

constexpr const char* kEnvironment =
    ".SH ENVIRONMENT\n"
    ".TP\n.B NO_COLOR\nIf set and not empty, output is not coloured.\n"
    ".TP\n.B TERM\nWithout it, or if it is dumb, output is not coloured, and top has no screen.\n"
    ".TP\n.B COLUMNS\nThe width of plots and tables, instead of the terminal's.\n"
    ".TP\n.B LC_ALL\fR, \fBLC_CTYPE\fR, \fBLANG\nWithout UTF-8, output is plain ASCII.\n"
    ".TP\n.B XDG_RUNTIME_DIR\nThe folder in which live sockets are, in a folder rpcrdma; without "
    "it, "
    "they are in /tmp/rpcrdma-UID.\n"
    ".TP\n.B RUNTIME_DIRECTORY\nSet by systemd (RuntimeDirectory=). A folder below /run/rpcrdma is "
    "used for live sockets instead.\n"
    ".TP\n.B NOTIFY_SOCKET\fR, \fBWATCHDOG_USEC\fR, \fBWATCHDOG_PID\nSet by systemd. serve reports "
    "its state to this socket, and that it is alive; see sd_notify(3).\n"
    ".TP\n.B JOURNAL_STREAM\nSet by systemd. Lines for its journal begin with a priority; see "
    "sd-daemon(3).\n";

// Escapes text for roff, so that no character in it is a request or an escape.
std::string text(std::string_view plain) {
  std::string roff;
  bool line_begins = true;
  for (const char c : plain) {
    if (line_begins && (c == '.' || c == '\'')) roff += "\\&";
    line_begins = c == '\n';
    switch (c) {
      case '\\':
        roff += "\\e";
        break;
      case '-':
        roff += "\\-";
        break;
      case '^':
        roff += "\\(ha";
        break;
      case '~':
        roff += "\\(ti";
        break;
      case '`':
        roff += "\\(ga";
        break;
      case '\'':
        roff += "\\(aq";
        break;
      case '"':
        roff += "\\(dq";
        break;
      default:
        roff += c;
    }
  }
  return roff;
}

std::string bold(std::string_view plain) {
  return "\\fB" + text(plain) + "\\fR";
}

std::string italic(std::string_view plain) {
  return "\\fI" + text(plain) + "\\fR";
}

// Returns the text as a sentence with a capital letter and a full stop, which lines of the help do
// not have.
std::string sentence(std::string_view plain) {
  std::string s(plain);
  if (!s.empty() && s.back() != '.') s += '.';
  return text(s);
}

// Returns the description of an option's value: "DIR", "{read,write}".
std::string value_of(const OptionSpec& spec) {
  if (!spec.choices.empty()) return fmt::format("{{{}}}", fmt::join(spec.choices, ","));
  if (!spec.range) return spec.value_name;
  return fmt::format("{}:FLOAT in [{} - {}]", spec.value_name, spec.range->least, spec.range->most);
}

std::string usage_of(const OptionSpec& argument) {
  const std::string name = italic(argument.argument) + (argument.list ? "..." : "");
  return argument.required ? name : "[" + name + "]";
}

// The headings in the order of their first options; the general one is empty.
std::vector<std::string> groups_of(const Command& command) {
  std::vector<std::string> groups;
  for (const auto& option : command.options()) {
    const std::string& group = option->spec().group;
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

void options_of_group(const Command& command, const std::string& group, std::string& out) {
  auto to = std::back_inserter(out);
  if (!group.empty()) fmt::format_to(to, ".SS {}\n", text(group));
  for (const auto& option : command.options()) {
    const OptionSpec& spec = option->spec();
    if (spec.group != group) continue;
    if (spec.kind == OptionKind::kArgument) {
      fmt::format_to(to, ".TP\n{}\n{}\n", usage_of(spec), sentence(spec.help));
      continue;
    }
    std::string names;
    for (const std::string& name : spec.short_names) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", bold(fmt::format("-{}", name)));
    }
    for (const std::string& name : spec.long_names) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", bold(fmt::format("--{}", name)));
    }
    const std::string value = value_of(spec);
    if (!value.empty()) names += " " + italic(value);
    fmt::format_to(to, ".TP\n{}\n{}\n", names, sentence(spec.help));
    if (!spec.default_text.empty()) {
      fmt::format_to(to, "Default: {}\n", bold(spec.default_text));
    }
    for (const Option* other : spec.excludes) {
      fmt::format_to(to, "Not together with {}.\n", bold(other->name()));
    }
  }
}

void options(const Command& command, std::string& out) {
  out += ".SH OPTIONS\n";
  for (const std::string& group : groups_of(command)) options_of_group(command, group, out);
}

void examples(const Command& command, std::string& out) {
  if (command.examples().empty()) return;
  out += ".SH EXAMPLES\n";
  for (const command_line::Example& example : command.examples()) {
    fmt::format_to(std::back_inserter(out), ".TP\n{}\n{}\n", bold(example.line),
                   text(example.description));
  }
}

// Keeps each line of the footer on a line of its own.
void footer(const std::string& plain, std::string& out) {
  std::string_view rest = plain;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    fmt::format_to(std::back_inserter(out), ".PP\n{}\n", text(rest.substr(0, end)));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}

void see_also(const Command& command, const Command& program, std::string& out) {
  out += ".SH SEE ALSO\n";
  std::string pages;
  const auto page = [&](std::string_view name, const char* section) {
    fmt::format_to(std::back_inserter(pages), "{}{}({})", pages.empty() ? "" : ",\n", bold(name),
                   section);
  };
  if (&command != &program) page(man_name(program), "1");
  for (const auto& other : program.commands()) {
    if (other.get() != &command) page(man_name(*other), "1");
  }
  page("tshark", "1");
  // The syntax of capture's -f.
  if (command.name() == "capture") page("pcap-filter", "7");
  out += pages + '\n';
}

}  // namespace

std::string man_name(const Command& command) {
  const Command* const program = command.parent();
  return program == nullptr ? command.name() : program->name() + "-" + command.name();
}

std::string man_page(const Command& command) {
  const bool is_command = command.parent() != nullptr;
  const Command& program = is_command ? *command.parent() : command;
  const std::string name = man_name(command);
  std::string what = command.summary();
  while (!what.empty() && what.back() == '.') what.pop_back();

  std::string out;
  auto to = std::back_inserter(out);
  std::string title = name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  fmt::format_to(to, ".TH {} 1 \"\" \"rpcrdma\\-scope {}\" \"User Commands\"\n", text(title),
                 RPCRDMA_VERSION);
  std::string summary = what;
  summary[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(summary[0])));
  fmt::format_to(to, ".SH NAME\n{} \\- {}\n", text(name), text(summary));
  fmt::format_to(to, ".SH SYNOPSIS\n{}", bold(program.name()));
  if (is_command) {
    fmt::format_to(to, " {} [{}]...", bold(command.name()), italic("OPTION"));
    for (const auto& option : command.options()) {
      if (option->spec().kind == OptionKind::kArgument) {
        fmt::format_to(to, " {}", usage_of(option->spec()));
      }
    }
  } else {
    fmt::format_to(to, " {} [{}]...", italic("COMMAND"), italic("ARGUMENT"));
  }
  fmt::format_to(to, "\n.SH DESCRIPTION\n{}\n", sentence(what));
  footer(command.footer(), out);
  if (!is_command) {
    out += ".SH COMMANDS\n";
    for (const auto& each : command.commands()) {
      fmt::format_to(to, ".TP\n{}\n{}\n", bold(each->name()), sentence(each->summary()));
    }
  }
  options(command, out);
  out += kExitStatus;
  out += kEnvironment;
  examples(command, out);
  see_also(command, program, out);
  return out;
}

}  // namespace rpcrdma::cli
