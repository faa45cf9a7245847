#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/selftest/table.h>

namespace rpcrdma::selftest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Done> some() {
  std::vector<Done> cells;
  cells.push_back({{0, Direction::kForward, false, Shape::kShort}, {8, 0, 0, 0, {}}, 1000});
  cells.push_back({{0, Direction::kForward, false, Shape::kRead},
                   {7, 0, 0, 0, {"1 of 8 Calls failed: a byte"}},
                   2000});
  cells.push_back({{4, Direction::kReverse, false, Shape::kRead}, {0, 0, 8, 0, {}}, 0});
  cells.push_back({{4, Direction::kBoth, false, Shape::kRead}, {8, 0, 8, 0, {}}, 0});
  cells.push_back({{0, Direction::kForward, true, Shape::kShort}, {16, 0, 0, 3, {}}, 0});
  return cells;
}

TEST(Table, ALineForEachRowAndEachFailure) {
  const std::string text = to_text({"10.0.0.1 ports 1 to 7", "10.0.0.2", "soft"}, some());
  EXPECT_THAT(text, HasSubstr("client v1, server v1, rfc8166: version 1\n"
                              "  forward              ok              FAIL\n"));
  EXPECT_THAT(text, HasSubstr("  forward  1 % loss    ok\n"));
  EXPECT_THAT(text, HasSubstr("  reverse                                 -\n"));
  EXPECT_THAT(text, HasSubstr("  both                                  ok-\n"));
  EXPECT_THAT(text,
              HasSubstr("FAIL v1-v1.rfc8166.forward.clean.read: 1 of 8 Calls failed: a byte\n"));
  EXPECT_THAT(text, HasSubstr("5 cells in 3 us: 4 passed, 1 failed\n"));
  EXPECT_THAT(text, HasSubstr("39 Calls with all bytes correct, 16 refused\n"));
  EXPECT_THAT(
      text, HasSubstr("3 packets dropped on purpose in 1 cells; in 0 of them none was dropped\n"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 90U) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(Table, OfCleanCellsNothingIsSaidOfLoss) {
  auto cells = some();
  cells.pop_back();
  EXPECT_THAT(to_text({}, cells), Not(HasSubstr("lost")));
}

TEST(Table, AsJson) {
  const auto json = nlohmann::json::parse(to_json({"10.0.0.1", "10.0.0.2", "rxe0"}, some()));
  EXPECT_EQ(json["schema"], "rpcrdma-selftest-1");
  EXPECT_EQ(json["passed"], 4);
  EXPECT_EQ(json["failed"], 1);
  const auto& cell = json["cells"][1];
  EXPECT_EQ(cell["name"], "v1-v1.rfc8166.forward.clean.read");
  EXPECT_EQ(cell["passed"], false);
  EXPECT_EQ(cell["failures"][0], "1 of 8 Calls failed: a byte");
  EXPECT_EQ(json["cells"][4]["lost_packets"], 3);
}

}  // namespace
}  // namespace rpcrdma::selftest
