#include "line_cutter.h"

#include <gmock/gmock.h>

namespace rpcrdma::load_agents {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LineCutter, CutsWhereLinesEnd) {
  LineCutter cutter;
  cutter.append("one\r\ntw");
  EXPECT_THAT(cutter.take_lines(), ElementsAre("one"));
  cutter.append("o\n\n\nthree");
  EXPECT_THAT(cutter.take_lines(), ElementsAre("two"));
  cutter.end();
  EXPECT_THAT(cutter.take_lines(), ElementsAre("three"));
  EXPECT_EQ(cutter.last_line(), "three");
  cutter.end();
  EXPECT_THAT(cutter.take_lines(), IsEmpty());
}

TEST(LineCutter, IsBounded) {
  LineCutter cutter;
  for (int i = 0; i < 1000; ++i) cutter.append(std::string(1000, 'x'));
  cutter.append("\nnext\n");
  EXPECT_THAT(cutter.take_lines(),
              ElementsAre(std::string(LineCutter::kMostLineBytes, 'x') + "...", "next"));
  for (int i = 0; i < 1000; ++i) cutter.append("again\n");
  EXPECT_EQ(cutter.take_lines().size(), LineCutter::kMostLines - 2);
  EXPECT_EQ(cutter.dropped(), 1000 - (LineCutter::kMostLines - 2));
}

}  // namespace
}  // namespace rpcrdma::load_agents
