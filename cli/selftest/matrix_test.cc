#include <set>

#include <gtest/gtest.h>

#include <rpcrdma/selftest/matrix.h>

namespace rpcrdma::selftest {
namespace {

std::vector<Cell> cells(const std::vector<std::string>& words) {
  const auto found = cells_of(words);
  EXPECT_TRUE(found) << found.error().message;
  return found.value_or(std::vector<Cell>());
}

TEST(Matrix, HasEveryCellOnce) {
  const auto all = cells({});
  EXPECT_EQ(all.size(), combinations().size() * 3 * kShapes * 2);
  std::set<std::string> names;
  for (const Cell& cell : all) names.insert(cell_name(cell));
  EXPECT_EQ(names.size(), all.size());
  EXPECT_TRUE(names.contains("v2-v1.rfc8166.both.loss.long-call"));
  // Cells that lose packets come last, since they use another client.
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Cell::lossy));
}

TEST(Matrix, WordsOfOneKindAreAlternatives) {
  EXPECT_EQ(cells({"v2-v2", "rfc8166", "forward", "clean", "read"}).size(), 1U);
  EXPECT_EQ(cells({"v2-v2", "forward", "clean", "read", "write"}).size(), 2U);
  EXPECT_EQ(cells({"v2-v2", "reverse", "both", "clean", "read", "write"}).size(), 4U);
  // Matches either side.
  for (const Cell& cell : cells({"v2", "short"})) {
    EXPECT_NE(cell_name(cell).find("v2"), std::string::npos);
  }
  EXPECT_EQ(cells({"v1", "v2"}).size(), cells({}).size());
  EXPECT_EQ(cells({"draft-01", "v2-v1", "short", "both", "loss"}).size(), 1U);
}

TEST(Matrix, WordsThatMakeNoSense) {
  const std::vector<std::string> unknown{"sideways"};
  EXPECT_NE(cells_of(unknown).error().message.find("sideways: valid words are v1"),
            std::string::npos);
  // Version 2 has no such profile.
  const std::vector<std::string> none{"v2-v2", "draft-01"};
  EXPECT_EQ(cells_of(none).error().message, "there is no such cell");
}

TEST(Matrix, DraftOneHasNoReverseChunks) {
  for (const Combination& c : combinations()) {
    const bool draft = c.profile == Profile::kDraft01;
    EXPECT_EQ(reverse_is_inline_only(c.profile), draft);
    service::ClientOptions client;
    apply(c, client);
    EXPECT_EQ(client.reverse.chunks, !draft);
    EXPECT_EQ(client.version.versions, c.client_versions);
    const auto common = protocol::highest_common(c.client_versions, c.server_versions);
    EXPECT_EQ(common, c.version);
  }
}

}  // namespace
}  // namespace rpcrdma::selftest
