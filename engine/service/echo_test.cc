// The echo program from end to end without a connection: Calls that EchoCall encodes are passed to
// the server's handlers, and the answers are checked; data inline and in chunks.
#include "calls_for_tests.h"

#include <random>

#include <rpcrdma/service/echo.h>

namespace rpcrdma::service::echo {
namespace {

using protocol::CallOutcome;
using testing::ByteVector;
using testing::Dispatching;
using testing::words;

constexpr std::uint32_t kLongest = 1U << 20;

TEST(Checksum, Crc32c) {
  // RFC 3720 appendix B.4, and the check value of its polynomial.
  EXPECT_EQ(checksum(ByteVector(32, 0)), 0x8a9136aaU);
  EXPECT_EQ(checksum(ByteVector(32, 0xff)), 0x62a8ab43U);
  const std::string digits = "123456789";
  EXPECT_EQ(checksum(ByteVector(digits.begin(), digits.end())), 0xe3069283U);
  EXPECT_EQ(checksum({}), 0U);
}

TEST(Names, BothWays) {
  for (std::uint32_t i = 0; i < kProcedures; ++i) {
    EXPECT_EQ(proc_from_name(proc_name(static_cast<Proc>(i))), static_cast<Proc>(i));
  }
  EXPECT_EQ(proc_from_name("echo-bulk"), Proc::kEchoBulk);
  EXPECT_FALSE(proc_from_name("echoes"));
  EXPECT_FALSE(proc_from_name(""));
}

struct Random : std::mt19937 {
  using std::mt19937::mt19937;
  std::uint32_t operator()() { return static_cast<std::uint32_t>(std::mt19937::operator()()); }
};

class EchoTest : public ::testing::Test {
 protected:
  // As a requester and a responder would: `chunks` moves DDP-eligible items.
  Verdict run(EchoCall& with, const Request& request, bool chunks) {
    auto spec = with.begin(request);
    if (!spec) {
      ADD_FAILURE() << spec.error().message;
      return Verdict::kMalformed;
    }
    return finish(with, *spec, chunks);
  }

  Verdict finish(EchoCall& with, const protocol::CallSpec& spec, bool chunks) {
    ByteVector stream;
    std::vector<protocol::Placed> items;
    std::uint32_t moved = 0;
    for (const protocol::Piece& p : spec.message) {
      const auto position = static_cast<std::uint32_t>(stream.size()) + moved;
      if (p.ddp && chunks && !p.bytes.empty()) {
        items.push_back({position, p.bytes});
        moved += static_cast<std::uint32_t>(wire::xdr_padded(p.bytes.size()));
        continue;
      }
      stream.insert(stream.end(), p.bytes.begin(), p.bytes.end());
      if (p.ddp) stream.resize((stream.size() + 3) / 4 * 4);
    }
    damage_call(stream);
    d.replies.clear();
    const std::uint64_t id = d.call(stream, items);
    if (d.replies.size() != 1) {
      ADD_FAILURE() << d.replies.size() << " Replies";
      return Verdict::kMalformed;
    }
    testing::KeptReply reply = d.replies[0];
    d.dispatcher.on_sent(id);

    std::array<std::uint32_t, protocol::kMaxResults> result_bytes{};
    if (!reply.data.empty()) {
      ByteVector& data = reply.data[0];
      if (chunks && !spec.results.empty() && !data.empty()) {
        EXPECT_LE(data.size(), spec.results[0].length);
        std::copy(data.begin(), data.end(), spec.results[0].data);
        result_bytes[0] = static_cast<std::uint32_t>(data.size());
      } else {
        reply.stream.insert(reply.stream.end(), data.begin(), data.end());
        reply.stream.resize((reply.stream.size() + 3) / 4 * 4);
      }
    }
    EXPECT_LE(reply.stream.size(), spec.max_reply + (chunks ? 0 : kLongest + 3));
    damage_reply(reply.stream);
    CallOutcome outcome;
    outcome.reply = reply.stream;
    outcome.result_bytes = std::span(result_bytes).first(spec.results.size());
    if (before_check) before_check(spec);
    return with.check(outcome);
  }

