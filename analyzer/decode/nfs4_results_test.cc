// The results of every NFSv4 operation. Each case precedes a RENEW in a COMPOUND; the RENEW is
// found only if exactly the results were skipped.
#include "upper_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

ByteVector reply_of(const OperationCase& c) {
  return stream("0 0 2 " + std::string(c.bytes) + " 1e 0");
}

class ResultsTest : public testing::TestWithParam<OperationCase> {};

TEST_P(ResultsTest, AreSkippedToTheByte) {
  const CompoundOps ops = result_ops(kCompound, reply_of(GetParam()));
  EXPECT_TRUE(ops.complete);
  ASSERT_EQ(ops.kept, 2U);
  EXPECT_EQ(nfs4_op_name(ops.op[0], false), GetParam().operation());
  EXPECT_EQ(ops.op[1], 30U);
}

TEST_P(ResultsTest, AreNotCompleteInAnyShorterStream) {
  const ByteVector reply = reply_of(GetParam());
  for (std::size_t size = 0; size < reply.size(); ++size) {
    EXPECT_FALSE(result_ops(kCompound, wire::Bytes(reply).first(size)).complete) << size;
  }
}

constexpr OperationCase kResults[] = {
    {"ACCESS", "3 0 1f 1f"},
    {"CLOSE", "4 0 *16"},
    {"COMMIT", "5 0 *8"},
    {"CREATE", "6 0 1 *8 *8 2 0 2"},
    {"DELEGPURGE", "7 0"},
    {"DELEGRETURN", "8 0"},
    {"GETATTR", "9 0 2 18 0 c *12"},
    {"GETFH", "a 0 14 *20"},
    {"LINK", "b 0 1 *8 *8"},
    {"LOCK", "c 0 *16"},
    {"LOCK-denied", "c 271a *8 *8 2 *8 5 *8"},
    {"LOCKT", "d 0"},
    {"LOCKT-denied", "d 271a *8 *8 2 *8 5 *8"},
    {"LOCKU", "e 0 *16"},
    {"LOOKUP", "f 0"},
    {"LOOKUPP", "10 0"},
    {"NVERIFY", "11 0"},
    {"OPEN-nodelegation", "12 0 *16 1 *8 *8 4 1 2 0"},
    {"OPEN-read", "12 0 *16 1 *8 *8 4 0 1 *16 0 0 0 1 6 *8"},
    {"OPEN-writesize", "12 0 *16 1 *8 *8 4 0 2 *16 0 1 *8 0 0 1 6 *8"},
    {"OPEN-writeblocks", "12 0 *16 1 *8 *8 4 0 2 *16 0 2 8 200 0 0 1 0"},
    {"OPEN-nonecontention", "12 0 *16 1 *8 *8 4 0 3 1 1"},
    {"OPEN-noneresource", "12 0 *16 1 *8 *8 4 0 3 2 0"},
    {"OPEN-nonenotwanted", "12 0 *16 1 *8 *8 4 0 3 0"},
    {"OPEN-readattrs", "12 0 *16 1 *8 *8 4 0 4 *16 0 0 0 1 6 *8"},
    {"OPEN-writeattrs", "12 0 *16 1 *8 *8 4 0 5 *16 0 1 *8 0 0 1 6 *8"},
    {"OPENATTR", "13 0"},
    {"OPEN_CONFIRM", "14 0 *16"},
    {"OPEN_DOWNGRADE", "15 0 *16"},
    {"PUTFH", "16 0"},
    {"PUTPUBFH", "17 0"},
    {"PUTROOTFH", "18 0"},
    {"READ", "19 0 1 5 *8"},
    {"READDIR-empty", "1a 0 *8 0 1"},
    {"READDIR-two", "1a 0 *8 1 *8 5 *8 1 2 4 *4 1 *8 1 *4 0 0 0 1"},
    {"READLINK", "1b 0 5 *8"},
    {"REMOVE", "1c 0 1 *8 *8"},
    {"RENAME", "1d 0 1 *8 *8 1 *8 *8"},
    {"RENEW", "1e 0"},
    {"RESTOREFH", "1f 0"},
    {"SAVEFH", "20 0"},
    {"SECINFO", "21 0 2 1 6 9 *12 0 1"},
    {"SETATTR", "22 0 1 2"},
    {"SETATTR-failed", "22 16 0"},
    {"SETCLIENTID", "23 0 *8 *8"},
    {"SETCLIENTID-inuse", "23 2721 3 *4 9 *12"},
    {"SETCLIENTID_CONFIRM", "24 0"},
    {"VERIFY", "25 0"},
    {"WRITE", "26 0 5 2 *8"},
    {"RELEASE_LOCKOWNER", "27 0"},
    {"BACKCHANNEL_CTL", "28 0"},
    {"BIND_CONN_TO_SESSION", "29 0 *16 1 0"},
    {"EXCHANGE_ID-none", "2a 0 *8 1 20001 0 *8 6 *8 6 *8 0"},
    {"EXCHANGE_ID-machcred", "2a 0 *8 1 20001 1 1 2 0 *8 6 *8 6 *8 1 3 *4 3 *4 *12"},
    {"EXCHANGE_ID-ssv", "2a 0 *8 1 20001 2 0 0 1 2 20 4 1 6 *8 *8 6 *8 6 *8 0"},
    {"CREATE_SESSION", "2b 0 *16 1 3 *24 0 *24 1 8"},
    {"DESTROY_SESSION", "2c 0"},
    {"FREE_STATEID", "2d 0"},
    {"GET_DIR_DELEGATION-granted", "2e 0 0 *8 *16 1 3c 0 0"},
    {"GET_DIR_DELEGATION-unavailable", "2e 0 1 0"},
    {"GETDEVICEINFO", "2f 0 1 5 *8 0"},
    {"GETDEVICEINFO-toosmall", "2f 2715 1000"},
    {"GETDEVICELIST", "30 0 *8 *8 2 *16 *16 1"},
    {"LAYOUTCOMMIT-newsize", "31 0 1 *8"},
    {"LAYOUTCOMMIT", "31 0 0"},
    {"LAYOUTGET", "32 0 1 *16 2 *8 *8 2 1 5 *8 *8 *8 1 4 0"},
    {"LAYOUTGET-trylater", "32 274a 1"},
    {"LAYOUTRETURN", "33 0 0"},
    {"LAYOUTRETURN-stateid", "33 0 1 *16"},
    {"SECINFO_NO_NAME", "34 0 1 1"},
    {"SEQUENCE", "35 0 *16 1 0 0 0 0"},
    {"SET_SSV", "36 0 5 *8"},
    {"TEST_STATEID", "37 0 2 0 2729"},
    {"WANT_DELEGATION", "38 0 1 *16 0 0 0 1 0"},
    {"DESTROY_CLIENTID", "39 0"},
    {"RECLAIM_COMPLETE", "3a 0"},
    {"ALLOCATE", "3b 0"},
    {"COPY-asynchronous", "3c 0 1 *16 *8 2 *8 1 0"},
    {"COPY-synchronous", "3c 0 0 *8 2 *8 1 1"},
    {"COPY-noreqs", "3c 276e 1 1"},
    {"COPY_NOTIFY", "3d 0 *12 *16 1 3 3 *4 9 *12"},
    {"DEALLOCATE", "3e 0"},
    {"IO_ADVISE", "3f 0 1 4"},
    {"LAYOUTERROR", "40 0"},
    {"LAYOUTSTATS", "41 0"},
    {"OFFLOAD_CANCEL", "42 0"},
    {"OFFLOAD_STATUS", "43 0 *8 1 0"},
    {"READ_PLUS", "44 0 1 3 0 *8 5 *8 1 *8 *8 2"},
    {"SEEK", "45 0 0 *8"},
    {"WRITE_SAME", "46 0 0 *8 2 *8"},
    {"CLONE", "47 0"},
    {"GETXATTR", "48 0 5 *8"},
    {"SETXATTR", "49 0 1 *8 *8"},
    {"LISTXATTRS", "4a 0 *8 2 4 *4 5 *8 1"},
    {"REMOVEXATTR", "4b 0 1 *8 *8"},
    {"ILLEGAL", "273c 273c"},
};

