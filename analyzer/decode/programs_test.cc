#include "upper_for_tests.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/decode/programs.h>

namespace rpcrdma::decode {
namespace {

TEST(ProgramNameTest, KnowsTheRegisteredPrograms) {
  EXPECT_EQ(text(program_name(100000, 2, 0)), "PORTMAP");
  EXPECT_EQ(text(program_name(100003, 4, 1)), "NFS");
  EXPECT_EQ(text(program_name(100005, 3, 1)), "MOUNT");
  EXPECT_EQ(text(program_name(100021, 4, 2)), "NLM");
  EXPECT_EQ(text(program_name(100024, 1, 1)), "NSM");
  EXPECT_EQ(text(program_name(100227, 3, 1)), "NFSACL");
  EXPECT_EQ(text(program_name(100417, 1, 1)), "RDMACONFIG");
}

TEST(ProgramNameTest, KnowsTheEchoProgram) {
  EXPECT_EQ(text(program_name(0x20525244, 1, 0)), "ECHO");
  std::vector<std::string_view> names;
  for (std::uint32_t n = 0; n < 8; ++n) names.push_back(text(procedure_name(0x20525244, 1, n)));
  EXPECT_EQ(names, (std::vector<std::string_view>{"NULL", "ECHO", "SINK", "SOURCE", "ECHO_BULK",
                                                  "LIST", "SLEEP", "COUNT"}));
}

TEST(ProgramNameTest, KnowsAProgramOfAnyVersion) {
  EXPECT_EQ(text(program_name(100003, 99, 0)), "NFS");
}

TEST(ProgramNameTest, DoesNotKnowOthers) {
  EXPECT_EQ(program_name(100001, 1, 0), nullptr);
}

TEST(ProgramNameTest, TakesATransientProgramForNfsCallbacks) {
  EXPECT_EQ(text(program_name(0x40000000, 1, 1)), "NFS_CB");
  EXPECT_EQ(text(program_name(0x5fffffff, 4, 0)), "NFS_CB");
}

TEST(ProgramNameTest, LeavesOtherTransientProgramsAlone) {
  EXPECT_EQ(program_name(0x40000000, 2, 1), nullptr);
  EXPECT_EQ(program_name(0x40000000, 1, 2), nullptr);
  EXPECT_EQ(program_name(0x3fffffff, 1, 1), nullptr);
  EXPECT_EQ(program_name(0x60000000, 1, 1), nullptr);
}

struct ProcedureCase {
  std::uint32_t program, version, last;
  const char* name;  // name of the last procedure
};

void PrintTo(const ProcedureCase& c, std::ostream* out) {
  *out << c.program << " version " << c.version;
}

class LastProcedureTest : public testing::TestWithParam<ProcedureCase> {};

TEST_P(LastProcedureTest, IsNamedAndNothingBehindIt) {
  const ProcedureCase& c = GetParam();
  EXPECT_EQ(text(procedure_name(c.program, c.version, c.last)), c.name);
  EXPECT_EQ(procedure_name(c.program, c.version, c.last + 1), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    All, LastProcedureTest,
    testing::Values(
        ProcedureCase{100000, 2, 5, "CALLIT"}, ProcedureCase{100000, 3, 8, "TADDR2UADDR"},
        ProcedureCase{100000, 4, 12, "GETSTAT"}, ProcedureCase{100003, 2, 17, "STATFS"},
        ProcedureCase{100003, 3, 21, "COMMIT"}, ProcedureCase{100003, 4, 1, "COMPOUND"},
        ProcedureCase{100005, 1, 6, "EXPORTALL"}, ProcedureCase{100005, 2, 7, "PATHCONF"},
        ProcedureCase{100005, 3, 5, "EXPORT"}, ProcedureCase{100021, 1, 16, "SM_NOTIFY"},
        ProcedureCase{100021, 3, 23, "FREE_ALL"}, ProcedureCase{100021, 4, 23, "FREE_ALL"},
        ProcedureCase{100024, 1, 6, "NOTIFY"}, ProcedureCase{100227, 2, 5, "GETXATTRDIR"},
        ProcedureCase{100227, 3, 3, "GETXATTRDIR"}, ProcedureCase{100417, 1, 1, "CONF_RDMA"},
        ProcedureCase{0x20525244, 1, 7, "COUNT"}, ProcedureCase{0x40000000, 1, 1, "CB_COMPOUND"}));

TEST(ProcedureNameTest, FollowsTheVersion) {
  EXPECT_EQ(text(procedure_name(100003, 2, 8)), "WRITE");
  EXPECT_EQ(text(procedure_name(100003, 3, 8)), "CREATE");
  EXPECT_EQ(text(procedure_name(100000, 2, 3)), "GETPORT");
  EXPECT_EQ(text(procedure_name(100000, 4, 3)), "GETADDR");
}

TEST(ProcedureNameTest, KnowsMessagesAndResultsOfTheLockManager) {
  EXPECT_EQ(text(procedure_name(100021, 4, 6)), "TEST_MSG");
  EXPECT_EQ(text(procedure_name(100021, 4, 15)), "GRANTED_RES");
  EXPECT_EQ(text(procedure_name(100021, 4, 20)), "SHARE");
}

TEST(ProcedureNameTest, HasHolesInTheLockManagersNumbers) {
  EXPECT_EQ(procedure_name(100021, 4, 17), nullptr);
  EXPECT_EQ(procedure_name(100021, 4, 19), nullptr);
}

TEST(ProcedureNameTest, DoesNotKnowOtherVersions) {
  EXPECT_EQ(procedure_name(100003, 5, 0), nullptr);
  EXPECT_EQ(procedure_name(100417, 2, 1), nullptr);
}

TEST(ProcedureNameTest, NamesNumberZeroOfEachProgram) {
  EXPECT_EQ(text(procedure_name(100003, 4, 0)), "NULL");
  EXPECT_EQ(text(procedure_name(0x40000000, 1, 0)), "CB_NULL");
}

TEST(ProcedureNameTest, SurvivesTheHighestNumber) {
  EXPECT_EQ(procedure_name(100003, 3, UINT32_MAX), nullptr);
}

}  // namespace
}  // namespace rpcrdma::decode
