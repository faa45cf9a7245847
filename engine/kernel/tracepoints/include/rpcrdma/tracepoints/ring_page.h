// Iterates over the records of a page of the kernel's ring buffer (kernel: ring_buffer.c), as they
// are in trace.dat and in trace_pipe_raw. Pages are untrusted.
//
//   timestamp, 8 bytes | commit, a long | data: records
//
// A record begins with 32 bits: 5 bits of type or length, 27 bits of time since the record before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <rpcrdma/base/byte_order.h>

namespace rpcrdma::tracepoints {

// The layout of pages, from events/header_page.
struct PageLayout {
  base::ByteOrder order = {};
  bool big_endian = false;
  std::uint32_t commit_at = 8;
  std::uint32_t long_bytes = 8;  // of the kernel: size of `commit`
  std::uint32_t data_at = 16;

  // Takes sizes and offsets from the text of header_page. False: it is malformed.
  bool take(std::string_view header_page);
};

class RingPage {
 public:
  RingPage() = default;
  RingPage(std::span<const std::uint8_t> page, const PageLayout& layout);

  struct Entry {
    std::uint64_t time = 0;
    std::span<const std::uint8_t> data;
  };
  // Returns false at the end of the page, or where it is malformed.
  [[nodiscard]] bool next(Entry& entry);

  // Records that the kernel overwrote or dropped before this page. Their number may be unknown:
  // then it counts as 1.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::uint64_t time() const { return page_time_; }
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  bool fail() {
    malformed_ = true;
    at_ = end_ = 0;
    return false;
  }

  std::span<const std::uint8_t> page_;
  base::ByteOrder order_;
  bool big_endian_ = false;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t page_time_ = 0;
  std::uint64_t time_ = 0;
  std::uint64_t lost_ = 0;
  bool malformed_ = false;
};

}  // namespace rpcrdma::tracepoints
