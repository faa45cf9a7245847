// Tests what a description shows, which arguments the parser accepts with it, and the error lines
// for those it rejects.
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/command_line/parse.h>

namespace rpcrdma::command_line {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Outcome = Parsed::Outcome;

// A program with a command that has every kind of option.
struct Program {
  Program() {
    root.version("tool 1.2.3");
    Command& copy = root.command("copy", "Copy files");
    copy.argument("FILE", files, "What is copied").required();
    copy.flag("-v,--verbose", verbose, "Say more");
    copy.option("-p,--port", port, "Where to").value("PORT").show_default().whole_number();
    copy.option("--count", count, "How many");
    copy.option("--large", large, "A large number").whole_number();
    copy.option("--rate", rate, "How fast").range(0.5, 2);
    copy.option("--kind", kind, "Which").value("KIND").one_of({"fast", "safe"}).show_default();
    copy.option("--index", index, "Of the port").value("N").needs("--port");
    copy.option("--only", only, "A choice").value("NAME").delimiter(',').one_word();
    copy.option("--all-of", all_of, "Until the next option").value("NAME");
    copy.option(
        "--user", [this](const std::string& who) { user += who; }, "Whose");
    copy.option("--into", into, "A folder").value("DIR").check([](const std::string& text) {
      return text == "-" ? std::string("needs a name") : std::string();
    });
    Option& quiet = copy.flag("-q,--quiet", silent, "Say nothing").excludes("--verbose");
    copy.flag("--json", json, "For programs").excludes(quiet);
    copy.footer("Exit status: 0.");
    copy.example("tool copy a", "One file.");
    root.command("show", "Show a file").argument("NAME", name, "Its name");
  }

  Parsed parse(const std::vector<const char*>& words) {
    std::vector<const char*> argv{"tool"};
    argv.insert(argv.end(), words.begin(), words.end());
    return command_line::parse(root, static_cast<int>(argv.size()), argv.data());
  }
  // Returns the line with which it rejects the arguments.
  std::string refusal(const std::vector<const char*>& words) {
    const Parsed parsed = parse(words);
    EXPECT_EQ(parsed.outcome, Outcome::kRefused);
    return parsed.text;
  }
  [[nodiscard]] const Option& option(const char* which) const {
    return *root.find_command("copy")->find_option(which);
  }