  std::function<void(ByteVector&)> damage_call = [](ByteVector&) {};
  std::function<void(ByteVector&)> damage_reply = [](ByteVector&) {};
  std::function<void(const protocol::CallSpec&)> before_check;
  fabric::testing::NullProvider provider;
  protocol::MemoryPool pool{provider, {}};
  std::unique_ptr<EchoProgram> program = EchoProgram::create(pool, kLongest).value();
  Dispatching d{{program.get()}};
  Pattern pattern = Pattern::create(pool, kLongest).value();
  EchoCall call = EchoCall::create(pool, pattern, kLongest).value();
};

TEST_F(EchoTest, EveryProcedureAndSize) {
  for (const std::uint32_t length : {0U, 1U, 3U, 4U, 1000U, 4096U, 65536U, kLongest}) {
    for (const bool chunks : {false, true}) {
      for (const Proc proc : {Proc::kSink, Proc::kSource, Proc::kEchoBulk, Proc::kEcho}) {
        if (proc == Proc::kEcho && length > kMaxEcho) continue;
        EXPECT_EQ(run(call, {proc, length, 0, length * 7 + 1, 0}, chunks), Verdict::kRight)
            << proc_name(proc) << " " << length << " " << chunks;
      }
    }
  }
  for (const std::uint32_t count : {0U, 1U, 10U, 1000U}) {
    for (const std::uint32_t size : {0U, 1U, 3U, 4U, 1000U}) {
      EXPECT_EQ(run(call, {Proc::kList, size, count, 5, 0}, true), Verdict::kRight)
          << count << " " << size;
    }
  }
  EXPECT_EQ(run(call, {Proc::kNull, 0, 0, 0, 0}, true), Verdict::kRight);
  EXPECT_EQ(run(call, {Proc::kSleep, 0, 0, 0, 0}, true), Verdict::kRight);
  EXPECT_EQ(d.pool.in_use(), 0U);
}

TEST_F(EchoTest, TheServerCopiesNothingOfASource) {
  ASSERT_EQ(run(call, {Proc::kSource, 65536, 0, 3, 0}, true), Verdict::kRight);
  EXPECT_TRUE(d.replies[0].registered.back());
  ASSERT_EQ(run(call, {Proc::kList, 4, 1000, 3, 0}, true), Verdict::kRight);
  EXPECT_TRUE(d.replies[0].registered.back());
}

TEST_F(EchoTest, TheServerSeesDataThatWasDamaged) {
  damage_call = [](ByteVector& stream) { stream[60] ^= 1; };
  for (const Proc proc : {Proc::kEcho, Proc::kSink, Proc::kEchoBulk}) {
    EXPECT_EQ(run(call, {proc, 1000, 0, 9, 0}, false), Verdict::kStatus) << proc_name(proc);
  }
  EXPECT_EQ(program->counters().corrupt, 3U);
}

TEST_F(EchoTest, TheClientSeesDataThatWasDamaged) {
  damage_reply = [](ByteVector& stream) { stream[80] ^= 1; };
  for (const Proc proc : {Proc::kEcho, Proc::kSource, Proc::kEchoBulk, Proc::kList}) {
    const Request request{proc, 100, 10, 9, 0};
    EXPECT_EQ(run(call, request, false), Verdict::kWrongData) << proc_name(proc);
  }
  damage_reply = [](ByteVector& stream) { stream.back() ^= 1; };  // SINK's checksum
  EXPECT_EQ(run(call, {Proc::kSink, 100, 0, 9, 0}, false), Verdict::kWrongData);
}

TEST_F(EchoTest, TheClientSeesDamageInTheSpaceOfAResult) {
  before_check = [](const protocol::CallSpec& spec) { spec.results[0].data[77] ^= 1; };
  EXPECT_EQ(run(call, {Proc::kSource, 1000, 0, 9, 0}, true), Verdict::kWrongData);
}

TEST_F(EchoTest, AServerHasItsOwnLimit) {
  auto small = EchoProgram::create(pool, 1000).value();
  Dispatching other{{small.get()}};
  const auto answer = [&](Proc proc, const ByteVector& arguments) {
    return other.answer(
        testing::call_bytes(kProgram, kVersion, static_cast<std::uint32_t>(proc), arguments));
  };
  const ByteVector too_long = words(0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0);
  EXPECT_EQ(answer(Proc::kSource, words(1001, 0)), too_long);
  EXPECT_EQ(answer(Proc::kList, words(2, 501, 0)), too_long);
  EXPECT_NE(answer(Proc::kSource, words(1000, 0)), too_long);
  EXPECT_EQ(small->counters().too_long, 2U);
}

TEST_F(EchoTest, ArgumentsBeyondTheProtocolAreGarbage) {
  const ByteVector garbage = words(0, 1, 0, 0, 0, 4);
  const auto answer = [&](Proc proc, const ByteVector& arguments) {
    return d.answer(
        testing::call_bytes(kProgram, kVersion, static_cast<std::uint32_t>(proc), arguments));
  };
  EXPECT_EQ(answer(Proc::kEcho, words(0, 4)), garbage);
  EXPECT_EQ(answer(Proc::kEcho, testing::join({words(0, kMaxEcho + 1), ByteVector(kMaxEcho + 4)})),
            garbage);
  EXPECT_EQ(answer(Proc::kEcho, words(0, 0, 0)), garbage);
  EXPECT_EQ(answer(Proc::kSink, words(0, 0xffffffff)), garbage);
  EXPECT_EQ(answer(Proc::kSource, words((1U << 28) + 1, 0)), garbage);
  EXPECT_EQ(answer(Proc::kSource, words(1)), garbage);
  EXPECT_EQ(answer(Proc::kList, words(1, 1025, 0)), garbage);
  EXPECT_EQ(answer(Proc::kList, words(0xffffffff, 0, 0)), garbage);
  EXPECT_EQ(answer(Proc::kList, words(0xffffffff, 1024, 0)), garbage);
  EXPECT_EQ(answer(Proc::kSleep, words(60'000'001)), garbage);
  EXPECT_EQ(answer(Proc::kSleep, {}), garbage);
}

TEST_F(EchoTest, SleepsAreWokenInTheOrderOfTheirTimes) {
  const auto sleep = [&](std::uint32_t microseconds) {
    return d.call(testing::call_bytes(kProgram, kVersion, 6, words(microseconds)));
  };
  EXPECT_EQ(program->deadline(), fabric::kNever);
  const std::uint64_t late = sleep(2000);
  const std::uint64_t early = sleep(1000);
  const std::uint64_t gone = sleep(1500);
  EXPECT_TRUE(d.replies.empty());
  EXPECT_EQ(program->deadline(), fabric::kMillisecond);
  d.dispatcher.on_cancelled(gone);
  program->expire(fabric::kMillisecond - 1);
  EXPECT_TRUE(d.replies.empty());
  program->expire(fabric::kMillisecond);
  ASSERT_EQ(d.replies.size(), 1U);
  EXPECT_EQ(d.replies[0].id, early);
  EXPECT_EQ(d.replies[0].stream, words(0, 1, 0, 0, 0, 0, 0, 0, 0, 0, fabric::kMillisecond));
  program->expire(fabric::kSecond);
  ASSERT_EQ(d.replies.size(), 2U);
  EXPECT_EQ(d.replies[1].id, late);
  EXPECT_EQ(program->deadline(), fabric::kNever);
}

// Connections that start, send Calls with the longest sleep, and end.
TEST_F(EchoTest, SleepersAreBoundedAndThoseOfNobodyGoFirst) {
  constexpr std::size_t kConnections = 64, kCalls = 1024;
  const ByteVector sleep = testing::call_bytes(kProgram, kVersion, 6, words(kMaxSleep));
  std::vector<std::unique_ptr<Dispatching>> all;
  for (std::size_t i = 0; i < kConnections; ++i) {
    all.push_back(std::make_unique<Dispatching>(std::vector<Program*>{program.get()}));
    for (std::size_t n = 0; n < kCalls; ++n) all.back()->call(sleep);
    EXPECT_TRUE(all.back()->replies.empty());
  }
  EXPECT_EQ(d.answer(sleep), words(0, 1, 0, 0, 0, 5));  // SYSTEM_ERR
  for (std::uint64_t id = 1; id <= 10; ++id) all[3]->dispatcher.on_cancelled(id);
  all.pop_back();
  d.replies.clear();
  for (std::size_t n = 0; n < kCalls + 10; ++n) d.call(sleep);
  EXPECT_TRUE(d.replies.empty());
  EXPECT_EQ(d.answer(sleep), words(0, 1, 0, 0, 0, 5));
}

fabric::Time reading_of_clock = 0;
fabric::Time read_clock() {
  return reading_of_clock;
}

TEST_F(EchoTest, RepliesSayHowLongTheServerHadTheCall) {
  auto exact = EchoProgram::create(pool, kLongest, &read_clock).value();
  Dispatching other{{exact.get()}};
  const auto answer = [&](Proc proc, const ByteVector& arguments) {
    return other.answer(
        testing::call_bytes(kProgram, kVersion, static_cast<std::uint32_t>(proc), arguments));
  };
  const ByteVector success = words(0, 1, 0, 0, 0, 0);
  other.received = 1000;
  other.pulled = fabric::Time{5} << 32;
  other.now = other.pulled + 10;
  reading_of_clock = other.pulled + (fabric::Time{1} << 32) + 20;
  EXPECT_EQ(answer(Proc::kSource, words(0, 0)),
            testing::join({success, words(0, 4, 0xfffffc18, 1, 20, 0, 0)}));
  EXPECT_EQ(answer(Proc::kSink, words(0, 0)),
            testing::join({success, words(0, 4, 0xfffffc18, 1, 20, 0, 0)}));
  EXPECT_EQ(answer(Proc::kList, words(0, 0, 0)),
            testing::join({success, words(0, 4, 0xfffffc18, 1, 20, 0, 0)}));
  // Also if it is refused.
  EXPECT_EQ(answer(Proc::kEcho, words(7, 0)),
            testing::join({success, words(1, 4, 0xfffffc18, 1, 20, 0, 0)}));
  EXPECT_EQ(answer(Proc::kNull, {}), success);
  // A sleep counts as work, to its end.
  other.replies.clear();
  other.call(testing::call_bytes(kProgram, kVersion, 6, words(1)));
  reading_of_clock = other.pulled + 5000;
  exact->expire(other.now + fabric::kMicrosecond);
  ASSERT_EQ(other.replies.size(), 1U);
  EXPECT_EQ(other.replies[0].stream, testing::join({success, words(0, 4, 0xfffffc18, 0, 5000)}));
  // If the clock went back, nothing was measured.
  other.pulled = 0;
  reading_of_clock = -1;
  EXPECT_EQ(answer(Proc::kSource, words(0, 0)),
            testing::join({success, words(0, 0, 0, 0, 0, 0, 0)}));
}

TEST_F(EchoTest, WithoutAClockWorkIsCountedInTurns) {
  d.received = d.pulled = 100;
  d.now = 130;
  EXPECT_EQ(run(call, {Proc::kSource, 1000, 0, 0, 0}, true), Verdict::kRight);
  EXPECT_EQ(call.server_times(), (ServerTimes{0, 30}));
}

TEST_F(EchoTest, TheCallShowsWhatItsReplySays) {
  d.received = 100;
  d.pulled = 120;
  d.now = 150;
  const ServerTimes times{20, 30};
  for (const Proc proc : {Proc::kEcho, Proc::kSink, Proc::kSource, Proc::kEchoBulk, Proc::kList,
                          Proc::kSleep, Proc::kCount}) {
    EXPECT_EQ(run(call, {proc, 100, 3, 9, 0}, false), Verdict::kRight) << proc_name(proc);
    EXPECT_EQ(call.server_times(), times) << proc_name(proc);
  }
  EXPECT_EQ(run(call, {Proc::kNull, 0, 0, 0, 0}, false), Verdict::kRight);
  EXPECT_FALSE(call.server_times());
  damage_call = [](ByteVector& stream) { stream[60] ^= 1; };
  EXPECT_EQ(run(call, {Proc::kEcho, 1000, 0, 9, 0}, false), Verdict::kStatus);
  EXPECT_EQ(call.server_times(), times);
  damage_call = [](ByteVector&) {};
  damage_reply = [](ByteVector& stream) { stream.resize(stream.size() - 4); };
  EXPECT_EQ(run(call, {Proc::kEcho, 1000, 0, 9, 0}, false), Verdict::kMalformed);
  EXPECT_FALSE(call.server_times());
}

TEST_F(EchoTest, CountAdds) {
  EXPECT_EQ(run(call, {Proc::kCount}, false), Verdict::kRight);
  EXPECT_EQ(call.count(), 1U);
  EXPECT_EQ(run(call, {Proc::kCount}, false), Verdict::kRight);
  EXPECT_EQ(call.count(), 2U);
  EXPECT_EQ(run(call, {Proc::kNull}, false), Verdict::kRight);
  EXPECT_FALSE(call.count());
}

TEST_F(EchoTest, ACallIsRefusedWhereThereIsNoRoom) {
  EchoCall small = EchoCall::create(pool, pattern, 0).value();
  EXPECT_TRUE(small.begin({Proc::kSink, kLongest, 0, 0, 0}));
  EXPECT_FALSE(small.begin({Proc::kSource, 1, 0, 0, 0}));
  EXPECT_FALSE(call.begin({Proc::kSource, kLongest + 1, 0, 0, 0}));
  EXPECT_FALSE(call.begin({Proc::kEcho, kMaxEcho + 1, 0, 0, 0}));
  EXPECT_FALSE(call.begin({Proc::kList, kMaxItem + 1, 1, 0, 0}));
  EXPECT_FALSE(call.begin({Proc::kList, 4, 0x20000001, 0, 0}));
  EXPECT_FALSE(call.begin({Proc::kSleep, 0, 0, 0, kMaxSleep + 1}));
  EXPECT_FALSE(EchoCall::create(pool, pattern, kLongest + 1));
}

TEST_F(EchoTest, WhatTheSpecificationOfTheDataSays) {
  // SplitMix64 from 0: 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4.
  const auto bytes = pattern.bytes(0, 16);
  EXPECT_EQ(ByteVector(bytes.begin(), bytes.end()),
            (ByteVector{0xaf, 0xcd, 0x1d, 0x7b, 0x39, 0xa8, 0x20, 0xe2, 0xf4, 0x65, 0xb9, 0xa1,
                        0x6a, 0x9e, 0x78, 0x6e}));
  EXPECT_EQ(pattern.bytes(4097, 4)[0], 0xcd);
  EXPECT_EQ(pattern.checksum(4097, 1000), checksum(pattern.bytes(1, 1000)));
}

// Replies of any kind, to any procedure: read within their bounds and never accepted as correct.
TEST_F(EchoTest, HostileReplies) {
  Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    const auto proc = static_cast<Proc>(1 + random() % 6);
    ASSERT_TRUE(call.begin({proc, 100, 10, 5, 0}));
    ByteVector stream = words(7, 1, 0, 0, 0, 0, random() % 4, random(), random(), random(),
                              random(), random(), random() % 200);
    stream.resize(stream.size() + random() % 200, static_cast<std::uint8_t>(random()));
    for (unsigned n = random() % 4; n > 0; --n) {
      stream[random() % stream.size()] = static_cast<std::uint8_t>(random());
    }
    stream.resize(random() % (stream.size() + 1));
    const std::array<std::uint32_t, 1> lengths{random() % 3 == 0 ? 0 : random() % 200};
    CallOutcome outcome;
    outcome.reply = stream;
    outcome.result_bytes = lengths;
    const Verdict verdict = call.check(outcome);
    if (proc != Proc::kSleep) {
      EXPECT_NE(verdict, Verdict::kRight);
    }
  }
}

// Arguments of any kind get one Reply.
TEST_F(EchoTest, HostileArguments) {
  Random random(2);
  for (int round = 0; round < 20'000; ++round) {
    ByteVector arguments = words(random() % 2 == 0 ? random() : random() % 2000,
                                 random() % 2 == 0 ? random() : random() % 2000, random());
    arguments.resize(random() % 100, static_cast<std::uint8_t>(random()));
    const ByteVector data(random() % 100, static_cast<std::uint8_t>(random()));
    const protocol::Placed item{static_cast<std::uint32_t>(random() % 30 * 4), data};
    d.replies.clear();
    std::uint32_t procedure = random() % 7;
    if (procedure == 6) procedure = 7;  // SLEEP is answered later
    const std::uint64_t id = d.call(testing::call_bytes(kProgram, kVersion, procedure, arguments),
                                    {&item, random() % 2});
    ASSERT_EQ(d.replies.size(), 1U);
    d.dispatcher.on_sent(id);
  }
  EXPECT_EQ(d.pool.in_use(), 0U);
}

}  // namespace
}  // namespace rpcrdma::service::echo
