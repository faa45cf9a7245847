#include <gtest/gtest.h>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::plot {
namespace {

TEST(Escape, XmlHasNoMarkupLeft) {
  EXPECT_EQ(escape_xml("<script a=\"b\" c='d'>&</script>"),
            "&lt;script a=&quot;b&quot; c=&#39;d&#39;&gt;&amp;&lt;/script&gt;");
  EXPECT_EQ(escape_xml("Zürich \xe2\x82\xac"), "Zürich \xe2\x82\xac");
}

TEST(Escape, ATerminalGetsNothingThatItActsOn) {
  EXPECT_EQ(escape_terminal("a\x1b[2J\r\n\t\x7fz"), "a\\x1b[2J\\x0d\\x0a\\x09\\x7fz");
  // C1 as one byte and in UTF-8, direction marks, a byte that begins no character.
  EXPECT_EQ(escape_terminal("\x9b"
                            "2J\xc2\x9b\xe2\x80\xae\xff"),
            "\\x9b2J\\xc2\\x9b\\xe2\\x80\\xae\\xff");
  EXPECT_EQ(escape_terminal(std::string_view("\0", 1)), "\\x00");
}

TEST(Escape, ATerminalGetsAllElseAsItIs) {
  for (const char* text :
       {"", "C:\\x <&>", "Zürich \xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbd"}) {
    EXPECT_EQ(escape_terminal(text), text);
  }
}

TEST(Escape, XmlHoldsOnlyItsOwnCharacters) {
  const std::string bad = "\xef\xbf\xbd";  // U+FFFD
  EXPECT_EQ(escape_xml(std::string("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(escape_xml("\x1b[2J"), bad + "[2J");
  EXPECT_EQ(escape_xml("\xff<"), bad + "&lt;");
  EXPECT_EQ(escape_xml("\xc0\xbc"), bad + bad);            // "<", overlong
  EXPECT_EQ(escape_xml("\xed\xa0\x80"), bad + bad + bad);  // half of a surrogate pair
  EXPECT_EQ(escape_xml("\xe2\x82"), bad + bad);            // truncated
  EXPECT_EQ(escape_xml("\xef\xbf\xbe"), bad);              // U+FFFE
  EXPECT_EQ(escape_xml("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(escape_xml("\xf4\x90\x80\x80").find('\xf4'), std::string::npos);  // beyond Unicode
}

TEST(Escape, TerminalTextFits) {
  EXPECT_EQ(fit_terminal("abcdef", 6, true), "abcdef");
  EXPECT_EQ(fit_terminal("abcdefg", 6, true), "abc...");
  EXPECT_EQ(fit_terminal("abcdefg", 2, true), "..");
  EXPECT_EQ(fit_terminal("für", 3, true), "für");
  EXPECT_EQ(fit_terminal("für", 3, false), "f?r");
  EXPECT_EQ(fit_terminal("漢字漢字", 7, true), "漢字...");  // two columns each
}

TEST(Escape, TerminalTextCommandsNothing) {
  EXPECT_EQ(fit_terminal("a\033[31m\n\x7f\xc2\x9b", 80, true), "a?[31m???");
  EXPECT_EQ(fit_terminal("\xe2\x80\xae"
                         "evil",
                         80, true),
            "?evil");  // right to left
}

}  // namespace
}  // namespace rpcrdma::plot
