#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <rpcrdma/rules/sort.h>

namespace rpcrdma::rules {
namespace {

TEST(SortByPlace, KeepsTheOrderOfEquals) {
  using Value = std::pair<int, std::string>;
  std::vector<Value> values{{2, "a"}, {1, "b"}, {2, "c"}, {0, "d"}, {1, "e"}};
  sort_by_place(values, [](const Value& a, const Value& b) { return a.first < b.first; });
  const std::vector<Value> sorted{{0, "d"}, {1, "b"}, {1, "e"}, {2, "a"}, {2, "c"}};
  EXPECT_EQ(values, sorted);
}

TEST(SortByPlace, Nothing) {
  std::vector<int> none;
  sort_by_place(none, [](int a, int b) { return a < b; });
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace rpcrdma::rules
