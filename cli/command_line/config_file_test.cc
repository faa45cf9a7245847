// Configuration files: what the options become, and the line of each error.
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <rpcrdma/command_line/config_file.h>
#include <rpcrdma/command_line/parse.h>

namespace rpcrdma::command_line {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A command with an option of every kind, and a file.
struct Configured {
  Configured() {
    Command& serve = root.command("serve", "Serve");
    serve.config_file(file).value("FILE");
    serve.flag("-q,--quiet", quiet, "Say nothing");
    serve.option("-l,--listen", listen, "Where").value("ADDRESS").required();
    serve.option("--port", port, "Which port").whole_number().show_default();
    serve.option("--fault", faults, "Faults").value("PLAN").one_word();
    serve.option("--kind", kind, "Which").one_of({"fast", "safe"});
    serve.option("--index", index, "Of the port").needs("--port");
    serve.option("--rate", rate, "How fast");
    serve.option(
        "--name", [this](const std::string& text) { name = text; }, "Its name");
    serve.flag("--print-config", print, "Print").meta();
    root.command("other", "Another command");
  }
  ~Configured() { ::unlink(path.c_str()); }

  // Returns the refusal, or nothing.
  std::string parse(const std::string& text, std::vector<std::string> more = {}) {
    std::ofstream(path) << text;
    std::vector<std::string> words{"tool", "serve", "--config", path};
    words.insert(words.end(), more.begin(), more.end());
    const Parsed parsed = command_line::parse(root, words);
    EXPECT_EQ(parsed.outcome == Parsed::Outcome::kRun, parsed.text.empty());
    return parsed.text;
  }
  // `text` is refused for this line.
  void expect_refused(const std::string& text, int line, const std::string& why) {
    const std::string refusal = parse(text);
    EXPECT_THAT(refusal, HasSubstr("serve: --config " + path + ":" + std::to_string(line) + ": "));
    EXPECT_THAT(refusal, HasSubstr(why));
  }

