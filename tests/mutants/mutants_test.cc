// ./dev mutants on the project in example/, whose tests notice some changes and others not.
#define RPCRDMA_COMMAND "false"
#include "support/command.h"

#include <memory>

#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Mutants : public ::testing::Test {
 protected:
  // One copy for all, which is configured once.
  static void SetUpTestSuite() { folder_ = std::make_unique<TemporaryFolder>(); }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    using std::filesystem::copy_options;
    std::filesystem::copy(RPCRDMA_SOURCE_DIR "/tests/mutants/example", folder_->path(),
                          copy_options::recursive | copy_options::overwrite_existing);
    if (run("python3 -B " RPCRDMA_SOURCE_DIR "/tests/mutants/sites.py").status != 0)
      GTEST_SKIP() << "python3-clang is not installed";
  }
  [[nodiscard]] Result mutants(const std::string& arguments) const {
    return run("cd " + folder_->path() + " && python3 -B " RPCRDMA_SOURCE_DIR "/tests/mutants " +
               arguments);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_->file(name); }

  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(Mutants, PrintsThoseThatNoTestNotices) {
  const std::string source = read_file(file("sum/sum.cc"));
  const Result r = mutants("sum");
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, HasSubstr("sum/sum.cc:13: in Sum::add: survived\n"
                               "- ++refused_;\n"
                               "+ --refused_;\n"));
  EXPECT_THAT(r.out, HasSubstr("in Sum::refused: survived, and no test runs it\n"));
  // A call is removed.
  EXPECT_THAT(r.out, HasSubstr("- numbers_.push_back(number);\n+ \n"));
  // Functions that only the compiler runs.
  EXPECT_THAT(r.out, AllOf(HasSubstr("in unnoticed: survived"), Not(HasSubstr("in noticed"))));
  // The test looks at both sides of the limit.
  EXPECT_THAT(r.out, Not(HasSubstr("kLimit")));
  // `last + first` is no C++.
  EXPECT_THAT(r.out, HasSubstr("sum, seed 1: 15 mutants: 10 killed (0 by timeout), 4 survived, "
                               "1 equivalent; 1 more did not compile; 71.4 % of those that are not "
                               "equivalent were killed\n"));
  EXPECT_EQ(read_file(file("sum/sum.cc")), source);
}

TEST_F(Mutants, AnEquivalentOneThatIsNotThereIsAnError) {
  const std::string list = read_file(file("tests/mutants/equivalent.txt"));
  write_file(file("tests/mutants/equivalent.txt"),
             list + "\nsum/sum.cc largest\n- gone\n+ away\nBecause.\n");
  const Result r = mutants("sum 1");
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.out, HasSubstr("equivalent.txt: matches no mutant:\nsum/sum.cc largest\n- gone"));
  write_file(file("tests/mutants/equivalent.txt"), "sum/sum.cc largest\n- a\n+ b\n");
  EXPECT_THAT(mutants("sum 1").err, HasSubstr("an entry needs file and function, two lines and a "
                                              "reason"));
}

TEST_F(Mutants, WhatTestsNoticeIsNotEquivalent) {
  write_file(file("tests/mutants/equivalent.txt"),
             "sum/sum.cc Sum::add\n"
             "- if (value_ + number > kLimit) {\n"
             "+ if (value_ + number >= kLimit) {\n"
             "They say.\n");
  const std::string header = read_file(file("sum/sum.h"));
  // Without what must be built alone.
  write_file(file("sum/sum.h"), header.substr(0, header.find("// Only the compiler")) + "}\n");
  EXPECT_THAT(mutants("sum").out, HasSubstr("but the list says that it is equivalent"));
}

TEST_F(Mutants, TheSeedChoosesOthersAndTheSameAgain) {
  const std::string one = mutants("sum 3 1").out;
  EXPECT_EQ(one, mutants("sum 3 1").out);
  EXPECT_THAT(one, HasSubstr("seed 1: 3 mutants"));
  EXPECT_NE(one, mutants("sum 3 2").out);
}

TEST_F(Mutants, ATestThatFailsWithoutAMutantEndsIt) {
  write_file(file("sum/sum_test.cc"), "int main() { return 1; }\n");
  const Result r = mutants("sum 1");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("sum_test fails without a mutant"));
}

TEST_F(Mutants, AFolderMustBeThere) {
  const Result r = mutants("sun");
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("sun is no folder with a CMakeLists.txt"));
}

}  // namespace
}  // namespace rpcrdma::e2e
