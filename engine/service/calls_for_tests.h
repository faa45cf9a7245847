// A dispatcher without a connection: Calls are passed in as bytes, and Replies are kept.
#pragma once

#include "support/null_provider.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/service/dispatcher.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::service::testing {

using ByteVector = std::vector<std::uint8_t>;

// 32-bit words, most significant byte first.
template <typename... Word>
ByteVector words(Word... values) {
  ByteVector bytes(4 * sizeof...(values));
  wire::XdrWriter writer(bytes);
  (writer.u32(static_cast<std::uint32_t>(values)), ...);
  return bytes;
}

inline ByteVector join(std::initializer_list<ByteVector> parts) {
  ByteVector all;
  for (const ByteVector& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// An RPC Call with AUTH_NONE.
inline ByteVector call_bytes(std::uint32_t program, std::uint32_t version, std::uint32_t procedure,
                             const ByteVector& arguments = {}) {
  return join({words(0x1234, 0, 2, program, version, procedure, 0, 0, 0, 0), arguments});
}

struct KeptReply {
  std::uint64_t id = 0;
  ByteVector stream;             // without DDP-eligible pieces
  std::vector<ByteVector> data;  // DDP-eligible pieces
  std::vector<bool> registered;  // per piece: it lies in registered memory
};

inline KeptReply kept(std::uint64_t id, std::span<const protocol::Piece> message) {
  KeptReply reply;
  reply.id = id;
  for (const protocol::Piece& p : message) {
    reply.registered.push_back(p.memory != nullptr);
    if (p.ddp) {
      reply.data.emplace_back(p.bytes.begin(), p.bytes.end());
    } else {
      reply.stream.insert(reply.stream.end(), p.bytes.begin(), p.bytes.end());
    }
  }
  return reply;
}

struct Dispatching {
  explicit Dispatching(std::vector<Program*> programs)
      : dispatcher(programs, fabric::make_ipv4(10, 0, 0, 1), pool, now) {
    dispatcher.attach([this](std::uint64_t id, std::span<const protocol::Piece> message,
                             fabric::Time) { return keep(id, message); },
                      [this] { ++answered_later; });
  }

  fabric::Expected<void> keep(std::uint64_t id, std::span<const protocol::Piece> message) {
    if (refuse) return fabric::fail(fabric::Errc::kNoRoom);
    replies.push_back(kept(id, message));
    return {};
  }

  // Returns the Call's id.
  std::uint64_t call(const ByteVector& stream, std::span<const protocol::Placed> items = {}) {
    protocol::IncomingCall incoming;
    incoming.id = ++last_id;
    if (stream.size() >= 4) incoming.xid = wire::load_be32(stream.data());
    incoming.stream = stream;
    incoming.items = items;
    incoming.received = received;
    incoming.pulled = pulled;
    dispatcher.on_call(incoming);
    return last_id;
  }

  // Returns the Reply's words; an error consists of nothing else.
  ByteVector answer(const ByteVector& stream, std::span<const protocol::Placed> items = {}) {
    replies.clear();
    call(stream, items);
    EXPECT_EQ(replies.size(), 1U);
    return replies.empty() ? ByteVector{} : replies[0].stream;
  }

  fabric::testing::NullProvider provider;
  protocol::MemoryPool pool{provider, {}};
  fabric::Time now = 0;
  fabric::Time received = 0, pulled = 0;  // of the Calls from here on
  Dispatcher dispatcher;
  std::vector<KeptReply> replies;
  std::uint64_t last_id = 0;
  int answered_later = 0;
  bool refuse = false;
};

}  // namespace rpcrdma::service::testing
