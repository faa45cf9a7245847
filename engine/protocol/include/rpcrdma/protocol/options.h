// OPTIONAL features of version 2 (draft-cel-nfsv4-rpcrdma-version-two-02 section 4.1): what a
// responder does for an RDMA2_OPTIONAL message without payload, by its rdma_opttype. One that is
// not here is answered with RDMA2_ERR_INVAL_OPTION.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::protocol {

// Bytes of an rdma_optinfo that is sent or answered here, at most.
inline constexpr std::size_t kMaxOptionInfo = 64;

class OptionRegistry {
 public:
  // Answers `info`, which is as long as the peer has made it: writes the rdma_optinfo of the answer
  // to `out`, of kMaxOptionInfo bytes, and returns its length; nothing if it cannot be understood.
  using Handler = std::function<std::optional<std::size_t>(wire::Bytes info, fabric::Time now,
                                                           wire::MutableBytes out)>;

  // Instead of what stood there.
  void add(std::uint32_t type, Handler handler);
  // Null: it is not known.
  [[nodiscard]] const Handler* find(std::uint32_t type) const;

 private:
  struct Entry {
    std::uint32_t type = 0;
    Handler handler;
  };
  std::vector<Entry> entries_;
};

}  // namespace rpcrdma::protocol
