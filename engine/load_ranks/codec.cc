#include "codec.h"

#include <algorithm>
#include <utility>

namespace rpcrdma::load_ranks {

void ByteWriter::number(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
  bytes_.push_back(static_cast<std::uint8_t>(value));
}

void ByteWriter::signed_number(std::int64_t value) {
  number(static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63));
}

void ByteWriter::text(std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  number(text.size());
  magic(text);
}

void ByteWriter::histogram(const base::Histogram& h) {
  std::vector<base::Histogram::Bucket> buckets;
  h.for_each_bucket([&](base::Histogram::Bucket b) { buckets.push_back(b); });
  number(buckets.size());
  if (buckets.empty()) return;
  number(static_cast<std::uint64_t>(h.min()));
  number(static_cast<std::uint64_t>(h.max()));
  number(h.sum());
  std::uint32_t before = 0;
  for (const auto& b : buckets) {
    number(b.index - before);
    number(b.count);
    before = b.index;
  }
}

void ByteWriter::histogram(const load::HdrHistogram& h) {
  std::vector<load::HdrHistogram::Bucket> buckets;
  h.for_each_bucket([&](load::HdrHistogram::Bucket b) { buckets.push_back(b); });
  number(buckets.size());
  std::uint32_t before = 0;
  for (const auto& b : buckets) {
    number(b.index - before);
    number(b.count);
    before = b.index;
  }
}

std::uint64_t ByteReader::number(std::uint64_t most) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !failed_; shift += 7) {
    if (bytes_.empty() || shift > 63) break;
    const std::uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    // The tenth byte has one bit; the last byte is not 0, so that each number has one form.
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) != 0) continue;
    if ((byte == 0 && shift != 0) || value > most) break;
    return value;
  }
  failed_ = true;
  return 0;
}

std::int64_t ByteReader::signed_number() {
  const std::uint64_t n = number();
  return static_cast<std::int64_t>(n >> 1U ^ (~(n & 1U) + 1));
}

std::string ByteReader::text(std::size_t most) {
  const std::size_t length = count(most);
  std::string text(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length));
  bytes_ = bytes_.subspan(length);
  // It is shown on terminals: host names, addresses and messages of rpcrdma are ASCII.
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::size_t ByteReader::count(std::uint64_t most) {
  const std::uint64_t n = number(most);
  if (n <= bytes_.size()) return static_cast<std::size_t>(n);
  failed_ = true;
  return 0;
}

base::Histogram ByteReader::histogram() {
  const std::size_t buckets = count(UINT32_MAX);
  if (buckets == 0) return {};
  const std::uint64_t min = number(INT64_MAX);
  const std::uint64_t max = number(INT64_MAX);
  const std::uint64_t sum = number();
  std::vector<base::Histogram::Bucket> all;
  std::uint64_t index = 0;
  for (std::size_t i = 0; i < buckets && !failed_; ++i) {
    index += number(UINT32_MAX);
    const std::uint32_t counted = number32();
    if (index > UINT32_MAX) fail();
    all.push_back({static_cast<std::uint32_t>(index), counted});
  }
  if (failed_) return {};
  auto h = base::Histogram::restore(static_cast<std::int64_t>(min), static_cast<std::int64_t>(max),
                                    sum, all);
  if (h) return std::move(*h);
  failed_ = true;
  return {};
}

load::HdrHistogram ByteReader::hdr_histogram() {
  const std::size_t buckets = count(UINT32_MAX);
  std::vector<load::HdrHistogram::Bucket> all;
  std::uint64_t index = 0;
  for (std::size_t i = 0; i < buckets && !failed_; ++i) {
    index += number(UINT32_MAX);
    const std::uint64_t counted = number();
    if (index > UINT32_MAX) fail();
    all.push_back({static_cast<std::uint32_t>(index), counted});
  }
  if (failed_) return {};
  auto h = load::HdrHistogram::restore(all);
  if (h) return std::move(*h);
  failed_ = true;
  return {};
}

bool ByteReader::magic(std::string_view text) {
  if (bytes_.size() < text.size() || !std::ranges::equal(text, bytes_.first(text.size()))) {
    return false;
  }
  bytes_ = bytes_.subspan(text.size());
  return true;
}

}  // namespace rpcrdma::load_ranks
