#include "overview_model.h"

#include "overview_for_tests.h"

#include <QRegularExpression>
#include <algorithm>

#include <gmock/gmock.h>

#include <rpcrdma/report/verdict.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::gui {
namespace {

using testing::report_of;

const FindingCard* card_of(const OverviewModel& m, const QString& rule) {
  for (const FindingCard& card : m.cards) {
    if (card.rule == rule) return &card;
  }
  return nullptr;
}

TEST(Overview, TheVerdictIsTheReports) {
  for (const char* const name : {"linux-nfs41.pcap", "cases/hung-32-calls-90s.pcap",
                                 "rules/RETX-STORM.pcap", "times/outage.pcap"}) {
    const report::Report r = report_of(name);
    EXPECT_EQ(overview_of(r, false).sentence.toStdString(), report::verdict(r).sentence()) << name;
  }
}

TEST(Overview, ADiagnosisIsACardWithPlainTitleTimeAndAdvice) {
  const OverviewModel m = overview_of(report_of("rules/RETX-STORM.pcap"), false);
  EXPECT_EQ(m.sign, Sign::kWarning);
  const FindingCard* const card = card_of(m, "RETX-STORM");
  ASSERT_NE(card, nullptr);
  EXPECT_EQ(card->title, "Packets are lost");
  EXPECT_EQ(card->sign, Sign::kWarning);
  EXPECT_NE(card->frame, 0u);
  EXPECT_FALSE(card->advice.isEmpty());
  EXPECT_EQ(m.counts[1], card->count);
  EXPECT_EQ(m.nothing, "");
}

TEST(Overview, ARuleOfASpecificationIsNamedByItsSentence) {
  const OverviewModel m = overview_of(report_of("rules/FC-02.pcap"), false);
  EXPECT_EQ(m.sign, Sign::kError);
  ASSERT_FALSE(m.cards.empty());
  EXPECT_EQ(m.cards.front().rule, "FC-02");
  EXPECT_TRUE(m.cards.front().title.startsWith("Broken rule: "));
}

TEST(Overview, TheWorstFindingsComeFirstAndDiagnosesBeforeOtherRules) {
  const OverviewModel m = overview_of(report_of("cases/hung-32-calls-90s.pcap"), false);
  ASSERT_EQ(m.cards.size(), 2u);
  EXPECT_EQ(m.cards[0].rule, "STALL");
  EXPECT_EQ(m.cards[1].rule, "HDR-10");
  EXPECT_NE(m.cards[0].spans.at(0).since_ns, 0);
}

TEST(Overview, NotesAreNoProblem) {
  const OverviewModel m = overview_of(report_of("linux-nfs41.pcap"), false);
  EXPECT_TRUE(m.cards.empty());
  EXPECT_EQ(m.nothing, "No problem found in 100 messages.");
  EXPECT_FALSE(m.notes.empty());
}

// A rule is judged, or withheld, or its data are not there; each is in one of these numbers.
TEST(Overview, EveryRuleIsCountedOnce) {
  const report::Report r = report_of("linux-nfs41.pcap");
  const OverviewModel m = overview_of(r, false);
  std::size_t all = 0;
  for (const rules::Rule& rule : rules::rules()) {
    all += rule.where != rules::Where::kEndpoint && rule.level(r.profile) != rules::Level::kOff;
  }
  const QRegularExpression numbers(
      "(\\d+) rules? judged(?:, (\\d+) withheld)?(?:, (\\d+) not judged)?");
  const auto match = numbers.match(m.judged);
  ASSERT_TRUE(match.hasMatch()) << m.judged.toStdString();
  EXPECT_EQ(match.captured(1).toULongLong() + match.captured(2).toULongLong() +
                match.captured(3).toULongLong(),
            all);
}

report::Report quiet() {
  report::Report r = report_of("linux-nfs41.pcap");
  r.findings.clear();
  r.inconclusive.clear();
  return r;
}

TEST(Overview, WithoutFindingsItSaysHowMuchWasJudged) {
  report::Report r = quiet();
  OverviewModel m = overview_of(r, false);
  EXPECT_EQ(m.nothing, "No problem found in 100 messages.");
  EXPECT_EQ(m.sign, Sign::kGood);
  // While data arrive, nothing is final.
  EXPECT_EQ(overview_of(r, true).nothing, "No problem found so far in 100 messages.");
  report::Inconclusive withheld;
  withheld.rule = "RETX-STORM";
  withheld.count = 1;
  withheld.reason = "the clock stepped back";
  r.inconclusive = {withheld};
  m = overview_of(r, false);
  EXPECT_EQ(m.nothing, "No problem found in what was judged of 100 messages.");
  EXPECT_EQ(m.sign, Sign::kUnknown);
  EXPECT_FALSE(m.sentence.contains("Healthy"));
  EXPECT_EQ(m.reasons, QStringList("RETX-STORM withheld: the clock stepped back"));
  EXPECT_TRUE(m.judged.contains("1 withheld"));
}

TEST(Overview, NothingIsHealthyWithoutMessages) {
  const OverviewModel m = overview_of(report::Report{}, false);
  EXPECT_EQ(m.sign, Sign::kUnknown);
  EXPECT_EQ(m.nothing, "");
  EXPECT_EQ(m.judged, "No rule was judged.");
  for (const QString& text : {m.sentence, m.scope, m.judged}) {
    EXPECT_FALSE(text.contains("(yet)"));
    EXPECT_FALSE(text.contains("Healthy"));
  }
}

TEST(Overview, TilesAreTheReportsNumbers) {
  const report::Report r = report_of("rules/RETX-STORM.pcap");
  const OverviewModel m = overview_of(r, false);
  ASSERT_EQ(m.tiles.size(), 5u);
  EXPECT_EQ(m.tiles[4].value, QString("%L1").arg(r.capture.packets.retransmitted));
  double sum = 0;
  for (const double v : m.tiles[4].lines.at(0).values) sum += v;
  EXPECT_EQ(sum, static_cast<double>(r.capture.packets.retransmitted));
  EXPECT_TRUE(m.tiles[1].note.startsWith("at the capture point"));
  for (const OverviewTile& tile : m.tiles) {
    for (const auto& line : tile.lines) {
      EXPECT_EQ(line.values.size(), tile.lines.front().values.size()) << tile.title.toStdString();
    }
  }
}

TEST(Overview, CreditsAreThoseOfTheConnectionClosestToItsGrant) {
  const OverviewModel m = overview_of(report_of("linux-nfs41.pcap"), false);
  EXPECT_TRUE(m.tiles[2].value.startsWith("3 of ")) << m.tiles[2].value.toStdString();
}

TEST(Overview, TroubledConnectionsComeFirst) {
  report::Report r = report_of("linux-nfs41.pcap");
  r.findings.clear();
  report::Connection second = r.connections.front();
  second.id = 77;
  second.direction[0].calls = 1;
  r.connections.push_back(second);
  auto order = connections_by_trouble(r);
  ASSERT_EQ(order.size(), 2u);
  EXPECT_NE(order.front().id, 77u);  // more Calls
  report::Finding warning;
  warning.rule = "STALL";
  warning.severity = rules::Severity::kWarning;
  warning.connection = 77;
  r.findings = {warning};
  order = connections_by_trouble(r);
  EXPECT_EQ(order.front().id, 77u);
  EXPECT_EQ(order.front().findings[1], 1u);
}

TEST(Overview, SlowCallsAndConnectionsAreBounded) {
  const OverviewModel m = overview_of(report_of("linux-nfs41.pcap"), false);
  EXPECT_LE(m.slowest.size(), OverviewModel::kMostSlowCalls);
  ASSERT_FALSE(m.slowest.empty());
  EXPECT_TRUE(std::is_sorted(m.slowest.begin(), m.slowest.end(), [](const auto& a, const auto& b) {
    return a.latency_ns > b.latency_ns;
  }));
}

TEST(Overview, TextsFromOutsideAreOneLine) {
  report::Report r = report_of("linux-nfs41.pcap");
  report::Finding f;
  f.rule = "X\n<b>";
  f.text = "a\nb\x1b[31m";
  f.peer = "p\u202e";
  r.findings = {f};
  const OverviewModel m = overview_of(r, false);
  ASSERT_EQ(m.notes.size(), 1u);
  for (const QString& text :
       {m.notes[0].rule, m.notes[0].text, m.notes[0].side, m.notes[0].title}) {
    EXPECT_FALSE(text.contains('\n'));
    EXPECT_FALSE(text.contains(QChar(0x1b)));
    EXPECT_FALSE(text.contains(QChar(0x202e)));
  }
}

}  // namespace
}  // namespace rpcrdma::gui
