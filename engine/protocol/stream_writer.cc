#include "stream_writer.h"

#include <cstring>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::protocol {

std::size_t write_pieces(std::span<const Piece> message, const std::array<bool, kMaxPieces>& apart,
                         std::uint8_t* out, const Padding& padding) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const Piece& p = message[i];
    if (apart[i] || p.bytes.empty()) continue;
    if (p.ddp) {
      const std::uint32_t bytes = padding.before(at, p.bytes.size());
      std::memset(out + at, 0, bytes);
      at += bytes;
    }
    std::memcpy(out + at, p.bytes.data(), p.bytes.size());
    at += p.bytes.size();
    if (!p.ddp) continue;
    const std::size_t roundup = wire::xdr_padded(p.bytes.size()) - p.bytes.size();
    std::memset(out + at, 0, roundup);
    at += roundup;
  }
  return at;
}

std::size_t write_stream(std::span<const Piece> message, const std::array<bool, kMaxPieces>& apart,
                         std::uint32_t xid, std::uint8_t* out, const Padding& padding) {
  const std::size_t bytes = write_pieces(message, apart, out, padding);
  wire::store_be32(out, xid);
  return bytes;
}

std::uint64_t padding_bytes(std::span<const Piece> message,
                            const std::array<bool, kMaxPieces>& apart, const Padding& padding) {
  std::uint64_t at = 0;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const Piece& p = message[i];
    if (apart[i]) continue;
    const std::uint32_t bytes = p.ddp ? padding.before(at, p.bytes.size()) : 0;
    sum += bytes;
    at += bytes + (p.ddp ? wire::xdr_padded(p.bytes.size()) : p.bytes.size());
  }
  return sum;
}

bool may_be_padded(std::span<const Piece> message, const Padding& padding) {
  std::uint64_t run = 0;  // of bytes that are not DDP-eligible
  for (const Piece& p : message) {
    run = p.ddp ? 0 : run + p.bytes.size();
    if (run >= padding.thresh) return false;
  }
  return true;
}

}  // namespace rpcrdma::protocol
