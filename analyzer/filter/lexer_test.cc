#include "lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::filter {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  const auto list = tokens(text);
  if (!list) return {"error: " + list.error().message};
  for (const Token& t : *list) out.push_back(t.text);
  return out;
}

std::vector<TokenKind> kinds(std::string_view text) {
  std::vector<TokenKind> out;
  const auto list = tokens(text);
  if (!list) return {};
  for (const Token& t : *list) out.push_back(t.kind);
  return out;
}

TEST(Lexer, WordsHoldNumbersAddressesAndNames) {
  EXPECT_THAT(words("rpcrdma.xid 0x1f -5 1.5ms fe80::1/64 10.0.0.1/8 00:01:ff RDMA_MSG"),
              ElementsAre("rpcrdma.xid", "0x1f", "-5", "1.5ms", "fe80::1/64", "10.0.0.1/8",
                          "00:01:ff", "RDMA_MSG", ""));
}

TEST(Lexer, TwoPointsEndAWord) {
  EXPECT_THAT(kinds("1..5"),
              ElementsAre(TokenKind::kWord, TokenKind::kRange, TokenKind::kWord, TokenKind::kEnd));
  EXPECT_THAT(words("10.0.0.1..10.0.0.9"), ElementsAre("10.0.0.1", "", "10.0.0.9", ""));
}

TEST(Lexer, SymbolsNeedNoSpace) {
  EXPECT_THAT(
      kinds("!(a<=1||b!=2)&&c~\"x\""),
      ElementsAre(TokenKind::kNot, TokenKind::kOpen, TokenKind::kWord, TokenKind::kLessEqual,
                  TokenKind::kWord, TokenKind::kOr, TokenKind::kWord, TokenKind::kNotEqual,
                  TokenKind::kWord, TokenKind::kClose, TokenKind::kAnd, TokenKind::kWord,
                  TokenKind::kTilde, TokenKind::kString, TokenKind::kEnd));
}

TEST(Lexer, Strings) {
  EXPECT_THAT(words(R"("a \"b\" \\ \n\x41")"), ElementsAre("a \"b\" \\ \nA", ""));
  EXPECT_THAT(words(R"(r"\d+\.")"), ElementsAre(R"(\d+\.)", ""));
  EXPECT_THAT(words(R"(rpc r"x")"), ElementsAre("rpc", "x", ""));
}

TEST(Lexer, PlacesOfTokens) {
  const auto list = tokens("  ab  \"c\"").value();
  EXPECT_EQ(list[0].offset, 2U);
  EXPECT_EQ(list[0].length, 2U);
  EXPECT_EQ(list[1].offset, 6U);
  EXPECT_EQ(list[1].length, 3U);
  EXPECT_EQ(list[2].offset, 9U);
}

struct WrongText {
  const char* text;
  std::size_t offset;
  const char* part;
};

TEST(Lexer, ShowsWhatIsWrong) {
  for (const WrongText& w :
       {WrongText{"a = 1", 2, "=="}, WrongText{"a & b", 2, "&&"}, WrongText{"a | b", 2, "||"},
        WrongText{"a == 'x'", 5, "double quotes"}, WrongText{"a == \"x", 5, "closing"},
        WrongText{R"("\q")", 1, "not an escape"}, WrongText{R"("\x4")", 1, "hexadecimal"},
        WrongText{"a[1]", 1, "'['"}, WrongText{"\xc3\xa4", 0, "ASCII"},
        WrongText{"\"\\", 1, "not an escape"}}) {
    const auto list = tokens(w.text);
    ASSERT_FALSE(list) << w.text;
    EXPECT_EQ(list.error().offset, w.offset) << w.text;
    EXPECT_NE(list.error().message.find(w.part), std::string::npos) << list.error().message;
  }
}

TEST(Lexer, LengthIsBounded) {
  EXPECT_TRUE(tokens(std::string(kMaxFilterLength, 'a')));
  EXPECT_FALSE(tokens(std::string(kMaxFilterLength + 1, 'a')));
}

}  // namespace
}  // namespace rpcrdma::filter
