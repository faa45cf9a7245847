#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::filter {
namespace {

TEST(Explain, MarksThePlace) {
  EXPECT_EQ(explain("a == bc && d", {5, 2, "bc is wrong"}),
            "column 6: bc is wrong\n"
            "  a == bc && d\n"
            "       ^^");
}

TEST(Explain, AtTheEnd) {
  EXPECT_EQ(explain("a ==", {4, 0, "a value is expected here"}),
            "column 5: a value is expected here\n"
            "  a ==\n"
            "      ^");
}

TEST(Explain, NoControlCharacterReachesTheTerminal) {
  EXPECT_EQ(explain("a\033[2J\xff", {1, 1, "x"}), "column 2: x\n  a?[2J?\n   ^");
  EXPECT_EQ(explain("a", {0, 1, "\033x\n"}), "column 1: ?x?\n  a\n  ^");
}

TEST(Explain, OfALongFilterWhatIsNear) {
  const std::string text =
      explain(std::string(5000, 'a') + "B" + std::string(5000, 'c'), {5000, 100000, "x"});
  EXPECT_LT(text.size(), 300U);
  EXPECT_LT(explain("a", {0, 1, std::string(5000, 'x')}).size(), 350U);
  const std::size_t shown = text.find("B") - text.find("\n  a") - 1;
  EXPECT_EQ(text.find("^") - text.rfind("\n") - 1, shown);
}

}  // namespace
}  // namespace rpcrdma::filter
