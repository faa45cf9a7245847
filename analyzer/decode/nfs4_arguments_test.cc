// The arguments of every NFSv4 operation. Each case precedes a GETFH in a COMPOUND; the GETFH is
// found only if exactly the arguments were skipped. RFC 7531, RFC 5662, RFC 7863 and RFC 8276
// define the layouts.
#include "upper_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

ByteVector call_of(const OperationCase& c) {
  return stream("0 2 2 " + std::string(c.bytes) + " a");
}

class ArgumentsTest : public testing::TestWithParam<OperationCase> {};

TEST_P(ArgumentsTest, AreSkippedToTheByte) {
  const ByteVector call = call_of(GetParam());
  const CompoundOps ops = parse_compound_call(kCompound, call, {});
  EXPECT_TRUE(ops.complete);
  ASSERT_EQ(ops.kept, 2U);
  EXPECT_EQ(nfs4_op_name(ops.op[0], false), GetParam().operation());
  EXPECT_EQ(ops.op[1], 10U);
}

TEST_P(ArgumentsTest, AreNotCompleteInAnyShorterStream) {
  const ByteVector call = call_of(GetParam());
  for (std::size_t size = 0; size < call.size(); ++size) {
    EXPECT_FALSE(parse_compound_call(kCompound, wire::Bytes(call).first(size), {}).complete)
        << size;
  }
}

constexpr OperationCase kArguments[] = {
    {"ACCESS", "3 1f"},
    {"CLOSE", "4 1 *16"},
    {"COMMIT", "5 *8 100"},
    {"CREATE-directory", "6 2 1 *4 0 0"},
    {"CREATE-block", "6 3 *8 1 *4 0 0"},
    {"CREATE-character", "6 4 *8 1 *4 0 0"},
    {"CREATE-link", "6 5 5 *8 1 *4 1 2 4 *4"},
    {"CREATE-socket", "6 6 1 *4 0 0"},
    {"DELEGPURGE", "7 *8"},
    {"DELEGRETURN", "8 *16"},
    {"GETATTR", "9 2 18 0"},
    {"GETFH", "a"},
    {"LINK", "b 3 *4"},
    {"LOCK-new", "c 1 0 *8 *8 1 7 *16 0 *8 2 *4"},
    {"LOCK-known", "c 1 0 *8 *8 0 *16 3"},
    {"LOCKT", "d 1 *8 *8 *8 4 *4"},
    {"LOCKU", "e 1 2 *16 *8 *8"},
    {"LOOKUP", "f 5 *8"},
    {"LOOKUPP", "10"},
    {"NVERIFY", "11 1 2 8 *8"},
    {"OPEN-unchecked", "12 0 1 0 *8 4 *4 1 0 1 2 4 *4 0 3 *4"},
    {"OPEN-guarded", "12 0 1 0 *8 4 *4 1 1 0 0 0 3 *4"},
    {"OPEN-exclusive", "12 0 1 0 *8 4 *4 1 2 *8 0 3 *4"},
    {"OPEN-exclusive41", "12 0 1 0 *8 4 *4 1 3 *8 1 2 4 *4 0 3 *4"},
    {"OPEN-null", "12 0 1 0 *8 18 *24 0 0 3 *4"},
    {"OPEN-previous", "12 0 1 0 *8 4 *4 0 1 2"},
    {"OPEN-delegatecur", "12 0 1 0 *8 4 *4 0 2 *16 3 *4"},
    {"OPEN-delegateprev", "12 0 1 0 *8 4 *4 0 3 3 *4"},
    {"OPEN-fh", "12 0 1 0 *8 4 *4 0 4"},
    {"OPEN-delegcurfh", "12 0 1 0 *8 4 *4 0 5 *16"},
    {"OPEN-delegprevfh", "12 0 1 0 *8 4 *4 0 6"},
    {"OPENATTR", "13 1"},
    {"OPEN_CONFIRM", "14 *16 1"},
    {"OPEN_DOWNGRADE", "15 *16 1 1 0"},
    {"PUTFH", "16 14 *20"},
    {"PUTPUBFH", "17"},
    {"PUTROOTFH", "18"},
    {"READ", "19 *16 *8 1000"},
    {"READDIR", "1a *8 *8 1000 2000 1 2"},
    {"READLINK", "1b"},
    {"REMOVE", "1c 1 *4"},
    {"RENAME", "1d 1 *4 5 *8"},
    {"RENEW", "1e *8"},
    {"RESTOREFH", "1f"},
    {"SAVEFH", "20"},
    {"SECINFO", "21 1 *4"},
    {"SETATTR", "22 *16 1 2 4 *4"},
    {"SETCLIENTID", "23 *8 3 *4 40000000 3 *4 9 *12 1"},
    {"SETCLIENTID_CONFIRM", "24 *8 *8"},
    {"VERIFY", "25 0 0"},
    {"WRITE", "26 *16 *8 2 5 *8"},
    {"RELEASE_LOCKOWNER", "27 *8 1 *4"},
    {"BACKCHANNEL_CTL", "28 40000000 3 0 1 0 3 *4 0 0 2 *8 6 1 2 *4 5 *8"},
    {"BIND_CONN_TO_SESSION", "29 *16 1 0"},
    {"EXCHANGE_ID-none", "2a *8 4 *4 101 0 0"},
    {"EXCHANGE_ID-machcred", "2a *8 4 *4 101 1 1 2 2 3 4 1 6 *8 5 *8 *12"},
    {"EXCHANGE_ID-ssv", "2a *8 4 *4 101 2 0 0 1 b *12 2 9 *12 1 *4 4 2 0"},
    {"CREATE_SESSION-none", "2b *8 1 3 *24 0 *24 1 8 40000000 1 0"},
    {"CREATE_SESSION-sys", "2b *8 1 3 *24 0 *24 0 40000000 1 1 0 3 *4 0 0 1 0"},
    {"CREATE_SESSION-gss", "2b *8 1 3 *24 0 *24 0 40000000 1 6 1 4 *4 8 *8"},
    {"DESTROY_SESSION", "2c *16"},
    {"FREE_STATEID", "2d *16"},
    {"GET_DIR_DELEGATION", "2e 1 1 3c *12 *12 1 2 0"},
    {"GETDEVICEINFO", "2f *16 1 1000 1 6"},
    {"GETDEVICELIST", "30 1 8 *8 *8"},
    {"LAYOUTCOMMIT-offset", "31 *8 *8 0 *16 1 *8 0 1 4 *4"},
    {"LAYOUTCOMMIT-time", "31 *8 *8 0 *16 0 1 *12 1 0"},
    {"LAYOUTGET", "32 0 1 2 *8 *8 *8 *16 1000"},
    {"LAYOUTRETURN-file", "33 0 1 3 1 *8 *8 *16 4 *4"},
    {"LAYOUTRETURN-fsid", "33 0 1 3 2"},
    {"LAYOUTRETURN-all", "33 0 1 3 3"},
    {"SECINFO_NO_NAME", "34 0"},
    {"SEQUENCE", "35 *16 1 0 0 1"},
    {"SET_SSV", "36 4 *4 2 *4"},
    {"TEST_STATEID", "37 2 *16 *16"},
    {"WANT_DELEGATION-previous", "38 1 1 2"},
    {"WANT_DELEGATION-fh", "38 1 4"},
    {"WANT_DELEGATION-delegprevfh", "38 1 6"},
    {"DESTROY_CLIENTID", "39 *8"},
    {"RECLAIM_COMPLETE", "3a 0"},
    {"ALLOCATE", "3b *16 *8 *8"},
    {"COPY-local", "3c *16 *16 *8 *8 *8 1 0 0"},
    {"COPY-remote", "3c *16 *16 *8 *8 *8 1 0 3 1 1 *4 2 5 *8 3 3 *4 9 *12"},
    {"COPY_NOTIFY", "3d *16 2 4 *4"},
    {"DEALLOCATE", "3e *16 *8 *8"},
    {"IO_ADVISE", "3f *16 *8 *8 1 4"},
    {"LAYOUTERROR", "40 *8 *8 *16 1 *16 5 26"},
    {"LAYOUTSTATS", "41 *8 *8 *16 *8 *8 *8 *8 *16 4 8 *8"},
    {"OFFLOAD_CANCEL", "42 *16"},
    {"OFFLOAD_STATUS", "43 *16"},
    {"READ_PLUS", "44 *16 *8 1000"},
    {"SEEK", "45 *16 *8 1"},
    {"WRITE_SAME", "46 *16 2 *8 *8 *8 *8 0 *8 3 *4"},
    {"CLONE", "47 *16 *16 *8 *8 *8"},
    {"GETXATTR", "48 4 *4"},
    {"SETXATTR", "49 0 4 *4 6 *8"},
    {"LISTXATTRS", "4a *8 1000"},
    {"REMOVEXATTR", "4b 4 *4"},
    {"ILLEGAL", "273c"},
};

