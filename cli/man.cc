#include "man.h"

#include <array>
#include <cctype>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace rpcrdma::cli {

namespace {

struct Example {
  const char* command;  // empty: of the program's own page
  const char* line;
  const char* what;
};

constexpr std::array<Example, 33> kExamples{{
    {"", "rpcrdma analyze nfs.pcap", "What a capture holds, and what is wrong in it."},
    {"", "rpcrdma capture -i eth0", "The messages on an interface as they come."},
    {"", "source <(rpcrdma completion bash)", "Let the shell complete commands and options."},
    {"decode", "rpcrdma decode client.pcap server.pcap",
     "The captures of both ends, in order of time."},
    {"decode", "rpcrdma decode -v --type error,malformed nfs.pcap.zst",
     "All fields of the RDMA_ERRORs and of what is malformed."},
    {"decode", "tcpdump -i eth0 -w - udp port 4791 | rpcrdma decode -",
     "What another program captures."},
    {"capture", "rpcrdma capture -i eth0 -w nfs.pcapng --print", "Record, and see it."},
    {"capture", "rpcrdma capture -i eth0 -w /var/tmp/nfs.pcapng --ring-size 100M --ring-files 20",
     "Keep the last 2 GB, in files of 100 MB."},
    {"capture", "rpcrdma capture -i eth0 -w - | wireshark -k -i -", "Look on with Wireshark."},
    {"attach", "rpcrdma attach server -Y 'rpcrdma.latency > 1ms'",
     "The Calls of the endpoint \"server\" that take long, while they come."},
    {"attach", "ssh host rpcrdma attach server -w - | rpcrdma decode -",
     "An endpoint on another machine."},
    {"attach", "rpcrdma attach server -w - | wireshark -k -i -", "Look on with Wireshark."},
    {"attach", "rpcrdma attach server -w server.pcapng --ring-size 100M --ring-files 20",
     "Keep what it tells, the newest of it."},
    {"top", "rpcrdma top", "Watch all endpoints that run, and that start meanwhile."},
    {"top", "rpcrdma top server", "Watch the endpoint \"server\"."},
    {"top", "rpcrdma top --once --seconds 10",
     "What all endpoints did in ten seconds, for a script."},
    {"decode", "rpcrdma decode --events --xid 0x1234 server.pcapng",
     "Of an endpoint's recording, all that it tells of one Call."},
    {"analyze", "rpcrdma analyze /var/tmp/nfs_*.pcapng", "The files of a ring as one capture."},
    {"export", "rpcrdma export --format perfetto -o nfs.json nfs.pcap",
     "A timeline to open at ui.perfetto.dev."},
    {"export", "rpcrdma export --format qlog -Y 'nfs.op == WRITE' nfs.pcap | jq --seq .data",
     "What came of the WRITEs, event by event."},
    {"extract", "rpcrdma extract -d data --kind write nfs.pcap",
     "What servers wrote into Write chunks, a file each."},
    {"decode", "rpcrdma decode -Y 'rpcrdma.latency > 5ms && nfs.op == READ' nfs.pcap",
     "READs of NFSv4 that took long, and their answers."},
    {"fields", "rpcrdma fields rpcrdma.proc", "One field, with the names that its values have."},
    {"header", "rpcrdma header 00000001 00000001 00000020 00000004 00000002",
     "An RDMA_ERROR, taken apart."},
    {"completion", "rpcrdma completion fish | source", "For this fish session."},
    {"serve", "rpcrdma serve --listen 127.0.0.1", "For clients on this machine."},
    {"serve", "rpcrdma serve --listen 10.0.0.1 --fault 'drop dir=out rate=0.01 seed=7'",
     "Lose every hundredth packet that is sent."},
    {"ping", "rpcrdma ping 10.0.0.1 -c 5 --program nfs", "Does a server of NFS/RDMA answer?"},
    {"call", "rpcrdma call 127.0.0.1 --procedure sink --size 64k",
     "How does an argument travel by a Read chunk?"},
    {"load", "rpcrdma load 127.0.0.1 --procedure source --size 1Mi --depth 16 --duration 10s",
     "How many bytes a second?"},
    {"load", "rpcrdma load 127.0.0.1 --rate 1000 --count 10000 --fail-above p99=1ms,errors=0",
     "A thousand Calls a second, and status 1 unless nearly all are answered in time."},
    {"selftest", "rpcrdma selftest", "Do both ends do all that they can, here and by themselves?"},
    {"selftest", "rpcrdma selftest 10.0.0.1 --only v2,both",
     "And with `rpcrdma selftest --listen 10.0.0.1` there: what has version 2, in both "
     "directions."},
}};

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nAll is well.\n"
    ".TP\n.B 1\n"
    "analyze: there are findings of severity error. header: the header is malformed. ping: nothing "
    "answered. load: a limit was passed, data was wrong, or no Call was "
    "answered. call: any other answer than the right one. nfs-probe: a step "
    "failed. selftest: a cell failed.\n"
    ".TP\n.B 2\nSomething cannot be read or written (also a file of \\-\\-pcapng or \\-\\-record "
    "that "
    "became full on the way), a server cannot be reached, or an argument is wrong.\n";

constexpr const char* kEnvironment =
    ".SH ENVIRONMENT\n"
    ".TP\n.B NO_COLOR\nWhen it is set and not empty, nothing is coloured.\n";

// As text of roff: no character of it is a request or an escape.
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

// A sentence that begins with a capital and ends with a full stop, as the help's lines do not.
std::string sentence(std::string_view plain) {
  std::string s(plain);
  if (!s.empty() && s.back() != '.') s += '.';
  return text(s);
}

// "DIR", "{read,write}": of what an option takes.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string type = option.get_type_name();
  const std::size_t set = type.find(":{");
  return set == std::string::npos ? type : type.substr(set + 1);
}

