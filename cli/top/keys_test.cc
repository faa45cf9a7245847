#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/top/keys.h>

namespace rpcrdma::top {
namespace {

using ::testing::ElementsAre;

TEST(KeyReader, KnowsLettersAndSequencesInAnyPieces) {
  KeyReader reader;
  EXPECT_THAT(reader.add("jq"), ElementsAre(Key::kDown, Key::kQuit));
  EXPECT_THAT(reader.add("\033[A\033OB\033[5~"), ElementsAre(Key::kUp, Key::kDown, Key::kPageUp));
  EXPECT_THAT(reader.add("\033"), ElementsAre());
  EXPECT_THAT(reader.add("["), ElementsAre());
  EXPECT_THAT(reader.add("6"), ElementsAre());
  EXPECT_THAT(reader.add("~s"), ElementsAre(Key::kPageDown, Key::kSort));
  EXPECT_THAT(reader.add("\033q"), ElementsAre(Key::kQuit));
}

TEST(KeyReader, SequencesThatNeverEndAreGivenUp) {
  KeyReader reader;
  const auto keys = reader.add("\033[" + std::string(14, '1') + "q");
  EXPECT_THAT(keys, ElementsAre(Key::kOther, Key::kQuit));
}

TEST(Press, ChangesTheView) {
  View view;
  Shown shown;
  press(view, Key::kDown, shown);
  press(view, Key::kDown, shown);
  press(view, Key::kUp, shown);
  EXPECT_EQ(view.move, 1);
  for (std::size_t i = 0; i < kSorts; ++i) press(view, Key::kSort, shown);
  EXPECT_EQ(view.sort, Sort::kCalls);
  press(view, Key::kHelp, shown);
  EXPECT_EQ(view.page, Page::kHelp);
  press(view, Key::kDown, shown);
  EXPECT_EQ(view.page, Page::kConnections);
  press(view, Key::kPause, shown);
  EXPECT_TRUE(view.paused);
  press(view, Key::kQuit, shown);
  EXPECT_TRUE(view.quit);
}

TEST(Press, SelectsFindings) {
  View view;
  Shown shown;
  shown.findings.resize(3);
  press(view, Key::kFindings, shown);
  EXPECT_EQ(view.page, Page::kFindings);
  press(view, Key::kLast, shown);
  EXPECT_EQ(view.finding, 2U);
  press(view, Key::kUp, shown);
  EXPECT_EQ(view.finding, 1U);
  press(view, Key::kFirst, shown);
  press(view, Key::kUp, shown);
  EXPECT_EQ(view.finding, 0U);
  press(view, Key::kFindings, shown);
  EXPECT_EQ(view.page, Page::kConnections);
}

TEST(Press, MovesWithinWhatIsShownWhilePaused) {
  View view;
  Shown shown;
  shown.rows.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) shown.rows[i].id = 10 + i;
  view.selected = 11;
  view.move = 1;
  move_within(view, shown);
  EXPECT_EQ(view.selected, 12U);
  view.move = 5;
  move_within(view, shown);
  EXPECT_EQ(view.selected, 12U);
  view.move = -9;
  move_within(view, shown);
  EXPECT_EQ(view.selected, 10U);
}

}  // namespace
}  // namespace rpcrdma::top
