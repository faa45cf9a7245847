#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <ctime>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include <rpcrdma/load/hdr_histogram.h>

namespace rpcrdma::load {

namespace {

constexpr int kDigits = 3;
// 2 * 10^digits, as a power of two: in the first bucket each value has a count of its own, and each
// further bucket adds the upper half of as many counts, of twice the width.
constexpr unsigned kSubBits = 11;
constexpr std::uint64_t kSubBuckets = 1U << kSubBits;
constexpr std::uint64_t kHighest = 3'600'000'000'000;
constexpr double kMillisecond = 1e6;
constexpr int kTicksPerHalf = 5;

std::size_t index_of(std::uint64_t value) {
  value = std::min(value, kHighest);
  const auto width = static_cast<unsigned>(std::bit_width(value | (kSubBuckets - 1)));
  const unsigned bucket = width - kSubBits;
  return (std::size_t{bucket} << (kSubBits - 1)) + static_cast<std::size_t>(value >> bucket);
}

struct Range {
  std::uint64_t lowest, width;
  [[nodiscard]] std::uint64_t highest() const { return lowest + width - 1; }
  [[nodiscard]] double middle() const { return static_cast<double>(lowest + width / 2); }
};
Range range_of(std::size_t index) {
  const std::size_t half = kSubBuckets / 2;
  if (index < kSubBuckets) return {index, 1};
  const std::size_t bucket = index / half - 1;
  return {std::uint64_t{index - bucket * half} << bucket, std::uint64_t{1} << bucket};
}

// Length of the array that HdrHistogram allocates for values up to kHighest.
constexpr unsigned kBuckets = std::bit_width(kHighest) - kSubBits + 1;

class Writer {
 public:
  template <typename T>
  void big_endian(T value) {
    for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> shift));
    }
  }
  // ZigZag LEB128; the ninth byte has eight bits of the value.
  void varint(std::int64_t value) {
    std::uint64_t n =
        static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63);
    for (int i = 0; i < 8 && n >= 0x80; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(n | 0x80));
      n >>= 7U;
    }
    bytes.push_back(static_cast<std::uint8_t>(n));
  }
  std::vector<std::uint8_t> bytes;
};

// RFC 1950, with blocks that are stored: any decoder reads it, and the counts are short by
// themselves.
std::vector<std::uint8_t> zlib(std::span<const std::uint8_t> data) {
  std::vector<std::uint8_t> out{0x78, 0x01};
  std::uint32_t a = 1, b = 0;
  for (const std::uint8_t byte : data) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  do {
    const auto part = data.first(std::min<std::size_t>(data.size(), 0xffff));
    data = data.subspan(part.size());
    const auto length = static_cast<std::uint16_t>(part.size());
    out.push_back(data.empty() ? 1 : 0);
    for (const unsigned word : {unsigned{length}, ~unsigned{length}}) {
      out.push_back(static_cast<std::uint8_t>(word));
      out.push_back(static_cast<std::uint8_t>(word >> 8U));
    }
    out.insert(out.end(), part.begin(), part.end());
  } while (!data.empty());
  for (const std::uint32_t half : {b, a}) {
    out.push_back(static_cast<std::uint8_t>(half >> 8U));
    out.push_back(static_cast<std::uint8_t>(half));
  }
  return out;
}

std::string base64(std::span<const std::uint8_t> data) {
  constexpr const char* kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const std::size_t given = std::min<std::size_t>(3, data.size() - i);
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j) word = word << 8U | (j < given ? data[i + j] : 0U);
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= given ? kLetters[word >> (18 - 6 * j) & 0x3f] : '=';
    }
  }
  return out;
}

double seconds(fabric::Time time) {
  return static_cast<double>(time) / 1e9;
}

}  // namespace

void HdrHistogram::add(fabric::Time value) {
  const std::size_t index = index_of(static_cast<std::uint64_t>(std::max<fabric::Time>(value, 0)));
  if (index >= counts_.size()) counts_.resize(index + 1);
  ++counts_[index];
  ++count_;
}

void HdrHistogram::merge(const HdrHistogram& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
}

void HdrHistogram::clear() {
  std::ranges::fill(counts_, 0U);
  count_ = 0;
}

std::uint64_t HdrHistogram::max() const {
  for (std::size_t i = counts_.size(); i != 0; --i) {
    if (counts_[i - 1] != 0) return range_of(i - 1).highest();
  }
  return 0;
}

std::uint64_t HdrHistogram::quantile(double q) const {
  const auto wanted = std::max<std::uint64_t>(
      1,
      static_cast<std::uint64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted) return range_of(i).highest();
  }
  return 0;
}

std::uint64_t HdrHistogram::highest_of(std::size_t bucket) {
  return range_of(bucket).highest();
}

