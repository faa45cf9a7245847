#include <gtest/gtest.h>

#include <rpcrdma/model/outcome.h>

namespace rpcrdma::model {
namespace {

RpcInfo nfs(std::uint32_t version, std::uint32_t status) {
  RpcInfo rpc;
  rpc.program = decode::kProgNfs;
  rpc.version = version;
  rpc.has_status = true;
  rpc.status = status;
  return rpc;
}

TEST(Outcome, NfsStatusGoesByTheVersion) {
  EXPECT_STREQ(outcome_name(nfs(3, 2)), "NFS3ERR_NOENT");
  EXPECT_STREQ(outcome_name(nfs(4, 2)), "NFS4ERR_NOENT");
  EXPECT_STREQ(outcome_name(nfs(4, 0)), "ok");
  EXPECT_EQ(outcome_name(nfs(4, 4711)), nullptr);
  EXPECT_STREQ(nfs_status_name(nfs(4, 0)), "NFS4_OK");
}

TEST(Outcome, ARefusalByRpcComesFirst) {
  RpcInfo rpc = nfs(4, 2);
  rpc.accept_stat = wire::AcceptStat::kProgMismatch;
  EXPECT_STREQ(outcome_name(rpc), "PROG_MISMATCH");
  rpc.reply_stat = wire::ReplyStat::kDenied;
  EXPECT_STREQ(outcome_name(rpc), wire::reject_stat_name(0));
}

}  // namespace
}  // namespace rpcrdma::model
