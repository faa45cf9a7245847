// Builds a connection and Calls on it, and passes them to a format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rpcrdma/timeline/format.h>

namespace rpcrdma::timeline::testing {

// A whole second, for reference times.
inline constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
inline constexpr std::int64_t kMicrosecond = 1000;

inline roce::Connection connection() {
  roce::Connection c;
  c.index = 0;
  c.setup = roce::Setup::kCm;
  for (std::uint8_t side = 0; side < 2; ++side) {
    const std::uint8_t address[4] = {10, 0, 0, static_cast<std::uint8_t>(2 - side)};
    c.side[side].address = capture::make_ipv4(address);
    c.side[side].qpn = 17U + side;
    c.side[side].qpn_known = true;
  }
  c.first_frame = 1;
  return c;
}

// Times are microseconds from kStart.
inline model::Call call(std::uint64_t id, std::int64_t at_us) {
  model::Call c;
  model::Message& m = c.message;
  m.id = id;
  m.frame = m.first_frame = 10 * id;
  m.time_ns = m.first_ns = kStart + at_us * kMicrosecond;
  m.kind = model::Kind::kCall;
  m.xid = 0x1000 + static_cast<std::uint32_t>(id);
  m.version = 1;
  m.credit = 32;
  m.wire_length = 100;
  m.rpc.known = true;
  m.rpc.wrapping = decode::Wrapping::kNone;
  m.rpc.program = 100003;
  m.rpc.version = 3;
  m.rpc.procedure = 7;
  return c;
}

inline void add_read(model::Call& c, std::int64_t from_us, std::int64_t to_us) {
  model::ChunkOperation& o = c.operations.emplace_back();
  o.kind = roce::OpKind::kRead;
  o.list = model::ChunkList::kRead;
  o.handle = 0x77;
  o.offset = 0xffff888000001000;
  o.length = 4096;
  o.bytes = o.length;
  o.first_frame = 20;
  o.last_frame = 25;
  o.first_ns = kStart + from_us * kMicrosecond;
  o.last_ns = kStart + to_us * kMicrosecond;
  o.complete = true;
  ++c.operations_total;
  if (c.first_op_ns < 0) c.first_op_ns = o.first_ns;
  c.last_op_ns = o.last_ns;
}

// Ends a Call with a Reply, which is returned.
inline model::Message reply(model::Call& c, std::int64_t at_us) {
  model::Message m;
  m.id = c.message.id + 1000;
  m.frame = m.first_frame = c.message.frame + 5;
  m.time_ns = m.first_ns = kStart + at_us * kMicrosecond;
  m.kind = model::Kind::kReply;
  m.sender = 1;
  m.xid = c.message.xid;
  m.version = 1;
  m.credit = 16;
  m.wire_length = 60;
  m.rpc = c.message.rpc;
  m.rpc.header_seen = true;
  m.match_frame = c.message.frame;
  c.ending = model::Ending::kReplied;
  return m;
}

inline constexpr Origin kOfClient{0, 0, 0, false};
inline constexpr Origin kOfServer{0, 1, 1, true};

// A format between begin() and end(), on one connection.
class Written {
 public:
  explicit Written(std::unique_ptr<Format> (*make)(Write), Vantage vantage = Vantage::kNetwork)
      : format_(make([this](std::string_view piece) { text_ += piece; })) {
    format_->begin(kStart, vantage);
    format_->opened(connection_, 0, kStart);
  }
  Format* operator->() { return format_.get(); }
  [[nodiscard]] const roce::Connection& connection() const { return connection_; }

  void begin(const model::Call& c, const Origin& origin = kOfClient) {
    format_->call_begun(c, origin);
  }
  void end(model::Call& c, std::int64_t at_us, const Origin& origin = kOfClient) {
    const model::Message answer = reply(c, at_us);
    format_->call_ended({c, &answer, origin, answer.time_ns}, true);
  }
  [[nodiscard]] const std::string& text() {
    format_->end();
    return text_;
  }

 private:
  roce::Connection connection_ = testing::connection();
  std::string text_;
  std::unique_ptr<Format> format_;
};

}  // namespace rpcrdma::timeline::testing
