// Chunk lists of a transport header (RFC 8166 section 4.3; RFC 5666 section 4.3; version two
// draft-02 section 5). Both versions encode them alike.
//
// The views point into the received header, which the caller keeps alive. A decoder walks each list
// once before it returns a view, so iterating needs no further checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::wire {

// A piece of registered memory: handle (STag, rkey), length in bytes, offset (virtual address).
struct Segment {
  std::uint32_t handle = 0;
  std::uint32_t length = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const Segment&, const Segment&) = default;
};

// An entry of a Read list. Consecutive entries with one position are one Read chunk.
struct ReadSegment {
  std::uint32_t position = 0;  // byte offset in the unreduced XDR stream; 0: Position Zero
  Segment target;

  friend bool operator==(const ReadSegment&, const ReadSegment&) = default;
};

inline constexpr std::size_t kSegmentBytes = 16;
inline constexpr std::size_t kReadEntryBytes = 24;  // marker, position, segment

[[nodiscard]] inline Segment load_segment(const std::uint8_t* p) {
  return {load_be32(p), load_be32(p + 4), load_be64(p + 8)};
}

// Random access over elements of a fixed stride. Each element is decoded when it is accessed.
template <typename T, std::size_t kStride, T (*kLoad)(const std::uint8_t*)>
class StrideView {
 public:
  StrideView() = default;
  StrideView(const std::uint8_t* first, std::uint32_t count) : first_(first), count_(count) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = T;
    Iterator() = default;
    explicit Iterator(const std::uint8_t* p) : p_(p) {}
    T operator*() const { return kLoad(p_); }
    Iterator& operator++() {
      p_ += kStride;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator old = *this;
      p_ += kStride;
      return old;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const std::uint8_t* p_ = nullptr;
  };

  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] T operator[](std::uint32_t i) const { return kLoad(first_ + i * kStride); }
  [[nodiscard]] Iterator begin() const { return Iterator(first_); }
  [[nodiscard]] Iterator end() const { return Iterator(first_ + count_ * kStride); }

  // The position of the first element, for callers that report field offsets.
  [[nodiscard]] const std::uint8_t* bytes() const { return first_; }

 private:
  const std::uint8_t* first_ = nullptr;
  std::uint32_t count_ = 0;
};

[[nodiscard]] inline ReadSegment load_read_entry(const std::uint8_t* p) {
  return {load_be32(p), load_segment(p + 4)};
}

// bytes() points at the position word of the first entry; the list markers lie between the entries.
using ReadListView = StrideView<ReadSegment, kReadEntryBytes, load_read_entry>;

// The segments of one Write chunk or of the Reply chunk. bytes() points at the first segment; the
// count word is the four bytes before it.
using WriteChunkView = StrideView<Segment, kSegmentBytes, load_segment>;

// Returns the sum of the segments' lengths.
[[nodiscard]] inline std::uint64_t total_length(const WriteChunkView& chunk) {
  std::uint64_t sum = 0;
  for (const Segment segment : chunk) sum += segment.length;
  return sum;
}

// A Write list. It allows forward iteration only, since its chunks differ in size.
class WriteListView {
 public:
  WriteListView() = default;
  // `first` points at the count word of the first chunk.
  WriteListView(const std::uint8_t* first, std::uint32_t count) : first_(first), count_(count) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = WriteChunkView;
    using difference_type = std::ptrdiff_t;
    using pointer = const WriteChunkView*;
    using reference = WriteChunkView;
    Iterator() = default;
    Iterator(const std::uint8_t* p, std::uint32_t left) : p_(p), left_(left) {}
    WriteChunkView operator*() const { return {p_ + 4, load_be32(p_)}; }
    Iterator& operator++() {
      // The next chunk's count word follows this chunk's segments and one list marker. Nothing
      // after the last chunk is read.
      if (--left_ != 0) p_ += 4 + load_be32(p_) * kSegmentBytes + 4;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator old = *this;
      ++*this;
      return old;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.left_ == b.left_; }

   private:
    const std::uint8_t* p_ = nullptr;
    std::uint32_t left_ = 0;
  };

  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] Iterator begin() const { return {first_, count_}; }
  [[nodiscard]] Iterator end() const { return {first_, 0}; }

 private:
  const std::uint8_t* first_ = nullptr;
  std::uint32_t count_ = 0;
};

}  // namespace rpcrdma::wire
