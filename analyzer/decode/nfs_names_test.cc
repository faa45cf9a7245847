#include "upper_for_tests.h"

#include <string_view>

#include <gtest/gtest.h>

#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::decode {
namespace {

TEST(NfsNamesTest, NamesEveryForwardOperation) {
  for (std::uint32_t op = 3; op <= 75; ++op) EXPECT_NE(nfs4_op_name(op, false), nullptr) << op;
  EXPECT_EQ(text(nfs4_op_name(3, false)), "ACCESS");
  EXPECT_EQ(text(nfs4_op_name(39, false)), "RELEASE_LOCKOWNER");
  EXPECT_EQ(text(nfs4_op_name(53, false)), "SEQUENCE");
  EXPECT_EQ(text(nfs4_op_name(75, false)), "REMOVEXATTR");
  EXPECT_EQ(text(nfs4_op_name(10044, false)), "ILLEGAL");
}

TEST(NfsNamesTest, NamesEveryCallbackOperation) {
  for (std::uint32_t op = 3; op <= 15; ++op) EXPECT_NE(nfs4_op_name(op, true), nullptr) << op;
  EXPECT_EQ(text(nfs4_op_name(4, true)), "CB_RECALL");
  EXPECT_EQ(text(nfs4_op_name(15, true)), "CB_OFFLOAD");
  EXPECT_EQ(text(nfs4_op_name(10044, true)), "CB_ILLEGAL");
}

TEST(NfsNamesTest, LeavesOtherOperationsUnnamed) {
  for (const std::uint32_t op : {0U, 2U, 76U, 10043U, 10045U, UINT32_MAX}) {
    EXPECT_EQ(nfs4_op_name(op, false), nullptr) << op;
  }
  EXPECT_EQ(nfs4_op_name(16, true), nullptr);
}

TEST(NfsNamesTest, NamesStatusOfEachMinorVersion) {
  EXPECT_EQ(text(nfs4_status_name(0)), "NFS4_OK");
  EXPECT_EQ(text(nfs4_status_name(10008)), "NFS4ERR_DELAY");
  EXPECT_EQ(text(nfs4_status_name(10030)), "NFS4ERR_RESTOREFH");
  EXPECT_EQ(text(nfs4_status_name(10052)), "NFS4ERR_BADSESSION");
  EXPECT_EQ(text(nfs4_status_name(10094)), "NFS4ERR_OFFLOAD_NO_REQS");
  EXPECT_EQ(text(nfs4_status_name(10096)), "NFS4ERR_XATTR2BIG");
}

TEST(NfsNamesTest, NamesStatusOfVersionsTwoAndThree) {
  EXPECT_EQ(text(nfs3_status_name(0)), "NFS3_OK");
  EXPECT_EQ(text(nfs3_status_name(13)), "NFS3ERR_ACCES");
  EXPECT_EQ(text(nfs3_status_name(99)), "NFSERR_WFLUSH");
  EXPECT_EQ(text(nfs3_status_name(10008)), "NFS3ERR_JUKEBOX");
}

TEST(NfsNamesTest, LeavesOtherStatusUnnamed) {
  EXPECT_EQ(nfs4_status_name(3), nullptr);
  EXPECT_EQ(nfs4_status_name(10073), nullptr);  // RFC 5662: unused
  EXPECT_EQ(nfs4_status_name(10097), nullptr);
  EXPECT_EQ(nfs3_status_name(10009), nullptr);
  EXPECT_EQ(nfs3_status_name(UINT32_MAX), nullptr);
}

}  // namespace
}  // namespace rpcrdma::decode
