// Messages of an upper layer that checks every byte: a Call's arguments and results are opaques,
// each of which may be DDP-eligible.
//
//   Call:  XID, 0, cookie, count of arguments, the arguments
//   Reply: XID, 1, cookie, count of results, the results
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/soft/random.h>

namespace rpcrdma::protocol::testing {

struct Opaque {
  std::uint32_t bytes = 0;
  bool ddp = true;
  bool registered = false;  // lies in memory that its owner has registered
};

struct CallPlanForTest {
  std::vector<Opaque> arguments;
  std::vector<Opaque> results;  // the DDP-eligible ones have memory offered for them
  std::uint32_t spare = 0;      // bytes by which that is longer
  fabric::Time timeout = fabric::kNever;
  fabric::Time service_time = 0;
  bool result_memory = true;  // for DDP-eligible results; else they are to be in the stream
};

inline std::uint8_t content(std::uint64_t cookie, std::size_t which, std::size_t at) {
  return static_cast<std::uint8_t>((at * 2654435761U + cookie * 97 + which * 31 + 7) >> 5);
}

// The bytes of one opaque.
class Content {
 public:
  Content(std::uint64_t cookie, std::size_t which, std::uint32_t bytes) : bytes_(bytes) {
    for (std::size_t i = 0; i < bytes; ++i) bytes_[i] = content(cookie, which, i);
  }
  [[nodiscard]] wire::Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Numbers of arguments start at 0.
inline constexpr std::size_t kFirstResult = 100;

// The pieces of a message, and the memory that holds them.
class Message {
 public:
  Message(fabric::Provider& provider, std::uint64_t cookie, std::uint32_t type,
          const std::vector<Opaque>& opaques, std::size_t first)
      : provider_(provider) {
    word(0);
    word(type);
    word(static_cast<std::uint32_t>(cookie));
    word(static_cast<std::uint32_t>(opaques.size()));
    for (std::size_t i = 0; i < opaques.size(); ++i) {
      const Opaque& o = opaques[i];
      word(o.bytes);
      const Content data(cookie, first + i, o.bytes);
      if (!o.ddp) {
        put(data.bytes());
        continue;
      }
      end_piece();
      std::vector<std::uint8_t>& own =
          memory_.emplace_back(data.bytes().begin(), data.bytes().end());
      Piece p;
      p.bytes = own;
      p.ddp = true;
      if (o.registered && o.bytes != 0) {
        p.memory = &registered_.emplace_back(provider.register_memory(own).value());
      }
      pieces_.push_back(p);
    }
    end_piece();
  }
  ~Message() {
    for (const fabric::Memory& m : registered_) provider_.deregister_memory(m);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  // Checks that memory that a peer may only read has not changed.
  [[nodiscard]] std::size_t size() const { return stream_bytes(pieces_); }

 private:
  void word(std::uint32_t v) {
    std::array<std::uint8_t, 4> b{};
    wire::store_be32(b.data(), v);
    stream_.insert(stream_.end(), b.begin(), b.end());
  }
  void put(wire::Bytes bytes) {
    stream_.insert(stream_.end(), bytes.begin(), bytes.end());
    stream_.resize((stream_.size() + 3) / 4 * 4);
  }
  void end_piece() {
    if (stream_.empty()) return;
    pieces_.push_back({memory_.emplace_back(std::move(stream_)), nullptr, false});
    stream_.clear();
  }

  fabric::Provider& provider_;
  std::vector<std::uint8_t> stream_;
  std::deque<std::vector<std::uint8_t>> memory_;
  std::deque<fabric::Memory> registered_;
  std::vector<Piece> pieces_;
};

// The caller's state of a Call until its outcome.
class TestCall {
 public:
  // `provider` outlives it.
  TestCall(fabric::Provider& provider, std::uint64_t cookie, const CallPlanForTest& plan)
      : provider_(provider), plan_(plan), message_(provider, cookie, 0, plan.arguments, 0) {
    spec_.max_reply = 16;
    for (const Opaque& o : plan.results) {
      spec_.max_reply += 4;
      if (!o.ddp || !plan.result_memory) {
        spec_.max_reply += static_cast<std::uint32_t>(wire::xdr_padded(o.bytes));
        continue;
      }
      // The guards around it must not change.
      auto& memory = result_memory_.emplace_back(o.bytes + plan.spare + 2 * kGuard, kGuardByte);
      registered_.push_back(provider.register_memory(memory).value());
    }
    for (std::size_t i = 0; i < registered_.size(); ++i) {
      const auto length = static_cast<std::uint32_t>(result_memory_[i].size() - 2 * kGuard);
      spaces_.push_back({result_memory_[i].data() + kGuard, length, &registered_[i]});
    }
    spec_.message = message_.pieces();
    spec_.results = spaces_;
    spec_.timeout = plan.timeout;
    spec_.cookie = cookie;
  }
  ~TestCall() {
    for (const fabric::Memory& m : registered_) provider_.deregister_memory(m);
  }
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  [[nodiscard]] const CallSpec& spec() const { return spec_; }