  Command root{"tool", "A program that copies and shows files."};
  std::vector<std::string> files, only, all_of;
  bool verbose = false, silent = false, json = false;
  std::uint32_t port = 20049, count = 7;
  std::uint64_t large = 0;
  double rate = 1;
  std::string kind = "safe", into, user, name;
  std::optional<std::uint32_t> index;
};

TEST(CommandLine, SetsTheVariablesOfWhatIsGiven) {
  Program p;
  const Parsed parsed = p.parse({"copy", "a", "b", "-v", "--port", "0x10", "--count=3", "--rate",
                                 "1.5", "--kind", "fast", "--index", "2", "--user", "me"});
  ASSERT_EQ(parsed.outcome, Outcome::kRun) << parsed.text;
  EXPECT_EQ(parsed.command, p.root.find_command("copy"));
  EXPECT_THAT(p.files, ElementsAre("a", "b"));
  EXPECT_TRUE(p.verbose);
  EXPECT_EQ(p.port, 16U);
  EXPECT_EQ(p.count, 3U);
  EXPECT_EQ(p.rate, 1.5);
  EXPECT_EQ(p.kind, "fast");
  EXPECT_EQ(p.index, 2U);
  EXPECT_EQ(p.user, "me");
  EXPECT_TRUE(p.option("--port").given());
}

TEST(CommandLine, LeavesTheOthersAsTheyAre) {
  Program p;
  ASSERT_EQ(p.parse({"copy", "a"}).outcome, Outcome::kRun);
  EXPECT_FALSE(p.verbose);
  EXPECT_EQ(p.port, 20049U);
  EXPECT_EQ(p.kind, "safe");
  EXPECT_EQ(p.index, std::nullopt);
  EXPECT_FALSE(p.option("--port").given());
}

TEST(CommandLine, OfAnOptionGivenSeveralTimesTheLastHolds) {
  Program p;
  const Parsed parsed = p.parse({"copy", "a",      "--port", "1",        "--rate", "2",  "--kind",
                                 "fast", "--user", "me",     "--port=2", "--rate", "1",  "--kind",
                                 "safe", "--user", "you",    "-p",       "3",      "-v", "-v"});
  ASSERT_EQ(parsed.outcome, Outcome::kRun) << parsed.text;
  EXPECT_EQ(p.port, 3U);
  EXPECT_EQ(p.rate, 1);
  EXPECT_EQ(p.kind, "safe");
  EXPECT_EQ(p.user, "you");
  EXPECT_TRUE(p.verbose);
  // The others must be valid, too.
  EXPECT_THAT(p.refusal({"copy", "a", "--port", "x", "--port", "2"}), HasSubstr("--port x"));
  // A list has all of them.
  ASSERT_EQ(p.parse({"copy", "a", "--only", "b", "--only", "c,d"}).outcome, Outcome::kRun);
  EXPECT_THAT(p.only, ElementsAre("b", "c", "d"));
}

TEST(CommandLine, TheHelpHasOptionsOfOneGroupTogether) {
  Command root("tool", "A program.");
  bool a = false, b = false, c = false, d = false;
  root.flag("--first", a, "In no group");
  root.group("Speed");
  root.flag("--fast", b, "One");
  root.group("");
  root.flag("--second", c, "In no group");
  root.group("Speed");
  root.flag("--slow", d, "Another");
  const std::array<const char*, 2> argv{"tool", "--help"};
  const std::string help = command_line::parse(root, 2, argv.data()).text;
  EXPECT_LT(help.find("--second"), help.find("\nSpeed:\n")) << help;
  EXPECT_LT(help.find("\nSpeed:\n"), help.find("--fast")) << help;
  EXPECT_LT(help.find("--fast"), help.find("--slow")) << help;
  EXPECT_LT(help.find("--first"), help.find("--second")) << help;
}

TEST(CommandLine, AnEmptyValueIsGiven) {
  Program p;
  ASSERT_EQ(p.parse({"copy", "a", "--into", ""}).outcome, Outcome::kRun);
  EXPECT_TRUE(p.option("--into").given());
  EXPECT_EQ(p.into, "");
}

TEST(CommandLine, ListsTakeOneWordOrAllThatFollow) {
  Program p;
  ASSERT_EQ(p.parse({"copy", "--only", "a,b", "f", "--all-of", "c", "d", "-v", "g"}).outcome,
            Outcome::kRun);
  EXPECT_THAT(p.only, ElementsAre("a", "b"));
  EXPECT_THAT(p.all_of, ElementsAre("c", "d"));
  EXPECT_THAT(p.files, ElementsAre("f", "g"));
}

TEST(CommandLine, BehindTwoDashesAllAreArguments) {
  Program p;
  ASSERT_EQ(p.parse({"copy", "--", "-v"}).outcome, Outcome::kRun);
  EXPECT_THAT(p.files, ElementsAre("-v"));
  EXPECT_FALSE(p.verbose);
}

TEST(CommandLine, RefusesInOneLine) {
  Program p;
  EXPECT_EQ(p.refusal({"copy"}), "copy: FILE is required (see `tool copy --help`)");
  EXPECT_EQ(p.refusal({"copy", "a", "--nonsense"}),
            "copy: --nonsense: no such option (see `tool copy --help`)");
  EXPECT_EQ(p.refusal({"show", "a", "b"}), "show: b: not expected here (see `tool show --help`)");
  EXPECT_EQ(p.refusal({"nonsense"}), "nonsense: no such command (see `tool --help`)");
  EXPECT_EQ(p.refusal({}), "a subcommand is required (see `tool --help`)");
  EXPECT_EQ(p.refusal({"copy", "a", "--port"}),
            "copy: --port: 1 required PORT missing (see `tool copy --help`)");
  EXPECT_EQ(p.refusal({"copy", "a", "--count", "x"}),
            "copy: --count x: not a whole number, or too large (see `tool copy --help`)");
  EXPECT_EQ(p.refusal({"copy", "a", "--count", "4294967296"}),
            "copy: --count 4294967296: not a whole number, or too large (see `tool copy --help`)");
  EXPECT_THAT(p.refusal({"copy", "a", "--kind", "odd"}), HasSubstr("odd not in {fast,safe}"));
  EXPECT_THAT(p.refusal({"copy", "a", "--rate", "3"}),
              testing::ContainsRegex("Value 3 not in range \\[?0.5"));
  EXPECT_THAT(p.refusal({"copy", "a", "--into", "-"}), HasSubstr("needs a name"));
  EXPECT_THAT(p.refusal({"copy", "a", "-v", "-q"}), HasSubstr("--verbose excludes --quiet"));
  EXPECT_THAT(p.refusal({"copy", "a", "--json", "-q"}), HasSubstr("excludes"));
  EXPECT_THAT(p.refusal({"copy", "a", "--index", "1"}), HasSubstr("--index requires --port"));
}

TEST(CommandLine, WholeNumbersHaveNoSignAndFit) {
  Program p;
  for (const char* bad : {"-5", "18446744073709551616", "1.5", "", "0x"}) {
    EXPECT_THAT(p.refusal({"copy", "a", "--large", bad}), HasSubstr("not a whole number")) << bad;
  }
  ASSERT_EQ(p.parse({"copy", "a", "--large", "18446744073709551615"}).outcome, Outcome::kRun);
  EXPECT_EQ(p.large, UINT64_MAX);
}

TEST(CommandLine, ShowsVersionAndHelp) {
  Program p;
  Parsed parsed = p.parse({"--version"});
  EXPECT_EQ(parsed.outcome, Outcome::kShow);
  EXPECT_EQ(parsed.text, "tool 1.2.3\n");
  parsed = p.parse({"copy", "--help"});
  EXPECT_EQ(parsed.outcome, Outcome::kShow);
  EXPECT_THAT(parsed.text, testing::StartsWith("Copy files\nUsage: tool copy [OPTIONS] FILE...\n"));
  EXPECT_THAT(p.parse({"-h"}).text,
              testing::StartsWith("A program that copies and shows files.\nUsage: tool "));
}

TEST(CommandLine, HelpHasAllInTheOrderOfDefinition) {
  Program p;
  const std::string text = p.parse({"copy", "--help"}).text;
  EXPECT_THAT(text, HasSubstr("FILE TEXT ... REQUIRED"));
  EXPECT_THAT(text, testing::ContainsRegex("-p,--port PORT(=20049| \\[20049\\])"));
  EXPECT_THAT(text, testing::ContainsRegex("--kind KIND:\\{fast,safe\\}(=safe| \\[safe\\])"));
  EXPECT_THAT(text, HasSubstr("--rate FLOAT:FLOAT in [0.5 - 2]"));
  EXPECT_THAT(text, testing::EndsWith("Exit status: 0.\n"));
  std::size_t at = 0;
  for (const char* name :
       {"-h,--help ", "-v,--verbose ", "-p,--port ", "--count ", "--large ", "--rate ", "--kind ",
        "--index ", "--only ", "--all-of ", "--user ", "--into ", "-q,--quiet ", "--json "}) {
    const std::size_t found = text.find(std::string("\n  ") + name);
    ASSERT_NE(found, std::string::npos) << name;
    EXPECT_GT(found, at) << name;
    at = found;
  }
  const std::string program = p.parse({"--help"}).text;
  EXPECT_LT(program.find("\n  copy "), program.find("\n  show "));
}

TEST(CommandLine, DescriptionIsData) {
  const Program p;
  const Command& copy = *p.root.find_command("copy");
  EXPECT_EQ(copy.parent(), &p.root);
  ASSERT_EQ(copy.examples().size(), 1U);
  EXPECT_EQ(copy.examples()[0].line, "tool copy a");
  const OptionSpec& port = p.option("-p").spec();
  EXPECT_THAT(port.short_names, ElementsAre("p"));
  EXPECT_THAT(port.long_names, ElementsAre("port"));
  EXPECT_EQ(port.value_name, "PORT");
  EXPECT_EQ(port.default_text, "20049");
  EXPECT_EQ(p.option("--kind").spec().choices, (std::vector<std::string>{"fast", "safe"}));
  EXPECT_TRUE(p.option("FILE").spec().list);
  EXPECT_FALSE(p.option("--verbose").takes_value());
  EXPECT_EQ(p.option("-q").name(), "--quiet");
  // Each is in the other's list.
  EXPECT_THAT(p.option("--quiet").spec().excludes,
              ElementsAre(&p.option("--verbose"), &p.option("--json")));
  EXPECT_THAT(p.option("--json").spec().excludes, ElementsAre(&p.option("--quiet")));
  EXPECT_EQ(copy.find_option("--nonsense"), nullptr);
  EXPECT_EQ(copy.find_option("-"), nullptr);
}

TEST(CommandLine, AnOptionThatIsNotThereCannotBeExcluded) {
  Command command("tool", "Does little.");
  bool flag = false;
  EXPECT_THROW(command.flag("-a", flag, "A").excludes("--later"), std::logic_error);
}

TEST(CommandLine, AProgramWithoutCommands) {
  Command program("tool", "Does little.");
  std::uint32_t length = 0;
  program.option("--length", length, "Bytes").range(0, 65535);
  const auto parse_words = [&](std::array<const char*, 3> words) {
    return parse(program, 3, words.data());
  };
  EXPECT_EQ(parse_words({"tool", "--length", "65535"}).command, &program);
  EXPECT_EQ(length, 65535U);
  // Versions of CLI11 print the range differently.
  EXPECT_THAT(
      parse_words({"tool", "--length", "65536"}).text,
      testing::ContainsRegex("^--length: Value 65536 not in range (0 to 65535|\\[0 - 65535\\]) "
                             "\\(see `tool --help`\\)$"));
  EXPECT_EQ(parse_words({"tool", "--length", "-1"}).outcome, Outcome::kRefused);
  EXPECT_EQ(parse_words({"tool", "--length", "5"}).outcome, Outcome::kRun);
  EXPECT_THAT(parse(program, 2, std::array{"tool", "--help"}.data()).text,
              HasSubstr("--length UINT:UINT in [0 - 65535]"));
}

// CLI11 takes seconds in each file that includes it.
TEST(CommandLine, OnlyTheParserIncludesCli11) {
  namespace fs = std::filesystem;
  std::vector<std::string> users;
  for (const char* folder : {"cli", "wireshark-plugin/extcap"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(RPCRDMA_SOURCES) / folder)) {
      const std::string suffix = entry.path().extension();
      if (suffix != ".cc" && suffix != ".h") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#include <CLI/")) users.push_back(entry.path().filename());
      }
    }
  }
  EXPECT_THAT(users, testing::UnorderedElementsAre("parse.cc", "config_file.cc"));
}

}  // namespace
}  // namespace rpcrdma::command_line
