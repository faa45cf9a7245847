// Arguments and results of every callback operation, each before a CB_RECALL_SLOT.
#include "upper_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

class CallbackArgumentsTest : public testing::TestWithParam<OperationCase> {};

TEST_P(CallbackArgumentsTest, AreSkippedToTheByte) {
  // tag, minorversion, callback_ident, two operations
  const ByteVector call = stream("0 1 77 2 " + std::string(GetParam().bytes) + " a 3");
  const CompoundOps ops = parse_compound_call(kCallbackCompound, call, {});
  EXPECT_TRUE(ops.complete);
  ASSERT_EQ(ops.kept, 2U);
  EXPECT_EQ(nfs4_op_name(ops.op[0], true), GetParam().operation());
  EXPECT_EQ(ops.op[1], 10U);
}

constexpr OperationCase kCallbackArguments[] = {
    {"CB_GETATTR", "3 14 *20 1 18"},
    {"CB_RECALL", "4 *16 0 14 *20"},
    {"CB_LAYOUTRECALL-file", "5 1 3 0 1 14 *20 *8 *8 *16"},
    {"CB_LAYOUTRECALL-fsid", "5 1 3 0 2 *8 *8"},
    {"CB_LAYOUTRECALL-all", "5 1 3 0 3"},
    {"CB_NOTIFY", "6 *16 14 *20 2 1 4 5 *8 0 0"},
    {"CB_PUSH_DELEG-read", "7 14 *20 1 *16 0 0 0 1 6 *8"},
    {"CB_PUSH_DELEG-none", "7 14 *20 0"},
    {"CB_RECALL_ANY", "8 10 1 3"},
    {"CB_RECALLABLE_OBJ_AVAIL", "9 10 0"},
    {"CB_RECALL_SLOT", "a 5"},
    {"CB_SEQUENCE-plain", "b *16 1 0 0 0 0"},
    {"CB_SEQUENCE-referring", "b *16 1 0 0 1 2 *16 2 1 0 2 0 *16 0"},
    {"CB_WANTS_CANCELLED", "c 1 0"},
    {"CB_NOTIFY_LOCK", "d 14 *20 *8 5 *8"},
    {"CB_NOTIFY_DEVICEID", "e 1 1 2 18 *24"},
    {"CB_OFFLOAD-done", "f 14 *20 *16 0 1 *16 *8 2 *8"},
    {"CB_OFFLOAD-failed", "f 14 *20 *16 5 *8"},
    {"CB_ILLEGAL", "273c"},
};

INSTANTIATE_TEST_SUITE_P(Nfs4, CallbackArgumentsTest, testing::ValuesIn(kCallbackArguments),
                         test_name);

class CallbackResultsTest : public testing::TestWithParam<OperationCase> {};

TEST_P(CallbackResultsTest, AreSkippedToTheByte) {
  const ByteVector reply = stream("0 0 2 " + std::string(GetParam().bytes) + " a 0");
  const CompoundOps ops = result_ops(kCallbackCompound, reply);
  EXPECT_TRUE(ops.complete);
  ASSERT_EQ(ops.kept, 2U);
  EXPECT_EQ(nfs4_op_name(ops.op[0], true), GetParam().operation());
  EXPECT_EQ(ops.op[1], 10U);
}

constexpr OperationCase kCallbackResults[] = {
    {"CB_GETATTR", "3 0 1 18 8 *8"},
    {"CB_GETATTR-failed", "3 2711"},
    {"CB_RECALL", "4 0"},
    {"CB_LAYOUTRECALL", "5 0"},
    {"CB_NOTIFY", "6 0"},
    {"CB_PUSH_DELEG", "7 0"},
    {"CB_RECALL_ANY", "8 0"},
    {"CB_RECALLABLE_OBJ_AVAIL", "9 0"},
    {"CB_RECALL_SLOT", "a 0"},
    {"CB_SEQUENCE", "b 0 *16 1 0 0 0"},
    {"CB_SEQUENCE-failed", "b 2744"},
    {"CB_WANTS_CANCELLED", "c 0"},
    {"CB_NOTIFY_LOCK", "d 0"},
    {"CB_NOTIFY_DEVICEID", "e 0"},
    {"CB_OFFLOAD", "f 0"},
    {"CB_ILLEGAL", "273c 273c"},
};

INSTANTIATE_TEST_SUITE_P(Nfs4, CallbackResultsTest, testing::ValuesIn(kCallbackResults), test_name);

}  // namespace
}  // namespace rpcrdma::decode
