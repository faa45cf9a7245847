// A channel over a scripted connection: the test plays the peer and the fabric.
#pragma once

#include "endpoint_options.h"
#include "fake_fabric.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol::testing {

using Buffer = std::vector<std::uint8_t>;

inline void put_word(Buffer& out, std::uint32_t v) {
  out.resize(out.size() + 4);
  wire::store_be32(out.data() + out.size() - 4, v);
}
inline Buffer words(std::initializer_list<std::uint32_t> values) {
  Buffer out;
  for (const std::uint32_t v : values) put_word(out, v);
  return out;
}
inline Buffer encode(const wire::Header& header, const Buffer& payload = {}) {
  Buffer out(wire::encoded_size(header));
  EXPECT_TRUE(wire::encode_header(header, out));
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}
// A header whose lists are vectors, so that a test can change them.
struct OpenHeader {
  wire::Header header;
  std::vector<wire::ReadSegment> reads;
  std::vector<std::vector<wire::Segment>> writes;
  std::optional<std::vector<wire::Segment>> reply;

  [[nodiscard]] Buffer encode(const Buffer& payload = {}) const {
    wire::Header h = header;
    h.reads = reads;
    std::vector<wire::WriteChunk> chunks(writes.begin(), writes.end());
    h.writes = chunks;
    if (reply) h.reply = *reply;
    return testing::encode(h, payload);
  }
};
inline OpenHeader open(const Buffer& message) {
  OpenHeader o;
  const auto h = wire::decode_header(message);
  EXPECT_TRUE(h);
  if (!h) return o;
  o.header.xid = h->xid;
  o.header.vers = h->vers;
  o.header.credit = h->credit;
  o.header.proc = h->proc;
  o.header.error = h->error;
  o.header.direction = h->direction;
  o.header.inv_handle = h->inv_handle;
  o.header.processed = h->processed;
  o.header.segment_index = h->segment_index;
  o.header.length_needed = h->length_needed;
  o.header.opttype = h->opttype;
  o.header.vers_low = h->vers_low;
  o.header.vers_high = h->vers_high;
  for (const wire::ReadSegment r : h->reads) o.reads.push_back(r);
  for (const wire::WriteChunkView w : h->writes) o.writes.emplace_back(w.begin(), w.end());
  if (h->reply) o.reply.emplace(h->reply->begin(), h->reply->end());
  return o;
}
inline Buffer payload_of(const Buffer& message) {
  const auto h = wire::decode_header(message);
  EXPECT_TRUE(h);
  return h ? Buffer(message.begin() + h->length, message.end()) : Buffer();
}

class ChannelTest : public ::testing::Test {
 protected:
  explicit ChannelTest(const MemoryPool::Options& options = {}) : pool(fabric, options) {}
  ~ChannelTest() override {
    channel.reset();
    EXPECT_EQ(pool.in_use(), 0U);
  }

  void start(Requester* requester, Responder* responder, const ChannelOptions& options = {}) {
    channel.reset();
    channel = std::make_unique<Channel>(pool, options, requester, responder);
    ASSERT_TRUE(channel->begin(fabric.connection()));
    channel->established(now);
    channel->flush(now);
  }
  // A message from the peer arrives, then the channel is flushed.
  void arrive(const Buffer& message, std::optional<std::uint32_t> invalidated = {}) {
    arrive_unflushed(message, invalidated);
    channel->flush(now);
  }
  void arrive_unflushed(const Buffer& message, std::optional<std::uint32_t> invalidated = {}) {
    ASSERT_FALSE(fabric.receives.empty()) << "no Receive is posted";
    const FakeFabric::Receive r = fabric.receives.front();
    fabric.receives.pop_front();
    ASSERT_LE(message.size(), r.local.length);
    // Bytes beyond the message must not be read.
    std::memset(r.local.data, 0xee, r.local.length);
    if (!message.empty()) std::memcpy(r.local.data, message.data(), message.size());
    fabric::Completion c;
    c.id = r.id;
    c.operation = fabric::Operation::kReceive;
    c.bytes = static_cast<std::uint32_t>(message.size());
    c.has_invalidated = invalidated.has_value();
    c.invalidated = invalidated.value_or(0);
    if (invalidated) fabric.advertised.erase(*invalidated);
    channel->completed(c, now);
  }
  void complete(std::uint64_t id, fabric::Operation operation,
                fabric::Status status = fabric::Status::kSuccess) {
    fabric::Completion c;
    c.id = id;
    c.operation = operation;
    c.status = status;
    channel->completed(c, now);
    channel->flush(now);
  }
  // Everything that was posted succeeds. Returns it.
  std::vector<FakeFabric::Posted> complete_posted() {
    const auto all = std::exchange(fabric.posted, {});
    for (const auto& p : all) {
      if (p.signaled) complete(p.id, p.operation);
    }
    return all;
  }
  void complete_invalidations() {
    const auto all = std::exchange(fabric.invalidated, {});
    for (const auto& w : all) complete(w.id, fabric::Operation::kInvalidate);
  }
  // The content of the last Send that was posted.
  [[nodiscard]] Buffer sent() const {
    return fabric.posted.empty() ? Buffer() : fabric.posted.back().bytes;
  }
  [[nodiscard]] const std::string& failure() const { return channel->failure(); }

  FakeFabric fabric;
  MemoryPool pool;
  std::unique_ptr<Channel> channel;
  fabric::Time now = 1000;
};

}  // namespace rpcrdma::protocol::testing
