#include "checksum.h"

#include <rpcrdma/service/echo.h>

namespace rpcrdma::service::echo {
namespace {

constexpr std::uint32_t kSeeds = 4096;

std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
  return z ^ (z >> 31U);
}

void fill(std::uint8_t* out, std::size_t bytes) {
  std::uint64_t state = 0;
  for (std::size_t i = 0; i < bytes; i += 8) {
    std::uint64_t v = splitmix64(state);
    for (std::size_t j = i; j < i + 8 && j < bytes; ++j, v >>= 8U) {
      out[j] = static_cast<std::uint8_t>(v);
    }
  }
}

}  // namespace

std::uint32_t checksum(wire::Bytes bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

fabric::Expected<Pattern> Pattern::create(protocol::MemoryPool& memory, std::uint32_t longest) {
  if (longest > kMaxBulk) return fabric::fail(fabric::Errc::kBadArgument, "over 256 MiB");
  const std::uint32_t bytes = longest + kSeeds;
  const auto block = memory.acquire(bytes);
  if (!block) return tl::unexpected(block.error());
  fill(block->data, bytes);
  return Pattern(memory, *block, longest);
}

Pattern::Pattern(protocol::MemoryPool& pool, const protocol::Block& block, std::uint32_t longest)
    : pool_(&pool), block_(block), longest_(longest) {}

Pattern::Pattern(Pattern&& other) noexcept
    : pool_(other.pool_),
      block_(std::exchange(other.block_, {})),
      longest_(other.longest_),
      known_(other.known_) {}

Pattern::~Pattern() {
  if (block_) pool_->release(block_);
}

wire::Bytes Pattern::bytes(std::uint32_t seed, std::uint32_t length) const {
  return {block_.data + seed % kSeeds, length};
}

std::uint32_t Pattern::checksum(std::uint32_t seed, std::uint32_t length) {
  if (length == 0) return 0;  // of no bytes
  seed %= kSeeds;
  Known& known = known_[(seed * 31 + length) % known_.size()];
  if (known.seed != seed || known.length != length) {
    known = {seed, length, echo::checksum(bytes(seed, length))};
  }
  return known.checksum;
}

}  // namespace rpcrdma::service::echo
