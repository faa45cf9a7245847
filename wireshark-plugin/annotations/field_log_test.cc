// The log returns every reported field unchanged, within its limits.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/annotations/field_log.h>
#include <rpcrdma/decode/schema.h>

namespace rpcrdma::annotations {
namespace {

using decode::FieldId;
using Kind = LoggedField::Kind;
using std::string_view_literals::operator""sv;

FieldId field(std::string_view name) {
  const decode::FieldSpec* const found = decode::find_field(name);
  EXPECT_NE(found, nullptr) << name;
  return found != nullptr ? found->id : FieldId{};
}

struct Read {
  Kind kind;
  FieldId id;
  std::size_t offset, length;
  std::uint64_t value;
  std::string text;
  bool operator==(const Read&) const = default;
};

void PrintTo(const Read& r, std::ostream* out) {
  *out << static_cast<int>(r.kind) << ' ' << decode::spec(r.id).name << " @" << r.offset << '+'
       << r.length << " = " << r.value << " \"" << r.text << '"';
}

std::vector<Read> read(const FieldLog& field_log) {
  std::vector<Read> all;
  FieldLogReader reader(field_log);
  LoggedField e;
  while (reader.next(e)) {
    if (e.kind != Kind::kClose) {
      EXPECT_EQ(e.text[e.text_length], 0);
    }
    all.push_back({e.kind, e.id, e.offset, e.length, e.value,
                   e.text_length != 0 ? std::string(e.text, e.text_length) : ""});
  }
  return all;
}

const Read kClosed = {Kind::kClose, FieldId{}, 0, 0, 0, ""};

TEST(NotesTape, GivesBackEveryKindOfEntry) {
  const FieldId segment = field("rpcrdma.segment");
  const FieldId xid = field("rpcrdma.xid");
  const FieldId source = field("rpcrdma.src");
  const FieldId peer = field("rpcrdma.peer");
  const std::vector<std::uint8_t> address = {192, 0, 2, 0};
  const wire::DecodeError error = {wire::Errc::kTruncated, 300, "HDR-05", "no such type"};

  FieldLog field_log;
  FieldLogSink sink(field_log);
  sink.open(segment, 28, 16, "16 bytes");
  sink.number(xid, 0, 4, 0xffff'ffff'ffff'ffff, nullptr);
  sink.number(xid, 127, 128, 0, "a name");
  sink.bytes(source, 70'000, 4, address);
  sink.text(peer, 1, 2, "client");
  sink.close();
  sink.error(error);

  const std::vector<Read> expected = {
      {Kind::kOpen, segment, 28, 16, 0, "16 bytes"},
      {Kind::kNumber, xid, 0, 4, 0xffff'ffff'ffff'ffff, ""},
      {Kind::kNumber, xid, 127, 128, 0, "a name"},
      {Kind::kBytes, source, 70'000, 4, 0, std::string("\xc0\0\x02\0", 4)},
      {Kind::kText, peer, 1, 2, 0, "client"},
      kClosed,
      {Kind::kError, FieldId::kMalformed, 300, 0, 0, wire::describe(error)}};
  EXPECT_EQ(read(field_log), expected);
}

TEST(NotesTape, AppendsToWhatIsThere) {
  const FieldId xid = field("rpcrdma.xid");
  FieldLog field_log;
  FieldLogSink(field_log).number(xid, 0, 4, 1, nullptr);
  FieldLogSink(field_log).number(xid, 0, 4, 2, nullptr);
  ASSERT_EQ(read(field_log).size(), 2U);
  EXPECT_EQ(read(field_log)[1].value, 2U);
}

void report_foreign(FieldLogSink& sink) {
  const std::vector<std::uint8_t> long_body(100, 0xab);
  sink.open(field("rpc"), 28, 100, "Call");
  sink.number(field("rpc.xid"), 28, 4, 7, nullptr);
  sink.open(field("rpc"), 32, 8, "deeper");
  sink.number(field("rpcrdma.xid"), 0, 4, 8, nullptr);  // inside a field of another protocol
  sink.close();
  sink.bytes(field("rpc.cred.body"), 40, 100, long_body);
  sink.text(field("rpc.program_name"), 60, 4, "a\nb");
  sink.close();
  sink.number(field("rpcrdma.xid"), 0, 4, 9, nullptr);
}

TEST(NotesTape, LeavesOutForeignSubtreesWithAllThatIsInThem) {
  FieldLog field_log;
  FieldLogSink sink(field_log);
  report_foreign(sink);
  const std::vector<Read> expected = {{Kind::kNumber, field("rpcrdma.xid"), 0, 4, 9, ""}};
  EXPECT_EQ(read(field_log), expected);
}

TEST(NotesTape, WritesForeignFieldsAsText) {
  FieldLog field_log;
  FieldLogSink sink(field_log, Foreign::kAsText);
  report_foreign(sink);
  const std::vector<Read> all = read(field_log);
  ASSERT_EQ(all.size(), 9U);
  EXPECT_EQ(all[0], (Read{Kind::kForeignOpen, field("rpc"), 28, 100, 0, "Call"}));
  EXPECT_EQ(all[1], (Read{Kind::kForeign, field("rpc.xid"), 28, 4, 0,
                          decode::format_value(decode::spec(field("rpc.xid")), 7)}));
  EXPECT_EQ(all[2].kind, Kind::kForeignOpen);
  EXPECT_EQ(all[3], (Read{Kind::kNumber, field("rpcrdma.xid"), 0, 4, 8, ""}));
  EXPECT_EQ(all[4], kClosed);
  EXPECT_EQ(all[5].kind, Kind::kForeign);
  EXPECT_EQ(all[5].length, 100U);
  EXPECT_LT(all[5].text.size(), 300U);  // a long value is truncated
  EXPECT_EQ(all[6].kind, Kind::kForeign);
  EXPECT_EQ(all[6].text.find('\n'), std::string::npos);
  EXPECT_EQ(all[7], kClosed);
  EXPECT_EQ(all[8].value, 9U);
}

TEST(NotesTape, LeavesOutWhatIsBeyondItsLimitAndStaysInBalance) {
  const FieldId segment = field("rpcrdma.segment");
  const FieldId xid = field("rpcrdma.xid");
  FieldLog field_log;
  FieldLogSink sink(field_log, Foreign::kLeaveOut, 3);
  sink.open(segment, 0, 0, "");
  sink.number(xid, 0, 4, 1, nullptr);
  sink.open(segment, 0, 0, "");
  sink.open(segment, 0, 0, "");  // one more than the limit, with its content
  sink.number(xid, 0, 4, 2, nullptr);
  sink.open(segment, 0, 0, "");
  sink.close();
  sink.close();
  sink.number(xid, 0, 4, 3, nullptr);
  sink.text(field("rpcrdma.peer"), 0, 0, "x");
  sink.bytes(field("rpcrdma.src"), 0, 0, {});
  sink.error({});
  sink.close();
  sink.close();

  const std::vector<Read> expected = {{Kind::kOpen, segment, 0, 0, 0, ""},
                                      {Kind::kNumber, xid, 0, 4, 1, ""},
                                      {Kind::kOpen, segment, 0, 0, 0, ""},
                                      kClosed,
                                      kClosed};
  EXPECT_EQ(read(field_log), expected);
}

// Wireshark expects texts as C strings in UTF-8.
TEST(NotesTape, TextHasNoNulAndIsUtf8) {
  FieldLog field_log;
  FieldLogSink sink(field_log);
  sink.text(field("rpcrdma.peer"), 0, 4, "a\0b"sv);
  sink.text(field("rpcrdma.peer"), 0, 4, "c\xff\xc3(\xed\xa0\x80");
  sink.open(field("rpcrdma.segment"), 0, 0, "d\xfe");
  sink.close();
  for (const Read& r : read(field_log)) {
    EXPECT_EQ(r.text.find('\0'), std::string::npos) << r.text;
    for (const char bad : {'\xff', '\xfe', '\xa0'}) {
      EXPECT_EQ(r.text.find(bad), std::string::npos) << r.text;
    }
  }
  EXPECT_EQ(read(field_log)[0].text.front(), 'a');
  EXPECT_EQ(read(field_log)[0].text.back(), 'b');
}

TEST(NotesTape, EmptyTapeHasNoEntry) {
  FieldLogReader reader{FieldLog()};
  LoggedField e;
  EXPECT_FALSE(reader.next(e));
}

}  // namespace
}  // namespace rpcrdma::annotations
