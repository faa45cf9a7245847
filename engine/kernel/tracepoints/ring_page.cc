#include <charconv>
#include <optional>

#include <rpcrdma/tracepoints/ring_page.h>

namespace rpcrdma::tracepoints {
namespace {

// Values of the 5 bits. 1 to 28: the length in words.
constexpr std::uint32_t kLongData = 0;
constexpr std::uint32_t kMaxShortData = 28;
constexpr std::uint32_t kPadding = 29;
constexpr std::uint32_t kTimeExtend = 30;

constexpr std::uint32_t kTypeBits = 5;
constexpr std::uint32_t kTimeBits = 27;
// Flags in `commit`.
constexpr std::uint64_t kMissedEvents = std::uint64_t{1} << 31U;
constexpr std::uint64_t kMissedStored = std::uint64_t{1} << 30U;
constexpr std::uint64_t kCommitMask = (std::uint64_t{1} << 27U) - 1;
// An absolute time has 59 bits; the page's time has all.
constexpr std::uint64_t kAbsoluteMask = (std::uint64_t{1} << 59U) - 1;

struct PageField {
  std::uint32_t offset = 0, size = 0;
};

std::optional<std::uint32_t> value_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  (void)end;
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

std::optional<PageField> page_field(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(at, text.find('\n', at) - at);
  const auto offset = value_after(line, "offset:");
  const auto size = value_after(line, "size:");
  if (!offset || !size) return std::nullopt;
  return PageField{*offset, *size};
}

}  // namespace

bool PageLayout::take(std::string_view header_page) {
  const auto commit = page_field(header_page, " commit;");
  const auto data = page_field(header_page, " data;");
  if (!commit || !data || (commit->size != 4 && commit->size != 8)) return false;
  constexpr std::uint32_t kMostHeader = 64;
  if (commit->offset > kMostHeader || data->offset > kMostHeader) return false;
  commit_at = commit->offset;
  long_bytes = commit->size;
  data_at = data->offset;
  return true;
}

RingPage::RingPage(std::span<const std::uint8_t> page, const PageLayout& layout)
    : page_(page), order_(layout.order), big_endian_(layout.big_endian) {
  if (page.size() < layout.data_at || page.size() < 8 ||
      page.size() < std::size_t{layout.commit_at} + layout.long_bytes) {
    malformed_ = true;
    return;
  }
  page_time_ = time_ = order_.u64(page.data());
  const std::uint8_t* const commit_bytes = page.data() + layout.commit_at;
  const std::uint64_t commit =
      layout.long_bytes == 8 ? order_.u64(commit_bytes) : order_.u32(commit_bytes);
  const std::uint64_t size = commit & kCommitMask;
  at_ = layout.data_at;
  if (size > page.size() - layout.data_at) {
    (void)fail();
    return;
  }
  end_ = at_ + size;
  if ((commit & kMissedEvents) != 0) {
    lost_ = 1;
    if ((commit & kMissedStored) != 0 && layout.long_bytes <= page.size() - end_) {
      const std::uint8_t* const count = page.data() + end_;
      lost_ = layout.long_bytes == 8 ? order_.u64(count) : order_.u32(count);
    }
  }
}

bool RingPage::next(Entry& entry) {
  while (end_ - at_ >= 4) {
    const std::uint32_t head = order_.u32(page_.data() + at_);
    const std::uint32_t type = big_endian_ ? head >> kTimeBits : head & ((1U << kTypeBits) - 1);
    const std::uint32_t delta = big_endian_ ? head & ((1U << kTimeBits) - 1) : head >> kTypeBits;
    at_ += 4;
    if (type != kLongData && type <= kMaxShortData) {
      const std::size_t length = std::size_t{type} * 4;
      if (length > end_ - at_) return fail();
      time_ += delta;
      entry = {time_, page_.subspan(at_, length)};
      at_ += length;
      return true;
    }
    // The rest of a page without a length.
    if (type == kPadding && delta == 0) break;
    if (end_ - at_ < 4) return fail();
    const std::uint32_t word = order_.u32(page_.data() + at_);
    if (type == kLongData || type == kPadding) {
      // The length includes the word itself. Records are aligned to words.
      const std::size_t length = (std::size_t{word} + 3) & ~std::size_t{3};
      if (word < 4 || length > end_ - at_) return fail();
      time_ += delta;
      const auto data = page_.subspan(at_ + 4, word - 4);
      at_ += length;
      if (type == kPadding) continue;
      entry = {time_, data};
      return true;
    }
    at_ += 4;
    const std::uint64_t long_time = (std::uint64_t{word} << kTimeBits) + delta;
    if (type == kTimeExtend) {
      time_ += long_time;
    } else {
      time_ = (long_time & kAbsoluteMask) | (page_time_ & ~kAbsoluteMask);
    }
  }
  at_ = end_;
  return false;
}

}  // namespace rpcrdma::tracepoints
