#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/base/text_buffer.h>

namespace rpcrdma::base {
namespace {

TEST(TextBuffer, PutsTextsCharactersAndNumbers) {
  TextBuffer text;
  text.put("credit ", 32U, ' ', std::string_view("of"), ' ', std::size_t{0}, '/',
           std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(text.view(), "credit 32 of 0/18446744073709551615");
}

TEST(TextBuffer, FillsNumbersFromTheLeft) {
  TextBuffer text;
  text.put(Padded{7, 3}, Padded{7, 2, '0'}, Padded{12345, 3}, '|', Hex32{0xbeef});
  EXPECT_EQ(text.view(), "  70712345|0000beef");
}

TEST(TextBuffer, GrowsAndIsUsedAgain) {
  TextBuffer text;
  std::string expected;
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text.view(), "");
  for (unsigned i = 0; i < 1000; ++i) {
    text.put(i, "", std::string(i % 7, 'x'));
    expected += std::to_string(i) + std::string(i % 7, 'x');
  }
  EXPECT_EQ(text.view(), expected);
  text.clear();
  EXPECT_TRUE(text.empty());
  text.put("again");
  EXPECT_EQ(text.view(), "again");
}

}  // namespace
}  // namespace rpcrdma::base
