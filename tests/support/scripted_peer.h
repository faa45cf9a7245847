// A connection of any provider driven by hand: sends any bytes in any order, and records answers.
#pragma once

#include "two_peers.h"

#include <algorithm>
#include <string>
#include <vector>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::testing {

using ByteVector = std::vector<std::uint8_t>;

template <typename Provider>
struct ScriptedPeerOf : PeerOf<Provider> {
  static constexpr std::size_t kReceiveBytes = 4096;
  static constexpr std::size_t kSendArea = 512U << 10;
  static constexpr std::size_t kChunkArea = 1U << 20;  // offset of the memory for chunks

  using PeerOf<Provider>::PeerOf;
  using PeerOf<Provider>::buffer;
  using PeerOf<Provider>::done;
  using PeerOf<Provider>::events;

  // Numbered from `first`, each with its own buffer.
  void post_receives(std::uint64_t count, std::uint64_t first = 0) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      this->receive(i, i * kReceiveBytes, kReceiveBytes);
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
  // Returns the message in the n-th Receive.
  [[nodiscard]] ByteVector message(std::uint64_t n) const {
    const fabric::Completion* const c = completion(n);
    const auto begin = buffer.begin() + static_cast<std::ptrdiff_t>(n * kReceiveBytes);
    return {begin, begin + static_cast<std::ptrdiff_t>(c != nullptr ? c->bytes : 0)};
  }
  [[nodiscard]] std::uint32_t word(std::size_t n, std::size_t at_word) const {
    return wire::load_be32(buffer.data() + n * kReceiveBytes + 4 * at_word);
  }
  // Uses Send With Invalidate of `invalidate`, unless it is 0.
  void send(std::uint64_t n, const ByteVector& message, std::uint32_t invalidate = 0) {
    const std::size_t at = kSendArea + n * kReceiveBytes;
    std::copy(message.begin(), message.end(), buffer.begin() + static_cast<std::ptrdiff_t>(at));
    this->post(invalidate == 0 ? fabric::Operation::kSend : fabric::Operation::kSendInvalidate,
               100 + n, at, message.size(), {}, invalidate);
  }
};

}  // namespace rpcrdma::testing
