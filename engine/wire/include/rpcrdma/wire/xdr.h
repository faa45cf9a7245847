// XDR primitives (RFC 4506): a reader and a writer over a span, neither of which allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

// Returns the bytes that `length` bytes of opaque data occupy in an XDR stream, roundup included
// (RFC 4506 3.10).
[[nodiscard]] constexpr std::uint64_t xdr_padded(std::uint64_t length) {
  return (length + 3) & ~std::uint64_t{3};
}

// Reads in order from a span that the caller keeps alive. The error is sticky: after an item that
// does not fit, every read returns zero or an empty span and ok() is false, so a decoder may read a
// whole struct and check once.
class XdrReader {
 public:
  explicit XdrReader(Bytes data, std::size_t offset = 0) : data_(data), offset_(offset) {
    if (offset_ > data_.size()) {
      ok_ = false;
      offset_ = data_.size();
    }
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t remaining() const { return data_.size() - offset_; }
  [[nodiscard]] Bytes data() const { return data_; }

  std::uint32_t u32() {
    if (!need(4)) return 0;
    const std::uint32_t v = load_be32(data_.data() + offset_);
    offset_ += 4;
    return v;
  }

  std::uint64_t u64() {
    if (!need(8)) return 0;
    const std::uint64_t v = load_be64(data_.data() + offset_);
    offset_ += 8;
    return v;
  }

  // opaque[length]: fixed-length opaque data; skips the roundup.
  Bytes opaque_fixed(std::uint64_t length) {
    if (length > remaining() || !need(xdr_padded(length))) {
      ok_ = false;
      return {};
    }
    const Bytes v = data_.subspan(offset_, static_cast<std::size_t>(length));
    offset_ += static_cast<std::size_t>(xdr_padded(length));
    return v;
  }

  // opaque<max> and string<max>: a count, the bytes, roundup.
  Bytes opaque(std::uint32_t max = UINT32_MAX) {
    const std::uint32_t length = u32();
    if (length > max) {
      ok_ = false;
      return {};
    }
    return opaque_fixed(length);
  }

  void skip(std::uint64_t bytes) {
    if (need(bytes)) offset_ += static_cast<std::size_t>(bytes);
  }

  // For a decoder that cannot continue after a value it has read.
  void set_failed() { ok_ = false; }

 private:
  bool need(std::uint64_t bytes) {
    if (!ok_ || bytes > remaining()) {
      ok_ = false;
      return false;
    }
    return true;
  }

  Bytes data_;
  std::size_t offset_ = 0;
  bool ok_ = true;
};

// Writes in order into a span that the caller owns; the error is sticky as in the reader. size()
// also counts bytes beyond the end of the span, so that a dry run over an empty span returns the
// length.
class XdrWriter {
 public:
  explicit XdrWriter(MutableBytes out) : out_(out) {}

  [[nodiscard]] bool ok() const { return size_ <= out_.size(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  void u32(std::uint32_t v) {
    if (fits(4)) store_be32(out_.data() + size_, v);
    size_ += 4;
  }

  void u64(std::uint64_t v) {
    if (fits(8)) store_be64(out_.data() + size_, v);
    size_ += 8;
  }

  void opaque_fixed(Bytes v) {
    if (v.empty()) return;
    const std::size_t roundup = (4 - v.size() % 4) % 4;
    if (fits(v.size()) && fits(v.size() + roundup)) {
      std::memcpy(out_.data() + size_, v.data(), v.size());
      std::memset(out_.data() + size_ + v.size(), 0, roundup);
    }
    size_ += v.size() + roundup;
  }

  void opaque(Bytes v) {
    u32(static_cast<std::uint32_t>(v.size()));
    opaque_fixed(v);
  }

 private:
  bool fits(std::size_t bytes) const {
    return size_ <= out_.size() && bytes <= out_.size() - size_;
  }

  MutableBytes out_;
  std::size_t size_ = 0;
};

}  // namespace rpcrdma::wire
