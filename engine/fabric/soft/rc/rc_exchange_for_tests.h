// An exchange of every operation between two queue pairs with a known result, whatever the network
// does to its packets.
#pragma once

#include "qp_pair_for_tests.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace rpcrdma::soft::testing {

// Fills with distinctive bytes.
inline void fill(std::vector<std::uint8_t>& bytes, std::uint32_t seed) {
  for (std::uint8_t& b : bytes) {
    b = static_cast<std::uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  }
}
inline const std::vector<std::uint8_t>& pattern(bool client) {
  static const std::array<std::vector<std::uint8_t>, 2> kPatterns = [] {
    std::array<std::vector<std::uint8_t>, 2> p;
    for (std::uint32_t i = 0; i < 2; ++i) {
      p[i].resize(1U << 16);
      fill(p[i], i);
    }
    return p;
  }();
  return kPatterns[client ? 0 : 1];
}

// All work is posted by the client before anything is sent. The server's memory holds Receives of
// kReceiveBytes from kReceives on, and kExposedBytes of advertised memory from kAdvertised on. The
// client sends from 0 on and reads into kReadInto on.
class Exchange {
 public:
  static constexpr std::size_t kAdvertised = 0;
  static constexpr std::size_t kAdvertisedBytes = 8192;
  static constexpr std::size_t kReceives = 8192;
  static constexpr std::size_t kReceiveBytes = 1024;
  static constexpr std::size_t kReadInto = 16384;

  explicit Exchange(Pair& pair) : pair_(pair) {
    std::copy_n(pattern(true).begin(), pair.client.buffer.size(), pair.client.buffer.begin());
    std::copy_n(pattern(false).begin(), pair.server.buffer.size(), pair.server.buffer.begin());
    there_ = pair.server.advertise(kAdvertised, kAdvertisedBytes,
                                   fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite);
    expected_ = pair.server.buffer;
    client_expected_ = pair.client.buffer;
  }

  void send(std::size_t bytes) {
    pair_.server.post_receive(messages_, kReceives + messages_ * kReceiveBytes, kReceiveBytes);
    post(fabric::Operation::kSend, bytes, {});
    copy(pair_.client.buffer, from_, expected_, kReceives + messages_ * kReceiveBytes, bytes);
    received_.push_back(static_cast<std::uint32_t>(bytes));
    ++messages_;
    from_ += bytes;
  }
  // Without a fence, a Write may overwrite memory before an earlier Read has read it (IBA
  // 10.8.3.3).
  void write(std::size_t bytes, std::size_t offset, bool fence = false) {
    post(fabric::Operation::kWrite, bytes, {there_.handle, there_.offset + offset}, fence);
    copy(pair_.client.buffer, from_, expected_, kAdvertised + offset, bytes);
    from_ += bytes;
  }
  void read(std::size_t bytes, std::size_t offset) {
    ASSERT_TRUE(pair_.client.post(fabric::Operation::kRead, requests_++, kReadInto + read_, bytes,
                                  {there_.handle, there_.offset + offset}));
    copy(expected_, kAdvertised + offset, client_expected_, kReadInto + read_, bytes);
    read_ += bytes;
  }

  // Returns an empty string if the result is correct. With `may_fail`, the connection may also be
  // in error on the client's side, if all earlier completions are correct.
  std::string verdict(bool may_fail = false) {
    const auto done = pair_.client.take();
    if (done.size() != requests_) return "completions " + std::to_string(done.size());
    const bool failed = pair_.client.qp.state() == QpState::kError;
    if (failed && !may_fail) return std::string("failed: ") + pair_.client.qp.reason();
    std::size_t good = 0;
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (done[i].id != i) return "order";
      if (done[i].status == fabric::Status::kSuccess) {
        if (good++ != i) return "success behind a failure";
      }
    }
    if (!failed && good != requests_) return "not all succeeded";
    const auto received = pair_.server.take();
    if (received.size() > received_.size() || (!failed && received.size() != received_.size())) {
      return "received " + std::to_string(received.size());
    }
    for (std::size_t i = 0; i < received.size(); ++i) {
      if (received[i].id != i || received[i].bytes != received_[i]) return "received otherwise";
    }
    if (failed) return "";
    if (pair_.server.buffer != expected_) return "the server's memory";
    if (pair_.client.buffer != client_expected_) return "the client's memory";
    const auto& counters = pair_.server.qp.counters();
    if (counters.bytes_in != from_) return "executed twice";
    return "";
  }

 private:
  void post(fabric::Operation operation, std::size_t bytes, fabric::MemoryRegion remote,
            bool fence = false) {
    ASSERT_TRUE(pair_.client.post(operation, requests_++, from_, bytes, remote, fence));
  }
  static void copy(const std::vector<std::uint8_t>& from, std::size_t at,
                   std::vector<std::uint8_t>& to, std::size_t where, std::size_t bytes) {
    if (bytes != 0) std::memcpy(&to[where], &from[at], bytes);
  }

  Pair& pair_;
  fabric::MemoryRegion there_;
  std::vector<std::uint8_t> expected_;
  std::vector<std::uint8_t> client_expected_;
  std::vector<std::uint32_t> received_;
  std::size_t requests_ = 0;
  std::size_t messages_ = 0;
  std::size_t from_ = 0;
  std::size_t read_ = 0;
};

// 24 KiB each, for all of the above.
inline PairOptions exchange_options() {
  PairOptions o;
  o.bytes = 24576;
  o.depth = 16;
  return o;
}

}  // namespace rpcrdma::soft::testing
