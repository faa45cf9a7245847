#include "habits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

TEST(Habits, HelpIsAnOption) {
  EXPECT_THAT(usual_words({"help"}), ElementsAre("--help"));
  EXPECT_THAT(usual_words({"help", "-v"}), ElementsAre("--help"));
  EXPECT_THAT(usual_words({"help", "load"}), ElementsAre("load", "--help"));
  EXPECT_THAT(usual_words({"help", "analyse"}), ElementsAre("analyze", "--help"));
  EXPECT_THAT(usual_words({"help", "help"}), ElementsAre("--help"));
  EXPECT_THAT(usual_words({}), IsEmpty());
}

TEST(Habits, AnalyseIsAnalyze) {
  EXPECT_THAT(usual_words({"analyse", "help"}), ElementsAre("analyze", "help"));
  EXPECT_THAT(usual_words({"decode", "analyse"}), ElementsAre("decode", "analyse"));
}

TEST(Habits, AFileOrANearNameGivesAHint) {
  command_line::Command program("rpcrdma", "x");
  program.command("decode", "x");
  program.command("analyze", "x");
  const auto hint = [&](const Words& words) { return command_hint(program, words); };
  EXPECT_EQ(hint({"decod"}), "; did you mean decode?");
  EXPECT_EQ(hint({"anlayze", "x"}), "; did you mean analyze?");
  EXPECT_EQ(hint({"nonsense"}), "");
  EXPECT_EQ(hint({"-x"}), "");
  EXPECT_EQ(hint({}), "");
  EXPECT_EQ(hint({"-r", "a.pcap"}),
            "; to read a capture: rpcrdma analyze a.pcap, or rpcrdma decode a.pcap");
  EXPECT_EQ(hint({"-r"}), "; to read a capture: rpcrdma analyze FILE, or rpcrdma decode FILE");
  EXPECT_EQ(hint({"/"}), "");
  EXPECT_EQ(hint({"/proc/self/stat"}),
            "; to read a capture: rpcrdma analyze /proc/self/stat, or rpcrdma decode "
            "/proc/self/stat");
}

}  // namespace
}  // namespace rpcrdma::cli
