#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <rpcrdma/trace/ring_memory.h>

namespace rpcrdma::trace {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t pages_there(const RingMemory& memory, std::size_t bytes) {
  std::vector<unsigned char> there(bytes / kPage);
  EXPECT_EQ(::mincore(memory.data(), bytes, there.data()), 0);
  return static_cast<std::size_t>(std::count_if(
      there.begin(), there.end(), [](unsigned char page) { return (page & 1U) != 0; }));
}

TEST(RingMemory, WhoWritesFindsThePagesThere) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const RingMemory memory(kMiB);
  memory.populate();
  EXPECT_EQ(pages_there(memory, kMiB), kMiB / kPage);
}

TEST(RingMemory, PopulatingLeavesWhatIsThere) {
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{4} << 20}) {
    const RingMemory memory(bytes);
    memory[0] = 1;
    memory[bytes - 1] = 2;
    memory.populate();
    memory.populate();
    EXPECT_EQ(memory[0], 1);
    EXPECT_EQ(memory[bytes - 1], 2);
  }
}

}  // namespace
}  // namespace rpcrdma::trace
