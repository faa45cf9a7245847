// Reads a stream through a buffer that grows with the records actually present, not with the
// lengths that they claim, and never beyond a small multiple of kMaxRecordBytes.
#pragma once

#include "byte_stream.h"
#include "feed.h"

#include <memory>

namespace rpcrdma::capture {

class StreamFeed final : public Feed {
 public:
  explicit StreamFeed(std::unique_ptr<ByteStream> stream);

  [[nodiscard]] std::uint64_t stored() const override { return stream_->stored(); }

 private:
  bool refill(std::size_t n) override;
  void make_room();

  std::unique_ptr<ByteStream> stream_;
  std::size_t capacity_;
  std::unique_ptr<std::uint8_t[]> buffer_;
};

}  // namespace rpcrdma::capture