INSTANTIATE_TEST_SUITE_P(Nfs4, ResultsTest, testing::ValuesIn(kResults), test_name);

// After NFS4ERR_SERVERFAULT nothing follows, except SETATTR's attrsset.
TEST(FailedResultsTest, HaveNothingButTheirStatus) {
  for (std::uint32_t op = 3; op <= 75; ++op) {
    if (op == 34) continue;
    ByteVector reply = stream("2716 0 1 0 2716");
    reply[15] = static_cast<std::uint8_t>(op);
    EXPECT_TRUE(result_ops(kCompound, reply).complete) << op;
  }
}

constexpr OperationCase kBrokenResults[] = {
    {"OPEN-unknowndelegation", "12 0 *16 1 *8 *8 4 0 6 *16"},
    {"OPEN-unknownlimit", "12 0 *16 1 *8 *8 4 0 2 *16 0 3 *8 0 0 1 0"},
    {"READDIR-markerisnoboolean", "1a 0 *8 2 *8 5 *8 1 2 4 *4 0 1"},
    {"LAYOUTGET-fourbillionlayouts", "32 0 1 *16 ffffffff *8 *8 2 1 0"},
    {"READ-fourgigabytes", "19 0 1 ffffffff *8"},
    {"LISTXATTRS-fourbillionnames", "4a 0 *8 ffffffff 0 0 0"},
};

class BrokenResultsTest : public testing::TestWithParam<OperationCase> {};

TEST_P(BrokenResultsTest, EndTheParsingBehindTheirOperation) {
  const CompoundOps ops = result_ops(kCompound, reply_of(GetParam()));
  EXPECT_FALSE(ops.complete);
  EXPECT_EQ(ops.kept, 1U);
}

INSTANTIATE_TEST_SUITE_P(Nfs4, BrokenResultsTest, testing::ValuesIn(kBrokenResults), test_name);

}  // namespace
}  // namespace rpcrdma::decode
