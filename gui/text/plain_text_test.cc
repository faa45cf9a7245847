#include <QTextDocument>

#include <gtest/gtest.h>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {
namespace {

const QString kHostile = "a<h1>b</h1> & <img src='file:///etc/passwd'>";

// Renders text as Qt renders HTML.
QString shown(const QString& html) {
  QTextDocument document;
  document.setHtml(html);
  return document.toPlainText();
}

TEST(PlainText, AToolTipShowsMarkupAsItIs) {
  EXPECT_TRUE(Qt::mightBeRichText(kHostile));
  EXPECT_EQ(shown(tool_tip(kHostile)), kHostile);
  EXPECT_EQ(shown(tool_tip("one\ntwo")), "one\ntwo");
  EXPECT_EQ(tool_tip(""), "");
}

TEST(PlainText, AChartShowsMarkupAsItIs) {
  EXPECT_EQ(shown(chart_text(kHostile)), kHostile);
}

TEST(PlainText, ALineHasNoControlCharacters) {
  EXPECT_EQ(one_line("a\nb\x1b[31m\u009b2J\u202e\u2028z"),
            "a\ufffdb\ufffd[31m\ufffd2J\ufffd\ufffdz");
  EXPECT_EQ(one_line(u8"Zürich € 😀"), u8"Zürich € 😀");
}

TEST(PlainText, AMenuHasNoMnemonicAndNoShortcut) {
  EXPECT_EQ(menu_text("R&D\tCtrl+Q"), "R&&D\ufffdCtrl+Q");
}

}  // namespace
}  // namespace rpcrdma::gui
