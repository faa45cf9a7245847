// The building blocks of all headers: words and chunk lists (RFC 8166 section 4.3), decoded in
// order with raw pointers. Every Send of a connection passes through here, so errors are written on
// the cold path only, and each list is walked once without the state of an XdrReader.
#pragma once

#include <algorithm>
#include <optional>

#include <rpcrdma/wire/chunks.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

class ListDecoder {
 public:
  [[nodiscard]] const DecodeError& error() const { return error_; }

 protected:
  explicit ListDecoder(Bytes message)
      : begin_(message.data()),
        p_(begin_),
        end_(begin_ + std::min(message.size(), kMaxSendBytes)) {}

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - p_); }

  [[gnu::cold, gnu::noinline]] bool failed(Errc code, const std::uint8_t* at, const char* rule,
                                           const char* what) {
    error_ = {code, static_cast<std::uint32_t>(at - begin_), rule, what};
    return false;
  }

  std::uint32_t take() {
    const std::uint32_t v = load_be32(p_);
    p_ += 4;
    return v;
  }

  // Checks that `count` whole words remain at the cursor. The error points at the first incomplete
  // one.
  bool whole_words(std::size_t count, const char* rule, const char* what) {
    if (left() >= count * 4) [[likely]]
      return true;
    return failed(Errc::kTruncated, p_ + (left() & ~std::size_t{3}), rule, what);
  }

  // opaque<>
  bool opaque(Bytes& out, const char* rule, const char* what) {
    const std::uint64_t length = take();
    // Roundup of a 32-bit count, in 64 bits: cannot wrap.
    const std::uint64_t padded = (length + 3) & ~std::uint64_t{3};
    if (padded > left()) return failed(Errc::kTruncated, p_, rule, what);
    out = Bytes(p_, static_cast<std::size_t>(length));
    p_ += padded;
    return true;
  }

  // The marker of an optional item: 1 present, 0 absent. `present` is valid only if this
  // returns true.
  bool marker(bool& present, const char* rule, const char* truncated) {
    if (left() < 4) [[unlikely]]
      return failed(Errc::kTruncated, p_, rule, truncated);
    const std::uint32_t value = load_be32(p_);
    if (value > 1) [[unlikely]] {
      return failed(Errc::kBadValue, p_, rule, "optional marker is not 0 or 1");
    }
    present = value == 1;
    p_ += 4;
    return true;
  }

  bool read_list(ReadListView& out, const char* rule) {
    const std::uint8_t* const first = p_ + 4;
    std::uint32_t count = 0;
    for (;;) {
      bool present = false;
      if (!marker(present, rule, "header ends before the Read list does")) return false;
      if (!present) break;
      if (left() < kReadEntryBytes - 4) [[unlikely]] {
        return failed(Errc::kTruncated, p_, rule, "header ends inside a Read segment");
      }
      p_ += kReadEntryBytes - 4;
      ++count;
    }
    out = ReadListView(first, count);
    return true;
  }

  // Skips a count word and that many segments; `segments` receives the count.
  bool write_chunk(std::uint32_t& segments, const char* rule) {
    if (left() < 4) [[unlikely]] {
      return failed(Errc::kTruncated, p_, rule, "header ends before a chunk's segment count does");
    }
    segments = load_be32(p_);
    // In 64 bits, and before anything walks the segments: a count is bounded by the bytes present.
    const std::uint64_t bytes = std::uint64_t{segments} * kSegmentBytes;
    if (bytes > left() - 4) [[unlikely]] {
      return failed(Errc::kTruncated, p_, rule, "header ends before a chunk's segments do");
    }
    p_ += 4 + bytes;
    return true;
  }

  bool write_list(WriteListView& out, const char* rule) {
    const std::uint8_t* const first = p_ + 4;
    std::uint32_t count = 0;
    for (;;) {
      bool present = false;
      if (!marker(present, rule, "header ends before the Write list does")) return false;
      if (!present) break;
      std::uint32_t segments = 0;
      if (!write_chunk(segments, rule)) return false;
      ++count;
    }
    out = WriteListView(first, count);
    return true;
  }

  bool reply_chunk(std::optional<WriteChunkView>& out, const char* rule) {
    bool present = false;
    if (!marker(present, rule, "header ends before the Reply chunk's marker does")) return false;
    if (!present) return true;
    const std::uint8_t* const first = p_ + 4;
    std::uint32_t segments = 0;
    if (!write_chunk(segments, rule)) return false;
    out.emplace(first, segments);
    return true;
  }

  const std::uint8_t* const begin_;
  const std::uint8_t* p_;
  const std::uint8_t* const end_;

 private:
  static constexpr std::size_t kMaxSendBytes = std::size_t{1} << 31;

  DecodeError error_;
};

}  // namespace rpcrdma::wire
