// Completion, requested in the shells themselves, and rendered manual pages.
#include "support/command.h"
#include "support/terminal.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

// The program's own answers, without descriptions.
std::vector<std::string> asked(const std::string& words) {
  const Result r = run("RPCRDMA complete " + words);
  EXPECT_EQ(r.status, 0) << r.err;
  std::vector<std::string> all = lines(r.out);
  for (std::string& line : all) line.resize(std::min(line.size(), line.find('\t')));
  return all;
}

TEST(Completion, Commands) {
  EXPECT_THAT(asked("dec"), ElementsAre("decode"));
  EXPECT_THAT(asked("''"), IsSupersetOf({"decode", "capture", "analyze", "extract", "header",
                                         "rules", "completion", "man"}));
  EXPECT_THAT(asked("''"), Not(Contains("complete")));
  EXPECT_THAT(asked("man de"), ElementsAre("decode"));
}

TEST(Completion, Options) {
  EXPECT_THAT(asked("decode --ty"), ElementsAre("--type"));
  EXPECT_THAT(asked("decode -"), IsSupersetOf({"-v", "--verbose", "--json", "-j", "--jobs"}));
  EXPECT_THAT(asked("--ver"), ElementsAre("--version"));
  EXPECT_THAT(asked("decode -- --ty"), ElementsAre(":files"));
}

