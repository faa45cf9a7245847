#include <gmock/gmock.h>
#include <support/trace_dat_builder.h>

#include <rpcrdma/tracepoints/layouts.h>

namespace rpcrdma::tracepoints {
namespace {

using test::EventFormat;

const EventFormat kReserve("xprt_reserve", 7, {{"task_id"}, {"client_id"}, {"xid"}});

TEST(Layouts, ReadFieldsByName) {
  Layouts layouts;
  ASSERT_TRUE(layouts.add(kReserve.text()));
  Record r;
  ASSERT_TRUE(layouts.read(kReserve.record(99, {1, 2, 0xabcd}), r));
  EXPECT_EQ(r.event, Event::kXprtReserve);
  EXPECT_EQ(r.pid, 99);
  EXPECT_EQ(r.u32(Field::kTaskId), 1U);
  EXPECT_EQ(r.u32(Field::kClientId), 2U);
  EXPECT_EQ(r.u32(Field::kXid), 0xabcdU);
}

TEST(Layouts, OrderAndSizesAreThoseOfTheKernel) {
  const EventFormat other("xprt_reserve", 8,
                          {{"more", 1}, {"xid", 8}, {"client_id", 2}, {"task_id", 4}});
  Layouts layouts;
  ASSERT_TRUE(layouts.add(other.text()));
  Record r;
  ASSERT_TRUE(layouts.read(other.record(1, {9, 0x12345678, 3, 4}), r));
  EXPECT_EQ(r.u32(Field::kXid), 0x12345678U);
  EXPECT_EQ(r.u32(Field::kClientId), 3U);
  EXPECT_EQ(r.u32(Field::kTaskId), 4U);
}

TEST(Layouts, BigEndianRecords) {
  Layouts layouts({.swapped = true});
  ASSERT_TRUE(layouts.add(kReserve.text()));
  Record r;
  ASSERT_TRUE(layouts.read(kReserve.record(99, {1, 2, 0xabcd}, {}, true), r));
  EXPECT_EQ(r.pid, 99);
  EXPECT_EQ(r.u32(Field::kXid), 0xabcdU);
}

TEST(Layouts, AMissingFieldIsUnknown) {
  const EventFormat without("xprt_reserve", 7, {{"task_id"}, {"client_id"}});
  Layouts layouts;
  ASSERT_TRUE(layouts.add(without.text()));
  Record r;
  r.set(Field::kXid, 5);
  ASSERT_TRUE(layouts.read(without.record(1, {1, 2}), r));
  EXPECT_FALSE(r.has(Field::kXid));
  EXPECT_EQ(r.u32(Field::kXid), 0U);
}

TEST(Layouts, StringsAreDynamic) {
  const EventFormat format("xprtrdma_op_connect", 7, {{"addr", 0}});
  const EventFormat disconnect("xprtrdma_disconnect", 9,
                               {{"rc", 4, true}, {"addr", 0}, {"port", 0}});
  Layouts layouts;
  ASSERT_TRUE(layouts.add(format.text()));  // not one that the translator knows
  ASSERT_TRUE(layouts.add(disconnect.text()));
  Record r;
  EXPECT_FALSE(layouts.read(format.record(1, {}, {"10.0.0.1"}), r));
  const auto bytes =  // the record's texts refer to it
      disconnect.record(1, {static_cast<std::uint64_t>(-111)}, {"10.0.0.1", "20049"});
  ASSERT_TRUE(layouts.read(bytes, r));
  EXPECT_EQ(r.text(Field::kAddr), "10.0.0.1");
  EXPECT_EQ(r.text(Field::kPort), "20049");
  EXPECT_EQ(r.i64(Field::kRc), -111);
}

TEST(Layouts, SymbolsAreThoseOfTheKernel) {
  const EventFormat marshal(
      "xprtrdma_marshal", 3, {{"hdrlen"}, {"rtype"}},
      "\"%s\", __print_symbolic(REC->rtype, { 4, \"inline\" }, { 7, \"read list\" })");
  Layouts layouts;
  ASSERT_TRUE(layouts.add(marshal.text()));
  Record r;
  ASSERT_TRUE(layouts.read(marshal.record(1, {28, 7}), r));
  EXPECT_EQ(r.text(Field::kRtype), "read list");
  ASSERT_TRUE(layouts.read(marshal.record(1, {28, 1}), r));
  EXPECT_FALSE(r.has(Field::kRtype));
}

TEST(Layouts, NoFieldIsReadOutsideItsRecord) {
  const EventFormat format("xprtrdma_disconnect", 9, {{"rc", 4, true}, {"addr", 0}, {"port", 0}});
  const auto whole = format.record(1, {1}, {"10.0.0.1", "20049"});
  Layouts layouts;
  ASSERT_TRUE(layouts.add(format.text()));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // In memory of its own, so that a sanitizer sees each byte beyond.
    const std::vector<std::uint8_t> cut(whole.begin(),
                                        whole.begin() + static_cast<std::ptrdiff_t>(size));
    Record r;
    if (!layouts.read(cut, r)) continue;
    EXPECT_LE(r.bytes(Field::kAddr).size(), size);
  }
  auto lying = whole;
  for (const std::uint32_t where : {0xffff0000U, 0x0001ffffU, 0xffffffffU, 0x00400014U}) {
    std::memcpy(lying.data() + 12, &where, 4);
    Record r;
    ASSERT_TRUE(layouts.read(lying, r));
    EXPECT_LE(r.bytes(Field::kAddr).size(), lying.size());
  }
}

TEST(Layouts, FormatsThatLieAboutOffsetsReadNothing) {
  for (const char* const place :
       {"offset:4294967295;\tsize:4", "offset:4294967292;\tsize:8", "offset:70000;\tsize:4",
        "offset:8;\tsize:3", "offset:8;\tsize:0", "offset:8;\tsize:4000000000"}) {
    const std::string format =
        std::string("name: xprt_reserve\nID: 7\nformat:\n\tfield:u32 xid;\t") + place +
        ";\tsigned:0;\n\nprint fmt: \"\"\n";
    Layouts layouts;
    ASSERT_TRUE(layouts.add(format)) << place;
    Record r;
    ASSERT_TRUE(layouts.read(std::vector<std::uint8_t>{7, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9}, r));
    EXPECT_FALSE(r.has(Field::kXid)) << place;
  }
}

TEST(Layouts, RefusesWhatIsNoFormat) {
  Layouts layouts;
  EXPECT_FALSE(layouts.add(""));
  EXPECT_FALSE(layouts.add("name: xprt_reserve\n"));
  EXPECT_FALSE(layouts.add("name: xprt_reserve\nID: 70000\n"));
  EXPECT_FALSE(layouts.add("name: xprt_reserve\nID: x\n"));
  EXPECT_FALSE(layouts.add("name: xprt_reserve\nID: 1\n\tfield:u32 xid;\toffset:x;\n"));
  EXPECT_TRUE(layouts.empty());
}

TEST(EventList, PatternsNameKnownFieldsOnly) {
  for (const EventInfo& event : events()) {
    EXPECT_EQ(find_event(event.name), &event);
    EXPECT_EQ(&info(event.event), &event);
    std::string_view rest = event.pattern;
    for (std::size_t open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
      const std::size_t close = rest.find('}', open);
      ASSERT_NE(close, std::string_view::npos) << event.name;
      std::string_view name = rest.substr(open + 1, close - open - 1);
      name = name.substr(0, name.find(':'));
      Field field{};
      EXPECT_TRUE(name == "_" || find_field(name, field)) << event.name << " " << name;
      EXPECT_TRUE(name == "_" || asks_for(event, name)) << event.name << " " << name;
      rest.remove_prefix(close + 1);
    }
  }
  EXPECT_EQ(find_event("sched_switch"), nullptr);
  EXPECT_TRUE(asks_for(*find_event("svcrdma_sq_full"), "cq_id"));
  EXPECT_FALSE(asks_for(*find_event("xprt_reserve"), "client"));
}

}  // namespace
}  // namespace rpcrdma::tracepoints
