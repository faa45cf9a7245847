// The page for a browser, the tables for a spreadsheet, and plots in the terminal.
#include "support/command.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Page, OfEveryCaptureIsWellFormedAndAsksForNothing) {
  const TemporaryFolder folder;
  for (const char* name : {"linux-nfs41.pcap", "linux-nfs3.pcap", "linux-deleg.pcap",
                           "linux-non-rpc.pcap", "roce-icrc-oracle.pcap"}) {
    const std::string page = folder.file("page.html");
    const Result r = run("RPCRDMA analyze " + capture(name) + " --html " + page);
    EXPECT_NE(r.status, 2) << name << r.err;
    const Result parsed = run("xmllint --nonet --noout " + page);
    EXPECT_EQ(parsed.status, 0) << name << parsed.err;
    const std::string html = read_file(page);
    EXPECT_EQ(times(html, "://"), times(html, "\"http://www.w3.org/2000/svg\"")) << name;
    EXPECT_EQ(times(html, "href="), times(html, "href=\"#")) << name;
    EXPECT_EQ(times(html, "src=") + times(html, "url(") + times(html, "@import"), 0U) << name;
    // The page contains the first line of the text.
    EXPECT_NE(html.find(lines_of(r.out).at(0)), std::string::npos) << name;
  }
}

TEST(Page, ShowsWhatTheJsonShows) {
  const TemporaryFolder folder;
  const Result r = run("RPCRDMA analyze --json " + capture("linux-nfs41.pcap") + " --html " +
                       folder.file("page.html"));
  ASSERT_EQ(r.status, 0) << r.err;
  const json report = parse_json(r.out);
  const std::string html = read_file(folder.file("page.html"));
  ASSERT_FALSE(report["procedures"].empty());
  for (const json& p : report["procedures"]) {
    EXPECT_NE(html.find("<td>" + p["name"].get<std::string>() + "</td>"), std::string::npos) << p;
  }
  for (const json& c : report["connections"]) {
    for (const char* side : {"client", "server"}) {
      EXPECT_NE(html.find(c[side]["address"].get<std::string>() + " QP"), std::string::npos);
    }
  }
  EXPECT_NE(html.find("<h1>linux-nfs41.pcap</h1>"), std::string::npos);
  EXPECT_NE(html.find("Credits of connection 1"), std::string::npos);
}

TEST(Page, OfAFileWithAnEvilName) {
  const TemporaryFolder folder;
  const std::string name = folder.file("a<script>alert(1)<&\\\"b.pcap");
  const Result r = run("cp " + capture("linux-nfs41.pcap") + " \"" + name + "\"; cd " +
                       folder.path() + "; RPCRDMA analyze a* --html page.html");
  EXPECT_EQ(r.status, 0) << r.err;
  const std::string html = read_file(folder.file("page.html"));
  EXPECT_NE(html.find("b.pcap</h1>"), std::string::npos);
  EXPECT_EQ(times(html, "<script"), 1U);
  EXPECT_EQ(run("xmllint --nonet --noout " + folder.file("page.html")).status, 0);
}

// Returns the names in backquotes in the first column of the table under a heading.
std::string documented_columns(const std::string& heading) {
  std::string names;
  bool here = false;
  for (const std::string& line : lines_of(read_file(RPCRDMA_TEST_DOCS "/csv.md"))) {
    if (line.starts_with("## ")) here = line == "## " + heading;
    if (!here || !line.starts_with("| `")) continue;
    const std::string cell = line.substr(2, line.find(" |", 2) - 2);
    for (std::size_t at = 0; (at = cell.find('`', at)) != std::string::npos;) {
      const std::size_t end = cell.find('`', at + 1);
      names += (names.empty() ? "" : ",") + cell.substr(at + 1, end - at - 1);
      at = end + 1;
    }
  }
  return names;
}

TEST(Tables, HaveTheColumnsThatAreDocumented) {
  const TemporaryFolder folder;
  const Result r = run("RPCRDMA analyze --json " + capture("linux-nfs41.pcap") + " --csv " +
                       folder.file("new/tables"));
  ASSERT_EQ(r.status, 0) << r.err;
  for (const char* name :
       {"connections.csv", "procedures.csv", "findings.csv", "calls-over-time.csv", "credits.csv",
        "files.csv", "sessions.csv", "latency.csv"}) {
    const auto lines = lines_of(read_file(folder.file(std::string("new/tables/") + name)));
    ASSERT_FALSE(lines.empty()) << name;
    EXPECT_EQ(lines[0], documented_columns(name) + "\r") << name;
  }
  const json report = parse_json(r.out);
  EXPECT_EQ(lines_of(read_file(folder.file("new/tables/connections.csv"))).size(),
            report["connections"].size() + 1);
  EXPECT_EQ(lines_of(read_file(folder.file("new/tables/procedures.csv"))).size(),
            report["procedures"].size() + 1);
  EXPECT_EQ(lines_of(read_file(folder.file("new/tables/findings.csv"))).size(),
            report["findings"].size() + 1);
}

TEST(Files, ThatCannotBeWrittenGiveOneLine) {
  const std::string analyze = "RPCRDMA analyze " + capture("linux-nfs41.pcap");
  const TemporaryFolder folder;
  write_file(folder.file("file"), "");
  for (const std::string& options :
       {std::string(" --html /nonexistent/page.html"), std::string(" --html /"),
        " --csv " + folder.file("file"), std::string(" --html /dev/full"),
        std::string(" --json --plots")}) {
    const Result r = run(analyze + options);
    EXPECT_EQ(r.status, 2) << options;
    EXPECT_EQ(times(r.err, "\n"), 1U) << options << r.err;
    EXPECT_EQ(r.out, "") << options;
  }
}

TEST(Plots, AreForTerminalsAndForThoseWhoAsk) {
  const std::string analyze = "analyze " + capture("linux-nfs41.pcap");
  const std::string without = run("RPCRDMA " + analyze).out;
  EXPECT_EQ(without.find("Credits of connection"), std::string::npos);
  const std::string with = run("LC_ALL=C.UTF-8 COLUMNS=60 RPCRDMA " + analyze + " --plots").out;
  EXPECT_TRUE(with.starts_with(without));
  EXPECT_NE(with.find("Credits of connection 1"), std::string::npos);
  EXPECT_NE(with.find("┤"), std::string::npos);
  EXPECT_NE(with.find("Latency of all Calls"), std::string::npos);
  const auto on_terminal = [](const std::string& arguments) {
    return run("TERM=dumb script -qec '" RPCRDMA_COMMAND " " + arguments + "' /dev/null").out;
  };
  EXPECT_NE(on_terminal(analyze).find("Credits of connection"), std::string::npos);
  EXPECT_EQ(on_terminal(analyze + " --no-plots").find("Credits of connection"), std::string::npos);
}

TEST(Plots, KeepToTheWidthAndToAsciiWhereTheLocaleDoes) {
  const std::string analyze = "RPCRDMA analyze " + capture("linux-nfs41.pcap");
  const std::size_t text = run(analyze).out.size();
  for (const std::size_t width : {40U, 60U, 80U}) {
    const Result r = run("unset LC_ALL LC_CTYPE LANG; LC_ALL=C COLUMNS=" + std::to_string(width) +
                         " " + analyze + " --plots");
    const std::string plots = r.out.substr(text);
    EXPECT_NE(plots.find("+--"), std::string::npos);
    for (const std::string& line : lines_of(plots)) {
      EXPECT_LE(line.size(), width) << line;
      EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) {
        return c >= ' ' && c <= '~';
      })) << line;
    }
  }
}

}  // namespace
}  // namespace rpcrdma::e2e
