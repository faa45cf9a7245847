#include "cpu_pages.h"

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace rpcrdma::kernel {

int CpuPages::read(std::size_t page_bytes, const tracepoints::PageLayout& layout) {
  layout_ = layout;
  has_more_ = false;
  for (;;) {
    if (pages_.size() >= kMostPages) {
      has_more_ = true;
      return 0;
    }
    std::vector<std::uint8_t> page;
    if (!unused_.empty()) {
      page = std::move(unused_.back());
      unused_.pop_back();
    }
    page.resize(page_bytes);
    const ssize_t n = ::read(pipe_.get(), page.data(), page.size());
    if (n <= 0) {
      const int error = n < 0 ? errno : 0;
      unused_.push_back(std::move(page));
      if (error == EINTR) continue;
      return error == EAGAIN ? 0 : error;
    }
    page.resize(static_cast<std::size_t>(n));
    pages_.push_back(std::move(page));
  }
}

bool CpuPages::next() {
  if (has_record_) return true;
  for (;;) {
    if (in_page_) {
      if (page_.next(record_)) return has_record_ = true;
      in_page_ = false;
      unused_.push_back(std::move(pages_.front()));
      pages_.pop_front();
    }
    if (pages_.empty()) return false;
    page_ = tracepoints::RingPage(pages_.front(), layout_);
    lost_ += page_.lost();
    in_page_ = true;
  }
}

}  // namespace rpcrdma::kernel
