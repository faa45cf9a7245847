// Merges the pages of all CPUs and buffers by time.
//
// A stream is the pages of one CPU in one buffer. A heap orders the streams by the time of their
// next record. While the stream at its top stays the earliest, which is the rule, no other is
// touched.
#include "inflate_section.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/trace_dat/trace_dat.h>

namespace rpcrdma::trace_dat {
namespace {

using Bytes = std::span<const std::uint8_t>;

class PageStream {
 public:
  PageStream(const CpuPages& cpu, const TraceDat& file)
      : cpu_(cpu), order_(file.layout.order), layout_(file.layout), rest_(cpu.data) {
    if (cpu.compressed) {
      if (rest_.size() < 4) {
        why_ = rest_.empty() ? "" : "a table of compressed pages is cut short";
        rest_ = {};
      } else {
        chunks_ = order_.u32(rest_.data());
        rest_ = rest_.subspan(4);
      }
    }
  }

  // Goes to the next record. False: there is none.
  bool next() {
    while (!page_.next(entry_)) {
      if (page_.malformed()) {
        why_ = "a page is damaged";
        return false;
      }
      if (!next_page()) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint64_t time() const { return entry_.time; }
  [[nodiscard]] Bytes data() const { return entry_.data; }
  [[nodiscard]] std::uint32_t cpu() const { return cpu_.cpu; }
  [[nodiscard]] std::size_t buffer() const { return cpu_.buffer; }
  [[nodiscard]] const std::string& why() const { return why_; }  // it ended too early
  // Records that are missing before the current one.
  [[nodiscard]] std::uint64_t take_lost() { return std::exchange(lost_, 0); }

 private:
  bool next_page();
  bool next_chunk();

  const CpuPages& cpu_;
  base::ByteOrder order_;
  const tracepoints::PageLayout& layout_;
  Bytes rest_;                          // of the file: pages or chunks
  std::uint32_t chunks_ = 0;            // compressed ones that follow
  Bytes pages_;                         // of the current chunk
  std::vector<std::uint8_t> inflated_;  // the chunk
  tracepoints::RingPage page_;
  tracepoints::RingPage::Entry entry_;
  std::uint64_t lost_ = 0;
  std::string why_;
};

bool PageStream::next_page() {
  Bytes& pages = cpu_.compressed ? pages_ : rest_;
  if (cpu_.compressed && pages.empty() && !next_chunk()) return false;
  if (pages.empty()) return false;
  // The last page may be shorter.
  const std::size_t size = std::min<std::size_t>(cpu_.page_bytes, pages.size());
  page_ = tracepoints::RingPage(pages.first(size), layout_);
  pages = pages.subspan(size);
  lost_ += page_.lost();
  return true;
}

bool PageStream::next_chunk() {
  if (chunks_ == 0) return false;
  --chunks_;
  if (rest_.size() < 8) {
    why_ = "the compressed pages are cut short";
    return false;
  }
  const std::uint32_t stored = order_.u32(rest_.data());
  const std::uint32_t whole = order_.u32(rest_.data() + 4);
  rest_ = rest_.subspan(8);
  if (stored > rest_.size()) {
    why_ = "the compressed pages are cut short";
    return false;
  }
  if (const auto ok = inflate_section("zstd", rest_.first(stored), whole, inflated_); !ok) {
    why_ = ok.error().message;
    return false;
  }
  rest_ = rest_.subspan(stored);
  pages_ = inflated_;
  return true;
}

class Merge {
 public:
  Merge(const TraceDat& file, const Visitor& visitor) : file_(file), visitor_(visitor) {}

  base::Expected<void> run();

 private:
  static bool later(const PageStream* a, const PageStream* b) { return a->time() > b->time(); }
  void visit(PageStream& stream);
  bool advance(PageStream& stream);
  [[nodiscard]] bool is_duplicate(const PageStream& stream);

  const TraceDat& file_;
  const Visitor& visitor_;
  std::deque<PageStream> streams_;
  std::vector<PageStream*> heap_;
  tracepoints::Record record_;
  std::uint64_t lost_ = 0;
  std::string why_;
  // The latest records, if there are several buffers.
  struct Recent {
    std::size_t buffer = 0;
    std::uint32_t cpu = 0;
    std::uint64_t time = 0;
    bool matched = false;
    std::vector<std::uint8_t> data;
  };
  std::vector<Recent> recent_;
  std::size_t next_recent_ = 0;
};

bool Merge::advance(PageStream& stream) {
  if (stream.next()) return true;
  if (!stream.why().empty() && why_.empty()) {
    why_ = fmt::format("CPU {}: {}", stream.cpu(), stream.why());
  }
  return false;
}

// An event that is enabled in several buffers is recorded in each, at slightly different times.
bool Merge::is_duplicate(const PageStream& stream) {
  constexpr std::size_t kMostRecent = 128;
  constexpr std::uint64_t kLongest = 1'000'000;
  const Bytes data = stream.data();
  for (Recent& r : recent_) {
    if (r.matched || r.buffer == stream.buffer() || r.cpu != stream.cpu() ||
        stream.time() - r.time > kLongest || r.data.size() != data.size()) {
      continue;
    }
    if (std::equal(data.begin(), data.end(), r.data.begin())) {
      r.matched = true;
      return true;
    }
  }
  if (recent_.size() < kMostRecent) recent_.emplace_back();
  Recent& r = recent_[next_recent_];
  next_recent_ = (next_recent_ + 1) % kMostRecent;
  r.buffer = stream.buffer();
  r.cpu = stream.cpu();
  r.time = stream.time();
  r.matched = false;
  r.data.assign(data.begin(), data.end());
  return false;
}

void Merge::visit(PageStream& stream) {
  if (const std::uint64_t lost = stream.take_lost(); lost != 0) {
    lost_ += lost;
    visitor_.lost(stream.cpu(), lost);
  }
  if (!file_.formats.read(stream.data(), record_)) return;
  if (file_.buffers > 1 && is_duplicate(stream)) return;
  record_.time = file_.clock.ns(stream.time());
  record_.cpu = stream.cpu();
  visitor_.record(record_);
}

base::Expected<void> Merge::run() {
  for (const CpuPages& cpu : file_.cpus) {
    PageStream& stream = streams_.emplace_back(cpu, file_);
    if (advance(stream)) heap_.push_back(&stream);
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    PageStream& stream = *heap_.back();
    const std::uint64_t until =
        heap_.size() > 1 ? heap_.front()->time() : std::numeric_limits<std::uint64_t>::max();
    bool more = true;
    do {
      visit(stream);
      more = advance(stream);
    } while (more && stream.time() <= until);
    if (more) {
      std::push_heap(heap_.begin(), heap_.end(), later);
    } else {
      heap_.pop_back();
    }
  }
  // The kernel's statistics also count records that it lost at the end.
  if (file_.lost > lost_) visitor_.lost(0, file_.lost - lost_);
  if (!why_.empty()) return base::fail(why_);
  if (file_.cut_short) return base::fail("the file ends before its last page of events");
  return {};
}

}  // namespace

base::Expected<void> visit_records(const TraceDat& file, const Visitor& visitor) {
  return Merge(file, visitor).run();
}

}  // namespace rpcrdma::trace_dat
