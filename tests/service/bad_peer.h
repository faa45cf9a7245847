// A connection by hand, to be misused.
#pragma once

#include "../../engine/protocol/channel_for_tests.h"
#include "hosts.h"

#include <algorithm>
#include <string>
#include <vector>

#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::testing {

using ByteVector = std::vector<std::uint8_t>;

template <typename... Word>
ByteVector words(Word... values) {
  ByteVector bytes(4 * sizeof...(values));
  wire::XdrWriter writer(bytes);
  (writer.u32(static_cast<std::uint32_t>(values)), ...);
  return bytes;
}

// A Call of the echo program, RPC header and arguments. DDP-eligible arguments behind those given
// are at Position 40 + 4 * their number.
template <typename... Word>
ByteVector echo_call(std::uint32_t xid, service::echo::Proc proc, Word... arguments) {
  return words(xid, 0, 2, service::echo::kProgram, 1, proc, 0, 0, 0, 0, arguments...);
}

// Its header; chunks are added by who sends it.
inline protocol::testing::OpenHeader open_header(std::uint32_t xid) {
  protocol::testing::OpenHeader h;
  h.header.xid = xid;
  h.header.credit = 32;
  return h;
}

inline ByteVector null_call(std::uint32_t xid) {
  return open_header(xid).encode(echo_call(xid, service::echo::Proc::kNull));
}

struct BadPeer : Peer {
  static constexpr std::size_t kReceiveBytes = 4096;
  static constexpr std::size_t kSendArea = 512U << 10;
  static constexpr std::size_t kChunkArea = 1U << 20;  // from here on, for chunks

  BadPeer(std::uint8_t host, std::string_view faults)
      : Peer(open_soft(at(host, faults)), 4U << 20) {}

  static soft::ProviderOptions at(std::uint8_t host, std::string_view faults) {
    soft::ProviderOptions options;
    options.adapter.address = own_address(host);
    options.faults = soft::parse_faults(faults).value();
    return options;
  }
  // Numbered from `first` on, each with a place of its own.
  void post_receives(std::uint64_t count, std::uint64_t first = 0) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      receive(i, i * kReceiveBytes, kReceiveBytes);
    }
  }
  [[nodiscard]] std::size_t count(fabric::EventType type) const {
    return static_cast<std::size_t>(std::ranges::count(events, type, &fabric::Event::type));
  }
  [[nodiscard]] bool saw(fabric::EventType type) const { return count(type) != 0; }
  [[nodiscard]] std::size_t succeeded(fabric::Operation operation) const {
    return static_cast<std::size_t>(std::ranges::count_if(done, [=](const fabric::Completion& c) {
      return c.operation == operation && c.status == fabric::Status::kSuccess;
    }));
  }
  [[nodiscard]] std::size_t received() const { return succeeded(fabric::Operation::kReceive); }
  [[nodiscard]] const fabric::Completion* completion(std::uint64_t id) const {
    const auto found = std::ranges::find(done, id, &fabric::Completion::id);
    return found == done.end() ? nullptr : &*found;
  }
  // What came into the n-th Receive.
  [[nodiscard]] ByteVector message(std::uint64_t n) const {
    const fabric::Completion* const c = completion(n);
    const auto begin = buffer.begin() + static_cast<std::ptrdiff_t>(n * kReceiveBytes);
    return {begin, begin + static_cast<std::ptrdiff_t>(c != nullptr ? c->bytes : 0)};
  }
  [[nodiscard]] std::uint32_t word(std::size_t n, std::size_t at_word) const {
    return wire::load_be32(buffer.data() + n * kReceiveBytes + 4 * at_word);
  }
  void send(std::uint64_t n, const ByteVector& message) {
    const std::size_t at = kSendArea + n * kReceiveBytes;
    std::copy(message.begin(), message.end(), buffer.begin() + static_cast<std::ptrdiff_t>(at));
    post(fabric::Operation::kSend, 100 + n, at, message.size());
  }
};

}  // namespace rpcrdma::testing
