// Bytes that can only be read in order: a pipe, a compressed file, a decompressor over either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/capture/error.h>

namespace rpcrdma::capture {

class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  // Reads at least one byte and blocks until there is one; returns 0 at the end. An error is a read
  // error; bytes that cannot be decompressed end the stream, and damage() says why.
  [[nodiscard]] virtual Expected<std::size_t> read(std::span<std::uint8_t> out) = 0;

  // Bytes read from the file or pipe so far.
  [[nodiscard]] virtual std::uint64_t stored() const = 0;

  // After the end: why the stream ended; empty at a proper end.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  // The compressed data ends too early.
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 protected:
  std::string damage_;
  bool cut_short_ = false;
};

// A descriptor that the stream owns or (standard input) only borrows.
class DescriptorStream final : public ByteStream {
 public:
  explicit DescriptorStream(base::FileDescriptor fd) : owned_(std::move(fd)), fd_(owned_.get()) {}
  explicit DescriptorStream(int borrowed) : owned_(-1), fd_(borrowed) {}

  Expected<std::size_t> read(std::span<std::uint8_t> out) override;
  std::uint64_t stored() const override { return stored_; }

 private:
  base::FileDescriptor owned_;
  int fd_;
  std::uint64_t stored_ = 0;
};

// Bytes in memory that outlive the stream.
class SpanStream final : public ByteStream {
 public:
  explicit SpanStream(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  Expected<std::size_t> read(std::span<std::uint8_t> out) override;
  std::uint64_t stored() const override { return position_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t position_ = 0;
};

// Another stream whose first bytes have already been read.
class PrefixedStream final : public ByteStream {
 public:
  PrefixedStream(std::vector<std::uint8_t> prefix, std::unique_ptr<ByteStream> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}

  Expected<std::size_t> read(std::span<std::uint8_t> out) override;
  std::uint64_t stored() const override { return rest_->stored(); }

 private:
  std::vector<std::uint8_t> prefix_;
  std::size_t position_ = 0;
  std::unique_ptr<ByteStream> rest_;
};

}  // namespace rpcrdma::capture
