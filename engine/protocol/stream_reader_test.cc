// A stream whose items are elsewhere reads like the same stream in one piece; contradictory input
// is refused, in bounds.
#include "support/wire_bytes.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/stream_reader.h>

namespace rpcrdma::protocol {
namespace {

using wire::Bytes;
using wire::hex;

std::vector<std::uint8_t> copy(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(StreamReaderTest, AStreamWithoutItems) {
  const auto stream = hex("00000001 0000000200000003 00000005 6162636465000000 78797a00");
  StreamReader reader(stream, {});
  EXPECT_EQ(reader.u32(), 1U);
  EXPECT_EQ(reader.u64(), 0x200000003U);
  EXPECT_EQ(copy(reader.opaque()), hex("6162636465"));
  EXPECT_EQ(reader.position(), 24U);
  EXPECT_FALSE(reader.at_end());
  EXPECT_EQ(copy(reader.opaque_fixed(3)), hex("78797a"));
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(reader.u32(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_FALSE(reader.at_end());
}

// A word, an item of five bytes at position 8, a word.
struct FiveBytes {
  std::vector<std::uint8_t> stream = hex("00000001 00000005 00000007");
  std::vector<std::uint8_t> item = hex("6162636465");
};

TEST(StreamReaderTest, AnItemComesFromItsPosition) {
  const FiveBytes message;
  const Placed items[] = {{8, message.item}};
  StreamReader reader(message.stream, items);
  EXPECT_EQ(reader.u32(), 1U);
  EXPECT_EQ(copy(reader.opaque()), message.item);
  EXPECT_EQ(reader.position(), 16U);
  EXPECT_EQ(reader.u32(), 7U);
  EXPECT_TRUE(reader.at_end());
}

TEST(StreamReaderTest, TheRoundupOfAnItemMayBePartOfIt) {
  const FiveBytes message;
  const auto padded = hex("6162636465000000");
  const Placed items[] = {{8, padded}};
  StreamReader reader(message.stream, items);
  (void)reader.u32();
  EXPECT_EQ(copy(reader.opaque()), message.item);
  EXPECT_EQ(reader.u32(), 7U);
  EXPECT_TRUE(reader.at_end());
}

TEST(StreamReaderTest, AnItemOfAnotherLengthIsRefused) {
  const FiveBytes message;
  for (const std::size_t length : {0U, 1U, 4U, 6U, 7U, 9U, 12U}) {
    const std::vector<std::uint8_t> item(length);
    const Placed items[] = {{8, item}};
    StreamReader reader(message.stream, items);
    (void)reader.u32();
    EXPECT_TRUE(reader.opaque().empty());
    EXPECT_FALSE(reader.ok()) << length;
  }
}

TEST(StreamReaderTest, AnItemIsNotWhereTheCountIsZero) {
  const auto stream = hex("00000000 00000007");
  const auto item = hex("01020304");
  const Placed items[] = {{4, item}};
  StreamReader reader(stream, items);
  EXPECT_TRUE(reader.opaque().empty());
  EXPECT_FALSE(reader.ok());
}

TEST(StreamReaderTest, FixedOpaqueDataCanBeAnItem) {
  const auto stream = hex("00000001 00000007");
  const auto item = hex("010203");
  const Placed items[] = {{4, item}};
  StreamReader reader(stream, items);
  (void)reader.u32();
  EXPECT_EQ(copy(reader.opaque_fixed(3)), item);
  EXPECT_EQ(reader.u32(), 7U);
  EXPECT_TRUE(reader.at_end());
}

TEST(StreamReaderTest, AnItemCanStandAtTheEndAndNextToAnother) {
  const auto stream = hex("00000004");
  const auto first = hex("01020304");
  const auto second = hex("0506");
  const Placed items[] = {{4, first}, {8, second}};
  StreamReader reader(stream, items);
  EXPECT_EQ(copy(reader.opaque()), first);
  EXPECT_FALSE(reader.at_end());
  EXPECT_EQ(copy(reader.opaque_fixed(2)), second);
  EXPECT_TRUE(reader.at_end());
}

TEST(StreamReaderTest, ACountOverTheMaximumIsRefused) {
  const FiveBytes message;
  const Placed items[] = {{8, message.item}};
  StreamReader fits(message.stream, items);
  (void)fits.u32();
  EXPECT_EQ(fits.opaque(5).size(), 5U);
  StreamReader refused(message.stream, items);
  (void)refused.u32();
  EXPECT_TRUE(refused.opaque(4).empty());
  EXPECT_FALSE(refused.ok());
}

TEST(StreamReaderTest, WhatIsNotInTheItemDoesNotReachIntoIt) {
  const FiveBytes message;
  const Placed items[] = {{8, message.item}};
  StreamReader number(message.stream, items);
  (void)number.u32();
  (void)number.u32();
  EXPECT_TRUE(number.ok());
  EXPECT_EQ(number.u32(), 0U);
  EXPECT_FALSE(number.ok());

  StreamReader wide(message.stream, items);
  (void)wide.u32();
  EXPECT_EQ(wide.u64(), 0U);
  EXPECT_FALSE(wide.ok());

  StreamReader bytes(message.stream, items);
  EXPECT_TRUE(bytes.opaque_fixed(12).empty());
  EXPECT_FALSE(bytes.ok());
}

TEST(StreamReaderTest, ItemsThatCannotBeInTheStreamAreRefusedAtOnce) {
  const std::vector<std::uint8_t> stream(16);
  const std::vector<std::uint8_t> item(5);
  const auto ok = [&](std::vector<Placed> items) { return StreamReader(stream, items).ok(); };
  EXPECT_TRUE(ok({{16, item}}));
  EXPECT_FALSE(ok({{20, item}}));             // beyond the stream
  EXPECT_FALSE(ok({{0xfffffffc, item}}));     // far beyond
  EXPECT_TRUE(ok({{4, item}, {24, item}}));   // the first moves the end by its roundup, too
  EXPECT_FALSE(ok({{4, item}, {28, item}}));  // and no further
  EXPECT_TRUE(ok({{4, item}, {12, item}}));   // next to each other
  EXPECT_FALSE(ok({{4, item}, {8, item}}));   // overlapping
  EXPECT_FALSE(ok({{4, item}, {4, item}}));   // twice
  EXPECT_FALSE(ok({{12, item}, {4, item}}));  // out of order
  EXPECT_FALSE(ok({{6, item}}));              // in the middle of a word
  EXPECT_TRUE(ok({{kAnyPosition, item}, {kAnyPosition, item}}));
  EXPECT_TRUE(ok({{4, item}, {kAnyPosition, item}}));
  EXPECT_FALSE(ok({{kAnyPosition, item}, {4, item}}));
}

TEST(StreamReaderTest, AnItemNotReadIsNotTheEnd) {
  const auto stream = hex("00000001");
  const auto item = hex("61");
  const Placed items[] = {{4, item}};
  StreamReader reader(stream, items);
  (void)reader.u32();
  EXPECT_TRUE(reader.ok());
  EXPECT_FALSE(reader.at_end());
}

TEST(StreamReaderTest, AResultComesFromItsWriteChunk) {
  const auto stream = hex("00000000 00000003 00000009 00000002");
  const auto first = hex("616263");
  const auto second = hex("61620000");
  const Placed items[] = {{kAnyPosition, first}, {kAnyPosition, second}};
  StreamReader reader(stream, items);
  (void)reader.u32();
  EXPECT_EQ(copy(reader.opaque_result()), first);
  EXPECT_EQ(reader.position(), 12U);
  EXPECT_EQ(reader.u32(), 9U);
  EXPECT_FALSE(reader.at_end());
  EXPECT_EQ(copy(reader.opaque_result()), hex("6162"));
  EXPECT_TRUE(reader.at_end());
}

TEST(StreamReaderTest, AResultWhoseChunkIsUnusedIsInline) {
  const auto stream = hex("00000003 61626300 00000001 78000000");
  const auto second = hex("79");
  const Placed items[] = {{kAnyPosition, {}}, {kAnyPosition, second}};
  StreamReader reader(stream, items);
  EXPECT_EQ(copy(reader.opaque_result()), hex("616263"));
  EXPECT_EQ(copy(reader.opaque_result()), hex("79"));
  EXPECT_FALSE(reader.at_end());  // the word of x
}

TEST(StreamReaderTest, AResultWithoutChunkIsInline) {
  const auto stream = hex("00000003 61626300");
  StreamReader reader(stream, {});
  EXPECT_EQ(copy(reader.opaque_result()), hex("616263"));
  EXPECT_TRUE(reader.at_end());
}

TEST(StreamReaderTest, UnusedChunksAreNotLeftOver) {
  const auto stream = hex("00000001");
  const auto used = hex("01020304");
  const Placed unused[] = {{kAnyPosition, {}}, {kAnyPosition, {}}};
  StreamReader reader(stream, unused);
  (void)reader.u32();
  EXPECT_TRUE(reader.at_end());
  const Placed one[] = {{kAnyPosition, {}}, {kAnyPosition, used}};
  StreamReader left(stream, one);
  (void)left.u32();
  EXPECT_FALSE(left.at_end());
}

TEST(StreamReaderTest, AResultOfAnotherLengthOrOverTheMaximumIsRefused) {
  const auto stream = hex("00000003 61626300");
  const auto item = hex("6162");
  const Placed items[] = {{kAnyPosition, item}};
  StreamReader shorter(stream, items);
  EXPECT_TRUE(shorter.opaque_result().empty());
  EXPECT_FALSE(shorter.ok());
  StreamReader longer(stream, {});
  EXPECT_TRUE(longer.opaque_result(2).empty());
  EXPECT_FALSE(longer.ok());
}

TEST(StreamReaderTest, PlainOpaqueDataIsNoResult) {
  const auto stream = hex("00000003 61626300 00000003");
  const auto item = hex("78797a");
  const Placed items[] = {{kAnyPosition, item}};
  StreamReader reader(stream, items);
  EXPECT_EQ(copy(reader.opaque()), hex("616263"));
  EXPECT_EQ(copy(reader.opaque_result()), item);
  EXPECT_TRUE(reader.at_end());
}

// A random message: scalars and opaques, all inline, and the same with some opaques as items.
struct Message {
  enum class Kind { kWord, kDouble, kOpaque, kFixed };
  struct Field {
    Kind kind;
    std::uint32_t length;  // of kFixed
  };
  std::vector<Field> fields;
  std::vector<std::uint8_t> whole;
  std::vector<std::uint8_t> stream;
  std::vector<std::vector<std::uint8_t>> contents;
  std::vector<Placed> items;
};

class MessageGenerator {
 public:
  explicit MessageGenerator(unsigned seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  std::unique_ptr<Message> message() {
    auto m = std::make_unique<Message>();
    const std::uint32_t fields = below(12);
    m->contents.reserve(fields);
    for (std::uint32_t i = 0; i < fields; ++i) add(*m, static_cast<Message::Kind>(below(4)));
    return m;
  }

 private:
  void add(Message& m, Message::Kind kind) {
    if (kind == Message::Kind::kWord || kind == Message::Kind::kDouble) {
      m.fields.push_back({kind, 0});
      put(m, kind == Message::Kind::kWord ? 4 : 8);
      return;
    }
    // Not empty if it may be an item: a Read chunk has bytes.
    const std::uint32_t length = 1 + below(20);
    m.fields.push_back({kind, length});
    if (kind == Message::Kind::kOpaque) {
      const std::uint8_t count[] = {0, 0, 0, static_cast<std::uint8_t>(length)};
      append(m.whole, count);
      append(m.stream, count);
    }
    if (below(2) == 0) return put(m, static_cast<std::uint32_t>(wire::xdr_padded(length)));
    auto& content = m.contents.emplace_back(bytes(wire::xdr_padded(length)));
    m.items.push_back({static_cast<std::uint32_t>(m.whole.size()),
                       Bytes(content).first(below(2) == 0 ? content.size() : length)});
    append(m.whole, content);
  }

  static void append(std::vector<std::uint8_t>& to, Bytes from) {
    to.insert(to.end(), from.begin(), from.end());
  }
  std::vector<std::uint8_t> bytes(std::uint64_t length) {
    std::vector<std::uint8_t> out(length);
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(random_());
    return out;
  }
  void put(Message& m, std::uint32_t length) {
    const auto content = bytes(length);
    append(m.whole, content);
    append(m.stream, content);
  }

  std::mt19937 random_;
};

TEST(StreamReaderPropertyTest, ReadsWhatAReaderOfTheWholeMessageReads) {
  MessageGenerator generator(1);
  std::size_t items = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto m = generator.message();
    items += m->items.size();
    wire::XdrReader expected(m->whole);
    StreamReader reader(m->stream, m->items);
    for (const Message::Field& field : m->fields) {
      switch (field.kind) {
        case Message::Kind::kWord:
          ASSERT_EQ(reader.u32(), expected.u32());
          break;
        case Message::Kind::kDouble:
          ASSERT_EQ(reader.u64(), expected.u64());
          break;
        case Message::Kind::kOpaque:
          ASSERT_EQ(copy(reader.opaque(20)), copy(expected.opaque(20)));
          break;
        case Message::Kind::kFixed:
          ASSERT_EQ(copy(reader.opaque_fixed(field.length)),
                    copy(expected.opaque_fixed(field.length)));
          break;
      }
      ASSERT_TRUE(reader.ok()) << "message " << i;
      ASSERT_EQ(reader.position(), expected.offset()) << "message " << i;
    }
    ASSERT_TRUE(reader.at_end()) << "message " << i;
  }
  EXPECT_GT(items, 10'000U);
}

// Any read of any stream with any items is safe: results lie within the input, which
// AddressSanitizer checks, and after a failure there are none.
TEST(StreamReaderPropertyTest, HostileItemsAreHarmless) {
  MessageGenerator generator(2);
  std::uint64_t sum = 0;
  std::size_t failed = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::uint8_t> stream(generator.below(40));
    for (std::uint8_t& byte : stream) byte = static_cast<std::uint8_t>(generator.below(3) * 4);
    std::vector<std::vector<std::uint8_t>> contents(generator.below(4));
    std::vector<Placed> items;
    for (auto& content : contents) {
      content.resize(generator.below(10));
      const std::uint32_t any[] = {generator.below(12) * 4, generator.below(40), kAnyPosition,
                                   UINT32_MAX - generator.below(8)};
      items.push_back({any[generator.below(4)], content});
    }
    StreamReader reader(stream, items);
    for (int step = 0; step < 12; ++step) {
      const bool was_ok = reader.ok();
      const std::uint64_t position = reader.position();
      Bytes bytes;
      switch (generator.below(5)) {
        case 0:
          sum += reader.u32();
          break;
        case 1:
          sum += reader.u64();
          break;
        case 2:
          bytes = reader.opaque(generator.below(2) == 0 ? 8 : UINT32_MAX);
          break;
        case 3:
          bytes = reader.opaque_fixed(generator.below(8) == 0 ? UINT32_MAX : generator.below(12));
          break;
        default:
          bytes = reader.opaque_result();
      }
      for (const std::uint8_t byte : bytes) sum += byte;
      ASSERT_TRUE(reader.ok() || bytes.empty());
      ASSERT_TRUE(was_ok || (!reader.ok() && reader.position() == position));
      ASSERT_FALSE(reader.at_end() && !reader.ok());
    }
    failed += reader.ok() ? 0 : 1;
  }
  EXPECT_NE(sum, 0U);
  EXPECT_GT(failed, 1000U);
}

// RFC 5666 section 3.8. Positions count what Write chunks hold.
TEST(StreamReader, AReadChunkAfterAResultInAWriteChunk) {
  const std::vector<std::uint8_t> written(5);
  const std::vector<std::uint8_t> pulled(7);
  const auto stream = wire::hex("00000005 00000007 00000009");
  const Placed items[] = {{4 + 8 + 4, pulled}, {kAnyPosition, written}};
  StreamReader r(stream, items);
  EXPECT_EQ(r.opaque_result().data(), written.data());
  EXPECT_EQ(r.opaque_result().data(), pulled.data());
  EXPECT_EQ(r.u32(), 9U);
  EXPECT_TRUE(r.at_end());
  const Placed beyond[] = {{12 + 8 + 4, pulled}, {kAnyPosition, written}};
  EXPECT_FALSE(StreamReader(stream, beyond).ok());
}

}  // namespace
}  // namespace rpcrdma::protocol
