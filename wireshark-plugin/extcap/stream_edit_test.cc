// The stream that Wireshark gets, as a reader of it decodes it.
#include "stream_edit.h"

#include "kinds.h"
#include "support/trace_builder.h"

#include <random>

#include <gmock/gmock.h>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/base/pcapng/whole_blocks.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::extcap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;
using trace::EventType;
using trace_reader::testing::TraceBuilder;

struct Recorded {
  EventType type = EventType::kLoss;
  std::uint32_t captured = 0, original = 0;
  Bytes event;
  Bytes payload;
};

struct Read {
  std::vector<Recorded> events;
  trace_reader::ReaderStats stats;
  capture::SourceStats source;
};

Bytes edited(const Bytes& stream, const StreamEdit::Options& options) {
  StreamEdit edit(options);
  Bytes out;
  EXPECT_TRUE(edit.add(stream, out));
  edit.end(out);
  return out;
}

Read read(const Bytes& stream) {
  Read read;
  roce::Listener nobody;
  roce::ConnectionNumbers numbers;
  trace_reader::Reader reader(nobody, numbers);
  const auto source = capture::open_memory(stream);
  EXPECT_TRUE(source);
  capture::Frame frame;
  while ((*source)->next(frame).value_or(false)) {
    const auto view = trace::view_event(*trace::event_in_pdu(frame.data));
    EXPECT_TRUE(view);
    Recorded& emitted = read.events.emplace_back();
    emitted.type = static_cast<EventType>(view->header.type);
    emitted.captured = static_cast<std::uint32_t>(frame.data.size());
    emitted.original = frame.original;
    const auto event = *trace::event_in_pdu(frame.data);
    emitted.event.assign(event.begin(), event.end());
    emitted.payload.assign(view->payload.begin(), view->payload.end());
    reader.frame(frame.data, {frame.number, frame.time_ns});
  }
  reader.finish();
  read.stats = reader.reader_stats();
  read.source = (*source)->stats();
  EXPECT_EQ(read.source.damage, "");
  EXPECT_FALSE(read.source.cut_short);
  return read;
}

std::vector<EventType> types(const Read& read) {
  std::vector<EventType> all;
  for (const Recorded& emitted : read.events) all.push_back(emitted.type);
  return all;
}

// A Message event of 100 bytes with 20 recorded, and a loss of other events.
TraceBuilder stream() {
  TraceBuilder t;
  t.begin("nfsd", "server on 192.0.2.1");
  trace_reader::testing::emit_plain_connection(t, 7);
  trace::Message message;
  message.length = 100;
  t.emit(7, message, Bytes(20, 0xa5));
  t.emit(7, trace::Receives{32, 32});
  trace::Operation write;
  write.kind = trace::Transfer::kWrite;
  write.length = 5;
  t.emit(7, write, Bytes(5, 0x5a));
  t.lose(9);
  t.emit(7, trace::Credits{});
  t.emit(7, trace::Error{}, trace_reader::testing::bytes_of("an error of many words"));
  t.end();
  return t;
}

TEST(ExtcapStream, WithoutOptionsEventsStayAsTheyAre) {
  const Bytes before = stream().pcapng();
  const Bytes after = edited(before, {});
  const Read a = read(before), b = read(after);
  ASSERT_EQ(a.events.size(), b.events.size());
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    EXPECT_EQ(a.events[i].event, b.events[i].event) << i;
    EXPECT_EQ(b.events[i].captured, b.events[i].original) << i;
  }
}

// Wireshark shows them in the capture's properties, once they are known.
TEST(ExtcapStream, LossesAreInStatisticsToo) {
  const Bytes all = stream().pcapng();
  EXPECT_EQ(read(all).source.dropped, 0U);
  const Read whole = read(edited(all, {}));
  EXPECT_EQ(whole.source.dropped, 9U);
  EXPECT_EQ(whole.stats.lost, 9U);
  // A capture that is stopped from outside has them as soon as they are reported.
  StreamEdit edit({});
  Bytes out;
  ASSERT_TRUE(edit.add(all, out));
  EXPECT_EQ(read(out).source.dropped, 9U);
}

TEST(ExtcapStream, WhatIsLeftOutIsEmittedAndNotMissing) {
  const Read r = read(edited(stream().pcapng(), {.left_out = *left_out_by("messages,errors")}));
  EXPECT_THAT(types(r),
              ElementsAre(EventType::kEndpoint, EventType::kConnection, EventType::kMessage,
                          EventType::kLoss, EventType::kError, EventType::kLoss));
  EXPECT_EQ(r.stats.missing, 0U);
  EXPECT_EQ(r.stats.lost, 9U);
  EXPECT_EQ(r.stats.emitted, r.stats.received + r.stats.lost);
  EXPECT_EQ(r.stats.received, 3U);
  EXPECT_EQ(r.stats.left_out, *left_out_by("messages,errors"));
}

TEST(ExtcapStream, WhatWasLeftOutBeforeStaysSo) {
  const Bytes once = edited(stream().pcapng(), {.left_out = *left_out_by("messages,credits")});
  const Read twice = read(edited(once, {.left_out = *left_out_by("messages,errors")}));
  EXPECT_EQ(twice.stats.left_out, *left_out_by("messages"));
  EXPECT_EQ(twice.stats.missing, 0U);
}

