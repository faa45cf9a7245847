#include <gtest/gtest.h>

#include <rpcrdma/report/ordered_output.h>

namespace rpcrdma::report {
namespace {

struct Output : ::testing::Test {
  std::string written;
  OrderedOutput output{[this](std::string_view text) { written += text; },
                       [](std::uint64_t id) {
                         std::string text = std::to_string(id);
                         text.insert(text.begin(), '(');
                         text.push_back(')');
                         return text;
                       },
                       {3, 10}};
};

TEST_F(Output, WaitsForTheOldest) {
  output.reserve(1);
  output.reserve(2);
  output.ready(2, "b");
  EXPECT_EQ(written, "");
  output.ready(1, "a");
  EXPECT_EQ(written, "ab");
}

TEST_F(Output, TheLimitForcesTheOldestOut) {
  for (std::uint64_t id = 1; id <= 4; ++id) output.reserve(id);
  EXPECT_EQ(written, "(1)");
  output.ready(1, "too late");
  output.ready(2, "b");
  EXPECT_EQ(written, "(1)b");
}

TEST_F(Output, TextThatWaitsIsLimitedToo) {
  output.reserve(1);
  output.reserve(2);
  output.ready(2, "0123456789");
  EXPECT_EQ(written, "");
  output.reserve(3);
  output.ready(3, "x");
  EXPECT_EQ(written, "(1)0123456789x");
}

TEST_F(Output, TextThatWasWrittenNoLongerCounts) {
  for (std::uint64_t id = 1; id <= 9; ++id) {
    output.reserve(id);
    output.ready(id, "01234567");
  }
  output.reserve(10);
  output.reserve(11);
  output.ready(11, "0123456789");
  EXPECT_EQ(written.size(), 72U);
}

TEST_F(Output, FlushFinishesTheRestInOrder) {
  output.reserve(1);
  output.reserve(2);
  output.ready(2, "b");
  output.flush();
  EXPECT_EQ(written, "(1)b");
}

}  // namespace
}  // namespace rpcrdma::report
