// Filters taken apart and put together, as texts.
#include "filter_text.h"

#include <gtest/gtest.h>

#include <rpcrdma/filter/filter.h>

namespace rpcrdma::gui {
namespace {

TEST(FilterText, PartsAreJoinedByAndOutsideOfParentheses) {
  EXPECT_EQ(filter_parts("a == 1 && b in {1, 2} and (c or d)"),
            QStringList({"a == 1", "b in {1, 2}", "(c or d)"}));
  EXPECT_EQ(filter_parts("a || b && c"), QStringList({"a || b && c"}));
  EXPECT_EQ(filter_parts("x == \"a && b\""), QStringList({"x == \"a && b\""}));
  EXPECT_EQ(filter_parts("((a && b))"), QStringList({"a", "b"}));
  EXPECT_EQ(filter_parts("(a) && (b)"), QStringList({"(a)", "(b)"}));
  EXPECT_EQ(filter_parts("  "), QStringList());
}

TEST(FilterText, PartsAreAddedAndTakenAway) {
  EXPECT_EQ(with_part("", "a"), "a");
  EXPECT_EQ(with_part("a", "b || c"), "a && (b || c)");
  EXPECT_EQ(with_part("a || b", "c"), "(a || b) && c");
  EXPECT_EQ(with_part("a && (b ||c)", "b || c"), "a && (b ||c)");
  const auto is_c = [](const QString& part) { return is_same_filter(part, "c"); };
  EXPECT_EQ(without_part("(a || b) && c", is_c), "a || b");
  EXPECT_EQ(without_part("c", is_c), "");
  EXPECT_EQ(filter_or("a && b", "c"), "(a && b) || c");
  EXPECT_EQ(filter_and({"a", filter_not("b || c")}), "a && !(b || c)");
}

TEST(FilterText, StringsAreFoundAgain) {
  for (const std::string& text :
       {std::string("plain"), std::string("a\"b\\c"), std::string("\x1b[2J\n"),
        std::string("Z\xc3\xbcrich"), std::string("\xff\x80 bytes"), std::string("\xe2\x80\xae")}) {
    const QString filter = "rpc.status == " + filter_string(text);
    const auto compiled = filter::compile(filter.toStdString());
    EXPECT_TRUE(compiled) << filter.toStdString();
    EXPECT_FALSE(filter.contains(QChar(0x1b)));
    EXPECT_FALSE(filter.contains(QChar(0x202e)));
  }
  EXPECT_EQ(filter_string("Z\xc3\xbcrich"), QString::fromUtf8("\"Z\xc3\xbcrich\""));
}

TEST(FilterText, NumbersHaveNamesWhereFiltersKnowThem) {
  const auto number = [](const char* field, std::uint64_t value, const char* name) {
    return filter_number(*decode::find_field(field), value, name);
  };
  EXPECT_EQ(number("rpc.program", 100003, "NFS"), "NFS");
  EXPECT_EQ(number("rpc.program", 42, "no such name"), "42");
  EXPECT_EQ(number("rpcrdma.latency", 1500, ""), "1500ns");
  EXPECT_EQ(number("rpcrdma.xid", 255, ""), "0xff");
}

FilterPlace at_end(const QString& text) {
  return filter_place(text, static_cast<int>(text.size()));
}

TEST(FilterText, WhatMayStandAtTheCursor) {
  using Wanted = FilterPlace::Wanted;
  EXPECT_EQ(at_end("").wanted, Wanted::kField);
  EXPECT_EQ(at_end("rpcrdma.ki").wanted, Wanted::kField);
  EXPECT_EQ(at_end("rpcrdma.kind ").wanted, Wanted::kOperator);
  EXPECT_EQ(at_end("rpcrdma.kind == ").wanted, Wanted::kValue);
  EXPECT_EQ(at_end("rpcrdma.kind == ").field, decode::FieldId::kKind);
  EXPECT_EQ(at_end("rpcrdma.kind == re").begin, 16);
  EXPECT_EQ(at_end("rpcrdma.kind == reply ").wanted, Wanted::kJoin);
  EXPECT_EQ(at_end("rpcrdma.kind == reply && ").wanted, Wanted::kField);
  EXPECT_EQ(at_end("!(rpcrdma.kind in {call, ").wanted, Wanted::kValue);
  EXPECT_EQ(at_end("rpcrdma.kind in {call} ").wanted, Wanted::kJoin);
  const FilterPlace string = at_end("rpc.status == \"NFS4 and");
  EXPECT_EQ(string.wanted, Wanted::kValue);
  EXPECT_EQ(string.begin, 14);
  EXPECT_EQ(at_end("no.such.field ").wanted, Wanted::kJoin);
}

}  // namespace
}  // namespace rpcrdma::gui