std::optional<HdrHistogram> HdrHistogram::restore(std::span<const Bucket> buckets) {
  HdrHistogram h;
  if (buckets.empty()) return h;
  if (buckets.back().index > index_of(kHighest)) return std::nullopt;
  h.counts_.resize(buckets.back().index + 1);
  std::int64_t before = -1;
  for (const Bucket& b : buckets) {
    if (std::int64_t{b.index} <= before || b.index >= h.counts_.size() || b.count == 0 ||
        __builtin_add_overflow(h.count_, b.count, &h.count_)) {
      return std::nullopt;
    }
    before = b.index;
    h.counts_[b.index] = b.count;
  }
  return h;
}

double HdrHistogram::mean() const {
  if (count_ == 0) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    sum += range_of(i).middle() * static_cast<double>(counts_[i]);
  }
  return sum / static_cast<double>(count_);
}

double HdrHistogram::deviation() const {
  if (count_ == 0) return 0;
  const double center = mean();
  double sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const double off = range_of(i).middle() - center;
    sum += off * off * static_cast<double>(counts_[i]);
  }
  return std::sqrt(sum / static_cast<double>(count_));
}

std::string HdrHistogram::to_hgrm() const {
  std::string out = fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile",
                                "TotalCount", "1/(1-Percentile)");
  const auto to = std::back_inserter(out);
  std::uint64_t seen = 0;
  double level = 0;  // the next line's percentile
  for (std::size_t i = 0; i < counts_.size() && seen != count_; ++i) {
    if (counts_[i] == 0) continue;
    seen += counts_[i];
    const double value = static_cast<double>(range_of(i).highest()) / kMillisecond;
    const double here = 100 * static_cast<double>(seen) / static_cast<double>(count_);
    // Five lines up to half of the values, and five for each half of the rest.
    while (level < 100 && here >= level) {
      fmt::format_to(to, "{:12.3f} {:2.12f} {:10} {:14.2f}\n", value, level / 100, seen,
                     1 / (1 - level / 100));
      const double halves = std::floor(std::log2(100 / (100 - level))) + 1;
      level += 100 / (kTicksPerHalf * std::exp2(halves));
      // Beyond the last value, further lines would repeat it.
      if (seen == count_) break;
    }
    if (seen == count_) fmt::format_to(to, "{:12.3f} {:2.12f} {:10}\n", value, 1.0, seen);
  }
  fmt::format_to(to, "#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n", mean() / kMillisecond,
                 deviation() / kMillisecond);
  fmt::format_to(to, "#[Max     = {:12.3f}, Total count    = {:12}]\n",
                 static_cast<double>(max()) / kMillisecond, count_);
  fmt::format_to(to, "#[Buckets = {:12}, SubBuckets     = {:12}]\n", kBuckets, kSubBuckets);
  return out;
}

std::vector<std::uint8_t> HdrHistogram::encode() const {
  constexpr std::uint32_t kCookie = 0x1c849313;
  Writer counts;
  std::size_t used = counts_.size();
  while (used != 0 && counts_[used - 1] == 0) --used;
  for (std::size_t i = 0; i < used;) {
    std::int64_t zeros = 0;
    while (counts_[i] == 0) ++zeros, ++i;
    if (zeros != 0) {
      counts.varint(zeros == 1 ? 0 : -zeros);
    } else {
      counts.varint(static_cast<std::int64_t>(counts_[i++]));
    }
  }
  Writer out;
  out.big_endian(kCookie);
  out.big_endian(static_cast<std::uint32_t>(counts.bytes.size()));
  out.big_endian(std::uint32_t{0});  // normalizing index offset
  out.big_endian(std::uint32_t{kDigits});
  out.big_endian(std::uint64_t{1});  // lowest discernible value
  out.big_endian(kHighest);
  out.big_endian(std::bit_cast<std::uint64_t>(1.0));  // conversion ratio
  out.bytes.insert(out.bytes.end(), counts.bytes.begin(), counts.bytes.end());
  return std::move(out.bytes);
}

std::string HdrHistogram::to_base64() const {
  constexpr std::uint32_t kCompressedCookie = 0x1c849314;
  const std::vector<std::uint8_t> compressed = zlib(encode());
  Writer out;
  out.big_endian(kCompressedCookie);
  out.big_endian(static_cast<std::uint32_t>(compressed.size()));
  out.bytes.insert(out.bytes.end(), compressed.begin(), compressed.end());
  return base64(out.bytes);
}

std::string hlog_header(fabric::Time start, const std::string& what) {
  const std::time_t second = start / fabric::kSecond;
  std::tm utc{};
  ::gmtime_r(&second, &utc);
  std::array<char, 64> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return fmt::format(
      "#[{}]\n"
      "#[Histogram log format version 1.3]\n"
      "#[StartTime: {:.3f} (seconds since epoch), {}]\n"
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
      what, seconds(start), date.data());
}

std::string hlog_line(fabric::Time since_start, fabric::Time length,
                      const HdrHistogram& histogram) {
  return fmt::format("{:.3f},{:.3f},{:.3f},{}\n", seconds(since_start), seconds(length),
                     static_cast<double>(histogram.max()) / kMillisecond, histogram.to_base64());
}

}  // namespace rpcrdma::load