  Command root{"tool", "A tool."};
  std::string path = [] {
    std::string file_name = "/tmp/rpcrdma-config-XXXXXX";
    ::close(::mkstemp(file_name.data()));
    return file_name;
  }();
  std::string file, listen, kind, name;
  bool quiet = false, print = false;
  std::uint32_t port = 1;
  std::optional<std::uint32_t> index;
  std::optional<double> rate;
  std::vector<std::string> faults;
};

TEST(ConfigFile, SetsOptionsOfAllKinds) {
  Configured c;
  EXPECT_EQ(c.parse("# a remark\n"
                    "[serve]\n"
                    "\n"
                    "listen = '10.0.0.1'  # where\n"
                    "port=7\n"
                    "quiet = true\n"
                    "fault = [ 'drop rate=0.1, 0.2', \"delay # all\" ,\n"
                    "          x ]\n"
                    "kind = \"safe\"\n"
                    "index = 3\n"
                    "rate = 1.5\n"
                    "name = 'a b, c'\n"),
            "");
  EXPECT_EQ(c.listen, "10.0.0.1");
  EXPECT_EQ(c.port, 7U);
  EXPECT_TRUE(c.quiet);
  EXPECT_THAT(c.faults, ElementsAre("drop rate=0.1, 0.2", "delay # all", "x"));
  EXPECT_EQ(c.kind, "safe");
  EXPECT_EQ(c.index, 3U);
  EXPECT_EQ(c.rate, 1.5);
  EXPECT_EQ(c.name, "a b, c");
}

TEST(ConfigFile, TheCommandLineWins) {
  Configured c;
  EXPECT_EQ(c.parse("listen = a\nport = 7\nfault = [x, y]\nquiet = false\nname = one\n",
                    {"-l", "b", "--fault", "z", "-q", "--name=two"}),
            "");
  EXPECT_EQ(c.listen, "b");
  EXPECT_EQ(c.port, 7U);
  EXPECT_THAT(c.faults, ElementsAre("z"));
  EXPECT_TRUE(c.quiet);
  EXPECT_EQ(c.name, "two");
}

TEST(ConfigFile, EmptyTextAndAnEmptyListAreValues) {
  Configured c;
  EXPECT_EQ(c.parse("listen = a\nname = ''\nport = 8\nfault = []\n"), "");
  EXPECT_EQ(c.name, "");
  EXPECT_EQ(c.port, 8U);
  EXPECT_TRUE(c.faults.empty());
}

TEST(ConfigFile, ErrorsNameTheLine) {
  Configured c;
  c.expect_refused("\nlisten = a\nprot = 7\n", 3, "prot: no such option of serve");
  c.expect_refused("listen = a\nport = seven\n", 2, "port seven: not a whole number");
  c.expect_refused("kind = slow\n", 1, "kind");
  c.expect_refused("quiet = perhaps\n", 1, "quiet: give true or false");
  c.expect_refused("port\n", 1, "not NAME = VALUE: port");
  c.expect_refused("port =\n", 1, "port: no value");
  c.expect_refused("port = 1 2\n", 1, "port: one value is expected");
  c.expect_refused("listen = [a, b]\n", 1, "listen: one value is expected");
  c.expect_refused("\n\nfault = [a,\nb\n", 3, "fault: the list has no end");
  c.expect_refused("[load]\n", 1, "[load]: the only section is [serve]");
  for (const std::string name : {"config", "print-config", "help", "l", "q", "", "--port"}) {
    c.expect_refused(name + " = 1\n", 1, "no such option of serve");
  }
}

TEST(ConfigFile, WhatIsNotReadableIsRefused) {
  Configured c;
  EXPECT_THAT(c.parse(std::string(kMostConfigBytes + 1, '#')), HasSubstr("longer than 1 MiB"));
  c.path = "/tmp";
  EXPECT_THAT(c.parse(""), HasSubstr("serve: --config /tmp: Is a directory"));
  c.path = "/tmp/rpcrdma-no-such-file";
  const Parsed parsed = command_line::parse(c.root, {"tool", "serve", "--config", c.path});
  EXPECT_THAT(parsed.text, HasSubstr(c.path + ": No such file or directory"));
}

TEST(ConfigFile, WhatTheCommandNeedsIsStillNeeded) {
  Configured c;
  EXPECT_THAT(c.parse("port = 7\n"), HasSubstr("--listen is required"));
}

TEST(ConfigFile, OneThatIsWrittenIsRead) {
  Configured c;
  ASSERT_EQ(c.parse("listen = a\nport = 7\nfault = ['x y', z]\nname = n\n"), "");
  const std::string text = config_text(*c.root.find_command("serve"));
  Configured again;
  ASSERT_EQ(again.parse(text), "") << text;
  EXPECT_EQ(again.listen, "a");
  EXPECT_EQ(again.port, 7U);
  EXPECT_EQ(again.name, "n");
  EXPECT_THAT(again.faults, ElementsAre("x y", "z"));
  EXPECT_EQ(config_text(*again.root.find_command("serve")), text);
  // What is not set is a comment.
  EXPECT_THAT(text, HasSubstr("# Faults\nfault = ['x y', 'z']\n"));
  EXPECT_THAT(text, HasSubstr("\n#rate = "));
  EXPECT_THAT(text, HasSubstr("\nquiet = false\n"));
}

TEST(ConfigFile, HostileBytesHarmNobody) {
  Configured c;
  for (const std::string& text :
       {std::string("\0\0\0", 3), std::string("=\n"), std::string("=====\n"), std::string("[\n"),
        std::string("]\n"), std::string("'=\"\n"), std::string("listen='\n"),
        std::string("listen = \"'\n"), std::string("fault = [[[[\n"), std::string("fault = ][\n"),
        std::string("fault = [,,,]\n"), std::string("\xff\xfe = \xff\n")}) {
    (void)c.parse(text);
  }
  EXPECT_EQ(c.parse("listen = a\r\nport = 2\r\n"), "");
  EXPECT_EQ(c.port, 2U);
}

}  // namespace
}  // namespace rpcrdma::command_line
