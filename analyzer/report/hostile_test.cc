// Captures made to cost much: what each may cost is stated in bytes and allocations, never in time.
#include "../roce/packets_for_tests.h"
#include "live_bytes.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/message_json.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_text.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::report {
namespace {

using roce::testing::packet;
using roce::testing::with_reth;
using wire::Bytes;
using wire::Opcode;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::uint8_t kClient = 1;
constexpr std::uint8_t kServer = 2;
constexpr std::uint32_t kClientQp = 0x111;
constexpr std::uint32_t kServerQp = 0x222;

// What `rpcrdma decode` and `rpcrdma analyze` do with a message.
class Everything : public Analysis {
 public:
  void set_context(const Context& context) {
    context_ = context;
    Analysis::set_context(context);
  }
  void on_message(const model::Message& m, const model::Call* call) override {
    Analysis::on_message(m, call);
    write(m, call);
  }
  void on_call_end(const model::Call& call, const model::Message* answer) override {
    Analysis::on_call_end(call, answer);
    write(call.message, &call);
  }

 private:
  void write(const model::Message& m, const model::Call* call) {
    write_message(json_, m, call, context_);
    static_cast<void>(json_.take());
    static_cast<void>(message_line(m, context_, {}));
    static_cast<void>(message_tree(m, call, context_));
  }
  Context context_;
  JsonWriter json_;
};

// What traffic may cost. The peak is of what is live beyond what was before the traffic.
struct Limits {
  std::size_t peak = 0;         // bytes
  double allocations_each = 0;  // for one packet
};

class Hostile : public ::testing::Test {
 protected:
  explicit Hostile(model::ModelOptions options = {}) : pipeline_(observer_, options) {
    observer_.set_context({&pipeline_.tracker(), &pipeline_.model()});
  }

  void give(std::uint8_t src, std::uint8_t dst, const wire::RocePacket& p) {
    const std::vector<std::uint8_t> bytes = roce::testing::ip_packet(src, dst, p);
    capture::Frame frame;
    frame.number = ++frames_;
    frame.time_ns = time_ns_ += step_ns_;
    frame.original = static_cast<std::uint32_t>(bytes.size());
    frame.link = capture::LinkType::kRaw;
    frame.data = bytes;
    bytes_ += bytes.size();
    pipeline_.frame(frame);
  }

  // A SEND of any length, of the client.
  void send(Bytes message) {
    constexpr std::size_t kMtu = 4096;
    if (message.size() <= kMtu) {
      return give(kClient, kServer, packet(Opcode::kSendOnly, kServerQp, psn_++, message));
    }
    for (std::size_t at = 0; at < message.size(); at += kMtu) {
      const bool last = message.size() - at <= kMtu;
      give(kClient, kServer,
           packet(at == 0 ? Opcode::kSendFirst
                  : last  ? Opcode::kSendLast
                          : Opcode::kSendMiddle,
                  kServerQp, psn_++, message.subspan(at, std::min(kMtu, message.size() - at))));
    }
  }
  void send_call(const wire::Header& header, std::uint32_t program = 100003) {
    std::vector<std::uint8_t> bytes(wire::encoded_size(header) + 40);
    const std::size_t n = wire::encode_header(header, bytes).value();
    // XID, Call, RPC version 2, program, version 3, procedure 1, AUTH_NONE twice.
    const std::uint32_t words[] = {header.xid, 0, 2, program, 3, 1, 0, 0, 0, 0};
    for (std::size_t i = 0; i < 10; ++i) wire::store_be32(&bytes[n + 4 * i], words[i]);
    send(bytes);
  }

