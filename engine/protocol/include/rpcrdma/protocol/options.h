// OPTIONAL features of version 2 (draft-cel-nfsv4-rpcrdma-version-two-02 section 4.1): the
// responder's handlers for RDMA2_OPTIONAL messages, by rdma_opttype. All, part or none of an RPC
// message may follow their header. An unknown type is answered with RDMA2_ERR_INVAL_OPTION.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::protocol {

// Maximum bytes of an rdma_optinfo that is sent or answered here.
inline constexpr std::size_t kMaxOptionInfo = 64;

// Length of an RDMA2_OPTIONAL header: the four fixed words, rdma_optdir, rdma_opttype, and the
// rdma_optinfo of `info` bytes.
[[nodiscard]] constexpr std::size_t option_header_bytes(std::size_t info) {
  return 28 + (info + 3) / 4 * 4;
}

// A received RDMA2_OPTIONAL message. The lengths are the peer's choice.
struct OptionMessage {
  wire::Bytes info;     // rdma_optinfo
  wire::Bytes payload;  // what follows the header: all, part or none of an RPC message
  fabric::Time now = 0;
};

// Memory for the answer.
struct OptionRoom {
  wire::MutableBytes info;     // kMaxOptionInfo bytes
  wire::MutableBytes payload;  // as much as fits into the Send with an rdma_optinfo of that length
};

// What was written to it.
struct OptionAnswer {
  std::size_t info_bytes = 0;
  std::size_t payload_bytes = 0;
  // The payload is a whole Call: it is delivered like any other, and its Reply follows the answer's
  // header in place of `payload_bytes`. Such a Call has no chunks.
  bool delivers = false;
};

class OptionRegistry {
 public:
  // Answers a message; returns nothing if its content is invalid.
  using Handler = std::function<std::optional<OptionAnswer>(const OptionMessage& message,
                                                            const OptionRoom& out)>;

  // Replaces an earlier handler of the type.
  void add(std::uint32_t type, Handler handler);
  // Returns null for an unknown type.
  [[nodiscard]] const Handler* find(std::uint32_t type) const;

 private:
  struct Entry {
    std::uint32_t type = 0;
    Handler handler;
  };
  std::vector<Entry> entries_;
};

}  // namespace rpcrdma::protocol
