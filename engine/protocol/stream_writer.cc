#include "stream_writer.h"

#include <cstring>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::protocol {

std::size_t write_stream(std::span<const Piece> message, const std::array<bool, kMaxPieces>& apart,
                         std::uint32_t xid, std::uint8_t* out) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const Piece& p = message[i];
    if (apart[i] || p.bytes.empty()) continue;
    std::memcpy(out + at, p.bytes.data(), p.bytes.size());
    at += p.bytes.size();
    if (!p.ddp) continue;
    const std::size_t roundup = wire::xdr_padded(p.bytes.size()) - p.bytes.size();
    std::memset(out + at, 0, roundup);
    at += roundup;
  }
  wire::store_be32(out, xid);
  return at;
}

}  // namespace rpcrdma::protocol
