// Reads the XDR stream of a received message whose DDP-eligible items are elsewhere: in Read chunks
// that were pulled, or in the memory of a Write chunk. The same reader serves both.
#pragma once

#include <cstdint>
#include <span>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/padding.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::protocol {

// Position of an item that a Reply does not state: the binding knows it.
inline constexpr std::uint32_t kAnyPosition = UINT32_MAX;

// An item that is not in the stream. `position`: its byte offset in the unreduced stream (RFC 8166
// section 3.4.5, a multiple of 4), or kAnyPosition.
struct Placed {
  std::uint32_t position = 0;
  wire::Bytes bytes;
  // Registered memory that holds the bytes, so that they can be sent on from there; or null.
  const fabric::Memory* memory = nullptr;
};

class StreamReader {
 public:
  // `items`: in order of position, those of kAnyPosition last; stream and items stay the caller's.
  // ok() is false from the start if items overlap, are out of order, or lie beyond the stream.
  // `padding`: of the stream.
  StreamReader(wire::Bytes stream, std::span<const Placed> items, const Padding& padding = {});

  [[nodiscard]] bool ok() const { return ok_; }
  std::uint32_t u32();
  std::uint64_t u64();
  // opaque<max> and string<max>, from the stream or from the item at this position. If the count
  // and an item's length disagree (except for roundup, RFC 8166 section 3.4.5.2), ok() becomes
  // false.
  wire::Bytes opaque(std::uint32_t max = UINT32_MAX);
  wire::Bytes opaque_fixed(std::uint32_t length);
  // opaque() of a DDP-eligible result: also from the next item of kAnyPosition, if it has bytes.
  wire::Bytes opaque_result(std::uint32_t max = UINT32_MAX);
  // Returns whether everything was read: nothing is left of the stream or of the items, except for
  // unused Write chunks.
  [[nodiscard]] bool at_end() const;
  // Offset in the unreduced stream, bytes.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  [[nodiscard]] bool items_fit() const;
  bool need(std::uint64_t bytes);
  void skip_padding(std::uint32_t length);
  [[nodiscard]] bool at_item() const;
  wire::Bytes content(std::uint32_t length);
  wire::Bytes take(wire::Bytes item, std::uint32_t length);

  wire::Bytes stream_;
  std::span<const Placed> items_;    // with positions
  std::span<const Placed> results_;  // without
  Padding padding_;
  std::size_t offset_ = 0;
  std::size_t item_ = 0;
  std::size_t result_ = 0;
  std::uint64_t position_ = 0;
  bool ok_ = true;
};

}  // namespace rpcrdma::protocol
