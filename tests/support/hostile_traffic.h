// Tests with captures that are built to be expensive. Limits are in bytes and allocations, never in
// time.
#pragma once

#include "live_bytes.h"
#include "roce_packets.h"
#include "traffic_count.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/message_json.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_text.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::report::testing {

using roce::testing::packet;
using roce::testing::with_reth;
using wire::Bytes;
using wire::Opcode;

inline constexpr std::size_t kMiB = std::size_t{1} << 20;
// The number of connections that are tracked at once.
inline constexpr auto kMostConnections = static_cast<std::uint32_t>(roce::kMaxConnections);
inline constexpr std::uint8_t kClient = 1;
inline constexpr std::uint8_t kServer = 2;
inline constexpr std::uint32_t kClientQp = 0x111;
inline constexpr std::uint32_t kServerQp = 0x222;

// Does what `rpcrdma decode` and `rpcrdma analyze` do with each message.
class Everything final : public model::Observer {
 public:
  explicit Everything(model::ModelOptions options)
      : analysis_({.model = options, .observers = {this}}) {}

  [[nodiscard]] Analysis& analysis() { return analysis_; }

 private:
  void on_message(const model::MessageSeen& event) override { write(event.message, event.call); }
  void on_call_end(const model::CallEnded& event) override {
    write(event.call.message, &event.call);
  }
  void write(const model::Message& m, const model::Call* call) {
    const Context& context = analysis_.context();
    write_message(json_, m, call, context);
    static_cast<void>(json_.take());
    static_cast<void>(message_line(m, call, context, {}));
    static_cast<void>(message_tree(m, call, context));
  }
  Analysis analysis_;
  JsonWriter json_;
};

// The limits for some traffic. `peak` counts live bytes beyond those that were live before it.
struct Limits {
  std::size_t peak = 0;         // bytes
  double allocations_each = 0;  // per packet
};

class Hostile : public ::testing::Test {
 protected:
  explicit Hostile(model::ModelOptions options = {}) : everything_(options) {}

  void give(std::uint8_t src, std::uint8_t dst, const wire::RocePacket& p) {
    give(roce::testing::ip_packet(src, dst, p));
  }
  // Passes a packet from the n-th of many ports.
  void give_from(std::uint32_t n, const wire::RocePacket& p) {
    std::vector<std::uint8_t> bytes = roce::testing::ip_packet(kClient, kServer, p);
    wire::store_be32(&bytes[12], 0x0a000000 + n);
    constexpr std::size_t kBth = 28;
    const std::size_t covered = bytes.size() - 4;
    wire::store_icrc(&bytes[covered],
                     wire::icrc(wire::IcrcKind::kRoceV2Ipv4, Bytes(bytes).first(covered), kBth));
    give(bytes);
  }
  void give(const std::vector<std::uint8_t>& bytes) { give_to(analysis_.pipeline(), bytes); }
  void give_to(session::Pipeline& pipeline, const std::vector<std::uint8_t>& bytes) {
    capture::Frame frame;
    frame.number = ++frames_;
    frame.time_ns = time_ns_ += step_ns_;
    frame.original = static_cast<std::uint32_t>(bytes.size());
    frame.link = capture::LinkType::kRaw;
    frame.data = bytes;
    bytes_ += bytes.size();
    pipeline.frame(frame);
  }

  // Passes a SEND of any length from the client.
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
  static std::vector<std::uint8_t> call_bytes(const wire::Header& header,
                                              std::uint32_t program = 100003) {
    // XID, Call, RPC version 2, program, version 3, procedure 1, AUTH_NONE twice.
    return message_bytes(header, {header.xid, 0, 2, program, 3, 1, 0, 0, 0, 0});
  }
  static std::vector<std::uint8_t> call_bytes(std::uint32_t xid) {
    return call_bytes(with_xid(xid));
  }
  static std::vector<std::uint8_t> reply_bytes(std::uint32_t xid) {
    // XID, Reply, accepted, AUTH_NONE, success, and the status.
    return message_bytes(with_xid(xid), {xid, 1, 0, 0, 0, 0, 0});
  }
  void send_call(const wire::Header& header, std::uint32_t program = 100003) {
    send(call_bytes(header, program));
  }

  // Passes the traffic, writes its report and checks the limits.
  void expect_within(const std::function<void()>& traffic, const std::function<Limits()>& limits) {
    const Heap before = heap();
    reset_peak();
    traffic();
    analysis_.pipeline().finish();
    analysis_.finish({});
    std::size_t written = 0;
    const auto count = [&](std::string_view piece) { written += piece.size(); };
    write_json(analysis_.report(), count);
    write_text(analysis_.report(), {.colour = false, .all = true}, count);
    EXPECT_GT(written, 0U);
    const Heap after = heap();
    EXPECT_LE(after.peak - before.live, limits().peak);
    EXPECT_LE(static_cast<double>(after.allocations - before.allocations),
              limits().allocations_each * static_cast<double>(frames_));
  }

  static wire::Header with_xid(std::uint32_t xid) {
    wire::Header h;
    h.xid = xid;
    h.credit = 8;
    return h;
  }
  static std::vector<std::uint8_t> message_bytes(const wire::Header& header,
                                                 std::initializer_list<std::uint32_t> rpc) {
    std::vector<std::uint8_t> bytes(wire::encoded_size(header) + 4 * rpc.size());
    std::size_t at = wire::encode_header(header, bytes).value();
    for (const std::uint32_t word : rpc) {
      wire::store_be32(&bytes[at], word);
      at += 4;
    }
    return bytes;
  }

  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t time_ns_ = 1700000000000000000;
  std::int64_t step_ns_ = 1000;
  std::uint32_t psn_ = 0;
  Everything everything_;
  Analysis& analysis_ = everything_.analysis();
};

inline constexpr std::uint64_t kMaxKept = 64 * kMiB;

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

}  // namespace rpcrdma::report::testing
