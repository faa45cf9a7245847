#include "fold.h"

#include <gtest/gtest.h>

namespace rpcrdma::report {
namespace {

TEST(Fold, LeavesWhatFits) {
  EXPECT_EQ(fold("one two\n\n  three\n", 7), "one two\n\n  three\n");
}

TEST(Fold, WidthZeroLeavesAll) {
  const std::string line(300, 'x');
  EXPECT_EQ(fold(line + " " + line, 0), line + " " + line);
}

TEST(Fold, BreaksBetweenWordsAndIndentsWhatGoesOn) {
  EXPECT_EQ(fold("  one two three four\nfive", 11), "  one two\n    three\n    four\nfive");
}

TEST(Fold, AWordThatIsTooLongStandsAlone) {
  EXPECT_EQ(fold("a abcdefghijkl b", 6), "a\n  abcdefghijkl\n  b");
}

TEST(Fold, ColoursTakeNoColumn) {
  EXPECT_EQ(fold("\x1b[31merror\x1b[0m one two", 9), "\x1b[31merror\x1b[0m one\n  two");
}

TEST(Fold, CharactersCountAndNotBytes) {
  EXPECT_EQ(fold("\u00b5\u00b5\u00b5 \u00b5\u00b5\u00b5", 7),
            "\u00b5\u00b5\u00b5 \u00b5\u00b5\u00b5");
}

TEST(Fold, SpacesBetweenColumnsStay) {
  EXPECT_EQ(fold("  lost       3 packets", 30), "  lost       3 packets");
}

}  // namespace
}  // namespace rpcrdma::report
