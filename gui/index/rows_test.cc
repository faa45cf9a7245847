// Rows come back as they were stored, whether they are packed or not.
#include <functional>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/index/rows.h>

namespace rpcrdma::index {
namespace {

bool same(const MessageRow& a, const MessageRow& b) {
  const auto all = [](const MessageRow& r) {
    return std::tuple(r.time_ns, r.frame, r.latency_ns, r.match, r.moved, r.first_frame,
                      r.connection, r.xid, r.version, r.credit, r.proc, r.requested, r.granted,
                      r.in_use, r.length, r.read_bytes, r.write_bytes, r.reply_bytes,
                      r.read_segments, r.write_chunks, r.operations, r.procedure, r.outcome,
                      r.handle, r.detail, r.flags, r.error, r.kind, r.sender, r.caller, r.dialect,
                      r.worst);
  };
  return all(a) == all(b);
}

// Of an ordinary capture.
MessageRow ordinary(std::uint64_t i) {
  MessageRow r;
  r.time_ns = 1'800'000'000'000'000'000 + static_cast<std::int64_t>(i) * 1000;
  r.frame = 5 * i + 1;
  r.latency_ns = 350;
  r.match = i % 2 == 0 ? i + 2 : i;
  r.moved = 1U << 20U;
  r.connection = 7;
  r.xid = 0xfffffff0U + static_cast<std::uint32_t>(i);
  r.version = 1;
  r.credit = r.requested = 128;
  r.granted = 64;
  r.in_use = 3;
  r.length = 200;
  r.read_bytes = i % 2 == 0 ? 1U << 20U : 0;
  r.reply_bytes = 4096;
  r.read_segments = 4;
  r.operations = 4;
  r.procedure = 2;
  r.outcome = 1;
  r.kind = i % 2 == 0 ? model::Kind::kCall : model::Kind::kReply;
  (i % 2 == 0 ? r.detail : r.handle) = 0xffffffffU;
  r.flags = 0xffffU;
  return r;
}

TEST(Rows, OrdinaryRowsTakeHalf) {
  Rows rows;
  constexpr std::uint64_t kCount = 100'000;
  for (std::uint64_t i = 0; i < kCount; ++i) rows.push_back(ordinary(i));
  ASSERT_EQ(rows.size(), kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_TRUE(same(rows[i], ordinary(i))) << i;
  EXPECT_LT(rows.footprint(), kCount * 70);
}

TEST(Rows, EveryMemberKeepsEveryValue) {
  using Set = std::function<void(MessageRow&, std::uint64_t)>;
#define MEMBER(name) \
  [](MessageRow& r, std::uint64_t v) { r.name = static_cast<decltype(r.name)>(v); }
  const std::vector<Set> members = {
      MEMBER(time_ns),     MEMBER(frame),       MEMBER(latency_ns),    MEMBER(match),
      MEMBER(moved),       MEMBER(first_frame), MEMBER(connection),    MEMBER(xid),
      MEMBER(version),     MEMBER(credit),      MEMBER(proc),          MEMBER(requested),
      MEMBER(granted),     MEMBER(in_use),      MEMBER(length),        MEMBER(read_bytes),
      MEMBER(write_bytes), MEMBER(reply_bytes), MEMBER(read_segments), MEMBER(write_chunks),
      MEMBER(operations),  MEMBER(procedure),   MEMBER(outcome),       MEMBER(handle),
      MEMBER(detail),      MEMBER(flags),       MEMBER(error),         MEMBER(kind),
      MEMBER(sender),      MEMBER(caller),      MEMBER(dialect),       MEMBER(worst)};
#undef MEMBER
  std::vector<std::uint64_t> values = {0, 1, 2, 3};
  for (unsigned bits = 2; bits <= 64; ++bits) {
    const std::uint64_t most = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
    values.insert(values.end(), {most - 1, most, most + 1});
  }
  Rows rows;
  std::vector<MessageRow> expected;
  for (const Set& set : members) {
    for (const std::uint64_t value : values) {
      MessageRow row = ordinary(expected.size());
      set(row, value);
      expected.push_back(row);
      rows.push_back(row);
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_TRUE(same(rows[i], expected[i])) << i;
}

TEST(Rows, AReplacedRowIsTheNewOneWhereverItFits) {
  std::mt19937 random(5);
  Rows rows;
  std::vector<MessageRow> expected;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    expected.push_back(ordinary(i));
    if (random() % 3 == 0) expected.back().credit = UINT32_MAX;
    rows.push_back(expected.back());
  }
  for (int round = 0; round < 5000; ++round) {
    const std::size_t at = random() % expected.size();
    MessageRow row = ordinary(random() % 1000);
    row.match = random() % 2 == 0 ? 0 : random() % 2000;
    if (random() % 3 == 0) row.moved = UINT64_MAX;
    if (random() % 3 == 0) row.latency_ns = std::numeric_limits<std::int64_t>::min();
    if (random() % 3 == 0) row.write_bytes = 1;
    rows.set(at, row);
    expected[at] = row;
  }
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_TRUE(same(rows[i], expected[i])) << i;
}

}  // namespace
}  // namespace rpcrdma::index
