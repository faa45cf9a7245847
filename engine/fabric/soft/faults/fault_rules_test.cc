// Parsing of fault plans: rules, selectors, opcode names, and errors with their positions.
#include <string>

#include <gmock/gmock.h>

#include <rpcrdma/soft/fault_rules.h>

namespace rpcrdma::soft {
namespace {

FaultRule rule(std::string_view text) {
  const auto plan = parse_faults(text);
  EXPECT_TRUE(plan) << text << ": " << describe(plan.error());
  if (!plan || plan->rules.size() != 1) {
    ADD_FAILURE() << text;
    return {};
  }
  return plan->rules[0];
}

FaultSyntaxError error(std::string_view text) {
  const auto plan = parse_faults(text);
  EXPECT_FALSE(plan) << text;
  return plan ? FaultSyntaxError{0, 0, ""} : plan.error();
}

using Range = FaultRange;

TEST(FaultRules, OfNothingThereAreNone) {
  for (const char* text : {"", "  ", "\n\n", ";;", "# drop", " \t\r\n # drop; drop\n"}) {
    const auto plan = parse_faults(text);
    ASSERT_TRUE(plan) << text;
    EXPECT_TRUE(plan->rules.empty()) << text;
  }
}

TEST(FaultRules, LinesAndSemicolonsAndCommentsSeparate) {
  const auto plan = parse_faults("drop;duplicate # twice; corrupt\r\n\nreorder# x\ndelay\tby=1s");
  ASSERT_TRUE(plan) << describe(plan.error());
  std::string actions;
  for (const FaultRule& r : plan->rules) actions += std::string(fault_action_name(r.action)) + ",";
  EXPECT_EQ(actions, "drop,duplicate,reorder,delay,");
  EXPECT_EQ(plan->rules[3].text, "delay by=1s");
}

TEST(FaultRules, WhatIsNotGivenIsNotAskedFor) {
  const FaultRule r = rule("drop");
  EXPECT_EQ(r.action, FaultAction::kDrop);
  EXPECT_FALSE(r.direction || r.connection || r.queue_pair || r.ops || r.psn || r.message ||
               r.attempt || r.nth || r.rate || r.count);
  EXPECT_FALSE(rule("drop attempt=any").attempt);
}

TEST(FaultRules, EachSelector) {
  EXPECT_EQ(rule("drop dir=out").direction, FaultDirection::kOut);
  EXPECT_EQ(rule("drop dir=in").direction, FaultDirection::kIn);
  EXPECT_EQ(rule("drop conn=2").connection, (Range{2, 2}));
  EXPECT_EQ(rule("drop qp=0x11").queue_pair, (Range{0x11, 0x11}));
  EXPECT_EQ(rule("drop psn=0x10-0X20").psn, (Range{0x10, 0x20}));
  EXPECT_EQ(rule("drop psn=0xfffff0-3").psn, (Range{0xfffff0, 3}));
  EXPECT_EQ(rule("drop msg=3-").message, (Range{3, 0xffffffff}));
  EXPECT_EQ(rule("drop attempt=1").attempt, (Range{1, 1}));
  EXPECT_EQ(rule("drop attempt=2-").attempt, (Range{2, 0xffffffff}));
  EXPECT_EQ(rule("drop nth=3-5").nth, (Range{3, 5}));
  EXPECT_EQ(rule("drop rate=0.01").rate, 0.01);
  EXPECT_EQ(rule("drop rate=1").rate, 1.0);
  EXPECT_EQ(rule("drop rate=.5 seed=18446744073709551615").seed, ~std::uint64_t{0});
  EXPECT_EQ(rule("drop count=9").count, 9U);
}

TEST(FaultRules, EachParameter) {
  EXPECT_EQ(rule("reorder").hold, 1U);
  EXPECT_EQ(rule("reorder by=3").hold, 3U);
  EXPECT_EQ(rule("delay by=2ms").delay, 2 * fabric::kMillisecond);
  EXPECT_EQ(rule("delay by=7ns").delay, 7);
  EXPECT_EQ(rule("delay by=1.5us").delay, 1500);
  EXPECT_EQ(rule("delay by=0.25s jitter=1us").delay, 250 * fabric::kMillisecond);
  EXPECT_EQ(rule("delay by=0.25s jitter=1us").jitter, fabric::kMicrosecond);
  EXPECT_EQ(rule("corrupt byte=13").byte, 13U);
  EXPECT_EQ(rule("corrupt bit=7").bit, 7U);
}

TEST(FaultRules, SeedsDifferWhereNoneIsGiven) {
  const auto plan = parse_faults("drop rate=0.1\ncorrupt\ndrop rate=0.1 seed=7");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->rules[0].seed, 1U);
  EXPECT_EQ(plan->rules[1].seed, 2U);
  EXPECT_EQ(plan->rules[2].seed, 7U);
}

std::string opcodes(std::string_view op) {
  const FaultRule r = rule("drop op=" + std::string(op));
  std::string found;
  if (!r.ops) return "none";
  for (std::size_t o = 0; o < r.ops->opcodes.size(); ++o) {
    if (r.ops->opcodes.test(o)) found += std::to_string(o) + " ";
  }
  if (r.ops->ack) found += "ack ";
  if (r.ops->nak) found += "nak ";
  if (r.ops->rnr) found += "rnr ";
  if (r.ops->cm) found += "cm ";
  for (std::size_t a = 0; a < r.ops->cm_attributes.size(); ++a) {
    if (r.ops->cm_attributes.test(a)) found += "cm" + std::to_string(a) + " ";
  }
  return found;
}

// IBA volume 1 table 35, in decimal.
TEST(FaultRules, EachOpcode) {
  EXPECT_EQ(opcodes("send"), "0 1 2 3 4 5 22 23 ");
  EXPECT_EQ(opcodes("write"), "6 7 8 9 10 11 ");
  EXPECT_EQ(opcodes("read-request"), "12 ");
  EXPECT_EQ(opcodes("read-response"), "13 14 15 16 ");
  EXPECT_EQ(opcodes("atomic"), "18 19 20 ");
  EXPECT_EQ(opcodes("request"), "0 1 2 3 4 5 6 7 8 9 10 11 12 19 20 22 23 ");
  EXPECT_EQ(opcodes("response"), "13 14 15 16 17 18 ");
  EXPECT_EQ(opcodes("ack"), "ack ");
  EXPECT_EQ(opcodes("nak|rnr"), "nak rnr ");
  EXPECT_EQ(opcodes("cm"), "cm ");
  EXPECT_EQ(opcodes("cm-req|cm-mra|cm-rej|cm-rep"), "cm16 cm17 cm18 cm19 ");
  EXPECT_EQ(opcodes("cm-rtu|cm-dreq|cm-drep"), "cm20 cm21 cm22 ");
  EXPECT_EQ(opcodes("send-only-with-invalidate"), "23 ");
  EXPECT_EQ(opcodes("rdma-read-response-middle|0x11|4"), "4 14 17 ");
  EXPECT_EQ(opcodes("ud-send-only|cnp"), "100 129 ");
}

struct Wrong {
  std::string text;
  std::uint32_t line;
  std::uint32_t column;
  std::string message;  // a part of it
};

TEST(FaultRules, AnErrorSaysWhere) {
  for (const Wrong& wrong : std::initializer_list<Wrong>{
           {"lose", 1, 1, "\"lose\" is not one of drop"},
           {"  dr\x01p", 1, 3, "\"dr?p\" is not one of"},
           {"drop=1", 1, 1, "not one of"},
           {"Drop", 1, 1, "not one of"},
           {"drop op=send # fine\n\n  drop oq=send", 3, 8, "there is no key \"oq\""},
           {"drop; drop x", 1, 12, "there is no key \"x\""},
           {"drop =1", 1, 6, "there is no key \"\""},
           {"drop psn", 1, 6, "psn needs a value: psn=..."},
           {"drop psn=", 1, 10, "psn needs a value"},
           {"drop psn=1 psn=2", 1, 12, "psn appears twice"},
           {"drop attempt=any attempt=1", 1, 18, "attempt appears twice"},
           {"drop dir=up", 1, 10, "out or in"},
           {"drop conn=0", 1, 11, "\"0\" is not within 1 to"},
           {"drop conn=5-4", 1, 11, "ends before it begins"},
           {"drop qp=0x1000000", 1, 9, "not within 0 to 16777215"},
           {"drop psn=16777216", 1, 10, "not within 0 to 16777215"},
           {"drop psn=1-z", 1, 12, "\"z\" is not a number"},
           {"drop psn=-3", 1, 10, "\"\" is not a number"},
           {"drop psn=1-2-3", 1, 12, "\"2-3\" is not a number"},
           {"drop psn=0x", 1, 10, "is not a number"},
           {"drop psn=+1", 1, 10, "is not a number"},
           {"drop psn=12a", 1, 10, "is not a number"},
           {"drop op=send|sned", 1, 14, "there is no opcode \"sned\""},
           {"drop op=send|", 1, 14, "there is no opcode \"\""},
           {"drop op=256", 1, 9, "not within 0 to 255"},
           {"drop op=unknown", 1, 9, "there is no opcode"},
           {"drop msg=0", 1, 10, "not within"},
           {"drop attempt=0", 1, 14, "not within"},
           {"drop attempt=none", 1, 14, "not a number"},
           {"drop nth=0", 1, 10, "not within"},
           {"drop nth=99999999999999999999", 1, 10, "not within"},
           {"drop rate=0", 1, 11, "above 0 and at most 1"},
           {"drop rate=1.01", 1, 11, "above 0 and at most 1"},
           {"drop rate=1e-3", 1, 11, "is not a number"},
           {"drop rate=nan", 1, 11, "is not a number"},
           {"drop rate=-1", 1, 11, "is not a number"},
           {"drop rate=.", 1, 11, "is not a number"},
           {"drop rate=0.1 seed=x", 1, 20, "is not a number"},
           {"drop seed=7", 1, 6, "nothing is random"},
           {"corrupt byte=1 bit=1 seed=7", 1, 22, "nothing is random"},
           {"drop count=0", 1, 12, "not within"},
           {"drop by=1", 1, 6, "drop does not accept by"},
           {"reorder by=0", 1, 12, "not within 1 to"},
           {"reorder by=2ms", 1, 12, "is not a number"},
           {"reorder jitter=2ms", 1, 9, "reorder does not accept jitter"},
           {"drop; delay", 1, 7, "a delay needs by=TIME"},
           {"delay jitter=1ms", 1, 1, "a delay needs by=TIME"},
           {"delay by=2", 1, 10, "has no unit"},
           {"delay by=ms", 1, 10, "is not a time"},
           {"delay by=1.2.3ms", 1, 10, "is not a time"},
           {"delay by=3601s", 1, 10, "longer than an hour"},
           {"corrupt byte=65536", 1, 14, "not within"},
           {"corrupt bit=8", 1, 13, "not within 0 to 7"},
           {"duplicate byte=1", 1, 11, "duplicate does not accept byte"}}) {
    const FaultSyntaxError e = error(wrong.text);
    EXPECT_EQ(e.line, wrong.line) << wrong.text;
    EXPECT_EQ(e.column, wrong.column) << wrong.text << ": " << e.message;
    EXPECT_THAT(e.message, ::testing::HasSubstr(wrong.message)) << wrong.text;
  }
  EXPECT_EQ(describe(error("\ndrop op=sned")), "line 2, column 9: there is no opcode \"sned\"");
}

TEST(FaultRules, ALongWordIsShownShort) {
  EXPECT_LT(error(std::string(100'000, 'x')).message.size(), 200U);
}

TEST(FaultRules, AreLimitedInNumber) {
  std::string text;
  for (std::size_t i = 0; i < kMaxFaultRules; ++i) text += "drop\n";
  EXPECT_TRUE(parse_faults(text));
  const FaultSyntaxError e = error(text + "  drop");
  EXPECT_EQ(e.line, kMaxFaultRules + 1);
  EXPECT_EQ(e.column, 3U);
}

}  // namespace
}  // namespace rpcrdma::soft
