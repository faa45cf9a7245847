#include "views_for_tests.h"

#include <gmock/gmock.h>

#include <rpcrdma/views/call_states_view.h>

namespace rpcrdma::gui {
namespace {

CallStatesPicture made_picture() {
  CallStatesPicture picture;
  picture.states = {{"waiting for a credit", Ink::kCall, 0.5, 3, false},
                    {"posted", Ink::kWaiting, 1, 2, true},
                    {"at the server", Ink::kReply, 1, std::nullopt, false}};
  for (std::int64_t i = 0; i < 10; ++i) {
    picture.bins.push_back({i * 1'000'000, (i + 1) * 1'000'000, {i < 5 ? 8U : 0U, 4, 0}});
  }
  picture.earlier = 1;
  return picture;
}

TEST(CallStates, ShowsCountsAndTheirCourse) {
  CallStatesView view;
  view.set_notation({[](std::int64_t ns) { return QString::number(ns); }, 0, {}});
  view.set_picture(made_picture());
  show(view, 800, 260);
  const SvgText svg = svg_of(view);
  EXPECT_TRUE(svg.texts.contains("3"));
  EXPECT_TRUE(svg.texts.contains("at least 2"));
  EXPECT_TRUE(svg.texts.contains("not seen from here"));
  EXPECT_TRUE(svg.texts.contains("Calls now"));
  EXPECT_THAT(view.note().toStdString(), ::testing::HasSubstr("1 more since before"));
  const QString early = view.text_at({450, 120});
  EXPECT_THAT(early.toStdString(), ::testing::HasSubstr("waiting for a credit: up to 8"));
  const QString late = view.text_at({780, 120});
  EXPECT_THAT(late.toStdString(), ::testing::HasSubstr("posted: up to 4"));
  EXPECT_FALSE(late.contains("credit"));
  EXPECT_EQ(view.text_at({5, 5}), QString());
}

TEST(CallStates, DrawsTheStackInTheColoursOfItsStatesInBothThemes) {
  for (const QPalette& palette : {light_palette(), dark_palette()}) {
    CallStatesView view;
    view.setPalette(palette);
    view.set_picture(made_picture());
    show(view, 800, 260);
    const int posted = dots_of(view, ink(palette, Ink::kWaiting));
    const int waiting = dots_of(view, tint(palette, ink(palette, Ink::kCall), 0.5));
    // Eight Calls for half of the time, and four for all of it.
    EXPECT_GT(posted, 2000);
    EXPECT_NEAR(waiting, posted, posted * 0.35);
  }
}

TEST(CallStates, WithoutASourceItSaysSo) {
  CallStatesView view;
  show(view, 500, 200);
  EXPECT_TRUE(svg_of(view).texts.join(' ').contains("attach"));
}

}  // namespace
}  // namespace rpcrdma::gui