  // Passes the traffic, and writes the report of it.
  void expect_within(const std::function<void()>& traffic, const std::function<Limits()>& limits) {
    const testing::Heap before = testing::heap();
    testing::reset_peak();
    traffic();
    pipeline_.finish();
    observer_.finish(pipeline_, {});
    std::size_t written = 0;
    const auto count = [&](std::string_view piece) { written += piece.size(); };
    write_json(observer_.report(), count);
    write_text(observer_.report(), {.colour = false, .all = true}, count);
    EXPECT_GT(written, 0U);
    const testing::Heap after = testing::heap();
    EXPECT_LE(after.peak - before.live, limits().peak);
    EXPECT_LE(static_cast<double>(after.allocations - before.allocations),
              limits().allocations_each * static_cast<double>(frames_));
  }

  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t time_ns_ = 1700000000000000000;
  std::int64_t step_ns_ = 1000;
  std::uint32_t psn_ = 0;
  Everything observer_;
  Pipeline pipeline_;
};

constexpr std::uint64_t kMaxKept = 64 * kMiB;

class HostileKept : public Hostile {
 protected:
  static model::ModelOptions keep_all() {
    model::ModelOptions options;
    options.keep_bytes = options.keep_chunks = true;
    options.max_kept_bytes = kMaxKept;
    return options;
  }
  HostileKept() : Hostile(keep_all()) {}
};

constexpr std::size_t kLargestMessage = 256 * 1024;

std::vector<wire::ReadSegment> largest_read_list() {
  std::vector<wire::ReadSegment> reads((kLargestMessage - 100) / 24);
  for (std::uint32_t i = 0; i < reads.size(); ++i) reads[i] = {i * 4, {i, 1, i}};
  return reads;
}

// Calls that are outstanding are kept with their lists: a multiple of what was sent.
TEST_F(Hostile, ReadListsThatFillTheLargestMessage) {
  const auto reads = largest_read_list();
  wire::Header h;
  h.reads = reads;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20; ++h.xid) send_call(h);
      },
      [&] {
        return Limits{14 * bytes_, 20};
      });
}

TEST_F(HostileKept, ReadListsThatFillTheLargestMessage) {
  const auto reads = largest_read_list();
  wire::Header h;
  h.reads = reads;
  // Trees have a line for each of the fields of a segment.
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20; ++h.xid) send_call(h);
      },
      [&] {
        return Limits{20 * bytes_, 400};
      });
}

TEST_F(Hostile, WriteChunksWithoutSegments) {
  const std::vector<wire::WriteChunk> writes((kLargestMessage - 100) / 8);
  wire::Header h;
  h.writes = writes;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20; ++h.xid) send_call(h);
      },
      [&] {
        return Limits{20 * bytes_, 20};
      });
}

TEST_F(Hostile, OneHandleInAllCalls) {
  const wire::ReadSegment reads[] = {{4, {7, 4096, 0}}};
  wire::Header h;
  h.reads = reads;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 100000; ++h.xid) {
          send_call(h);
          if (h.xid % 4 != 0) continue;
          give(kServer, kClient,
               with_reth(packet(Opcode::kReadRequest, kClientQp, h.xid), 7, 0, 4096));
        }
      },
      [] {
        return Limits{20 * kMiB, 40};
      });
}

TEST_F(Hostile, OneXidInAllCalls) {
  const wire::ReadSegment reads[] = {{4, {7, 4096, 0}}};
  wire::Header h;
  h.reads = reads;
  expect_within(
      [&] {
        for (int i = 0; i < 100000; ++i) send_call(h);
      },
      [] {
        return Limits{kMiB, 40};
      });
}

// The report lists every connection that is followed, so each of those is kept, and no other.
TEST_F(Hostile, MoreConnectionsThanAreFollowed) {
  constexpr std::uint32_t kConnections = 1000000;
  expect_within(
      [&] {
        for (std::uint32_t i = 0; i < kConnections; ++i) {
          give(kClient, kServer, packet(Opcode::kSendOnly, i + 2, i * 77));
        }
      },
      [] {
        return Limits{roce::kMaxConnections * std::size_t{4096}, 20};
      });
  EXPECT_EQ(pipeline_.tracker().connection_count(), roce::kMaxConnections);
  EXPECT_EQ(pipeline_.tracker().stats().not_followed, kConnections - roce::kMaxConnections);
}

TEST_F(Hostile, PsnsAtRandom) {
  std::mt19937 random(1);
  expect_within(
      [&] {
        for (int i = 0; i < 100000; ++i) {
          give(kClient, kServer,
               packet(Opcode::kSendOnly, kServerQp, static_cast<std::uint32_t>(random())));
        }
      },
      [&] {
        return Limits{pipeline_.tracker().connection_count() * 4096, 20};
      });
}

