#include <gtest/gtest.h>

#include <rpcrdma/report/context.h>

namespace rpcrdma::report {
namespace {

model::RpcInfo nfs(std::uint32_t version, std::uint32_t procedure,
                   std::initializer_list<std::uint32_t> ops = {}) {
  model::RpcInfo rpc;
  rpc.known = true;
  rpc.program = 100003;
  rpc.version = version;
  rpc.procedure = procedure;
  for (const std::uint32_t op : ops) rpc.ops.op[rpc.ops.kept++] = op;
  rpc.ops.announced = rpc.ops.kept;
  return rpc;
}

TEST(Labels, NameProgramAndProcedure) {
  EXPECT_EQ(rpc_label(nfs(3, 1)), "NFS v3 GETATTR");
  EXPECT_EQ(rpc_label(nfs(4, 1, {53, 22, 25})), "NFS v4 COMPOUND SEQUENCE PUTFH READ");
  EXPECT_EQ(rpc_label(model::RpcInfo{}), "");
}

TEST(Labels, ACompoundIsAboutItsFirstRealOperation) {
  EXPECT_EQ(procedure_label(nfs(4, 1, {53, 22, 25, 9})), "NFS v4 READ");
  EXPECT_EQ(procedure_label(nfs(4, 1, {53, 22, 9})), "NFS v4 GETATTR");
  EXPECT_EQ(procedure_label(nfs(4, 1, {53})), "NFS v4 SEQUENCE");
  EXPECT_EQ(procedure_label(nfs(3, 1)), "NFS v3 GETATTR");
}

TEST(Labels, ACompoundOfWhichTheEndIsMissingIsAboutWhatIsKnown) {
  model::RpcInfo cut = nfs(4, 1, {53});
  cut.ops.announced = 3;
  EXPECT_EQ(procedure_label(cut), "NFS v4 COMPOUND");
  EXPECT_EQ(principal_operation(cut), UINT32_MAX);
  cut = nfs(4, 1, {53, 22, 25});
  cut.ops.announced = 4;
  EXPECT_EQ(procedure_label(cut), "NFS v4 READ");
}

TEST(Labels, UnknownProgramsKeepTheirNumbers) {
  model::RpcInfo rpc;
  rpc.known = true;
  rpc.program = 395180;
  rpc.version = 2;
  rpc.procedure = 9;
  EXPECT_EQ(rpc_label(rpc), "program 395180 v2 procedure 9");
}

TEST(Status, OfReplies) {
  model::RpcInfo rpc = nfs(4, 1);
  EXPECT_EQ(reply_status(rpc), "");
  rpc.header_seen = true;
  rpc.wrapping = decode::Wrapping::kPrivacy;
  EXPECT_EQ(reply_status(rpc), "encrypted (krb5p)");
  rpc.wrapping = decode::Wrapping::kIntegrity;  // and too short to be read
  EXPECT_EQ(reply_status(rpc), "wrapped (krb5i)");
  rpc.wrapping = decode::Wrapping::kNone;
  EXPECT_EQ(reply_status(rpc), "ok");
  rpc.has_status = true;
  rpc.status = 2;
  EXPECT_EQ(reply_status(rpc), "NFS4ERR_NOENT");
  rpc.accept_stat = wire::AcceptStat::kProgMismatch;
  EXPECT_EQ(reply_status(rpc), "PROG_MISMATCH");
}

TEST(Format, Times) {
  EXPECT_EQ(format_time(1700000000123456000), "2023-11-14 22:13:20.123456");
  EXPECT_EQ(format_time(1700000000123456789), "2023-11-14 22:13:20.123456789");
  EXPECT_EQ(format_clock(-1000), "23:59:59.999999");
}

}  // namespace
}  // namespace rpcrdma::report
