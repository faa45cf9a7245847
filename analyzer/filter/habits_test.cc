// Filters as users of Wireshark, tshark and tcpdump type them: each selects what they mean, or its
// error names the filter that does.
#include "aliases.h"
#include "messages_for_tests.h"

#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/decode/schema.h>
#include <rpcrdma/filter/filter.h>

namespace rpcrdma::filter {
namespace {

// The same READ in NFS version 3.
testing::Sample nfs3() {
  testing::Sample s;
  s.message.rpc.version = 3;
  s.message.rpc.procedure = 6;
  s.message.rpc.ops = {};
  return s;
}

// A Reply with an error of its program.
testing::Sample failed(testing::Sample s) {
  model::Message& m = s.message;
  m.kind = model::Kind::kReply;
  m.sender = 1;
  m.rpc.has_status = true;
  m.rpc.status = 2;
  return s;
}

enum Where { kBoth, kNone, kV4, kV3 };

struct Habit {
  const char* typed;
  Where where = kBoth;
};

void expect(const testing::Sample& v4, const testing::Sample& v3, const Habit& habit) {
  auto filter = compile(habit.typed);
  ASSERT_TRUE(filter) << explain(habit.typed, filter.error());
  EXPECT_EQ(filter->matches(v4.inputs()), habit.where == kBoth || habit.where == kV4)
      << habit.typed << " (NFS version 4)";
  EXPECT_EQ(filter->matches(v3.inputs()), habit.where == kBoth || habit.where == kV3)
      << habit.typed << " (NFS version 3)";
}

TEST(Habits, SelectWhatIsMeant) {
  for (const Habit& habit : {
           Habit{"nfs"},
           Habit{"!nfs", kNone},
           Habit{"nfs.op == READ"},
           Habit{"nfs.op == 25"},
           Habit{"nfs.op == read"},
           Habit{"nfs.op == \"READ\""},
           Habit{"nfs.op != READ", kNone},
           Habit{"nfs.op != 25", kNone},
           Habit{"nfs.op == WRITE", kNone},
           Habit{"nfs.op == 6", kNone},
           Habit{"nfs.op == PUTFH", kV4},
           Habit{"nfs.op == MKDIR", kNone},
           Habit{"nfs.op in {READ, WRITE}"},
           Habit{"nfs.op in {20..30}"},
           Habit{"nfs.op_name == read"},
           Habit{"rpc.procedure == READ"},
           Habit{"rpc.procedure == COMPOUND", kV4},
           Habit{"rpc.procedure == 6", kV3},
           Habit{"rpc.procedure == 1", kV4},
           Habit{"rpc.procedure > 5", kV3},
           Habit{"rpc.procedure_name == \"READ\""},
           Habit{"rpc.procedure_name == read"},
           Habit{"rpc.procedure_name matches \"^rea\""},
           Habit{"rpc"},
           Habit{"rpcrdma"},
           Habit{"rpcordma"},
           Habit{"rpc.xid == 0xabcd"},
           Habit{"rpcrdma.xid == 43981"},
           Habit{"rpc.program == 100003"},
           Habit{"rpc.program == nfs"},
           Habit{"rpc.program_name == \"NFS\""},
           Habit{"rpc.program_name == nfs"},
           Habit{"frame.number in {50..60}"},
           Habit{"frame.number >= 60 && frame.number <= 60"},
           Habit{"rpcrdma.kind == Call"},
           Habit{"rpcrdma.kind == \"Call\""},
           Habit{"rpcrdma.credit.granted < 65"},
           Habit{"rpcrdma.latency >= 1ms"},
           Habit{"rpcrdma.latency > 0.001"},
           Habit{"rpc.time > 0.001"},
           Habit{"rpc.time > 0.01", kNone},
           Habit{"frame.time_relative < 30"},
           Habit{"rpc.msgtyp == 0"},
           Habit{"rpc.msgtyp == CALL"},
           Habit{"rpc.programversion == 3", kV3},
           Habit{"ip.addr == 10.0.0.2"},
           Habit{"ip.src == 10.0.0.2"},
           Habit{"ip.dst == 10.0.0.2", kNone},
           Habit{"ipv6.dst == fe80::1"},
           Habit{"IP.Addr == 10.0.0.0/8"},
           Habit{"nfs.opcode == 25"},
           Habit{"nfs.opcode == READ"},
           Habit{"nfs.procedure_v3 == 6", kV3},
           Habit{"nfs.procedure_v3 == READ", kV3},
           Habit{"nfs.procedure_v3", kV3},
           Habit{"nfs.procedure_v3 != 7", kV3},
           Habit{"!(nfs.procedure_v3 == 6)", kV4},
           Habit{"nfs.procedure_v4 == 1", kV4},
           Habit{"infiniband.bth.destqp == 18"},
           Habit{"infiniband.reth.r_key == 0x1111"},
           Habit{"rpcordma.flow_control == 32"},
           Habit{"NFS and not rpcrdma.error"},
           Habit{"nfs AND NOT rpcrdma.error"},
       }) {
    expect({}, nfs3(), habit);
  }
}

TEST(Habits, SelectReplies) {
  for (const Habit& habit : {
           Habit{"nfs.status != 0"},
           Habit{"nfs.status == 2"},
           Habit{"nfs.status == NOENT"},
           Habit{"nfs.status == err_noent"},
           Habit{"nfs.status != NOENT", kNone},
           Habit{"nfs.status == NFS4ERR_NOENT", kV4},
           Habit{"nfs.status == NFS3ERR_NOENT", kV3},
           Habit{"rpc.status == \"NFS4ERR_NOENT\"", kV4},
           Habit{"nfs.nfsstat4 == 2", kV4},
           Habit{"nfs.nfsstat3 == 2", kV3},
           Habit{"nfs.nfsstat4 == NFS4ERR_NOENT", kV4},
           Habit{"rpc.msgtyp == 1"},
       }) {
    expect(failed({}), failed(nfs3()), habit);
  }
}

struct Answer {
  const char* typed;
  const char* part;  // of the error
};

void expect_answer(const Answer& a) {
  const auto filter = compile(a.typed);
  ASSERT_FALSE(filter) << a.typed;
  EXPECT_NE(filter.error().message.find(a.part), std::string::npos)
      << a.typed << ": " << filter.error().message;
  EXPECT_LE(filter.error().offset + filter.error().length, std::string(a.typed).size()) << a.typed;
}

TEST(Habits, AreAnswered) {
  for (const Answer& a : {
           Answer{"rpcrdma.latency > 5000", "write 5000us, 5000ms or 5000s"},
           Answer{"rpc.time > 5000", "write 5000us"},
           Answer{"rpcrdma.latency > 5 ms", "write 5ms"},
           Answer{"rpcordma.credits > 4", "did you mean rpcrdma.credit"},
           Answer{"frame.time_delta > 1", "rpcrdma.latency"},
           Answer{"frame.len > 100", "rpcrdma.length"},
           Answer{"udp.port == 4791", "rpcrdma.connection"},
           Answer{"tcp.port == 20049", "rpcrdma.port"},
           Answer{"tcp.analysis.retransmission", "rpcrdma analyze"},
           Answer{"infiniband.bth.opcode == 4", "rpcrdma.op.kind"},
           Answer{"infiniband.aeth.syndrome", "rpcrdma.finding"},
           Answer{"infiniband", "write rpcrdma"},
           Answer{"host 10.77.0.2", "write rpcrdma.addr == 10.77.0.2"},
           Answer{"udp port 4791", "capture filters"},
           Answer{"nfs xor rpc", "(a || b) && !(a && b)"},
           Answer{"nfs ^^ rpc", "(a || b) && !(a && b)"},
           Answer{"any", "write rpcrdma"},
           Answer{"any ip.addr == 10.0.0.1", "leave any out"},
           Answer{"all ip.addr == 10.0.0.1", "!(FIELD != VALUE)"},
           Answer{"rpcrdma.credit & 0xf", "a range instead of a mask"},
           Answer{"rpcrdma.credit = 4", "write =="},
           Answer{"nfs.op == FOO", "nfs.op has no value FOO"},
           Answer{"nfs.op == REED", "did you mean READ?"},
           Answer{"rpc.procedure_name == \"REED\"", "did you mean READ?"},
           Answer{"rpc.program_name == \"NSF\"", "did you mean NFS?"},
       }) {
    expect_answer(a);
  }
}

TEST(Habits, FilesAreFound) {
  for (const Habit& habit : {
           Habit{"nfs.name == \"big\""},
           Habit{"nfs.name == \"dir/big\""},
           Habit{"nfs.full_name contains \"dir\""},
           Habit{"nfs.name == \"dir\"", kNone},
           Habit{"nfs.path == \"dir/big\""},
           Habit{"nfs.path == \"big\"", kNone},
           Habit{"nfs.fh"},
           Habit{"nfs.fh == 0x1a2b3c4d"},
           Habit{"nfs.fh.hash == 0x1a2b3c4d"},
           Habit{"nfs.fh.hash != 0x1a2b3c4d", kNone},
           Habit{"nfs.offset == 65536"},
           Habit{"nfs.offset3 == 65536"},
           Habit{"nfs.offset4 in {0..65536}"},
           Habit{"nfs.count == 4096"},
           Habit{"nfs.count3 > 4096", kNone},
           Habit{"nfs.count4 < 8192"},
           Habit{"nfs.stateid contains \"0123\""},
       }) {
    expect({}, nfs3(), habit);
  }
}

TEST(Habits, EveryAliasIsAFieldThatMessagesHave) {
  for (const char* const name : {"ip.addr",
                                 "rpc.repframe",
                                 "rpc.auth.uid",
                                 "rpc.auth.gid",
                                 "rpc.auth.flavor",
                                 "rpc.auth.machinename",
                                 "rpc.replystat",
                                 "rpc.state_accept",
                                 "rpc.state_reject",
                                 "rpcordma.xid",
                                 "rpcordma.version",
                                 "rpcordma.msg_type",
                                 "rpcordma.rdma_handle",
                                 "rpcordma.rdma_length",
                                 "rpcordma.rdma_offset",
                                 "infiniband.ieth",
                                 "infiniband.reth.va",
                                 "infiniband.reth.dmalen",
                                 "infiniband.grh.sgid",
                                 "frame.time_epoch",
                                 "nfs.main_opcode"}) {
    EXPECT_TRUE(compile(name)) << name;
  }
}

TEST(EmptyFilters, AreRefused) {
  for (const char* const typed : {
           "rpcrdma.credit < 0",
           "rpcrdma.credit > 4294967295",
           "rpcrdma.latency < 0",
           "rpcrdma.latency == -1",
           "rpcrdma.credit < 4 && rpcrdma.credit > 10",
           "rpcrdma.credit == 1 && nfs && rpcrdma.credit == 2",
           "rpcrdma.kind == call && rpcrdma.kind == reply",
           "rpcrdma.kind == call && rpcrdma.kind != call",
           "nfs.op == READ && nfs.op != READ",
           "rpcrdma.latency > 5ms && rpcrdma.latency < 1ms",
           "rpc.program == NFS && rpc.program == MOUNT",
           "nfs && !nfs",
           "!rpcrdma.error && rpcrdma.error == 1",
           "rpcrdma.complete && rpcrdma.complete == false",
           "(rpcrdma.credit < 0 || rpcrdma.credit > 4294967295) && nfs",
           "rpcrdma.kind contains \"zz\"",
           "rpcrdma.kind matches \"^zz\"",
           "rpc.msgtype == 2",
           "frame.time < \"2026-01-01\" && frame.time > \"2026-01-02\"",
       }) {
    expect_answer({typed, "can match nothing"});
  }
}

TEST(EmptyFilters, AreNotConfusedWithOthers) {
  for (const char* const typed : {
           "nfs.op == READ && nfs.op == WRITE",  // both in one COMPOUND
           "rpcrdma.qpn == 17 && rpcrdma.qpn == 18",
           "rpcrdma.addr == 10.0.0.1 && rpcrdma.addr == 10.0.0.2",
           "rpcrdma.credit <= 0",
           "rpcrdma.credit >= 0",
           "rpcrdma.latency > -1",
           "frame.time_relative < 0",
           "frame.time_relative > 5000",
           "rpcrdma.credit > 4 && rpcrdma.credit < 10",
           "rpcrdma.kind == call || rpcrdma.kind == reply",
           "rpcrdma.credit < 0 || nfs",
           "!(rpcrdma.kind == call && rpcrdma.kind == reply)",
           "rpc.program == NFS && rpc.program == 100003",
           "rpcrdma.reverse && !rpcrdma.complete",
           "rpcrdma.src == 10.0.0.0/8 && rpcrdma.src == 10.0.0.1",
           "rpcrdma.kind contains \"al\"",
           "rpcrdma.latency > 5000s",
       }) {
    const auto filter = compile(typed);
    EXPECT_TRUE(filter) << explain(typed, filter.error());
  }
}

}  // namespace
}  // namespace rpcrdma::filter
