#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

#include <rpcrdma/decode/possible_names.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::decode {
namespace {

bool has(FieldId id, std::uint64_t value, std::string_view name) {
  const auto names = possible_names(id);
  return std::any_of(names.begin(), names.end(),
                     [&](const ValueName& n) { return n.value == value && n.name == name; });
}

TEST(PossibleNames, OfEveryContext) {
  EXPECT_TRUE(has(FieldId::kProc, 1, "RDMA_NOMSG"));
  EXPECT_TRUE(has(FieldId::kProc, 1, "RDMA2_NOMSG"));
  EXPECT_TRUE(has(FieldId::kError, 2, "ERR_CHUNK"));
  EXPECT_TRUE(has(FieldId::kRpcProgram, kProgNfsCallback, "NFS_CB"));
  EXPECT_TRUE(has(FieldId::kRpcProgram, kProgEcho, "ECHO"));
  EXPECT_TRUE(has(FieldId::kRpcProgram, kProgEchoCallback, "ECHO_CALLBACK"));
  EXPECT_TRUE(has(FieldId::kRpcProcedure, 1, "COMPOUND"));
  EXPECT_TRUE(has(FieldId::kRpcProcedure, 4, "ECHO_BULK"));
  EXPECT_TRUE(has(FieldId::kRpcProcedure, 7, "WRITE"));
  EXPECT_TRUE(has(FieldId::kRpcProcedure, 8, "WRITE"));
  EXPECT_TRUE(has(FieldId::kRpcProcedure, 23, "FREE_ALL"));
  EXPECT_TRUE(has(FieldId::kNfsOp, 25, "READ"));
  EXPECT_TRUE(has(FieldId::kNfsOp, 4, "CB_RECALL"));
  EXPECT_TRUE(has(FieldId::kNfsStatus, 10008, "NFS4ERR_DELAY"));
  EXPECT_TRUE(has(FieldId::kNfsStatus, 2, "NFS3ERR_NOENT"));
  EXPECT_TRUE(has(FieldId::kRpcAcceptStat, 2, "PROG_MISMATCH"));
  EXPECT_TRUE(possible_names(FieldId::kCredit).empty());
}

// The loops end at bounds; no value beyond them may have a name.
TEST(PossibleNames, NothingIsLeftOut) {
  for (std::uint32_t n = 0; n < 1U << 16; ++n) {
    for (const bool callback : {false, true}) {
      if (const char* name = nfs4_op_name(n, callback); name != nullptr && n > 127) {
        EXPECT_TRUE(has(FieldId::kNfsOp, n, name)) << n << name;
      }
    }
    if (n <= 127 || (n > 10000 && n <= 10199)) continue;
    EXPECT_EQ(nfs4_status_name(n), nullptr) << n;
    EXPECT_EQ(nfs3_status_name(n), nullptr) << n;
  }
}

TEST(PossibleNames, OnlyNamesThatDependOnTheMessageAreMany) {
  for (const FieldSpec& field : schema()) {
    if (names_depend_on_context(field.id)) {
      EXPECT_FALSE(possible_names(field.id).empty()) << field.name;
    } else {
      EXPECT_EQ(possible_names(field.id).size(), field.values.size()) << field.name;
    }
  }
}

}  // namespace
}  // namespace rpcrdma::decode