TEST(ExtcapStream, BytesOfMessagesAreCutAndOfNothingElse) {
  const Bytes before = stream().pcapng();
  const Read all = read(before), cut = read(edited(before, {.snaplen = 3}));
  EXPECT_EQ(cut.stats.malformed, 0U);
  ASSERT_EQ(all.events.size(), cut.events.size());
  for (std::size_t i = 0; i < all.events.size(); ++i) {
    const Recorded& a = all.events[i];
    const Recorded& b = cut.events[i];
    EXPECT_EQ(b.original, a.captured) << i;
    const bool is_cut = a.type == EventType::kMessage || a.type == EventType::kOperation;
    EXPECT_EQ(b.payload.size(), is_cut ? 3U : a.payload.size()) << i;
    EXPECT_EQ(b.captured < b.original, a.type == EventType::kMessage) << i;
  }
}

// Fields that a newer endpoint adds stay behind the known ones.
TEST(ExtcapStream, NewerEventsStay) {
  TraceBuilder t;
  t.begin();
  trace::EventHeader header;
  header.type = 4711;
  header.fixed = 16;
  header.ring = 1;
  Bytes event(sizeof header + 16, 0x11);
  std::memcpy(event.data(), &header, sizeof header);
  t.repeat(header, event);
  t.end();
  const Read r = read(edited(t.pcapng(), {.left_out = *left_out_by("")}));
  ASSERT_EQ(r.events.size(), 3U);
  EXPECT_EQ(r.events[1].event, event);
  EXPECT_EQ(r.stats.missing, 0U);
}

// An Endpoint event from before excluded types were recorded.
TEST(ExtcapStream, OfAnOlderEndpointToo) {
  constexpr std::size_t kOldFixed = 24;
  TraceBuilder t;
  trace::EventHeader header;
  header.type = static_cast<std::uint16_t>(EventType::kEndpoint);
  header.fixed = kOldFixed;
  Bytes event(sizeof header + kOldFixed);
  std::memcpy(event.data(), &header, sizeof header);
  t.raw(event);
  const Read r = read(edited(t.pcapng(), {.left_out = *left_out_by("messages")}));
  ASSERT_EQ(r.events.size(), 1U);
  EXPECT_EQ(r.stats.left_out, *left_out_by("messages"));
  EXPECT_EQ(r.events[0].captured, r.events[0].original);
}

TEST(ExtcapStream, PacketsAreCutAndKeepWhatElseIsKnownOfThem) {
  base::PcapngBlocks blocks;
  blocks.section();
  blocks.interface({.name = "soft", .filter = {}, .link = capture::LinkType::kEthernet});
  const Bytes data(101, 0x77);
  blocks.packet(1234, data, {});
  blocks.packet(1235, Bytes(10, 1), {});
  blocks.statistics({.last_ns = 1236, .received = 5, .dropped = 3, .by_interface = true});
  const Bytes out = edited(blocks.bytes(), {.packets = true, .snaplen = 33});
  const auto source = capture::open_memory(out);
  ASSERT_TRUE(source);
  capture::Frame frame;
  ASSERT_TRUE((*source)->next(frame).value_or(false));
  EXPECT_EQ(frame.data.size(), 33U);
  EXPECT_EQ(frame.original, 101U);
  EXPECT_EQ(frame.time_ns, 1234);
  ASSERT_TRUE((*source)->next(frame).value_or(false));
  EXPECT_EQ(frame.data.size(), 10U);
  EXPECT_EQ(frame.original, 10U);
  EXPECT_FALSE((*source)->next(frame).value_or(false));
  EXPECT_EQ((*source)->stats().dropped, 3U);
  EXPECT_EQ((*source)->stats().damage, "");
}

TEST(ExtcapStream, WhatIsNoStreamIsRefused) {
  base::PcapngBlocks blocks;
  blocks.section();
  blocks.interface({.name = "x", .filter = {}, .link = capture::LinkType::kUpperPdu});
  blocks.packet(1, Bytes(40, 0), {});
  StreamEdit edit({});
  Bytes out;
  EXPECT_FALSE(edit.add(blocks.bytes(), out));
}

// An endpoint's socket can send any bytes.
TEST(ExtcapStream, AnyBytesAreTakenOrRefused) {
  std::mt19937 random(7);
  const Bytes good = stream().pcapng();
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = good;
    for (int changes = 0; changes < 4; ++changes) {
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    }
    base::WholeBlocks blocks;
    StreamEdit edit({.packets = i % 2 != 0, .left_out = *left_out_by("messages"), .snaplen = 2});
    Bytes out;
    const auto whole = blocks.add(bytes);
    if (edit.add(whole, out)) edit.end(out);
    base::WholeBlocks again;
    EXPECT_EQ(again.add(out).size(), out.size()) << i;
  }
}

TEST(ExtcapKinds, TheOthersAreLeftOut) {
  std::uint64_t all = 0;
  for (const Kind& kind : kKinds) {
    EXPECT_EQ(all & kind.types, 0U) << kind.name;
    all |= kind.types;
  }
  EXPECT_EQ(*left_out_by(""), all);
  EXPECT_EQ(*left_out_by("messages,operations,memory,credits,calls,errors,fabric"), 0U);
  EXPECT_EQ(*left_out_by("calls"), all & ~kKinds[4].types);
  for (const EventType type : {EventType::kEndpoint, EventType::kConnection,
                               EventType::kConnectionEnd, EventType::kLoss}) {
    EXPECT_EQ(all & trace::type_bit(type), 0U) << trace::event_type_name(type);
  }
  EXPECT_THAT(left_out_by("messages,cals").error(), HasSubstr("cals: not a kind of event"));
}

}  // namespace
}  // namespace rpcrdma::extcap