TEST_F(Hostile, PsnsAtRandomThatMayBeLoss) {
  std::mt19937 random(1);
  expect_within(
      [&] {
        for (int i = 0; i < 100000; ++i) {
          give(kClient, kServer,
               packet(Opcode::kSendOnly, kServerQp, static_cast<std::uint32_t>(random() % 60000)));
        }
      },
      [] {
        return Limits{kMiB, 10};
      });
}

TEST_F(HostileKept, ReadsOf4GiBWithoutResponse) {
  const wire::ReadSegment reads[] = {{4, {7, UINT32_MAX, 0}}};
  wire::Header h;
  h.xid = 1;
  h.reads = reads;
  expect_within(
      [&] {
        send_call(h);
        for (std::uint32_t i = 0; i < 100000; ++i) {
          give(kServer, kClient,
               with_reth(packet(Opcode::kReadRequest, kClientQp, i << 22), 7, 0, UINT32_MAX));
        }
      },
      [] {
        return Limits{4 * kMiB, 10};
      });
}

// What is kept lies in one vector, which is copied when it grows.
TEST_F(HostileKept, WriteOf4GiB) {
  const wire::Segment segment[] = {{7, UINT32_MAX, 0}};
  const wire::WriteChunk writes[] = {segment};
  wire::Header h;
  h.xid = 1;
  h.writes = writes;
  const std::vector<std::uint8_t> data(4096);
  expect_within(
      [&] {
        send_call(h);
        give(kServer, kClient,
             with_reth(packet(Opcode::kWriteFirst, kClientQp, 0, data), 7, 0, UINT32_MAX));
        for (std::uint32_t psn = 1; psn < 40000; ++psn) {
          give(kServer, kClient, packet(Opcode::kWriteMiddle, kClientQp, psn, data));
        }
      },
      [] {
        return Limits{2 * kMaxKept, 10};
      });
}

TEST_F(HostileKept, WritesOfOneByteEach) {
  const wire::Segment segment[] = {{7, UINT32_MAX, 0}};
  const wire::WriteChunk writes[] = {segment};
  wire::Header h;
  h.xid = 1;
  h.writes = writes;
  const std::uint8_t byte[] = {1};
  expect_within(
      [&] {
        send_call(h);
        for (std::uint32_t i = 0; i < 20000; ++i) {
          give(kServer, kClient,
               with_reth(packet(Opcode::kWriteOnly, kClientQp, i, byte), 7, 1000000 - 2 * i, 1));
        }
      },
      [] {
        return Limits{4 * kMiB, 10};
      });
}

TEST_F(Hostile, ProgramsWithoutEnd) {
  wire::Header h;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20000; ++h.xid) send_call(h, h.xid);
      },
      [] {
        return Limits{40 * kMiB, 50};
      });
}

TEST_F(Hostile, TimeGoingBackwards) {
  step_ns_ = -1000000000000;
  wire::Header h;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20000; ++h.xid) send_call(h);
      },
      [] {
        return Limits{16 * kMiB, 40};
      });
  EXPECT_EQ(pipeline_.frames().clock_steps_back, 19999U);
}

// They are one finding.
TEST_F(Hostile, MessagesMalformedInManyWays) {
  wire::Header call;
  call.xid = 1;
  expect_within(
      [&] {
        send_call(call);
        for (std::uint32_t entries = 0; entries < 5000; ++entries) {
          const std::vector<wire::ReadSegment> reads(entries);
          wire::Header h;
          h.reads = reads;
          std::vector<std::uint8_t> bytes(wire::encoded_size(h));
          ASSERT_TRUE(wire::encode_header(h, bytes));
          wire::store_be32(&bytes[bytes.size() - 12], 2);  // the word that ends the Read list
          send(bytes);
        }
      },
      [] {
        return Limits{8 * kMiB, 20};
      });
  std::string json;
  write_json(observer_.report(), [&](std::string_view piece) { json += piece; });
  EXPECT_NE(json.find("\"count\":5000"), std::string::npos);
}

}  // namespace
}  // namespace rpcrdma::report