INSTANTIATE_TEST_SUITE_P(Nfs4, ArgumentsTest, testing::ValuesIn(kArguments), test_name);

constexpr OperationCase kBrokenArguments[] = {
    {"OPEN-unknownopencreatemode", "12 0 1 0 *8 4 *4 1 4 *8 0 3 *4"},
    {"OPEN-unknownclaim", "12 0 1 0 *8 4 *4 0 7"},
    {"LOCK-lockerisnoboolean", "c 1 0 *8 *8 2 *16 3"},
    {"EXCHANGE_ID-unknownprotection", "2a *8 4 *4 101 3 0"},
    {"CREATE_SESSION-unknownflavor", "2b *8 1 3 *24 0 *24 0 40000000 1 7"},
    {"GETATTR-fourbillionwords", "9 ffffffff 0"},
    {"TEST_STATEID-fourbillionstateids", "37 ffffffff *16"},
    {"COPY-unknownnetloc", "3c *16 *16 *8 *8 *8 1 0 1 4 1 *4"},
};

class BrokenArgumentsTest : public testing::TestWithParam<OperationCase> {};

TEST_P(BrokenArgumentsTest, EndTheParsingBehindTheirOperation) {
  const CompoundOps ops = parse_compound_call(kCompound, call_of(GetParam()), {});
  EXPECT_FALSE(ops.complete);
  EXPECT_EQ(ops.kept, 1U);
  EXPECT_EQ(ops.announced, 2U);
}

INSTANTIATE_TEST_SUITE_P(Nfs4, BrokenArgumentsTest, testing::ValuesIn(kBrokenArguments), test_name);

}  // namespace
}  // namespace rpcrdma::decode
