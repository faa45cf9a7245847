// Moves a window over a stream that delivers bytes faster than they are processed: a compressed
// file. Not for a pipe, whose frames would wait until a window's step is full.
#pragma once

#include "byte_stream.h"
#include "window.h"

#include <cstdint>
#include <memory>

namespace rpcrdma::capture {

class WindowStream final : public Window {
 public:
  explicit WindowStream(std::unique_ptr<ByteStream> stream)
      : Window(kUnknownSize), stream_(std::move(stream)) {}

  [[nodiscard]] std::uint64_t stored() const override {
    return stream_ ? stream_->stored() : stored_;
  }

 private:
  std::size_t read_input(std::span<std::uint8_t> to) override;
  void close_input() override;

  std::unique_ptr<ByteStream> stream_;
  std::uint64_t stored_ = 0;  // once the stream is closed
};

}  // namespace rpcrdma::capture
