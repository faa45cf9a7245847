// OPTIONAL features of version 2 (draft-cel-nfsv4-rpcrdma-version-two-02 section 4.1): the
// responder's handlers for RDMA2_OPTIONAL messages without payload, by rdma_opttype. An unknown
// type is answered with RDMA2_ERR_INVAL_OPTION.
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

class OptionRegistry {
 public:
  // Answers `info`, whose length is the peer's choice: writes the rdma_optinfo of the answer to
  // `out`, of kMaxOptionInfo bytes, and returns its length. Returns nothing if `info` is invalid.
  using Handler = std::function<std::optional<std::size_t>(wire::Bytes info, fabric::Time now,
                                                           wire::MutableBytes out)>;

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
