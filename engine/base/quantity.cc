#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>

namespace rpcrdma::base {

namespace {

// Formats with `digits` significant digits and never an exponent.
std::string significant(double value, int digits) {
  int decimals = digits - 1;
  for (double v = std::abs(value); v >= 10 && decimals > 0; v /= 10) --decimals;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace

void DurationText::put(std::string_view text) {
  size_ += text.copy(text_.data() + size_, text_.size() - size_);
}

void DurationText::put_rounded(std::uint64_t ns, std::uint64_t unit, unsigned decimals, bool all) {
  const std::uint64_t units = (ns + unit / 2) / unit;
  constexpr std::array<std::uint64_t, 4> kPowers{1, 10, 100, 1000};
  char* const end = text_.data() + text_.size();
  size_ = static_cast<std::size_t>(std::to_chars(text_.data(), end, units / kPowers[decimals]).ptr -
                                   text_.data());
  std::uint64_t rest = units % kPowers[decimals];
  if (rest == 0 && !all) return;
  text_[size_++] = '.';
  while (decimals != 0 && (all || rest != 0)) {
    --decimals;
    text_[size_++] = static_cast<char>('0' + rest / kPowers[decimals]);
    rest %= kPowers[decimals];
  }
}

// In integers, which is many times faster. A value exactly between two results is left to the
// floating-point number that is nearest to it.
void DurationText::format(std::int64_t ns) {
  constexpr std::uint64_t kUs = 1000;
  constexpr std::uint64_t kMs = 1000 * kUs;
  constexpr std::uint64_t kSecond = 1000 * kMs;
  constexpr std::uint64_t kFewDigits = 1'000'000 * kSecond;
  if (ns < 0) return put("-");
  const auto v = static_cast<std::uint64_t>(ns);
  if (v < kUs) {
    size_ = static_cast<std::size_t>(
        std::to_chars(text_.data(), text_.data() + text_.size(), v).ptr - text_.data());
    return put(" ns");
  }
  if (v >= kSecond) {
    if (v >= kFewDigits || v % kMs == kMs / 2) {
      return put(fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9));
    }
    put_rounded(v, kMs, 3, true);
    return put(" s");
  }
  const std::uint64_t unit = v < kMs ? kUs : kMs;
  const unsigned decimals = v < 10 * unit ? 2 : v < 100 * unit ? 1 : 0;
  const std::uint64_t scale = unit / (decimals == 2 ? 100 : decimals == 1 ? 10 : 1);
  if (v % scale == scale / 2) {
    put(significant(static_cast<double>(ns) / static_cast<double>(unit), 3));
  } else {
    put_rounded(v, scale, decimals, false);
  }
  put(unit == kUs ? " us" : " ms");
}

std::string format_duration(std::int64_t ns) {
  return std::string(DurationText(ns).view());
}

std::string format_bytes(std::uint64_t bytes) {
  const auto v = static_cast<double>(bytes);
  if (bytes < 10240) return fmt::format("{} B", bytes);
  if (bytes < (10U << 20)) return significant(v / 1024, 4) + " KiB";
  if (bytes < (10ULL << 30)) return significant(v / (1 << 20), 4) + " MiB";
  return significant(v / (1 << 30), 4) + " GiB";
}

}  // namespace rpcrdma::base
