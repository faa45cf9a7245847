#include <cstring>

#include <rpcrdma/capture/whole_blocks.h>

namespace rpcrdma::capture {

namespace {

constexpr std::size_t kTypeAndLength = 8;
constexpr std::uint32_t kShortest = 12;
constexpr std::uint32_t kSection = 0x0a0d0d0a;

std::uint32_t word(std::span<const std::uint8_t> bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

std::span<const std::uint8_t> WholeBlocks::add(std::span<const std::uint8_t> bytes) {
  if (broken_) return {};
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(given_));
  given_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  const std::span<const std::uint8_t> all(bytes_);
  while (all.size() - given_ >= kTypeAndLength) {
    const std::uint32_t length = word(all, given_ + 4);
    broken_ = length < kShortest || length % 4 != 0 || length > kMaxBlock ||
              (!begun_ && word(all, given_) != kSection);
    if (broken_ || length > all.size() - given_) break;
    given_ += length;
    begun_ = true;
  }
  return all.first(given_);
}

}  // namespace rpcrdma::capture
