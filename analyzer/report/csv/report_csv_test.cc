#include "csv_row.h"
#include "report_for_tests.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/report/report_csv.h>

namespace rpcrdma::report {
namespace {

TEST(Csv, CellsAreQuotedWhereTheyMust) {
  CsvRow row;
  row.text("plain").text("a,b").text("say \"no\"").text("two\nlines").none().number(7U);
  EXPECT_EQ(row.take(), "plain,\"a,b\",\"say \"\"no\"\"\",\"two\nlines\",,7\r\n");
  EXPECT_EQ(row.text("next").take(), "next\r\n");
}

TEST(Csv, NoTextIsAFormula) {
  CsvRow row;
  row.text("=1+1").text("+1").text("-1").text("@SUM(A1)").text("\tx").text("1=1").number(-1);
  EXPECT_EQ(row.take(), "'=1+1,'+1,'-1,'@SUM(A1),'\tx,1=1,-1\r\n");
}

// Parses a table into cells by RFC 4180.
std::vector<std::vector<std::string>> parse(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text.compare(i, 2, "\"\"") == 0) {
      rows.back().back() += '"';
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == ',') {
      rows.back().emplace_back();
    } else if (!quoted && text.compare(i, 2, "\r\n") == 0) {
      rows.push_back({""});
      ++i;
    } else {
      rows.back().back() += text[i];
    }
  }
  EXPECT_EQ(rows.back(), std::vector<std::string>{""}) << "no end of the last line";
  rows.pop_back();
  return rows;
}

std::string table(const Report& r, Table t) {
  std::string out;
  write_csv(r, t, [&](std::string_view text) { out += text; });
  return out;
}

TEST(Csv, EveryTableIsRectangular) {
  const std::string evil = "=cmd|' /C calc'!A0,\"x\"\r\n<b>";
  for (const Table t : kTables) {
    const auto rows = parse(table(report_with(evil), t));
    ASSERT_GE(rows.size(), 2U) << table_file(t);
    for (const auto& row : rows) {
      EXPECT_EQ(row.size(), rows[0].size()) << table_file(t);
      for (const std::string& cell : row) {
        EXPECT_FALSE(cell.starts_with('=')) << table_file(t) << ": " << cell;
      }
    }
    // An empty report has only the column names.
    EXPECT_EQ(parse(table(Report{}, t)), (std::vector<std::vector<std::string>>{rows[0]}));
  }
}

std::string cell(const std::vector<std::vector<std::string>>& rows, const std::string& name) {
  const auto at = std::find(rows[0].begin(), rows[0].end(), name);
  return at == rows[0].end() ? "no column " + name
                             : rows[1][static_cast<std::size_t>(at - rows[0].begin())];
}

TEST(Csv, WithoutAMessageThereIsNoVersion) {
  Report r = report_with("10.0.0.2");
  EXPECT_EQ(cell(parse(table(r, Table::kConnections)), "version"), "1");
  r.connections[0].version = 0;
  EXPECT_EQ(cell(parse(table(r, Table::kConnections)), "version"), "");
}

TEST(Csv, ValuesStandUnderTheirNames) {
  const Report r = report_with("10.0.0.2");
  const auto connections = parse(table(r, Table::kConnections));
  EXPECT_EQ(cell(connections, "client"), "10.0.0.2");
  EXPECT_EQ(cell(connections, "client_qpn"), "17");
  EXPECT_EQ(cell(connections, "server_qpn"), "");
  EXPECT_EQ(cell(connections, "calls_without_answer"), "1");
  EXPECT_EQ(cell(connections, "credits_granted"), "64");
  EXPECT_EQ(cell(connections, "server_retransmitted"), "3");
  const auto procedures = parse(table(r, Table::kProcedures));
  EXPECT_EQ(cell(procedures, "program"), "100003");
  EXPECT_EQ(cell(procedures, "latency_max_us"), "3000.000");
  const auto findings = parse(table(r, Table::kFindings));
  EXPECT_EQ(cell(findings, "rule"), "FC-01");
  EXPECT_EQ(cell(findings, "frames"), "5 9");
  EXPECT_EQ(cell(findings, "count"), "3");
  const auto calls = parse(table(r, Table::kCallsOverTime));
  EXPECT_EQ(cell(calls, "calls"), "2");
  EXPECT_EQ(cell(calls, "read_bytes"), "4096");
  const auto credits = parse(table(r, Table::kCredits));
  EXPECT_EQ(credits.size(), 3U);
  EXPECT_EQ(cell(credits, "requested_max"), "128");
  EXPECT_EQ(cell(credits, "granted_min"), "64");
}

TEST(Csv, NoReplyIsNotAGrantOfZero) {
  Report r;
  CreditSeries& s = r.credits.emplace_back().direction[0];
  s.at(0).request(128, 1);
  EXPECT_EQ(cell(parse(table(r, Table::kCredits)), "requested_max"), "128");
  EXPECT_EQ(cell(parse(table(r, Table::kCredits)), "granted_min"), "");
  EXPECT_EQ(cell(parse(table(r, Table::kCredits)), "granted_max"), "");
  s.at(0).grant(0);
  EXPECT_EQ(cell(parse(table(r, Table::kCredits)), "granted_min"), "0");
  EXPECT_EQ(cell(parse(table(r, Table::kCredits)), "granted_max"), "0");
}

}  // namespace
}  // namespace rpcrdma::report