bool repeated(const CLI::Option& option) {
  return option.get_expected_max() > 1;
}

std::string usage_of(const CLI::Option& argument) {
  const std::string name = italic(argument.get_single_name()) + (repeated(argument) ? "..." : "");
  return argument.get_required() ? name : "[" + name + "]";
}

void options(const CLI::App& app, std::string& out) {
  auto to = std::back_inserter(out);
  out += ".SH OPTIONS\n";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      fmt::format_to(to, ".TP\n{}\n{}\n", usage_of(*option), sentence(option->get_description()));
      continue;
    }
    std::string names;
    for (const std::string& name : option->get_snames()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", bold(fmt::format("-{}", name)));
    }
    for (const std::string& name : option->get_lnames()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", bold(fmt::format("--{}", name)));
    }
    const std::string value = value_of(*option);
    if (!value.empty()) names += " " + italic(value);
    fmt::format_to(to, ".TP\n{}\n{}\n", names, sentence(option->get_description()));
    if (!option->get_default_str().empty()) {
      fmt::format_to(to, "Default: {}\n", bold(option->get_default_str()));
    }
    for (const CLI::Option* other : option->get_excludes()) {
      fmt::format_to(to, "Not together with {}.\n", bold(other->get_name()));
    }
  }
}

void examples(const std::string& command, std::string& out) {
  bool any = false;
  for (const Example& example : kExamples) {
    if (example.command != command) continue;
    if (!any) out += ".SH EXAMPLES\n";
    any = true;
    fmt::format_to(std::back_inserter(out), ".TP\n{}\n{}\n", bold(example.line),
                   text(example.what));
  }
}

// Lines of their own stay so.
void footer(const std::string& plain, std::string& out) {
  std::string_view rest = plain;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    fmt::format_to(std::back_inserter(out), ".PP\n{}\n", text(rest.substr(0, end)));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}

void see_also(const CLI::App& app, const CLI::App& root, std::string& out) {
  out += ".SH SEE ALSO\n";
  std::string pages;
  const auto page = [&](std::string_view name, const char* section) {
    fmt::format_to(std::back_inserter(pages), "{}{}({})", pages.empty() ? "" : ",\n", bold(name),
                   section);
  };
  if (&app != &root) page(man_name(root), "1");
  for (const CLI::App* command : root.get_subcommands({})) {
    if (command != &app) page(man_name(*command), "1");
  }
  page("tshark", "1");
  // capture's -f.
  if (app.get_name() == "capture") page("pcap-filter", "7");
  out += pages + '\n';
}

}  // namespace

std::string man_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : parent->get_name() + "-" + app.get_name();
}

std::string man_page(const CLI::App& app) {
  const bool is_command = app.get_parent() != nullptr;
  const CLI::App& root = is_command ? *app.get_parent() : app;
  const std::string name = man_name(app);
  std::string what = app.get_description();
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
  fmt::format_to(to, ".SH SYNOPSIS\n{}", bold(root.get_name()));
  if (is_command) {
    fmt::format_to(to, " {} [{}]...", bold(app.get_name()), italic("OPTION"));
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional()) fmt::format_to(to, " {}", usage_of(*option));
    }
  } else {
    fmt::format_to(to, " {} [{}]...", italic("COMMAND"), italic("ARGUMENT"));
  }
  fmt::format_to(to, "\n.SH DESCRIPTION\n{}\n", sentence(what));
  footer(app.get_footer(), out);
  if (!is_command) {
    out += ".SH COMMANDS\n";
    for (const CLI::App* command : app.get_subcommands({})) {
      fmt::format_to(to, ".TP\n{}\n{}\n", bold(command->get_name()),
                     sentence(command->get_description()));
    }
  }
  options(app, out);
  out += kExitStatus;
  out += kEnvironment;
  examples(is_command ? app.get_name() : "", out);
  see_also(app, root, out);
  return out;
}

}  // namespace rpcrdma::cli