  // Checks that nothing was written outside the results, and that the Reply, if there is one, is
  // right.
  void check(const CallOutcome& o) const {
    for (const auto& m : result_memory_) {
      for (std::size_t i = 0; i < kGuard; ++i) {
        EXPECT_EQ(m[i], kGuardByte);
        EXPECT_EQ(m[m.size() - 1 - i], kGuardByte);
      }
    }
    if (o.status != CallStatus::kReplied) return;
    std::vector<Placed> items(o.items.begin(), o.items.end());
    for (std::size_t i = 0; i < o.result_bytes.size(); ++i) {
      items.push_back({kAnyPosition, {spaces_[i].data, o.result_bytes[i]}});
    }
    StreamReader r(o.reply, items, o.padding);
    EXPECT_EQ(r.u32(), o.xid);
    EXPECT_EQ(r.u32(), 1U);
    EXPECT_EQ(r.u32(), o.cookie);
    EXPECT_EQ(r.u32(), plan_.results.size());
    for (std::size_t i = 0; i < plan_.results.size(); ++i) {
      const wire::Bytes got = plan_.results[i].ddp ? r.opaque_result() : r.opaque();
      const Content want(o.cookie, kFirstResult + i, plan_.results[i].bytes);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), want.bytes().begin(), want.bytes().end()))
          << "result " << i << " of " << o.cookie;
    }
    EXPECT_TRUE(r.ok());
    EXPECT_TRUE(r.at_end());
  }

 private:
  static constexpr std::size_t kGuard = 16;
  static constexpr std::uint8_t kGuardByte = 0xa5;

  fabric::Provider& provider_;
  CallPlanForTest plan_;
  Message message_;
  std::deque<std::vector<std::uint8_t>> result_memory_;
  std::deque<fabric::Memory> registered_;
  std::vector<ResultSpace> spaces_;
  CallSpec spec_;
};

// A Call as its responder gets it.
class ReceivedCall {
 public:
  explicit ReceivedCall(const IncomingCall& call) : reader_(call.stream, call.items, call.padding) {
    EXPECT_EQ(reader_.u32(), call.xid);
    EXPECT_EQ(reader_.u32(), 0U);
    cookie_ = reader_.u32();
  }
  [[nodiscard]] std::uint64_t cookie() const { return cookie_; }
  // Checks that it has the arguments of the plan.
  void check(const CallPlanForTest& plan) {
    EXPECT_EQ(reader_.u32(), plan.arguments.size());
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
      const wire::Bytes got = reader_.opaque();
      const Content want(cookie_, i, plan.arguments[i].bytes);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), want.bytes().begin(), want.bytes().end()))
          << "argument " << i << " of " << cookie_;
    }
    EXPECT_TRUE(reader_.ok());
    EXPECT_TRUE(reader_.at_end());
  }

 private:
  StreamReader reader_;
  std::uint64_t cookie_ = 0;
};

// Any shape that a Call can have.
inline CallPlanForTest random_plan(soft::Random& random) {
  const auto opaque = [&] {
    constexpr std::array<std::uint32_t, 6> kScales{1, 5, 90, 1000, 5000, 40'000};
    const std::uint32_t scale = kScales[random.below(kScales.size())];
    return Opaque{static_cast<std::uint32_t>(random.below(scale)), random.chance(0.6),
                  random.chance(0.5)};
  };
  CallPlanForTest p;
  for (std::uint64_t n = random.below(4); n > 0; --n) p.arguments.push_back(opaque());
  for (std::uint64_t n = random.below(4); n > 0; --n) p.results.push_back(opaque());
  p.spare = static_cast<std::uint32_t>(random.chance(0.5) ? random.below(3000) : 0);
  p.result_memory = random.chance(0.8);
  p.service_time = static_cast<fabric::Time>(random.below(30)) * fabric::kMicrosecond;
  return p;
}

}  // namespace rpcrdma::protocol::testing