TEST(Completion, Values) {
  EXPECT_THAT(asked("decode --type re"), ElementsAre("reply"));
  EXPECT_THAT(asked("decode --type=re"), ElementsAre("--type=reply"));
  EXPECT_THAT(asked("decode --type = re"), ElementsAre("reply"));  // as bash has it
  EXPECT_THAT(asked("decode --type call,rdma_n"), ElementsAre("call,RDMA_NOMSG"));
  EXPECT_THAT(asked("extract --kind ''"), ElementsAre("read", "write", "reply"));
  EXPECT_THAT(asked("export --format ''"), ElementsAre("perfetto", "qlog"));
  EXPECT_THAT(asked("header --as p"), ElementsAre("private-data"));
  EXPECT_THAT(asked("completion ''"), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(asked("completion bash ''"), IsEmpty());
  EXPECT_THAT(asked("rules fc-0"), AllOf(Contains("FC-01"), Each(StartsWith("FC-0"))));
  EXPECT_THAT(asked("rules FC-01 HDR-0"), Contains("HDR-01"));
  EXPECT_THAT(asked("capture --user roo"), ElementsAre("root"));
  EXPECT_THAT(asked("decode --xid ''"), IsEmpty());
  EXPECT_THAT(asked("load --procedure echo,si"), ElementsAre("echo,sink"));
  EXPECT_THAT(asked("load --procedure mi"), ElementsAre("mix"));
}

TEST(Completion, FieldsOfAFilter) {
  EXPECT_THAT(asked("decode -Y rpcrdma.lat"), ElementsAre("rpcrdma.latency"));
  EXPECT_THAT(asked("extract --filter 'rpcrdma.xid == 1 && !(rpcrdma.lat'"),
              ElementsAre("rpcrdma.xid == 1 && !(rpcrdma.latency"));
  EXPECT_THAT(asked("fields nfs.stat"),
              ElementsAre("nfs.status", "nfs.stateid", "nfs.status_flags"));
  // No message has the field, so filters must not use it.
  EXPECT_THAT(asked("decode -Y cm.reas"), IsEmpty());
}

TEST(Completion, Files) {
  EXPECT_THAT(asked("decode ''"), ElementsAre(":files"));
  EXPECT_THAT(asked("decode a.pcap --json b"), ElementsAre(":files"));
  EXPECT_THAT(asked("capture -w ''"), ElementsAre(":files"));
  EXPECT_THAT(asked("export -o ''"), ElementsAre(":files"));
  EXPECT_THAT(asked("extract -d ''"), ElementsAre(":directories"));
}

#ifdef RPCRDMA_LIVE
TEST(Completion, Interfaces) {
  EXPECT_THAT(asked("capture -i l"), Contains("lo"));
}
#endif

// `words`: the command line after the program.
std::vector<std::string> in_bash(const std::string& words) {
  const Result r =
      run("source <(RPCRDMA completion bash) || exit 9; complete -p rpcrdma >/dev/null || exit 8\n"
          "cd " RPCRDMA_TEST_CAPTURES "\nCOMP_WORDS=(" RPCRDMA_COMMAND " " +
          words +
          "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rpcrdma; printf '%s\\n' \"${COMPREPLY[@]}\"");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  return lines(r.out);
}

TEST(Completion, Bash) {
  EXPECT_THAT(in_bash("dec"), ElementsAre("decode"));
  EXPECT_THAT(in_bash("decode --type r"), Contains("reply"));
  EXPECT_THAT(in_bash("decode --type = re"), ElementsAre("reply"));
  EXPECT_THAT(in_bash("decode linux-nfs4"), ElementsAre("linux-nfs41.pcap"));
  EXPECT_THAT(in_bash("decode linux-"), Contains("linux-nfs3.pcap"));
  EXPECT_THAT(in_bash("extract -d ../cap"), ElementsAre("../captures"));
}

std::vector<std::string> in_zsh(const std::string& words) {
  const TemporaryFolder folder;
  // The arguments that zsh's completion system would get.
  write_file(folder.file("ask"),
             "compdef() { registered=\"$*\" }\n"
             "_describe() { print -rl -- ${(P)2} }\n"
             "_files() { print -r -- files $* }\n"
             "source <(" RPCRDMA_COMMAND
             " completion zsh) || exit 9\n"
             "[[ $registered = '_rpcrdma rpcrdma' ]] || exit 8\n"
             "words=(" RPCRDMA_COMMAND " " +
                 words + ") CURRENT=${#words}\n_rpcrdma\n");
  const Result r = run("zsh -f " + folder.file("ask"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  return lines(r.out);
}

TEST(Completion, Zsh) {
  EXPECT_THAT(in_zsh("dec"), ElementsAre(StartsWith("decode:Print every")));
  EXPECT_THAT(in_zsh("decode --type re"), ElementsAre("reply"));
  EXPECT_THAT(in_zsh("decode ''"), ElementsAre(StartsWith("files")));
  EXPECT_THAT(in_zsh("extract -d ''"), ElementsAre("files -/"));
  EXPECT_THAT(in_zsh("rules FC-01"), ElementsAre(StartsWith("FC-01:")));
}

std::vector<std::string> in_fish(const std::string& line) {
  const Result r = run("cd " RPCRDMA_TEST_CAPTURES "; export PATH=$(dirname " RPCRDMA_COMMAND
                       "):$PATH; export HOME=$(mktemp -d); "
                       "fish --no-config -c 'rpcrdma completion fish | source; complete -C\"" +
                       line + "\"'; rm -rf \"$HOME\"");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  return lines(r.out);
}

TEST(Completion, Fish) {
  EXPECT_THAT(in_fish("rpcrdma dec"), ElementsAre(StartsWith("decode\tPrint every")));
  EXPECT_THAT(in_fish("rpcrdma decode --ty"), ElementsAre(StartsWith("--type\t")));
  EXPECT_THAT(in_fish("rpcrdma decode --type re"), ElementsAre("reply"));
  EXPECT_THAT(in_fish("rpcrdma decode linux-nfs4"), Contains(StartsWith("linux-nfs41.pcap")));
}

// Completed, a file's name is one literal argument, whatever it holds: the shell's own terminal is
// typed into, in folders with one file each.
TEST(Completion, NamesOfFilesRunNothing) {
  struct Shell {
    std::string name;
    std::vector<std::string> arguments;
    std::string setup;
  };
  const std::vector<Shell> shells{
      {"bash", {"--norc", "--noprofile", "-i"}, "source <(rpcrdma completion bash)"},
      {"zsh",
       {"-f", "-i"},
       "autoload -Uz compinit; compinit -u -D; source <(rpcrdma completion zsh)"},
      {"fish", {"--no-config", "-i"}, "rpcrdma completion fish | source"}};
  const std::vector<std::string> names{
      "$(touch pwned)", "`touch pwned`", "a b;touch pwned",    "x&touch pwned&",
      "|touch pwned",   "$HOME",         "a'b\"c;touch pwned", "!!"};
  for (const Shell& shell : shells) {
    SCOPED_TRACE(shell.name);
    const TemporaryFolder folder;
    Terminal terminal(shell.arguments, 200, 24, shell.name);
    const std::string own = std::filesystem::path(RPCRDMA_COMMAND).parent_path();
    std::string keys = " export PATH=" + own + ":$PATH\n export HOME=" + folder.path() + "\n " +
                       shell.setup + '\n';
    const auto complete_in = [&](const std::string& at, const std::string& file) {
      std::filesystem::create_directory(folder.file(at));
      write_file(folder.file(at + '/' + file), "no capture");
      keys += " cd " + folder.file(at) + "\nrpcrdma decode \t\n";
    };
    for (std::size_t i = 0; i < names.size(); ++i) complete_in(std::to_string(i), names[i]);
    // A shell may offer its parts, which name no files.
    complete_in("lines", "a\n;touch pwned\n");
    terminal.type(keys + "exit\n");
    terminal.finish();
    for (const std::string& name : names) {
      EXPECT_THAT(terminal.all(), HasSubstr("rpcrdma: " + name + ": "));
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      EXPECT_NE(entry.path().filename(), "pwned") << entry.path();
    }
  }
}

TEST(Completion, OnlyLiteralWordsAreOffered) {
  const TemporaryFolder folder;
  // The names of files are the shell's.
  write_file(folder.file("$(touch pwned)"), "");
  EXPECT_THAT(run("cd " + folder.path() + "; RPCRDMA complete decode ''").out, ":files\n");
  // What the user typed stays as it is.
  EXPECT_THAT(asked("decode -Y '$(id) && rpcrdma.lat'"), ElementsAre("$(id) && rpcrdma.latency"));
}

std::string page_of(const std::string& command) {
  const Result r = run("RPCRDMA man " + command);
  EXPECT_EQ(r.status, 0) << r.err;
  return r.out;
}

// Escapes text as in roff.
std::string in_roff(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\\-");
  }
  return text;
}

TEST(Man, PagesNameEveryOption) {
  std::vector<std::string> commands = asked("''");
  ASSERT_GE(commands.size(), 8U);
  for (const std::string& command : commands) {
    EXPECT_THAT(page_of(""), HasSubstr("\\fB" + in_roff(command) + "\\fR"));
    const std::string page = page_of(command);
    for (const std::string& option : asked(command + " -")) {
      EXPECT_THAT(page, HasSubstr("\\fB" + in_roff(option) + "\\fR")) << command;
    }
  }
}

TEST(Man, PagesRenderWithoutWarnings) {
  const TemporaryFolder folder;
  EXPECT_EQ(run("RPCRDMA man -d " + folder.path()).status, 0);
  std::size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++pages;
    const Result r = run("groff -man -Tutf8 -P-cbou -ww " + entry.path().string());
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.err, "") << entry.path();
    EXPECT_THAT(r.out, AllOf(HasSubstr("SYNOPSIS"), HasSubstr("EXIT STATUS")));
  }
  EXPECT_EQ(pages, asked("''").size() + 1);
}

TEST(Man, Refused) {
  const Result r = run("RPCRDMA man nonsense");
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("nonsense: no such command"));
  EXPECT_EQ(run("RPCRDMA man -d /nonexistent/folder").status, 2);
}

}  // namespace
}  // namespace rpcrdma::e2e
