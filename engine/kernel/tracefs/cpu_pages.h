// The pages of one CPU's ring buffer that were read and not yet translated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/tracepoints/ring_page.h>

namespace rpcrdma::kernel {

class CpuPages {
 public:
  CpuPages(std::uint32_t cpu, base::FileDescriptor pipe) : cpu_(cpu), pipe_(std::move(pipe)) {}

  // Reads what the kernel has, up to a bound. Returns 0, or the errno of a failure.
  [[nodiscard]] int read(std::size_t page_bytes, const tracepoints::PageLayout& layout);
  // Goes to the next record. False: there is none yet.
  [[nodiscard]] bool next();
  [[nodiscard]] bool has_record() const { return has_record_; }
  [[nodiscard]] const tracepoints::RingPage::Entry& record() const { return record_; }
  void take() { has_record_ = false; }
  [[nodiscard]] std::uint64_t take_lost() { return std::exchange(lost_, 0); }
  // Whether the latest read() stopped at its bound.
  [[nodiscard]] bool has_more() const { return has_more_; }

  [[nodiscard]] std::uint32_t cpu() const { return cpu_; }
  [[nodiscard]] int fd() const { return pipe_.get(); }

 private:
  static constexpr std::size_t kMostPages = 256;

  std::uint32_t cpu_;
  base::FileDescriptor pipe_;
  tracepoints::PageLayout layout_;
  std::deque<std::vector<std::uint8_t>> pages_;  // the first is `page_`
  std::vector<std::vector<std::uint8_t>> unused_;
  tracepoints::RingPage page_;
  bool in_page_ = false;
  tracepoints::RingPage::Entry record_;
  bool has_record_ = false;
  bool has_more_ = false;
  std::uint64_t lost_ = 0;
};

}  // namespace rpcrdma::kernel
