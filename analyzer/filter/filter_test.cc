// Tests of whole filters: what matches, what a filter needs, and the errors of wrong ones.
#include "messages_for_tests.h"

#include <gtest/gtest.h>

#include <rpcrdma/filter/filter.h>

namespace rpcrdma::filter {
namespace {

class FilterTest : public ::testing::Test {
 protected:
  bool matches(std::string_view text) {
    auto filter = compile(text);
    if (!filter) {
      ADD_FAILURE() << explain(text, filter.error());
      return false;
    }
    return filter->matches(sample_.inputs());
  }
  void expect(std::initializer_list<const char*> right, std::initializer_list<const char*> wrong) {
    for (const char* text : right) EXPECT_TRUE(matches(text)) << text;
    for (const char* text : wrong) EXPECT_FALSE(matches(text)) << text;
  }
  testing::Sample sample_;
};

TEST_F(FilterTest, Numbers) {
  expect(
      {"rpcrdma.credit == 32", "rpcrdma.credit eq 0x20", "rpcrdma.credit < 33",
       "rpcrdma.credit <= 32", "rpcrdma.credit > 31", "rpcrdma.credit >= 32",
       "rpcrdma.credit != 31", "rpcrdma.credit in {1, 30..40}", "rpcrdma.xid == 0xABCD",
       "frame.number == 60", "rpcrdma.qpn == 18 && rpcrdma.qpn == 17", "rpcrdma.connection == 2"},
      {"rpcrdma.credit == 31", "rpcrdma.credit < 32", "rpcrdma.credit > 32", "rpcrdma.credit <= 31",
       "rpcrdma.credit >= 33", "rpcrdma.credit != 32", "rpcrdma.credit in {31, 33..40}",
       "rpcrdma.src.qpn == 18"});
}

TEST_F(FilterTest, NamesOfValuesInAnyCase) {
  expect({"rpcrdma.proc == RDMA_MSG", "rpcrdma.proc == rdma_msg", "rpcrdma.proc != RDMA_NOMSG",
          "rpc.program == NFS", "rpc.procedure == compound", "nfs.op == READ",
          "nfs.op in {WRITE, READ}", "nfs.op == \"PUTFH\"", "rpc.cred.flavor == AUTH_SYS",
          "rpcrdma.kind == call", "rpcrdma.kind in {CALL, reply}", "rpcrdma.peer == \"client\"",
          "rpc.cred.flavor < RPCSEC_GSS", "nfs.op in {READ, 1..3}"},
         {"rpcrdma.proc == RDMA2_MSG", "nfs.op == WRITE", "nfs.op == CB_RECALL",
          "rpc.program == NFS_CB", "rpcrdma.kind == reply", "nfs.op != READ"});
}

TEST_F(FilterTest, AFieldThatOccursSeveralTimes) {
  expect({"rpcrdma.segment.handle == 0x1111", "rpcrdma.segment.handle == 0x3333",
          "rpcrdma.segment.handle != 0x4444", "!(rpcrdma.segment.handle == 0x4444)",
          "rpcrdma.segment.length < 101", "rpcrdma.segment.length > 65535"},
         {"rpcrdma.segment.handle == 0x4444", "rpcrdma.segment.handle != 0x1111",
          "!(rpcrdma.segment.handle == 0x1111)"});
}

TEST_F(FilterTest, AFieldThatDoesNotOccur) {
  expect({"!rpcrdma.error", "!(rpcrdma.error == 1)", "!(rpcrdma.error != 1)", "rpcrdma.xid",
          "rpcrdma.read", "nfs", "not rpcrdma.reply"},
         {"rpcrdma.error", "rpcrdma.error == 1", "rpcrdma.error != 1", "rpcrdma.error < 9",
          "rpcrdma.error in {0..9}", "rpcrdma.reply"});
}

TEST_F(FilterTest, ABooleanAloneIsAskedForItsTruth) {
  expect({"rpcrdma.complete", "rpcrdma.complete == true", "rpcrdma.complete == 1",
          "!rpcrdma.reverse", "rpcrdma.reverse == FALSE", "rpcrdma.reverse != true"},
         {"rpcrdma.reverse", "rpcrdma.complete == false", "rpcrdma.bad_icrc"});
}

TEST_F(FilterTest, Durations) {
  expect({"rpcrdma.latency > 1.4ms", "rpcrdma.latency == 1500us", "rpcrdma.latency == 0.0015",
          "rpcrdma.latency in {1ms..2ms}", "frame.time_relative == 20", "rpcrdma.latency > -1"},
         {"rpcrdma.latency > 1.5ms", "rpcrdma.latency < 1us", "frame.time_relative < 0"});
  sample_.message.time_ns -= 30'000'000'000;
  expect({"frame.time_relative < 0", "frame.time_relative == -10"}, {"frame.time_relative > 0"});
}

TEST_F(FilterTest, Times) {
  expect({"frame.time == \"2023-11-14 22:13:20\"", "frame.time >= 2023-11-14T22:13:20Z",
          "frame.time < \"2023-11-15\"", "frame.time > 1699999999.5",
          "frame.time in {\"2023-11-14\"..\"2023-11-15\"}"},
         {"frame.time > \"2023-11-14 22:13:20\""});
}

TEST_F(FilterTest, Addresses) {
  expect({"rpcrdma.src == 10.0.0.2", "rpcrdma.addr == 10.0.0.2", "rpcrdma.addr == fe80::1",
          "rpcrdma.dst == fe80::/10", "rpcrdma.src == 10.0.0.0/8", "rpcrdma.src != 11.0.0.0/8",
          "rpcrdma.src in {10.0.0.1..10.0.0.5}", "rpcrdma.src < 10.0.0.3",
          "rpcrdma.src >= 10.0.0.0/8", "rpcrdma.src > 9.0.0.0/8", "rpcrdma.src != fe80::/10"},
         {"rpcrdma.dst == 10.0.0.2", "rpcrdma.src == 10.0.0.0/32", "rpcrdma.src < fe80::1",
          "rpcrdma.dst in {0.0.0.0..255.255.255.255}", "rpcrdma.src > 10.0.0.0/8",
          "rpcrdma.addr != 10.0.0.2"});
}

TEST_F(FilterTest, Strings) {
  expect({"rpc.program_name == \"NFS\"", "rpc.program_name contains \"FS\"",
          "rpc.program_name matches \"^nfs$\"", "rpc.procedure_name ~ r\"\\bCOMP\"",
          "rpcrdma.finding == \"FC-01\"", "rpcrdma.finding in {\"X\", \"WR-03\"}",
          "rpcrdma.finding != \"FC-02\"", "rpcrdma.kind contains \"al\"",
          "rpc.program_name == \"nfs\""},
         {"rpc.program_name contains \"fs\"", "rpcrdma.finding == \"FC-02\"",
          "rpcrdma.finding != \"FC-01\"", "rpc.program_name matches \"^fs\""});
}

TEST_F(FilterTest, WhatStandsInTheBytesAlone) {
  expect({"rpc.arguments contains fe:00", "rpc.arguments contains \"\\xfe\"",
          "rpc.rpcvers == 2 && rpc.arguments matches \"\\xfe\\x00+$\"", "!rpcrdma.malformed",
          "rpc.cred.length == 0"},
         {"rpc.arguments contains ff", "rpc.arguments == fe", "rpc.results", "rpcrdma.malformed"});
  sample_.message.bytes.resize(30);
  expect({"rpcrdma.malformed", "rpcrdma.malformed contains \"offset\""}, {"rpc.arguments"});
}

TEST_F(FilterTest, WhatTheModelConcludes) {
  expect({"rpcrdma.match.frame == 64", "rpcrdma.operations == 2", "rpcrdma.moved == 4196",
          "rpcrdma.op.handle == 0x1111", "rpcrdma.op.kind == \"RDMA READ\"",
          "rpcrdma.op.time == 2us", "rpcrdma.credit.granted == 64", "rpcrdma.credit.in_use == 3",
          "rpcrdma.threshold.call == 1024", "nfs.minorversion == 1", "rpc.msgtype == Call"},
         {"rpcrdma.op.handle == 0x3333", "rpc.status", "nfs.status"});
}

TEST_F(FilterTest, OfAReplyItsOutcome) {
  model::Message& m = sample_.message;
  m.kind = model::Kind::kReply;
  m.sender = 1;
  m.rpc.has_status = true;
  m.rpc.status = 10008;
  expect({"nfs.status == NFS4ERR_DELAY", "nfs.status == 10008", "rpc.status == \"NFS4ERR_DELAY\"",
          "rpc.accept_stat == SUCCESS", "rpcrdma.peer == server", "nfs.op == READ",
          "rpcrdma.op.handle == 0x3333"},
         {"rpc.cred.flavor", "rpc.reject_stat", "nfs.status == NFS4_OK"});
}

TEST_F(FilterTest, AndOrNotDecideAsTheyStand) {
  expect({"rpcrdma.xid && rpcrdma.credit == 32 && nfs", "rpcrdma.error || nfs",
          "rpcrdma.error || rpcrdma.reply || rpcrdma.read", "!(rpcrdma.error && nfs)",
          "rpcrdma.error && nfs || rpc", "!(!nfs)"},
         {"rpcrdma.xid && rpcrdma.error", "rpcrdma.error || rpcrdma.reply",
          "!(rpcrdma.error || nfs)", "(rpcrdma.error || nfs) && rpcrdma.reply"});
}

TEST_F(FilterTest, KnowsWhatItNeeds) {
  const auto needs = [](std::string_view text) {
    const auto f = compile(text).value();
    return std::make_pair(f.needs_bytes(), f.needs_answer());
  };
  EXPECT_EQ(needs("rpcrdma.credit < 4 && rpc.program == 100003"), std::make_pair(false, false));
  EXPECT_EQ(needs("rpc.auth_sys.uid == 0"), std::make_pair(true, false));
  EXPECT_EQ(needs("rpcrdma.latency > 1"), std::make_pair(false, true));
  EXPECT_EQ(needs("rpcrdma.malformed || rpcrdma.op"), std::make_pair(true, true));
}

TEST_F(FilterTest, NothingOfAMessageIsLeftForTheNext) {
  auto filter = compile("rpcrdma.segment.handle == 0x1111 || rpc.arguments").value();
  EXPECT_TRUE(filter.matches(sample_.inputs()));
  sample_.message.reads.clear();
  sample_.message.bytes.clear();
  EXPECT_FALSE(filter.matches(sample_.inputs()));
}

struct Wrong {
  const char* text;
  std::size_t offset;
  const char* part;
};

TEST(FilterError, TypesAreCheckedBeforeAnyMessage) {
  for (const Wrong& w : {
           Wrong{"rpcrdma.credt == 1", 0, "did you mean rpcrdma.credit?"},
           Wrong{"tcp.port == 1", 0, "there is no field tcp.port"},
           Wrong{"nfs && cm.reason == 1", 7, "no message has it"},
           Wrong{"ib.psn == 1", 0, "no message has it"},
           Wrong{"rpcrdma.pd.magic", 0, "no message has it"},
           Wrong{"rpcrdma.credit contains \"x\"", 15,
                 "contains cannot be used with rpcrdma.credit"},
           Wrong{"rpcrdma.read == 1", 13, "it can only be tested for presence"},
           Wrong{"rpcrdma.kind < call", 13, "< cannot be used"},
           Wrong{"rpcrdma.complete > 0", 17, "> cannot be used"},
           Wrong{"rpcrdma.complete == 2", 20, "true or false"},
           Wrong{"rpcrdma.credit == abc", 18, "a number is expected"},
           Wrong{"rpcrdma.credit == -1", 18, "does not fit"},
           Wrong{"rpcrdma.credit == 4294967296", 18, "does not fit"},
           Wrong{"rpcrdma.src.qpn == 0x1000000", 19, "does not fit"},
           Wrong{"rpcrdma.proc == RDMA_NOMSGS", 16, "did you mean RDMA_NOMSG?"},
           Wrong{"nfs.op == REED", 10, "did you mean READ?"},
           Wrong{"nfs.op > READ", 9, "use the number itself"},
           Wrong{"nfs.op in {READ..WRITE}", 11, "use the number itself"},
           Wrong{"rpcrdma.kind == cal", 16, "did you mean call?"},
           Wrong{"rpc.status == ok", 14, "write \"ok\""},
           Wrong{"rpc.status in {\"a\"..\"b\"}", 20, "no ranges"},
           Wrong{"rpcrdma.latency > 5sec", 18, "write 1.5ms"},
           Wrong{"frame.time > yesterday", 13, "YYYY-MM-DD"},
           Wrong{"rpcrdma.src == host", 15, "10.0.0.0/8"},
           Wrong{"rpcrdma.src in {10.0.0.1..fe80::1}", 26, "different kinds"},
           Wrong{"rpcrdma.src in {10.0.0.2..10.0.0.1}", 26, "ends before it begins"},
           Wrong{"rpcrdma.credit in {5..3}", 22, "write 3..5"},
           Wrong{"rpc.arguments contains zz", 23, "00:01:ff"},
           Wrong{"rpc.status matches ok", 19, "in quotes"},
           Wrong{"rpc.status matches \"(\"", 19, "not a regular expression"},
           Wrong{"rpc.status matches r\"((a{999}){999}){999}\"", 19, "not a regular expression"},
       }) {
    const auto filter = compile(w.text);
    ASSERT_FALSE(filter) << w.text;
    EXPECT_EQ(filter.error().offset, w.offset) << w.text;
    EXPECT_NE(filter.error().message.find(w.part), std::string::npos)
        << w.text << ": " << filter.error().message;
  }
}

TEST(FilterFields, PacketsAndSetUpAreNoMessages) {
  EXPECT_TRUE(is_filter_field(decode::FieldId::kXid));
  EXPECT_TRUE(is_filter_field(decode::FieldId::kConfigAlign));
  EXPECT_FALSE(is_filter_field(decode::FieldId::kIb));
  EXPECT_FALSE(is_filter_field(decode::FieldId::kCmReason));
  EXPECT_FALSE(is_filter_field(decode::FieldId::kPdMagic));
}

// Every field can be tested for presence, and every field with values can be compared.
TEST(FilterFields, EveryFieldOfAMessageCompiles) {
  for (const decode::FieldSpec& field : decode::schema()) {
    if (!is_filter_field(field.id)) continue;
    EXPECT_TRUE(compile(field.name)) << field.name;
    if (field.type <= decode::FieldType::kUint64) {
      EXPECT_TRUE(compile(std::string(field.name) + " in {0, 1..2}")) << field.name;
    }
  }
}

}  // namespace
}  // namespace rpcrdma::filter
